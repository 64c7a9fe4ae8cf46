"""Feature maps of photos on disk: what the backbone sees, before regions, words or heads are made of it.

Every training of a head over the backbone begins here, so each photo runs through the backbone once. Two maps are kept,
8 bits a value with a scale for each channel: `middle` (18 x 18 x 120) and `last` (9 x 9 x 352) of a photo of 288
pixels; the final map is one matrix product away from the last one. Photos are done in order and an interrupted run goes
on after the last whole block.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.errors import InputError
from vericap.core.onnx_file import OnnxFile
from vericap.core.typing import Floats32, Ints
from vericap.run.progress import Bar
from vericap.vision.backbone import Backbone
from vericap.vision.cells import shipped_head
from vericap.vision.images import decode
from vericap.vision.regions import WIDTH, Extractor, pooled_regions
from vericap.vision.shards import read_json, save, write_json
from vericap.vision.store import FeatureWriter

KINDS = ("middle", "last")
_BLOCK = 256  # photos looked at together
_NOTED = 16 * _BLOCK  # photos between two notes of how far the store is made: flushing walks through the whole file
_MEASURED = 256  # photos on which the channels' ranges are measured
_QUANTILE = 0.9999  # of a channel's values that are not cut

Read = Callable[[str], bytes]


class MapStore:
    """The maps of photos in a folder, memory-mapped."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.meta: dict[str, Any] = read_json(self.folder / "meta.json")
        self.keys: list[str] = json.loads((self.folder / "keys.json").read_text("utf-8"))
        self._place = {key: row for row, key in enumerate(self.keys)}
        self._maps = {kind: _opened(self.folder, kind, self.meta, len(self.keys), "r") for kind in KINDS}
        self.scales = {kind: np.array(self.meta["scales"][kind], dtype=np.float32) for kind in KINDS}

    def __len__(self) -> int:
        """Photos whose maps are there."""
        return int(self.meta["done"])

    def rows(self, keys: Sequence[str]) -> Ints:
        """Places of photos; one that is not there is an error."""
        try:
            found = np.array([self._place[key] for key in keys], dtype=np.int64)
        except KeyError as error:
            raise InputError(f"{self.folder} has no photo {error}; extract its maps first") from error
        if len(found) and found.max() >= len(self):
            raise InputError(f"{self.folder} holds {len(self)} of {len(self.keys)} photos; finish it first")
        return found

    def read(self, kind: str, rows: Ints) -> Floats32:
        """Maps (photos, cells, channels) of some photos."""
        order = np.argsort(rows, kind="stable")  # the disk is read forwards
        found = np.empty((len(rows), *self._maps[kind].shape[1:]), dtype=np.float32)
        for place in order.tolist():
            np.multiply(self._maps[kind][rows[place]], self.scales[kind], out=found[place])
        return found


class Head:
    """The backbone's last layer: from the map `last` to the final one."""

    def __init__(self, file: Path) -> None:
        constants = OnnxFile.read(file).constants
        weights = constants["upper/head.weight_quantized"][:, :, 0, 0].astype(np.float32)
        self._weights = np.ascontiguousarray((weights * constants["upper/head.weight_scale"][:, None]).T)
        self._bias = constants["upper/head.bias_quantized"] * constants["upper/head.bias_quantized_scale"]
        scale, zero = constants["upper/head.active_scale"], int(constants["upper/head.active_zero_point"])
        self._range = float(-zero * scale), float((255 - zero) * scale)

    def __call__(self, last: Floats32) -> Floats32:
        """(..., 352) -> (..., 1280)."""
        return np.asarray(np.clip(last @ self._weights + self._bias, *self._range), dtype=np.float32)


def means(store: MapStore, head: Head, file: Path) -> Floats32:
    """Means of the final maps of all photos, (photos, 1280) in 16 bits; made once and kept in a file."""
    if not file.is_file():
        found = np.empty((len(store), len(head(np.zeros(len(store.scales["last"]), np.float32)))), dtype=np.float16)
        with Bar(what="means of maps", total=len(store), unit="photo") as bar:
            for rows in _blocks(0, len(store)):
                found[rows] = head(store.read("last", rows)).mean(axis=1)
                bar.advance(len(rows))
        save(file, found)
    kept: Floats32 = np.load(file, allow_pickle=False)
    if len(kept) != len(store):
        raise InputError(f"{file} holds {len(kept)} photos, {store.folder} {len(store)}; delete the file")
    return kept


def write_regions(
    store: MapStore, keys: Sequence[str], folder: str | Path, name: Callable[[str], str], *, threads: int = 1
) -> None:
    """Regions of photos as the shipped extractor makes them, from their maps, into a feature store.

    `name` gives a photo's id in the feature store. An interrupted run goes on after the last whole shard.
    """
    extractor = Extractor()
    final, room = Head(extractor.file), extractor.most - len(extractor.windows)

    def regions(rows: Ints) -> list[tuple[Floats32, Floats32]]:
        last = store.read("last", rows)
        side = round(last.shape[1] ** 0.5)
        middle = store.read("middle", rows).reshape(len(rows), 2 * side, 2 * side, -1)
        last = last.reshape(len(rows), side, side, -1)
        cells = shipped_head()(middle, last)
        return [
            pooled_regions(photo, own, extractor.windows, own.boxes[:room]) for photo, own in zip(final(last), cells)
        ]

    with FeatureWriter(folder, extractor.description, width=WIDTH) as writer, ThreadPoolExecutor(threads) as pool:
        done = writer.done()
        waiting = store.rows([key for key in keys if name(key) not in done])
        with Bar(what="regions", total=len(waiting), unit="photo") as bar:
            for start in range(0, len(waiting), _BLOCK):
                rows = waiting[start : start + _BLOCK]
                parts = np.array_split(rows, max(len(rows) // 16, 1))
                for part, found in zip(parts, pool.map(regions, parts)):
                    for row, one in zip(part.tolist(), found):
                        writer.add(name(store.keys[row]), *one)
                bar.advance(len(rows))


def extract(
    keys: Sequence[str], read: Read, backbone: Backbone, folder: str | Path, *, size: int, name: str, threads: int = 1
) -> MapStore:
    """Make the maps of photos that are not there yet; `read` gives the bytes of a photo's file."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "meta.json").is_file():
        _begin(keys, read, backbone, folder, size=size, name=name)
    store = MapStore(folder)
    if store.keys != list(keys) or store.meta["backbone"] != name:
        raise InputError(f"{folder} holds maps of other photos or of another backbone; choose another folder")
    maps = {kind: _opened(folder, kind, store.meta, len(keys), "r+") for kind in KINDS}
    with ThreadPoolExecutor(threads) as pool, Bar(what="photos", total=len(keys) - len(store), unit="photo") as bar:
        for rows in _blocks(len(store), len(keys)):
            seen = pool.map(lambda row: _maps(keys[row], read, backbone, size), rows.tolist())
            for row, found in zip(rows.tolist(), seen):
                for kind in KINDS:
                    maps[kind][row] = np.clip(np.rint(found[kind] / store.scales[kind]), -127, 127)
            done = int(rows[-1]) + 1
            if done % _NOTED == 0 or done == len(keys):
                for kind in KINDS:
                    maps[kind].flush()
                store.meta["done"] = done
                write_json(folder / "meta.json", store.meta)
            bar.advance(len(rows))
    return MapStore(folder)


def _begin(keys: Sequence[str], read: Read, backbone: Backbone, folder: Path, *, size: int, name: str) -> None:
    """Measure the channels' ranges on some photos, and make room for all."""
    spread = np.linspace(0, len(keys) - 1, min(len(keys), _MEASURED)).astype(int)
    seen = [_maps(keys[row], read, backbone, size) for row in spread.tolist()]
    shapes, scales = {}, {}
    for kind in KINDS:
        values = np.stack([found[kind] for found in seen])
        shapes[kind] = list(values.shape[1:])
        most = np.quantile(np.abs(values.reshape(-1, values.shape[-1])), _QUANTILE, axis=0)
        scales[kind] = (np.maximum(most, 1e-3) / 127).tolist()
    meta = {"backbone": name, "size": size, "shapes": shapes, "scales": scales, "done": 0}
    (folder / "keys.json").write_text(json.dumps(list(keys)), "utf-8")
    for kind in KINDS:
        _opened(folder, kind, meta, len(keys), "w+")
    write_json(folder / "meta.json", meta)


def _maps(key: str, read: Read, backbone: Backbone, size: int) -> dict[str, Floats32]:
    from PIL import Image

    image = decode(read(key), key).resize((size, size), Image.Resampling.BICUBIC)
    _, *inner = backbone.maps(np.asarray(image), KINDS)
    return {kind: found.reshape(-1, found.shape[-1]).copy() for kind, found in zip(KINDS, inner)}


def _opened(folder: Path, kind: str, meta: dict[str, Any], count: int, mode: Any) -> np.memmap[Any, Any]:
    return np.memmap(folder / f"{kind}.i8", dtype=np.int8, mode=mode, shape=(count, *meta["shapes"][kind]))


def _blocks(start: int, end: int) -> Iterator[Ints]:
    for first in range(start, end, _BLOCK):
        yield np.arange(first, min(first + _BLOCK, end))

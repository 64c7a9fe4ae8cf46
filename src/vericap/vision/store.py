"""The feature store: regions of many images, float16, memory-mapped, found by image id.

A store is a folder:

    meta.json               format, extractor and its fingerprint, width, the shards with their sizes
    shard-00000.json        image ids and number of regions of one shard (written last: a shard without it
    is not there)
    features-00000.npy      (regions, width) float16
    boxes-00000.npy         (regions, 4) float16, x0 y0 x1 y1 as shares of the image's sides
    index.npy, names.npy    sorted 64-bit keys of the ids with their places; the ids themselves

Opening maps `index.npy` and reads `meta.json` only, so it takes milliseconds for any number of images.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.errors import InputError, VericapError
from vericap.core.typing import Array

FORMAT = "vericap-regions"
VERSION = 1
_HEADER = 128  # bytes NumPy writes before the values of a small plain array
_PLACE = np.dtype([("key", "<u8"), ("shard", "<i4"), ("count", "<i4"), ("start", "<i8"), ("name", "<i8")])


@dataclass
class RegionTable:
    """Regions of the images of a batch, padded to the largest number of regions (`mask` tells which are
    there)."""

    features: Array  # (images, regions, width) float32
    boxes: Array  # (images, regions, 4) float32, shares of the image's sides
    mask: Array  # (images, regions) bool
    fingerprint: str
    problems: dict[int, str] = field(default_factory=dict)  # image -> why it has no regions

    @classmethod
    def of(
        cls,
        items: Sequence[tuple[Array, Array] | None],
        fingerprint: str,
        problems: dict[int, str] | None = None,
        width: int = 1,
    ) -> RegionTable:
        """Pad per-image (features, boxes); None marks an image without regions. `width` is that of the features where
        no image has any."""
        present = [item for item in items if item is not None]
        most = max((len(item[0]) for item in present), default=1)
        width = present[0][0].shape[1] if present else width
        features = np.zeros((len(items), most, width), dtype=np.float32)
        boxes = np.zeros((len(items), most, 4), dtype=np.float32)
        mask = np.zeros((len(items), most), dtype=bool)
        for row, item in enumerate(items):
            if item is not None:
                count = len(item[0])
                features[row, :count], boxes[row, :count], mask[row, :count] = item[0], item[1], True
        return cls(features, boxes, mask, fingerprint, problems or {})


def fingerprint(extractor: Mapping[str, Any]) -> str:
    """A short name of everything that decides the features' values."""
    text = json.dumps(extractor, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _key(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8"), digest_size=8).digest(), "little")


class FeatureWriter:
    """Adds images to a store, shard by shard; starting again on the same folder goes on where it stopped."""

    def __init__(
        self, folder: str | Path, extractor: Mapping[str, Any], *, width: int, shard_images: int = 2048
    ) -> None:
        self.folder = Path(folder)
        self.extractor = dict(extractor)
        self.width = width
        self.shard_images = shard_images
        self._pending: list[tuple[str, Array, Array]] = []
        self._shards: list[dict[str, Any]] = []
        self.folder.mkdir(parents=True, exist_ok=True)
        self._resume()

    def _resume(self) -> None:
        meta = self.folder / "meta.json"
        if meta.is_file():
            old = _read_json(meta)
            if old.get("fingerprint") != fingerprint(self.extractor):
                raise VericapError(
                    f"{self.folder} holds features of another extractor ({old.get('fingerprint')}, now "
                    f"{fingerprint(self.extractor)}); choose another `output=STORE` or delete the folder"
                )
        else:
            _write_json(meta, self._meta(complete=False))
        for sidecar in sorted(self.folder.glob("shard-*.json")):
            shard = _read_json(sidecar)
            _check_shard(self.folder, shard, self.width)
            self._shards.append(shard)

    def _meta(self, *, complete: bool) -> dict[str, Any]:
        shards = [{k: shard[k] for k in ("file", "images", "regions")} for shard in self._shards]
        return {
            "format": FORMAT,
            "version": VERSION,
            "fingerprint": fingerprint(self.extractor),
            "extractor": self.extractor,
            "width": self.width,
            "complete": complete,
            "images": sum(shard["images"] for shard in shards),
            "shards": shards,
        }

    def done(self) -> set[str]:
        """Ids that are safely in the store."""
        return {name for shard in self._shards for name in shard["ids"]}

    def add(self, name: str, features: Array, boxes: Array) -> None:
        """One image: (regions, width) features and (regions, 4) boxes as shares of the sides."""
        if features.ndim != 2 or features.shape[1] != self.width or boxes.shape != (len(features), 4):
            raise VericapError(
                f"image '{name}': features {features.shape} and boxes {boxes.shape} do not fit a store of "
                f"width {self.width}"
            )
        self._pending.append((name, features.astype(np.float16), boxes.astype(np.float16)))
        if len(self._pending) >= self.shard_images:
            self.flush()

    def flush(self) -> None:
        """Write what waits as one shard; its sidecar comes last, so a shard is there whole or not at all."""
        if not self._pending:
            return
        number = f"{len(self._shards):05d}"
        counts = [len(item[1]) for item in self._pending]
        save(self.folder / f"features-{number}.npy", np.concatenate([item[1] for item in self._pending]))
        save(self.folder / f"boxes-{number}.npy", np.concatenate([item[2] for item in self._pending]))
        shard = {
            "file": number,
            "images": len(counts),
            "regions": sum(counts),
            "ids": [item[0] for item in self._pending],
            "counts": counts,
        }
        _write_json(self.folder / f"shard-{number}.json", shard)
        self._shards.append(shard)
        self._pending.clear()

    def close(self) -> None:
        """Write the index; from here on the store can be opened."""
        self.flush()
        names: list[str] = []
        rows: list[tuple[int, int, int, int, int]] = []
        for number, shard in enumerate(self._shards):
            starts = np.concatenate([[0], np.cumsum(shard["counts"])])
            for name, count, start in zip(shard["ids"], shard["counts"], starts):
                rows.append((_key(name), number, count, int(start), len(names)))
                names.append(name)
        index = np.array(rows, dtype=_PLACE)
        index.sort(order="key")
        save(self.folder / "index.npy", index)
        encoded = [name.encode("utf-8") for name in names]
        width = max(map(len, encoded), default=1) or 1
        save(self.folder / "names.npy", np.array(encoded, dtype=f"S{width}"))
        _write_json(self.folder / "meta.json", self._meta(complete=True))

    def __enter__(self) -> FeatureWriter:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.flush()  # what was computed before the interruption is kept


class FeatureStore:
    """A feature store opened for reading."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        meta = self.folder / "meta.json"
        if not meta.is_file():
            raise InputError(f"{folder} is not a feature store (no meta.json); make one with `vericap features`")
        self.meta = _read_json(meta)
        if self.meta.get("format") != FORMAT or self.meta.get("version") != VERSION:
            raise InputError(f"{folder} is not a feature store of format {FORMAT} {VERSION}")
        if not self.meta["complete"]:
            raise InputError(f"{folder} was not finished; run the same `vericap features` command to complete it")
        self.fingerprint: str = self.meta["fingerprint"]
        self.width: int = self.meta["width"]
        for shard in self.meta["shards"]:
            _check_shard(self.folder, shard, self.width)
        self._index = _open(self.folder / "index.npy")
        self._names = _open(self.folder / "names.npy")
        if len(self._index) != self.meta["images"]:
            raise InputError(f"{folder} is damaged: {len(self._index)} of {self.meta['images']} images indexed")
        self._maps: dict[int, tuple[Array, Array]] = {}

    def __len__(self) -> int:
        return int(self.meta["images"])

    def ids(self) -> list[str]:
        """All image ids, in the order they were added."""
        return [name.decode("utf-8") for name in self._names]

    def _place(self, name: str) -> Any:
        key = _key(name)
        at = int(np.searchsorted(self._index["key"], np.uint64(key)))
        while at < len(self._index) and int(self._index["key"][at]) == key:
            place = self._index[at]
            if self._names[place["name"]].decode("utf-8") == name:
                return place
            at += 1
        return None

    def __contains__(self, name: str) -> bool:
        return self._place(name) is not None

    def get(self, name: str) -> tuple[Array, Array]:
        """(features, boxes) of one image, float16 views into the mapped files."""
        return self.at(self._required(name))

    def places(self, names: Sequence[str]) -> Array:
        """Where images lie, for `at`: looked up once, read as often as wanted."""
        return np.array([self._required(name) for name in names], dtype=_PLACE)

    def _required(self, name: str) -> Any:
        place = self._place(name)
        if place is None:
            raise InputError(
                f"image '{name}' is not in the feature store {self.folder} ({len(self)} images); "
                "add it with `vericap features`"
            )
        return place

    def at(self, place: Any) -> tuple[Array, Array]:
        """(features, boxes) of the image at a place."""
        features, boxes = self._map(int(place["shard"]))
        rows = slice(int(place["start"]), int(place["start"]) + int(place["count"]))
        return features[rows], boxes[rows]

    def _map(self, shard: int) -> tuple[Array, Array]:
        if shard not in self._maps:
            file = self.meta["shards"][shard]["file"]
            self._maps[shard] = (
                _open(self.folder / f"features-{file}.npy"),
                _open(self.folder / f"boxes-{file}.npy"),
            )
        return self._maps[shard]

    def regions(self, names: Iterable[str]) -> RegionTable:
        """The regions of several images; images that are not there become problems."""
        items: list[tuple[Array, Array] | None] = []
        problems: dict[int, str] = {}
        for row, name in enumerate(names):
            try:
                items.append(self.get(name))
            except InputError as error:
                items.append(None)
                problems[row] = str(error)
        return RegionTable.of(items, self.fingerprint, problems, self.width)


def check_same(store: str, store_name: str, model: str, model_name: str) -> None:
    """Refuse features a model was not trained on, naming both."""
    if store != model:
        raise VericapError(
            f"the features of {store_name} (fingerprint {store}) are not those the model {model_name} "
            f"was trained on (fingerprint {model}); extract them again with `vericap features`, or train on them"
        )


def _check_shard(folder: Path, shard: Mapping[str, Any], width: int) -> None:
    """Truncated files are found by their sizes alone."""
    for kind, columns in (("features", width), ("boxes", 4)):
        file = folder / f"{kind}-{shard['file']}.npy"
        wanted = shard["regions"] * columns * 2 + _HEADER
        size = file.stat().st_size if file.is_file() else -1
        if size < wanted:
            state = "is missing" if size < 0 else f"is truncated ({size} bytes, {wanted} expected)"
            raise InputError(f"{file} {state}; delete {folder} and run `vericap features` again")


def _open(file: Path) -> Array:
    try:
        found: Array = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read ({error}); make the store again with `vericap features`") from error
    return found


def save(file: Path, array: Array) -> None:
    """Write an array whole or not at all."""
    part = file.with_suffix(".part")
    with part.open("wb") as stream:
        np.save(stream, array, allow_pickle=False)
    os.replace(part, file)


def _write_json(file: Path, value: Mapping[str, Any]) -> None:
    part = file.with_suffix(".part")
    part.write_text(json.dumps(value), "utf-8")
    os.replace(part, file)


def _read_json(file: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read ({error})") from error
    return found

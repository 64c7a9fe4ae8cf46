"""The feature store: regions of many images, float16, memory-mapped, found by image id.

A store is a folder:

    meta.json               format, extractor and its fingerprint, width, the shards with size and SHA-256, a profile
                            of the values
    shard-00000.json        image ids and number of regions of one shard (written last: a shard without it
    is not there)
    features-00000.npy      (regions, width) float16
    boxes-00000.npy         (regions, 4) float16, x0 y0 x1 y1 as shares of the image's sides
    index.npy, names.npy    sorted 64-bit keys of the ids with their places; the ids themselves

Opening maps `index.npy` and reads `meta.json` only, so it takes milliseconds for any number of images.

Three things keep features and models together:

    fingerprint   the extractor: derived from its weights, or the name its user declares for files made elsewhere
    profile       mean of every channel (vision.profile): another extractor under a declared name is noticed
    content       SHA-256 of the shards: a training says which values it saw, `verify` finds changed files
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.errors import InputError, VericapError
from vericap.core.typing import Array
from vericap.vision.identity import CHOICE, check_profile, check_same, described, differences, fingerprint
from vericap.vision.profile import FeatureProfile
from vericap.vision.shards import PLACE, check_shard, digest, key_of, open_array, read_json, save, write_json

FORMAT = "vericap-regions"
VERSION = 1
_PROFILED = 512  # images whose values make the profile


@dataclass
class RegionTable:
    """Regions of the images of a batch, padded to the largest number of regions (`mask` tells which are
    there)."""

    features: Array  # (images, regions, width) float32
    boxes: Array  # (images, regions, 4) float32, shares of the image's sides
    mask: Array  # (images, regions) bool
    fingerprint: str
    problems: dict[int, str] = field(default_factory=dict)  # image -> why it has no regions
    profile: FeatureProfile | None = None  # of the store they come from, where its extractor is only declared
    extractor: Mapping[str, Any] = field(default_factory=dict)  # of that store

    @classmethod
    def of(
        cls,
        items: Sequence[tuple[Array, Array] | None],
        fingerprint: str,
        problems: dict[int, str] | None = None,
        width: int = 1,
        profile: FeatureProfile | None = None,
    ) -> RegionTable:
        """Pad per-image (features, boxes); None marks an image without regions. `width` is that of the features where
        no image has any."""
        present = [item for item in items if item is not None]
        most = max((len(item[0]) for item in present), default=1)
        width = present[0][0].shape[1] if present else width
        full = len(present) == len(items) and all(len(item[0]) == most for item in present)
        features = (np.empty if full else np.zeros)((len(items), most, width), dtype=np.float32)
        boxes = np.zeros((len(items), most, 4), dtype=np.float32)
        mask = np.zeros((len(items), most), dtype=bool)
        for row, item in enumerate(items):
            if item is not None:
                count = len(item[0])
                features[row, :count], boxes[row, :count], mask[row, :count] = item[0], item[1], True
        return cls(features, boxes, mask, fingerprint, problems or {}, profile)

    def part(self, regions: int, width: int, fingerprint: str) -> RegionTable:
        """The first regions of every image and the first values of each, which another extractor would give."""
        first = self.features[:, :regions, :width], self.boxes[:, :regions], self.mask[:, :regions]
        return RegionTable(*first, fingerprint, self.problems, self.profile, self.extractor)

    def check_fits(self, meta: Mapping[str, Any], where: str = "this run") -> None:
        """Refuse features that the model with this meta file was not trained on."""
        _check_same(self.fingerprint, self.extractor, where, meta)
        check_profile(self.profile, where, meta)


class FeatureWriter:
    """Adds images to a store, shard by shard; starting again on the same folder goes on where it stopped."""

    def __init__(
        self, folder: str | Path, extractor: Mapping[str, Any], *, width: int, shard_images: int = 2048
    ) -> None:
        self.folder = Path(folder)
        self.extractor = dict(extractor)
        self.width = width
        self.shard_images = shard_images
        self._pending: dict[str, tuple[Array, Array]] = {}
        self._shards: list[dict[str, Any]] = []
        self._kept: dict[str, tuple[int, int, int]] = {}  # id -> shard, first region, number of regions
        self.folder.mkdir(parents=True, exist_ok=True)
        self._resume()

    def _resume(self) -> None:
        meta = self.folder / "meta.json"
        if meta.is_file():
            old = read_json(meta)
            there, now = old.get("extractor", {}), json.loads(json.dumps(self.extractor))
            if there != now:
                raise VericapError(
                    f"{self.folder} holds features of another extractor ({described(there)}; now {described(now)}) or "
                    f"of other options: {differences(there, now)}; choose another `output=STORE` or delete the folder"
                )
        else:
            write_json(meta, self._meta(complete=False))
        for sidecar in sorted(self.folder.glob("shard-*.json")):
            shard = read_json(sidecar)
            check_shard(self.folder, shard, self.width)
            self._note(shard)

    def _note(self, shard: dict[str, Any]) -> None:
        starts = np.cumsum([0, *shard["counts"]]).tolist()
        for name, start, count in zip(shard["ids"], starts, shard["counts"]):
            self._kept[name] = (len(self._shards), start, count)
        self._shards.append(shard)

    def _meta(self, *, complete: bool) -> dict[str, Any]:
        names = ("file", "images", "regions", "sha256")
        shards = [{name: shard[name] for name in names if name in shard} for shard in self._shards]
        return {
            "format": FORMAT,
            "version": VERSION,
            "fingerprint": fingerprint(self.extractor),
            "extractor": self.extractor,
            "width": self.width,
            "complete": complete,
            "images": sum(shard["images"] for shard in shards),
            "most": max((count for shard in self._shards for count in shard["counts"]), default=0),
            "shards": shards,
        }

    def done(self) -> set[str]:
        """Ids that are safely in the store."""
        return set(self._kept)

    def profile(self) -> FeatureProfile | None:
        """What the values look like, from images spread over the store; None where there is none."""
        names = list(self._kept)
        if not names:
            return None
        chosen = np.unique(np.linspace(0, len(names) - 1, min(len(names), _PROFILED)).astype(np.int64))
        return FeatureProfile.of([self._values(names[place])[0] for place in chosen])

    def _values(self, name: str) -> tuple[Array, Array]:
        shard, start, count = self._kept[name]
        file = self._shards[shard]["file"]
        features, boxes = (open_array(self.folder / f"{kind}-{file}.npy") for kind in ("features", "boxes"))
        return features[start : start + count], boxes[start : start + count]

    def add_same(self, name: str, features: Array, boxes: Array) -> None:
        """One image of a file; one that is there already must have the same values."""
        if name not in self._kept and name not in self._pending:
            self.add(name, features, boxes)
            return
        there = self._pending.get(name) or self._values(name)
        if any(not np.array_equal(old, new.astype(np.float16)) for old, new in zip(there, (features, boxes))):
            raise InputError(
                f"image '{name}' is in {self.folder} already, with other values; put the files into two stores, or "
                "tell their images apart with `prefix=TEXT`"
            )

    def add(self, name: str, features: Array, boxes: Array) -> None:
        """One image: (regions, width) features and (regions, 4) boxes as shares of the sides."""
        if not len(features):
            raise InputError(f"image '{name}' has no region; leave it out of the feature files")
        if features.ndim != 2 or features.shape[1] != self.width or boxes.shape != (len(features), 4):
            raise VericapError(
                f"image '{name}': features {features.shape} and boxes {boxes.shape} do not fit a store of "
                f"width {self.width}"
            )
        self._pending[name] = (features.astype(np.float16), boxes.astype(np.float16))
        if len(self._pending) >= self.shard_images:
            self.flush()

    def flush(self) -> None:
        """Write what waits as one shard; its sidecar comes last, so a shard is there whole or not at all."""
        if not self._pending:
            return
        number = f"{len(self._shards):05d}"
        counts = [len(item[0]) for item in self._pending.values()]
        features, boxes = (np.concatenate(parts) for parts in zip(*self._pending.values()))
        save(self.folder / f"features-{number}.npy", features)
        save(self.folder / f"boxes-{number}.npy", boxes)
        shard = {
            "file": number,
            "images": len(counts),
            "regions": sum(counts),
            "ids": list(self._pending),
            "counts": counts,
            "sha256": digest(features, boxes),
        }
        write_json(self.folder / f"shard-{number}.json", shard)
        self._note(shard)
        self._pending.clear()

    def close(self) -> None:
        """Write the index; from here on the store can be opened."""
        self.flush()
        names: list[str] = []
        rows: list[tuple[int, int, int, int, int]] = []
        for number, shard in enumerate(self._shards):
            starts = np.concatenate([[0], np.cumsum(shard["counts"])])
            for name, count, start in zip(shard["ids"], shard["counts"], starts):
                rows.append((key_of(name), number, count, int(start), len(names)))
                names.append(name)
        index = np.array(rows, dtype=PLACE)
        index.sort(order="key")
        save(self.folder / "index.npy", index)
        encoded = [name.encode("utf-8") for name in names]
        width = max(map(len, encoded), default=1) or 1
        save(self.folder / "names.npy", np.array(encoded, dtype=f"S{width}"))
        found = self.profile()
        more = {} if found is None else {"profile": found.packed()}
        write_json(self.folder / "meta.json", {**self._meta(complete=True), **more})

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
        self.meta = read_json(meta)
        if self.meta.get("format") != FORMAT or self.meta.get("version") != VERSION:
            raise InputError(f"{folder} is not a feature store of format {FORMAT} {VERSION}")
        if not self.meta["complete"]:
            raise InputError(f"{folder} was not finished; run the same `vericap features` command to complete it")
        self.fingerprint: str = self.meta["fingerprint"]
        self.width: int = self.meta["width"]
        self.extractor: dict[str, Any] = self.meta.get("extractor", {})
        for shard in self.meta["shards"]:
            check_shard(self.folder, shard, self.width)
        self._index = open_array(self.folder / "index.npy")
        self._names = open_array(self.folder / "names.npy")
        if len(self._index) != self.meta["images"]:
            raise InputError(f"{folder} is damaged: {len(self._index)} of {self.meta['images']} images indexed")
        self._maps: dict[int, tuple[Array, Array]] = {}

    def __len__(self) -> int:
        return int(self.meta["images"])

    @property
    def most(self) -> int:
        """The largest number of regions of an image."""
        return int(self.meta["most"]) if "most" in self.meta else int(self._index["count"].max(initial=0))

    @property
    def signature(self) -> str:
        """The fingerprint, and how regions were chosen where that is not the extractor's own way."""
        chosen = [str(self.extractor[name]) for name in CHOICE if self.extractor.get(name, "none") != "none"]
        return "-".join([self.fingerprint, *chosen])

    @property
    def profile(self) -> FeatureProfile | None:
        """What the values look like; None where the extractor is known by its weights, which say more."""
        if "sha256" in self.extractor or "profile" not in self.meta:
            return None
        return FeatureProfile.unpacked(self.meta["profile"])

    @property
    def content(self) -> str:
        """SHA-256 over the values of all shards; empty for a store of an earlier version."""
        digests = [shard.get("sha256", "") for shard in self.meta["shards"]]
        return hashlib.sha256("".join(digests).encode()).hexdigest() if all(digests) else ""

    def trained_on(self) -> dict[str, Any]:
        """What a model's meta file says of the features it was trained on."""
        profile = {} if self.profile is None else {"profile": self.profile.packed()}
        known = {"fingerprint": self.fingerprint, "extractor": self.extractor, "width": self.width}
        return {**known, "regions": self.most, "images": len(self), "content": self.content, **profile}

    def check_fits(self, meta: Mapping[str, Any]) -> None:
        """Refuse the store for the model with this meta file."""
        _check_same(self.fingerprint, self.extractor, str(self.folder), meta)
        check_profile(self.profile, str(self.folder), meta)

    def verify(self) -> None:
        """Read all values and compare their SHA-256 with the one written with them."""
        for number, shard in enumerate(self.meta["shards"]):
            if "sha256" in shard and digest(*self._map(number)) != shard["sha256"]:
                raise InputError(
                    f"{self.folder}: the values of shard {shard['file']} have changed since they were written "
                    "(SHA-256 differs); make the store again with `vericap features`"
                )

    def ids(self) -> list[str]:
        """All image ids, in the order they were added."""
        return [name.decode("utf-8") for name in self._names]

    def _place(self, name: str) -> Any:
        key = key_of(name)
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
        return np.array([self._required(name) for name in names], dtype=PLACE)

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
                open_array(self.folder / f"features-{file}.npy"),
                open_array(self.folder / f"boxes-{file}.npy"),
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
        found = RegionTable.of(items, self.fingerprint, problems, self.width, self.profile)
        return replace(found, extractor=self.extractor)


def _check_same(own: str, extractor: Mapping[str, Any], where: str, meta: Mapping[str, Any]) -> None:
    trained = meta.get("features", {}).get("extractor", {})
    check_same(own, where, meta["fingerprint"], meta["name"], (extractor, trained))

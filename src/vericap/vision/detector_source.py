"""Detectors as a source of objects: images found, read, looked at once, results kept by image content."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from vericap.errors import InputError, Problem, VericapError
from vericap.run.cache import Cache
from vericap.run.progress import Bar, chunks
from vericap.vision import images
from vericap.vision.detector import FLOOR, SHIPPED, Detector
from vericap.vision.objects import Objects

if TYPE_CHECKING:
    from PIL.Image import Image

    from vericap.run.batch import Settings

_CHUNK = 64  # images between two writes to the cache
_HUB = "hub/"


class Detects(Protocol):
    """What a detector must offer to be a source."""

    name: str
    version: str
    threshold: float

    def detect(self, images: Sequence[Image], *, threshold: float | None = None) -> list[Objects]: ...


def detector_spec(spec: str) -> tuple[str, float | None] | None:
    """`model@threshold` -> model and threshold; None when the text names no detector."""
    model, sign, level = spec.rpartition("@")
    if not sign or not re.fullmatch(r"[0-9.]+", level):
        model, level = spec, ""
    if model != SHIPPED and not model.lower().endswith(".onnx") and not model.startswith(_HUB):
        return None
    if not level:
        return model, None
    try:
        threshold = float(level)
    except ValueError:
        threshold = -1.0
    if not 0 <= threshold <= 1:
        raise VericapError(f"the detector's threshold '{level}' is not between 0 and 1")
    return model, threshold


def open_detector(model: str, *, threads: int = 1) -> Detects:
    """`detector`, `path.onnx`, or `hub/NAME` (a hub name or a local folder), opened once."""
    return _opened(model, threads)


@lru_cache(maxsize=2)
def _opened(model: str, threads: int) -> Detects:
    if model == SHIPPED:
        return Detector.shipped(threads=threads)
    if model.startswith(_HUB):
        from vericap.vision.hub_detector import HubDetector

        return HubDetector(model[len(_HUB) :])
    return Detector.open(model, threads=threads)


class DetectorSource:
    """A detector and a threshold. The network is opened when an image is not in the cache."""

    def __init__(self, model: str, threshold: float | None = None) -> None:
        self.model, self._given = model, threshold

    @property
    def detector(self) -> Detects:
        return open_detector(self.model)

    @property
    def threshold(self) -> float:
        return self.detector.threshold if self._given is None else self._given

    @property
    def name(self) -> str:
        return f"{self.detector.name}/{self.detector.version}@{self.threshold:g}"

    def objects(self, keys: Sequence[str], settings: Settings) -> list[Objects | Problem]:
        """Objects per image key, the files found in the run's image folder."""
        if settings.images is None:
            raise VericapError(
                "the object detector needs the images; name their folder with --images DIR, "
                "or give objects with --objects FILE"
            )
        paths: list[Path | Problem] = []
        for key in keys:
            try:
                paths.append(images.find(key, settings.images))
            except InputError as error:
                paths.append(Problem(str(key), str(error)))
        threads = max(1, settings.workers)
        results = self.stream(paths, keys=keys, threads=threads, cache=settings.cache, progress=settings.progress)
        return list(results)

    def stream(
        self,
        paths: Sequence[Path | Problem],
        *,
        keys: Sequence[str] | None = None,
        threads: int = 1,
        cache: Path | None = None,
        progress: bool = False,
    ) -> Iterator[Objects | Problem]:
        """The objects of image files in order, or why one cannot be read; images are read as needed."""
        names = list(keys) if keys is not None else [str(path) for path in paths]
        detector = open_detector(self.model, threads=threads)
        store = Cache(_kind(detector), cache)
        rows = list(zip(names, paths))
        try:
            with Bar(what="objects", total=len(rows), show=progress, unit="image") as bar:
                for part in chunks(rows, _CHUNK):
                    for found in _detect_part(detector, part, store, threads):
                        yield found if isinstance(found, Problem) else found.above(self.threshold)
                    bar.advance(len(part))
        finally:
            store.close()


def _kind(detector: Detects) -> str:
    return "objects-" + re.sub(r"[^A-Za-z0-9.]+", "-", f"{detector.name}-{detector.version}")[:80]


def _detect_part(
    detector: Detects, part: Sequence[tuple[str, Path | Problem]], store: Cache, threads: int
) -> list[Objects | Problem]:
    """One chunk: read, look up by content, detect what is new, keep it."""
    contents = [_read(key, path) for key, path in part]
    names = [images.content_key(data) if isinstance(data, bytes) else "" for data in contents]
    known = store.get([name for name in dict.fromkeys(names) if name])
    table: dict[str, Objects | Problem] = {name: Objects.from_json(json.loads(value)) for name, value in known.items()}
    fresh: dict[str, tuple[str, bytes]] = {}
    for (key, _), name, data in zip(part, names, contents):
        if isinstance(data, bytes) and name not in table:
            fresh.setdefault(name, (key, data))
    for group in chunks(list(fresh.items()), max(4, 2 * threads)):  # few decoded images in memory at once
        table.update(_detect_group(detector, group, threads))
    store.put(
        (name, json.dumps(table[name].as_json()).encode())  # type: ignore[union-attr]
        for name in fresh
        if isinstance(table[name], Objects)
    )
    results: list[Objects | Problem] = []
    for (key, _), name, data in zip(part, names, contents):
        found = data if isinstance(data, Problem) else table[name]
        if isinstance(found, Problem):  # the same broken bytes may stand under several keys
            found = Problem(key, found.reason, found.source)
        results.append(found)
    return results


def _detect_group(
    detector: Detects, group: Sequence[tuple[str, tuple[str, bytes]]], threads: int
) -> dict[str, Objects | Problem]:
    def decode(item: tuple[str, tuple[str, bytes]]) -> Any:
        name, (key, data) = item
        try:
            return name, images.decode(data, key)
        except InputError as error:
            return name, Problem(key, str(error).removeprefix(f"{key}: "))

    if threads > 1:
        with ThreadPoolExecutor(threads) as pool:
            decoded = list(pool.map(decode, group))
    else:
        decoded = [decode(item) for item in group]
    table: dict[str, Objects | Problem] = {name: found for name, found in decoded if isinstance(found, Problem)}
    good = [(name, image) for name, image in decoded if name not in table]
    if good:
        found = detector.detect([image for _, image in good], threshold=FLOOR)
        table.update(zip((name for name, _ in good), found))
    return table


def _read(key: str, path: Path | Problem) -> bytes | Problem:
    if isinstance(path, Problem):
        return path
    try:
        return images.read(path)
    except InputError as error:
        return Problem(key, str(error).removeprefix(f"{path}: "))

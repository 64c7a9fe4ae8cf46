"""Photos, read and decoded once for everything that looks at them.

All analyses of pixels that a run asks for (`Pixels`) are computed in one pass: a photo's bytes are read, what each
analysis made of the same bytes before is taken from the cache, and only where something is new the photo is decoded,
once, and given to the networks one after the other.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from vericap.core.analysis import Analysis, Index, Value
from vericap.core.batch import Batch
from vericap.core.errors import InputError, Problem
from vericap.run.decoding import in_groups
from vericap.run.progress import chunks
from vericap.vision import images

if TYPE_CHECKING:
    from PIL.Image import Image

    from vericap.run.runtime import Runtime

_CHUNK = 64  # photos between two writes to the cache
decoded = 0  # photos decoded by this process, for tests that count

Found = bytes | Problem  # what an analysis made of a photo, or why the photo cannot be read
Table = dict[str, bytes]  # what an analysis made of photos, by the name of their content


@dataclass(frozen=True)
class Pixels(Analysis[Value]):
    """An analysis of photos: `look` makes bytes of a photo, `table` the value from all photos of a batch."""

    index: ClassVar[Index] = "image"
    pixels: ClassVar[bool] = True

    @abstractmethod
    def kind(self, runtime: Runtime) -> str:
        """Name of what is kept: it changes when the network does. Analyses of one kind share one look."""

    @abstractmethod
    def look(self, photos: Sequence[Image], runtime: Runtime) -> list[bytes]:
        """What is kept of each photo; there is at least one."""

    @abstractmethod
    def table(self, found: list[Found]) -> Value:
        """The value, from what `look` made of every image of the batch."""

    def compute(self, batch: Batch, runtime: Runtime) -> Value:
        (found,) = look_at(batch, [self], runtime)
        return self.table(found)


def look_at(batch: Batch, analyses: Sequence[Pixels[Any]], runtime: Runtime) -> list[list[Found]]:
    """What every analysis keeps of every image of a batch, from one pass over the photos."""
    folder = batch.settings.images
    if folder is None and not all(key in batch.photos for key in batch.image_keys):
        raise InputError(
            "the metrics asked for look at images; name their folder with `images=DIR`, "
            "or give objects with `objects=FILE` or features with `features=STORE`"
        )
    files = [
        (key, batch.photos[key] if key in batch.photos else _path(key, folder or Path())) for key in batch.image_keys
    ]
    rows = list(stream(files, analyses, runtime))
    return [[row[place] for row in rows] for place in range(len(analyses))]


def stream(
    files: Sequence[tuple[str, Path | bytes | Problem]], analyses: Sequence[Pixels[Any]], runtime: Runtime
) -> Iterator[list[Found]]:
    """What each analysis keeps of each file, files in order; a file is read when its turn comes."""
    wanted = [analysis.kind(runtime) for analysis in analyses]
    kinds = dict(zip(wanted, analyses))
    with runtime.bar("photos", len(files), "image") as bar:
        for part in chunks(list(files), _CHUNK):
            photos = [_read(key, path) for key, path in part]
            tables, broken = _look([photo for photo in photos if isinstance(photo, Photo)], kinds, runtime)
            for photo in photos:
                yield [_found(photo, tables[kind], broken) for kind in wanted]
            bar.advance(len(part))


@dataclass(frozen=True)
class Photo:
    """A file that was read. The same content has the same name, whatever it is called."""

    key: str
    name: str
    data: bytes


def _look(
    photos: Sequence[Photo], kinds: Mapping[str, Pixels[Any]], runtime: Runtime
) -> tuple[dict[str, Table], dict[str, str]]:
    """What every kind knows of some photos, kept or new; and why photos that had to be decoded could not be."""
    distinct = {photo.name: photo for photo in photos}
    tables: dict[str, Table] = {kind: runtime.cache.part(kind).get(list(distinct)) for kind in kinds}
    unseen = {kind: [name for name in distinct if name not in tables[kind]] for kind in kinds}
    needed = dict.fromkeys(name for names in unseen.values() for name in names)
    broken: dict[str, str] = {}
    global decoded
    decoded += len(needed)
    for group in in_groups([distinct[name] for name in needed], runtime.threads):
        broken |= {photo.name: reason for photo, reason in group if isinstance(reason, str)}
        good = {photo.name: image for photo, image in group if not isinstance(image, str)}
        for kind, analysis in kinds.items():
            new = [name for name in good if name in unseen[kind]]
            if new:
                tables[kind].update(zip(new, analysis.look([good[name] for name in new], runtime)))
    for kind, names in unseen.items():
        runtime.cache.part(kind).put((name, tables[kind][name]) for name in names if name not in broken)
    return tables, broken


def _found(photo: Photo | Problem, table: Table, broken: Mapping[str, str]) -> Found:
    if isinstance(photo, Problem):
        return photo
    return table[photo.name] if photo.name in table else Problem(photo.key, broken[photo.name])


def _path(key: str, folder: Path) -> Path | Problem:
    try:
        return images.find(key, folder)
    except InputError as error:
        return Problem(key, str(error))


def _read(key: str, path: Path | bytes | Problem) -> Photo | Problem:
    if isinstance(path, Problem):
        return path
    if isinstance(path, bytes):
        return Photo(key, images.content_key(path), path)
    try:
        data = images.read(path)
    except InputError as error:
        return Problem(key, str(error).removeprefix(f"{path}: "))
    return Photo(key, images.content_key(data), data)

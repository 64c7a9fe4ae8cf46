"""Photos of a report: thumbnails in chunks, and where the photo itself is."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from vericap.core.errors import InputError
from vericap.core.samples import Photo, Sample
from vericap.report.site.chunks import write_chunk
from vericap.run.progress import progress
from vericap.vision import images

if TYPE_CHECKING:
    from PIL.Image import Image

SIZE, QUALITY = 128, 68  # of thumbnails
LARGE, LARGE_QUALITY = 640, 72  # of photos that are copied
EACH = 48  # thumbnails in a chunk
FOLDER = "photos"


@dataclass
class Photos:
    """Distinct photos in the order they are met; `links` name the photo itself, relative to the report."""

    folder: Path | None
    output: Path
    copy: bool = False
    places: dict[str, int] = field(default_factory=dict)
    sources: list[Sample] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    sizes: list[list[int]] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    bytes: int = 0

    def place(self, sample: Sample) -> int:
        """The number of a sample's photo; -1 where it has none that could be shown."""
        if sample.image is None or (self.folder is None and sample.photo is None):
            return -1
        if sample.image not in self.places:
            self.places[sample.image] = len(self.sources)
            self.sources.append(sample)
        return self.places[sample.image]

    def write(self, *, show: bool = False) -> None:
        """Write all thumbnails; a photo that cannot be read is named in `problems` and shown as missing."""
        chunk: list[str] = []
        for number, sample in enumerate(progress(self.sources, what="thumbnails", unit="photo", show=show), 1):
            chunk.append(self._thumbnail(sample))
            if len(chunk) == EACH or number == len(self.sources):
                self.bytes += write_chunk(self.output, f"thumbs-{(number - 1) // EACH:04d}", chunk)
                chunk = []

    def _thumbnail(self, sample: Sample) -> str:
        name = sample.image or ""
        try:
            source: Photo = sample.photo if sample.photo is not None else images.find(name, self.folder or ".")
            data = source if isinstance(source, bytes) else images.read(source)
            photo = images.decode(data, name)
        except InputError as error:
            self.problems[name] = str(error)
            self.links.append("")
            self.sizes.append([4, 3])
            return ""
        self.sizes.append(list(photo.size))
        self.links.append(self._link(photo, source, len(self.links)))
        return base64.b64encode(webp(photo, SIZE, QUALITY)).decode("ascii")

    def _link(self, photo: Image, source: Photo, number: int) -> str:
        if self.copy:
            name = f"{FOLDER}/{number:05d}.webp"
            data = webp(photo, LARGE, LARGE_QUALITY)
            try:
                (self.output / FOLDER).mkdir(parents=True, exist_ok=True)
                (self.output / name).write_bytes(data)
            except OSError as error:
                raise InputError(f"{self.output / name}: cannot be written ({error.strerror or error})") from error
            self.bytes += len(data)
            return name
        return "" if isinstance(source, bytes) else link(source, self.output)


def webp(photo: Image, size: int, quality: int) -> bytes:
    """A photo made small, as WebP."""
    small = photo.copy()
    small.thumbnail((size, size), reducing_gap=2.0)
    stream = io.BytesIO()
    small.save(stream, "WEBP", quality=quality, method=4)
    return stream.getvalue()


def link(path: Path, output: Path) -> str:
    """A file as a page in the report's folder names it."""
    try:
        return quote(Path(os.path.relpath(path.absolute(), output.absolute())).as_posix())
    except ValueError:  # another drive
        return path.absolute().as_uri()


def gathered(samples: Iterable[Sample], photos: Photos) -> list[int]:
    """The photo of each sample, by number."""
    return [photos.place(sample) for sample in samples]

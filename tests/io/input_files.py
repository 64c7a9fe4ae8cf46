"""Captions and photos of a user, in the layouts that inputs have; shared by the tests of readers."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

from PIL import Image

from vericap.core.samples import Sample
from vericap.io import load

TEXTS = {"a": "a dog runs", "b": "two cats sleep"}


def photo(shade: int) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (8, 6), (shade, 0, 0)).save(stream, "PNG")
    return stream.getvalue()


PHOTOS = {"a": photo(10), "b": photo(200)}


def samples(path: object, **options: object) -> list[Sample]:
    loaded = load(path, **options)  # type: ignore[arg-type]
    assert loaded.problems == []
    return loaded.samples


def captions(path: object, **options: object) -> dict[str, str]:
    return {sample.id: sample.candidate for sample in samples(path, **options)}


def pixels(found: Sample) -> int:
    data = found.photo.read_bytes() if isinstance(found.photo, Path) else found.photo
    assert data is not None
    return Image.open(io.BytesIO(data)).getpixel((0, 0))[0]


def add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    archive.addfile(member, io.BytesIO(data))


def tar(path: Path, keys: str = "ab") -> Path:
    with tarfile.open(path, "w") as archive:
        for key in keys:
            add(archive, f"{key}.png", PHOTOS[key])
            add(archive, f"{key}.txt", TEXTS[key].encode())
            add(archive, f"{key}.json", json.dumps({"url": f"http://x/{key}", "width": 8}).encode())
    return path

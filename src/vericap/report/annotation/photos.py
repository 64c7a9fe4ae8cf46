"""Photos of a campaign: small, upright, without what a camera writes beside the pixels."""

from __future__ import annotations

import io
import os
from pathlib import Path, PurePosixPath

from vericap.core.errors import InputError
from vericap.core.keys import content_key
from vericap.vision import images

FOLDER = "photos"
SIZE, QUALITY = 640, 82
_KEPT_BYTES = 400_000
_ENDINGS = {".jpg": (".jpg", ".jpeg"), ".webp": (".webp",)}
_METADATA = {"exif", "xmp", "photoshop", "comment"}


def relative_key(key: str, folder: Path) -> str:
    """An image key as a path below the image folder: it also names the photo inside the campaign."""
    path = images.find(key, folder)  # refuses keys that point outside
    if os.path.isabs(key):
        key = os.path.relpath(os.path.abspath(path), os.path.abspath(folder))
    return PurePosixPath(os.path.normpath(key.replace("\\", "/")).replace("\\", "/")).as_posix()


def reduced(path: Path, size: int = SIZE) -> tuple[bytes, str]:
    """A photo's bytes for the page, and the ending of their format.

    A small JPEG without metadata stays as it is, so that metrics see the very pixels they always see. All else is
    decoded and written anew, which also drops places, dates and names that cameras write into files.
    """
    from PIL import Image, features

    data = images.read(path)
    photo = images.decode(data, str(path))
    if max(photo.size) <= size and len(data) <= _KEPT_BYTES:
        with Image.open(io.BytesIO(data)) as opened:
            if opened.format == "JPEG" and not _METADATA & set(opened.info):
                return data, ".jpg"
    photo.thumbnail((size, size), Image.Resampling.LANCZOS)
    stream = io.BytesIO()
    kind = "WEBP" if features.check("webp") else "JPEG"
    photo.save(stream, kind, quality=QUALITY)
    return stream.getvalue(), ".webp" if kind == "WEBP" else ".jpg"


def put(key: str, source: Path, output: Path, size: int = SIZE) -> tuple[str, str]:
    """Write the photo of a key into a campaign; its path there and the key of its bytes.

    The name is the key with the format's ending, so that `meta` finds the photo under the key that records use.
    """
    data, ending = reduced(images.find(key, source), size)
    name = key if PurePosixPath(key).suffix.lower() in _ENDINGS[ending] else f"{key}{ending}"
    target = output / FOLDER / name
    try:
        if target.exists():
            raise InputError(f"the photo of '{key}' would replace another one ({FOLDER}/{name})")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    except OSError as error:
        raise InputError(f"{target}: the photo cannot be written ({error.strerror or error})") from error
    found = images.find(key, output / FOLDER)
    if found != target:
        raise InputError(f"the image key '{key}' cannot be told from another one ({found.name})")
    return f"{FOLDER}/{name}", content_key(data)

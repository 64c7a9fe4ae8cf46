"""Image files: found by key, decoded with care, named by content.

A file's extension is a hint for finding it and nothing more; what it holds is decided by its bytes.
Only raster formats decoded inside Pillow are opened (its EPS reader would start another program).
"""

from __future__ import annotations

import glob
import io
import os
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from vericap.core import keys
from vericap.core.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "MPO", "JPEG2000", "AVIF")
# fmt: off
SUFFIXES = (
    ".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".ppm", ".jp2", ".avif",
    ".JPG", ".JPEG", ".PNG",
)
# fmt: on
MAX_BYTES = 256 * 1024 * 1024
MAX_PIXELS = 80_000_000  # 240 MB as RGB; a photo of a 61-megapixel camera passes

_COCO_ID = re.compile(r"^(?:COCO_(?:train|val|test)20\d\d_)?0*(\d{1,12})$")
_COCO_NAMES = tuple(
    f"{prefix}{{:012d}}.jpg" for prefix in ("", "COCO_val2014_", "COCO_train2014_", "COCO_test2014_", "COCO_test2015_")
)
_MAGIC = re.compile(
    rb"\xff\xd8\xff|\x89PNG\r\n|GIF8[79]a|BM|II\*\0|MM\0\*|P[1-6]\s|RIFF....WEBP|\0\0\0\x0cjP  |....ftypavi",
    re.DOTALL,
)


def find(key: str | int, folder: str | Path) -> Path:
    """The file of an image key inside a folder.

    A key is a file name or a path below the folder, with or without extension, or a COCO image id.
    Keys come from data files, so one that points outside the folder is refused;
    links that lie in the folder are followed.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InputError(f"the image folder {root} does not exist; name an existing folder with `images=DIR`")
    inside = _inside(str(key), root)
    for name in _names(inside):
        found = root / name
        if found.is_file():
            return found
    raise InputError(f"no image '{key}' in {root} (tried the name, other extensions, the COCO file names)")


def _inside(key: str, root: Path) -> PurePosixPath:
    """The key as a path relative to the folder; an InputError when it leaves the folder."""
    if "\0" in key or not key.strip():
        raise InputError(f"the image key {key!r} is empty or holds a NUL character")
    if os.path.isabs(key):
        key = os.path.relpath(os.path.abspath(key), os.path.abspath(root))
    path = PurePosixPath(os.path.normpath(key.replace("\\", "/")).replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or re.match(r"^[A-Za-z]:", str(path)):
        raise InputError(f"the image key '{key}' points outside the image folder {root}")
    return path


def _names(inside: PurePosixPath) -> Iterator[str]:
    """File names to try for a key, the most literal first."""
    for base in dict.fromkeys((inside, PurePosixPath(inside.name))):
        yield str(base)
        for suffix in SUFFIXES:
            yield f"{base}{suffix}"
        known = base.suffix.lower() in SUFFIXES
        if known:
            for suffix in SUFFIXES:
                yield str(base.with_suffix(suffix))
        number = _COCO_ID.match(base.stem if known else base.name)
        if number:
            for pattern in _COCO_NAMES:
                yield str(base.with_name(pattern.format(int(number.group(1)))))


def read(path: str | Path) -> bytes:
    """The bytes of an image file, or an InputError saying why not."""
    path = Path(path)
    try:
        if not path.is_file():
            raise InputError(f"{path}: {'a folder, not an image' if path.is_dir() else 'no such file'}")
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise InputError(f"{path}: {size >> 20} MB; the limit for one image is {MAX_BYTES >> 20} MB")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except ValueError as error:  # a NUL in the path
        raise InputError(f"{str(path)!r}: is not a file name ({error})") from error
    if not data:
        raise InputError(f"{path}: the file is empty (0 bytes)")
    return data


def load_image(path: str | Path) -> Image:
    """An image file as a viewer shows it: RGB, upright, first frame, white where it is transparent."""
    return decode(read(path), str(path))


def decode(data: bytes, name: str = "image") -> Image:
    """Encoded image -> RGB image; every failure is an InputError that names the image and the reason."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's own bomb warning: the limit below is lower
            image = opened(data)
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise InputError(
                    f"{name}: {width} x {height} pixels are more than the limit of "
                    f"{MAX_PIXELS // 10**6} million; reduce the image first"
                )
            image.load()
            ImageOps.exif_transpose(image, in_place=True)  # no copy of those that are upright
            return _rgb(image)
    except InputError:
        raise
    except Image.DecompressionBombError as error:
        raise InputError(f"{name}: far too many pixels, a decompression bomb ({error})") from error
    except UnidentifiedImageError as error:
        raise InputError(f"{name}: not an image in a known format ({', '.join(FORMATS)})") from error
    except MemoryError as error:
        raise InputError(f"{name}: too large for this machine's memory") from error
    except Exception as error:  # decoders raise anything on damaged data
        raise InputError(f"{name}: damaged or truncated image ({error or type(error).__name__})") from error


def opened(data: bytes) -> Image:
    """An image whose header is read. Rarer formats are loaded when a file is in none of the usual ones."""
    from PIL import Image, UnidentifiedImageError

    Image.preinit()
    try:
        return Image.open(io.BytesIO(data), formats=[name for name in FORMATS if name in Image.OPEN])
    except UnidentifiedImageError:
        Image.init()
        return Image.open(io.BytesIO(data), formats=[name for name in FORMATS if name in Image.OPEN])


def _rgb(image: Image) -> Image:
    """RGB of any mode; transparent pixels show white, 16-bit and float grey keep their range."""
    from PIL import Image

    if image.mode == "RGB":
        return image
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        return _deep_grey(image)
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        layer = image.convert("RGBA")
        white = Image.new("RGBA", layer.size, "white")
        return Image.alpha_composite(white, layer).convert("RGB")
    return image.convert("RGB")


def _deep_grey(image: Image) -> Image:
    """16-bit, 32-bit and float grey reduced to 8 bits; Pillow's own conversion would clip at 255."""
    import numpy as np
    from PIL import Image

    values = np.nan_to_num(np.asarray(image, dtype=np.float64))
    top = float(values.max(initial=0.0))
    scale = 1.0 if top <= 255 else 255.0 / max(65535.0, top)
    if image.mode == "F" and top <= 1.0:
        scale = 255.0
    return Image.fromarray(np.clip(values * scale, 0, 255).round().astype(np.uint8)).convert("RGB")


def content_key(data: bytes) -> str:
    """The name of an image's content, for caches."""
    return keys.content_key(data)


@dataclass(frozen=True)
class ImageFile:
    """An image file with the key results are written under."""

    key: str
    path: Path


def gather(sources: Iterable[str | Path]) -> list[ImageFile]:
    """Image files named by files, folders (searched below), globs and text lists (`.txt`, one path per line).

    In folders a file counts as an image by extension or by its first bytes; a file named outright is always
    taken, so that what cannot be read is reported. Keys are paths below the folder, else file names.
    """
    found: dict[str, ImageFile] = {}
    for source in sources:
        for item in _expand(str(source)):
            found.setdefault(os.path.abspath(item.path), item)
    files = list(found.values())
    names = [item.key for item in files]
    if len(set(names)) == len(names):
        return files
    clash = {name for name in names if names.count(name) > 1} if len(names) < 10_000 else set(names)
    return [ImageFile(str(item.path), item.path) if item.key in clash else item for item in files]


def _expand(source: str) -> Iterator[ImageFile]:
    path = Path(source)
    if path.is_dir():
        for root, folders, files in os.walk(path):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(files):
                file = Path(root, name)
                if not name.startswith(".") and _looks_like_image(file):
                    yield ImageFile(file.relative_to(path).as_posix(), file)
    elif path.suffix.lower() in (".txt", ".lst") and path.is_file():
        yield from _listed(path)
    elif not path.exists() and glob.has_magic(source):
        matches = [Path(name) for name in sorted(glob.glob(source, recursive=True))]
        if not matches:
            raise InputError(f"no file matches {source}")
        yield from (ImageFile(match.name, match) for match in matches if match.is_file())
    else:
        yield ImageFile(path.name, path)


def _listed(path: Path) -> Iterator[ImageFile]:
    """Paths in a text list, relative to the list's folder or to where the program runs."""
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as a list of image paths ({error})") from error
    for line in filter(None, map(str.strip, lines)):
        beside = path.parent / line
        yield ImageFile(Path(line).name, beside if beside.exists() else Path(line))


def begins_like_image(data: bytes) -> bool:
    """Whether bytes begin like an image of a format that is read."""
    return _MAGIC.match(data[:16]) is not None


def _looks_like_image(file: Path) -> bool:
    if file.suffix.lower() in SUFFIXES:
        return True
    try:
        with file.open("rb") as stream:
            return begins_like_image(stream.read(16))
    except OSError:
        return False

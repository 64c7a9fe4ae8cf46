"""What Python programs hold: records, tables of pandas, Arrow and `datasets`, images as PIL has them and as arrays."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.errors import InputError
from vericap.core.samples import Photo
from vericap.io.records import PLAIN, Fields, check_columns, each_caption, rename

Columns = dict[str, list[Any]]
SHARED = "shared"  # whether the id is that of an image, or of a record with several captions: then it may repeat
NUMBERS = "numbers"  # of the records, for those without ids
_KNOWN = ("id", "candidate", "references", "image", "objects")


def given_table(given: Any, fields: Fields = PLAIN) -> Columns | None:
    """The known columns of a table or of a list of records; None where it is neither.

    Examples
    --------
    >>> given_table([{"id": 7, "caption": "a dog"}, {"id": 8, "caption": "a cat"}])
    {'id': [7, 8], 'candidate': ['a dog', 'a cat'], 'shared': [False, False], 'numbers': ['0', '1']}
    """
    if hasattr(given, "to_pydict"):  # Arrow
        names, rows = _rows(given.to_pydict())
    elif hasattr(given, "columns") and hasattr(given, "to_dict"):  # pandas
        names, rows = _rows(given.to_dict(orient="list"))
    elif hasattr(given, "column_names") and hasattr(given, "__getitem__") and hasattr(given, "__len__"):
        # A Dataset decodes its images row by row.
        names, rows = list(given.column_names), [dict(given[place]) for place in range(len(given))]
    elif isinstance(given, Sequence) and len(given) and all(isinstance(item, Mapping) for item in given):
        rows = [dict(item) for item in given]
        names = list(dict.fromkeys(name for row in rows for name in row))
    else:
        return None
    return _columns(names, rows, fields)


def _rows(columns: Mapping[Any, Sequence[Any]]) -> tuple[list[Any], list[dict[Any, Any]]]:
    return list(columns), [dict(zip(columns, cells)) for cells in zip(*columns.values())]


def _columns(names: list[Any], rows: list[dict[Any, Any]], fields: Fields) -> Columns:
    if fields != PLAIN:
        check_columns(names, "the table", fields)
    there = rename(dict.fromkeys(names), fields)
    if "candidate" not in there:
        raise InputError(
            f"the table has no column 'candidate'; its columns: {', '.join(map(str, names))}; "
            "name the one of the captions with `caption_field=NAME`"
        )
    records = []
    for number, row in enumerate(rows):
        record = {**rename(row, fields), NUMBERS: str(number)}
        records += each_caption({**record, "candidate": _listed(record.get("candidate"))})
    found = {name: [record.get(name) for record in records] for name in _KNOWN if name in there}
    found[SHARED] = [
        bool(one.get("several")) or ("image_id" in one and one["image_id"] == one["id"]) for one in records
    ]
    found[NUMBERS] = [record[NUMBERS] for record in records]
    if "references" in found:
        found["references"] = [_listed(cell) for cell in found["references"]]
    return found


def captions_of(value: Any) -> list[Any]:
    """The captions of an id: one, or those of a list."""
    return value if isinstance(value, list) and len(value) > 1 else [value]


def _listed(references: Any) -> Any:
    return references.tolist() if isinstance(references, np.ndarray) else references


def photo_of(image: Any, key: Any) -> tuple[Any, Photo | None]:
    """The name of an image, and its bytes or file where it is more than a name.

    Examples
    --------
    >>> photo_of("dog.jpg", 1)
    ('dog.jpg', None)
    >>> name, photo = photo_of(np.zeros((4, 4, 3), np.uint8), 1)
    >>> name, photo[:4]
    ('1', b'\\x89PNG')
    """
    if isinstance(image, str):
        return image, Path(image) if os.path.isabs(image) else None
    if isinstance(image, Path):
        return str(image), image
    if isinstance(image, bytes | bytearray):
        return str(key), bytes(image)
    if isinstance(image, Mapping):  # as `datasets` keeps images that are not decoded
        data, path = image.get("bytes"), image.get("path")
        return photo_of(bytes(data), key) if data else photo_of(path, key)
    if isinstance(image, np.ndarray):
        return str(key), _encoded(_image_of(image))
    if hasattr(image, "save") and hasattr(image, "size"):
        return str(key), _encoded(image)
    return image, None


def _image_of(pixels: Any) -> Any:
    """An image from height x width (x 1, 3 or 4) numbers: bytes, or shares of 1."""
    from PIL import Image

    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] not in (3, 4)) or not pixels.size:
        raise InputError(f"the image is an array of shape {pixels.shape}; give height x width x 3")
    if pixels.dtype.kind == "f":
        if not np.isfinite(pixels).all():
            raise InputError("the image is an array with NaN or infinity; give bytes, or shares of 1")
        pixels = np.clip(pixels, 0.0, 1.0) * 255.0
    elif pixels.dtype != np.uint8 and (pixels.min() < 0 or pixels.max() > 255):
        raise InputError(f"the image is an array of {pixels.dtype} outside 0 .. 255; give bytes, or shares of 1")
    return Image.fromarray(np.asarray(pixels.round(), dtype=np.uint8))


def _encoded(image: Any) -> bytes:
    """PNG: nothing is lost, and the cache knows the same picture again. Upright, as a file of it is read."""
    from PIL import ImageOps

    image = ImageOps.exif_transpose(image)
    stream = io.BytesIO()
    try:
        image.save(stream, "PNG", compress_level=1)
    except (OSError, ValueError):
        stream = io.BytesIO()
        image.convert("RGB").save(stream, "PNG", compress_level=1)
    return stream.getvalue()

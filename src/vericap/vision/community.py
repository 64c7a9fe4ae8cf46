"""Region features of others, read as they are: SCAN arrays, bottom-up TSV, one .npz per image, HDF5.

Every reader yields (image id, features (regions, d), boxes (regions, 4) as shares of the sides); boxes are the whole
image where a file has none. Nothing is unpickled.
"""

from __future__ import annotations

import base64
import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.errors import InputError, require
from vericap.core.typing import Array

Item = tuple[str, Array, Array]
TSV_FIELDS = ("image_id", "image_w", "image_h", "num_boxes", "boxes", "features")
_LXMERT = ("image_id", "image_h", "image_w", "labels", "scores", "names", "sure", "num_boxes", "boxes", "features")
_BESIDE = ("boxes", "bbox", "grids", "probability")  # what HDF5 files say beside an image's features


def whole(count: int) -> Array:
    return np.tile(np.array([0.0, 0.0, 1.0, 1.0], dtype=np.float32), (count, 1))


def scan_arrays(file: str | Path, ids: str | Path | None = None) -> Iterator[Item]:
    """SCAN's `{split}_ims.npy` (images, regions, d) with `{split}_ids.txt`; images repeated five times come once.

    Boxes are in `{split}_boxes.npy` (images, regions, 4), in pixels with `{split}_ims_size.npy` (images, 2), as later
    programs write them.
    """
    file = Path(file)
    ids = Path(ids) if ids is not None else file.with_name(file.name.replace("_ims.npy", "_ids.txt"))
    try:
        features = np.load(file, mmap_mode="r", allow_pickle=False)
        names = ids.read_text("utf-8").split()
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: not a SCAN feature array with ids beside it ({error})") from error
    if features.ndim != 3:
        raise InputError(f"{file}: {features.ndim} dimensions where (images, regions, d) are expected")
    repeat = len(names) // max(len(features), 1)
    if repeat * len(features) != len(names) or not repeat:
        raise InputError(f"{ids}: {len(names)} ids do not fit {len(features)} images of {file}")
    boxes, sizes = (_beside(file, kind, len(features)) for kind in ("boxes", "ims_size"))
    for place, row in enumerate(features):
        wide, high = (None, None) if sizes is None else map(float, sizes[place][:2])
        given = None if boxes is None else np.asarray(boxes[place])
        yield names[place * repeat], np.asarray(row), _shares(given, wide, high, len(row))


def _beside(file: Path, kind: str, images: int) -> Array | None:
    """An array that stands beside the features, if it does."""
    other = file.with_name(file.name.replace("_ims.npy", f"_{kind}.npy"))
    if other == file or not other.is_file():
        return None
    try:
        found: Array = np.load(other, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InputError(f"{other} cannot be read ({error})") from error
    if len(found) != images:
        raise InputError(f"{other}: {len(found)} rows do not fit {images} images of {file}")
    return found


def bottom_up(file: str | Path) -> Iterator[Item]:
    """The TSV of bottom-up attention, or LXMERT's: base64 of float32 boxes (pixels) and features."""
    csv.field_size_limit(sys.maxsize)
    with Path(file).open(newline="", encoding="utf-8") as stream:
        for line, values in enumerate(csv.reader(stream, delimiter="\t"), 1):
            row = dict(zip(_LXMERT if len(values) == len(_LXMERT) else TSV_FIELDS, values))
            try:
                count = int(row["num_boxes"])
                boxes = np.frombuffer(base64.b64decode(row["boxes"]), np.float32).reshape(count, 4)
                features = np.frombuffer(base64.b64decode(row["features"]), np.float32).reshape(count, -1)
                size = np.array([float(row["image_w"]), float(row["image_h"])] * 2, dtype=np.float32)
            except (TypeError, ValueError, KeyError) as error:
                raise InputError(f"{file}, line {line}: not a bottom-up record ({error})") from error
            yield row["image_id"], features, np.clip(boxes / size, 0.0, 1.0)


def npz_files(folder: str | Path) -> Iterator[Item]:
    """One `.npz` (or `.npy`) per image: `x`, `feat` or `features`, with `bbox` or `boxes` and the image's size."""
    files = sorted([*Path(folder).glob("*.npz"), *Path(folder).glob("*.npy")])
    if not files:
        raise InputError(f"{folder}: no .npz or .npy file")
    for file in files:
        try:
            with np.load(file, allow_pickle=False) if file.suffix == ".npz" else _single(file) as found:
                features = next(found[name] for name in ("features", "feat", "x", "arr_0") if name in found)
                boxes = next((found[name] for name in ("boxes", "bbox") if name in found), None)
                if boxes is not None and len(features) != len(boxes) == features.shape[-1]:
                    features = features.T  # as OpenVQA keeps them
                wide = next((float(found[name]) for name in ("image_w", "width") if name in found), None)
                high = next((float(found[name]) for name in ("image_h", "height") if name in found), None)
        except (OSError, ValueError, StopIteration) as error:
            raise InputError(f"{file}: no region features inside ({error})") from error
        yield file.stem, features, _shares(boxes, wide, high, len(features))


class _single(dict[str, Array]):
    """A plain .npy behaves like a one-entry .npz."""

    def __init__(self, file: Path) -> None:
        super().__init__(features=np.load(file, allow_pickle=False))

    def __enter__(self) -> _single:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()


def _shares(boxes: Array | None, wide: float | None, high: float | None, count: int) -> Array:
    if boxes is None or len(boxes) != count:
        return whole(count)
    boxes = np.asarray(boxes, dtype=np.float32)[:, :4]
    if boxes.max(initial=0.0) <= 1.0:
        return np.clip(boxes, 0.0, 1.0)  # shares already
    wide, high = wide or float(boxes[:, 2].max()), high or float(boxes[:, 3].max())
    return np.clip(boxes / np.array([wide, high, wide, high], dtype=np.float32), 0.0, 1.0)


def hdf5(file: str | Path) -> Iterator[Item]:
    """HDF5: a group or dataset per image id (`<id>_features`, `<id>_boxes`), or `features` + `ids` arrays."""
    h5py = require("h5py", "train", "HDF5 feature files")
    try:
        opened = h5py.File(file, "r")
    except OSError as error:
        raise InputError(f"{file}: not an HDF5 file ({error})") from error
    with opened as found:
        if "features" in found and "ids" in found:
            yield from _rows(found)
            return
        names = [name.removesuffix("_features") for name in found if not _entry(name, found)]
        for name in names:
            item = found.get(f"{name}_features", found.get(name))
            boxes = found.get(f"{name}_boxes")
            if hasattr(item, "keys"):
                item, boxes = item["features"], item.get("boxes")
            features = np.asarray(item)
            yield name, features, _shares(None if boxes is None else np.asarray(boxes), None, None, len(features))


def _rows(found: Any) -> Iterator[Item]:
    """One array of all images' features, with ids and maybe boxes and sizes."""
    boxes = next((found[name] for name in ("boxes", "image_bb") if name in found), None)
    sizes = [found.get(name) for name in ("image_w", "image_h")]
    for place, (name, features) in enumerate(zip(found["ids"], found["features"])):
        text = name.decode() if isinstance(name, bytes) else str(name)
        wide, high = (None if size is None else float(size[place]) for size in sizes)
        given = None if boxes is None else np.asarray(boxes[place])
        yield text, np.asarray(features), _shares(given, wide, high, len(features))


def _entry(name: str, found: Any) -> bool:
    """Is this what is said beside an image's features, not an image?"""
    stem, _, kind = name.rpartition("_")
    if name.endswith(("_cls_prob", "_attr_prob")):
        stem, kind = stem.rpartition("_")[0], "probability"
    return kind in _BESIDE and (f"{stem}_features" in found or stem in found)


def read(path: str | Path) -> Iterator[Item]:
    """Features of any known form, told apart by the path."""
    path = Path(path)
    if path.is_dir():
        return npz_files(path)
    if path.suffix == ".tsv":
        return bottom_up(path)
    if path.suffix in (".h5", ".hdf5"):
        return hdf5(path)
    if path.suffix == ".npy":
        return scan_arrays(path)
    raise InputError(f"{path}: not a known form of region features (.npy with ids, .tsv, .h5, a folder of .npz)")

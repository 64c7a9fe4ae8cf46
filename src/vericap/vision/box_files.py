"""Boxes of many images as tables: one line per image, `image_id <tab> class,x,y,w,h class,x,y,w,h ...`.

The numbers are the box's centre and size as shares of the image's sides; `class` is a place in `box_classes.json`
beside the file, a list of labels.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

from vericap.core.errors import InputError, Problem
from vericap.vision.objects import ImageObjects, Instance

CLASSES = "box_classes.json"
SUFFIXES = (".tsv", ".tsv.gz")
UNIT = (1, 1)  # boxes are shares: of an image of one by one


def is_box_file(path: Path) -> bool:
    return path.name.lower().endswith(SUFFIXES)


def box_files(folder: Path) -> list[Path]:
    """The tables of a folder: `boxes_*.tsv` and `boxes_*.tsv.gz`; none where it holds something else."""
    return sorted(file for file in folder.glob("boxes_*") if is_box_file(file)) if folder.is_dir() else []


def stem(file: Path) -> str:
    """A table's name without its endings."""
    return file.name.split(".")[0]


class BoxTable:
    """Lines of several tables by image; a line is read when its image is asked for."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.name = "+".join(map(stem, files))
        self._classes = {file.parent: _classes(file.parent) for file in files}
        self._lines: dict[str, tuple[Path, str]] = {}
        for file in files:
            for number, line in enumerate(_text(file).splitlines(), 1):
                key, tab, boxes = line.partition("\t")
                if line.strip() and not tab:
                    raise InputError(f"{file}, line {number}: expected 'image_id<tab>class,x,y,w,h ...'")
                self._lines[key] = file, boxes

    def find(self, key: str) -> ImageObjects | Problem | None:
        """The objects of an image; None where no table has it."""
        if key not in self._lines:
            return None
        file, boxes = self._lines[key]
        try:
            return ImageObjects.of([self._instance(file, box) for box in boxes.split()], UNIT)
        except (ValueError, IndexError) as error:
            return Problem(key, f"its boxes cannot be read: {error}", file.name)

    def _instance(self, file: Path, text: str) -> Instance:
        kind, *numbers = text.split(",")
        x, y, width, height = map(float, numbers)
        label = self._classes[file.parent][int(kind)]
        return label, None, (x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def _classes(folder: Path) -> list[str]:
    path = folder / CLASSES
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: the labels of the box tables beside it cannot be read ({error})") from error
    if not isinstance(found, list) or not all(isinstance(label, str) for label in found):
        raise InputError(f"{path}: expected a list of labels")
    return found


def _text(file: Path) -> str:
    try:
        data = file.read_bytes()
        return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: cannot be read as a table of boxes ({error})") from error

"""Objects that people or programs wrote down: COCO instances, PASCAL VOC, plain JSON, detection lines, box tables."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from vericap.core.errors import InputError, Problem
from vericap.core.paths import no_such_file
from vericap.vision.box_files import BoxTable, box_files, is_box_file, stem
from vericap.vision.objects import Box, ImageObjects, Instance, of_labels
from vericap.vision.stamp import Stamp, stamp

MAX_XML = 10 * 1024 * 1024
_COCO_NUMBER = re.compile(r"^(?:COCO_[a-z]+20\d\d_)?0*(\d+)$")


def spellings(key: str) -> list[str]:
    """Ways a record may call an image: as it is, its file name, without extension, its COCO number."""
    name = PurePosixPath(key.replace("\\", "/")).name
    stem = re.sub(r"\.[A-Za-z]{3,4}\d?$", "", name)
    number = _COCO_NUMBER.match(stem)
    return list(dict.fromkeys([key, name, stem, *([number.group(1)] if number else [])]))


class Annotated:
    """A table image -> objects, looked up by any spelling of the image's key."""

    def __init__(self, name: str, table: Mapping[str, ImageObjects | Problem]) -> None:
        self.name = name
        self._table: dict[str, ImageObjects | Problem] = {}
        for key, found in table.items():
            for spelling in spellings(key):
                self._table.setdefault(spelling, found)
        self._table.update(table)  # the exact key wins

    def objects(self, keys: Sequence[str]) -> list[ImageObjects | Problem]:
        return [self.one(key) for key in keys]

    def one(self, key: str) -> ImageObjects | Problem:
        for spelling in spellings(str(key)):
            if spelling in self._table:
                return self._table[spelling]
        return Problem(str(key), "no objects are given for this image", self.name)


class Boxes(Annotated):
    """Tables of boxes, whose lines are read when an image is asked for."""

    def __init__(self, table: BoxTable) -> None:
        super().__init__(table.name, {})
        self._boxes = table

    def one(self, key: str) -> ImageObjects | Problem:
        found = (self._boxes.find(spelling) for spelling in spellings(str(key)))
        return next((item for item in found if item is not None), super().one(key))


def check_source(path: Path) -> None:
    """Refuse what is no file or folder of annotations, without opening it."""
    if not path.is_dir() and not re.search(r"\.((jsonl?|tsv)(\.gz)?|xml)$", path.name.lower()):
        raise InputError(
            f"the object source '{path}' is not known; give detector, a .json / .jsonl / .tsv of boxes / VOC folder, "
            "a detector as model.onnx or hub/NAME, or several joined by '+'"
        )
    if not path.exists():
        raise InputError(no_such_file(path))


def source_name(path: Path) -> str:
    """What a signature says of a file or folder: its name and, of a JSON file, a digest of its content.

    Of a folder of boxes it names the tables.
    """
    tables = [path] if is_box_file(path) else box_files(path)
    if tables:
        return "+".join(map(stem, tables))
    return _name(path, stamp(path)) if path.suffix.lower() != ".xml" and not path.is_dir() else path.name


@lru_cache(maxsize=64)
def _name(path: Path, _: Stamp) -> str:
    return f"{path.name}:{_digest(_text(path))}"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()


def open_source(path: Path) -> Annotated:
    """The annotations in a file or folder, their kind found out by content."""
    if is_box_file(path) or box_files(path):
        return Boxes(BoxTable([path] if is_box_file(path) else box_files(path)))
    if path.is_dir():
        return Annotated(path.name, voc_folder(path))
    if path.suffix.lower() == ".xml":
        return Annotated(path.name, dict([voc_file(path)]))
    text = _text(path)
    name = f"{path.name}:{_digest(text)}"
    if re.search(r"\.jsonl(\.gz)?$", path.name.lower()):
        return Annotated(name, detection_lines(text, path))
    try:
        data = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error})") from error
    if isinstance(data, dict) and isinstance(data.get("annotations"), list) and "categories" in data:
        return Annotated(name, coco_instances(data, path))
    if isinstance(data, dict):
        return Annotated(name, {str(key): _entry(str(key), value, path) for key, value in data.items()})
    if isinstance(data, list):
        return Annotated(name, records(data, path))
    raise InputError(f"{path}: expected COCO instances or {{image: labels}}, found {type(data).__name__}")


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
        return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as an object file ({error})") from error


def _entry(key: str, value: Any, path: Path) -> ImageObjects | Problem:
    try:
        return of_labels(value)
    except (ValueError, TypeError, KeyError) as error:
        return Problem(key, f"its objects cannot be read: {error}", str(path))


def detection_lines(text: str, path: Path) -> dict[str, ImageObjects | Problem]:
    """One JSON record a line, as `vericap detect` writes them."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError as error:
                raise InputError(f"{path}, line {number}: not JSON ({error})") from error
    return records(rows, path)


def records(rows: Sequence[Any], path: Path) -> dict[str, ImageObjects | Problem]:
    """Records {"image": key, "labels": ...}; `id` or `image_id` serve as the key too."""
    table: dict[str, ImageObjects | Problem] = {}
    for number, row in enumerate(rows, 1):
        key = (
            next((row[k] for k in ("image", "image_id", "id") if row.get(k) is not None), None)
            if isinstance(row, dict)
            else None
        )
        if key is None:
            raise InputError(f"{path}, record {number}: names no image ('image', 'image_id' or 'id')")
        if row.get("error"):
            table[str(key)] = Problem(str(key), str(row["error"]), path.name)
        else:
            table[str(key)] = _entry(str(key), row.get("objects", row), path)
    return table


def coco_instances(data: Mapping[str, Any], path: Path) -> dict[str, ImageObjects | Problem]:
    """COCO instances JSON; images without annotations are images without objects."""
    try:
        names = {category["id"]: str(category["name"]) for category in data["categories"]}
        images = {image["id"]: image for image in data.get("images") or ()}
        rows: dict[Any, list[Instance]] = {key: [] for key in images}
        for item in data["annotations"]:
            box = item.get("bbox")
            corners = None if not box else (box[0], box[1], box[0] + box[2], box[1] + box[3])
            rows.setdefault(item["image_id"], []).append((names[item["category_id"]], item.get("score"), corners))
    except (KeyError, TypeError, IndexError) as error:
        raise InputError(f"{path}: not COCO instances as the COCO tools write them ({error!r})") from error
    table: dict[str, ImageObjects | Problem] = {}
    for key, found in rows.items():
        image = images.get(key, {})
        size = (int(image["width"]), int(image["height"])) if {"width", "height"} <= image.keys() else None
        objects = ImageObjects.of(found, size)
        table[str(key)] = objects
        if image.get("file_name"):
            table.setdefault(str(image["file_name"]), objects)
    return table


def voc_folder(folder: Path) -> dict[str, ImageObjects | Problem]:
    """A folder of PASCAL VOC XML files; one that cannot be read is a problem of its image alone."""
    files = sorted(folder.rglob("*.xml"))
    if not files:
        raise InputError(f"{folder}: no PASCAL VOC .xml file in this folder")
    table: dict[str, ImageObjects | Problem] = {}
    for file in files:
        try:
            key, objects = voc_file(file)
            table[key] = objects
            table.setdefault(file.stem, objects)
        except InputError as error:
            table[file.stem] = Problem(file.stem, str(error), folder.name)
    return table


def voc_file(file: Path) -> tuple[str, ImageObjects]:
    """The image name and objects of one VOC file."""
    root = _xml(file)
    if root.tag != "annotation":
        raise InputError(f"{file}: the root is <{root.tag}>, not <annotation>: not a PASCAL VOC file")
    number: Callable[[Any, str], float] = lambda node, tag: float(node.findtext(tag))  # noqa: E731
    rows: list[Instance] = []
    try:
        for item in root.findall("object"):
            label, box = item.findtext("name"), item.find("bndbox")
            if not label:
                raise InputError(f"{file}: an <object> has no <name>")
            corners: Box | None = None
            if box is not None:
                corners = (number(box, "xmin"), number(box, "ymin"), number(box, "xmax"), number(box, "ymax"))
            rows.append((label, None, corners))
        size = root.find("size")
        shape = None if size is None else (int(number(size, "width")), int(number(size, "height")))
    except (TypeError, ValueError) as error:
        raise InputError(f"{file}: a box or size is not a number ({error})") from error
    return root.findtext("filename") or file.stem, ImageObjects.of(rows, shape)


def _xml(file: Path) -> Any:
    """Parsed without document types, hence without entities that could expand or read other files."""
    from xml.etree import ElementTree

    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error})") from error
    if len(data) > MAX_XML:
        raise InputError(f"{file}: {len(data) >> 20} MB is too large for one image's annotations")
    # An encoding other than UTF-8 could hide the declaration from this check.
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: not UTF-8 ({error})") from error
    if re.search(r"<!\s*(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise InputError(f"{file}: declares a document type or entities, which are not read")
    try:
        return ElementTree.fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text))
    except ElementTree.ParseError as error:
        raise InputError(f"{file}: not well-formed XML ({error})") from error

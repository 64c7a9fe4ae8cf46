"""What readers share: lines with their numbers, tables, COCO captions, number cells."""

from __future__ import annotations

import ast
import csv
import gzip
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from vericap.core.errors import InputError


def text_of(path: Path) -> str:
    """A text file, gzipped or not, as UTF-8."""
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from error
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error


def first_of(folder: Path, *names: str) -> Path:
    """The first of these files that exists in the folder, plain or gzipped."""
    for name in names:
        for found in (folder / name, folder / f"{name}.gz"):
            if found.is_file():
                return found
    raise InputError(f"{folder}: none of these files is there: {', '.join(names)}")


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines that are not blank."""
    for number, line in enumerate(text_of(path).splitlines(), 1):
        if line.strip():
            yield number, line


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Numbered JSON objects, one per line."""
    for number, line in lines(path):
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"{path}, line {number}: not JSON ({error.msg})") from error
        if not isinstance(record, dict):
            raise InputError(f"{path}, line {number}: a {type(record).__name__}, not an object")
        yield number, record


def json_file(path: Path) -> Any:
    try:
        return json.loads(text_of(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}, line {error.lineno}: not JSON ({error.msg})") from error


def table(path: Path, *, delimiter: str = ",") -> Iterator[tuple[int, dict[str, str]]]:
    """Numbered rows of a CSV or TSV file with a header."""
    csv.field_size_limit(10_000_000)
    reader = csv.DictReader(text_of(path).splitlines(keepends=True), delimiter=delimiter)
    if not reader.fieldnames:
        raise InputError(f"{path}: empty, a header line was expected")
    for row in reader:
        yield reader.line_num, {key: value or "" for key, value in row.items() if key is not None}


def need(record: dict[str, Any], names: Sequence[str], path: Path, number: int) -> Any:
    """The first of these fields that the record has, or an InputError naming the place."""
    for name in names:
        if record.get(name) not in (None, ""):
            return record[name]
    raise InputError(f"{path}, line {number}: no {' or '.join(names)}; it has: {', '.join(record)}")


def number(value: Any, path: Path, line: int, what: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"{path}, line {line}: {what} {value!r} is not a number") from None


def listed(value: Any, path: Path, line: int) -> tuple[str, ...]:
    """References in a cell: a list, its JSON or Python spelling, or texts separated by ' || '."""
    if isinstance(value, list | tuple):
        return tuple(map(str, value))
    text = str(value).strip()
    if text.startswith("["):
        try:
            return tuple(map(str, json.loads(text)))
        except json.JSONDecodeError:
            pass  # the Python spelling, with single quotes, is tried next
        try:
            return tuple(map(str, ast.literal_eval(text)))
        except (ValueError, SyntaxError):
            raise InputError(f"{path}, line {line}: the list of references cannot be read") from None
    return tuple(part.strip() for part in text.split("||") if part.strip())


def coco_captions(path: Path) -> dict[str, tuple[str, ...]]:
    """Captions by image id from a COCO captions file or a plain {image: [captions]} file."""
    data = json_file(path)
    if isinstance(data, dict) and "annotations" not in data:
        return {str(image): tuple(texts) for image, texts in data.items()}
    found: dict[str, list[str]] = {}
    for annotation in data["annotations"]:
        found.setdefault(str(annotation["image_id"]), []).append(annotation["caption"].strip())
    return {image: tuple(texts) for image, texts in found.items()}


def flickr_captions(path: Path) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """(caption id -> caption, image -> captions) from a Flickr token file: `image#n <tab> caption`."""
    by_id: dict[str, str] = {}
    by_image: dict[str, list[str]] = {}
    for line, text in lines(path):
        key, tab, caption = text.partition("\t")
        if not tab or "#" not in key:
            raise InputError(f"{path}, line {line}: expected `image#number <tab> caption`")
        by_id[key] = caption.strip()
        by_image.setdefault(key.rpartition("#")[0], []).append(caption.strip())
    return by_id, {image: tuple(texts) for image, texts in by_image.items()}


def present(folder: Path, *names: str) -> Path | None:
    """The first of these folders that exists."""
    for name in names:
        if (folder / name).is_dir():
            return folder / name
    return None


def coco_references(folder: Path, wanted: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Captions of some COCO images, from the files of COCO beside the data set or in ../coco; none without them."""
    missing = set(wanted)
    found: dict[str, tuple[str, ...]] = {}
    for part in ("val", "train"):
        name = f"captions_{part}2014.json"
        places = [base / spelt for base in (folder, folder.parent / "coco") for spelt in (name, f"{name}.gz")]
        path = next((place for place in places if place.is_file()), None)
        if missing and path is not None:
            captions = coco_captions(path)
            found.update({image: captions[image] for image in missing & set(captions)})
            missing -= set(found)
    return found


def coco_id(name: Any) -> str:
    """A COCO image or caption id without prefix, ending and zeros: `COCO_val2014_000000000042.jpg` is 42."""
    digits = re.findall(r"\d+", str(name).removesuffix(".jpg"))
    return str(int(digits[-1])) if digits else str(name)

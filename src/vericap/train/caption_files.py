"""Captions to train on, from the files people have.

    .json           COCO's `annotations`, Karpathy's `images` with `sentences`, or one object {image: caption(s)}
    .jsonl          {"image": ..., "caption": ...} or {"image": ..., "captions": [...]}; `id` and `text` are read too
    .csv, .tsv      a first line that names the columns `image` and `caption`
    .txt, .token    Flickr's `name.jpg#0<TAB>caption`, or `name<TAB>caption`

Each may be packed by gzip (`.gz`).
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from vericap.core.errors import InputError

Said = tuple[str, str]  # image, caption
_IMAGE, _TEXT = ("image", "image_id", "image_name", "file_name", "filename", "id"), ("captions", "caption", "text")


def read_captions(file: Path) -> Iterator[Said]:
    """Images with a caption each, in the file's order; captions without a word are left out."""
    kind = Path(file.stem).suffix if file.suffix == ".gz" else file.suffix
    readers = {".json": _json, ".jsonl": _lines, ".csv": _table, ".tsv": _tabs, ".txt": _flickr, ".token": _flickr}
    if kind not in readers:
        raise InputError(f"{file}: captions are read from {', '.join(readers)} (or with .gz), not from '{kind}'")
    try:
        for image, text in readers[kind](_text(file)):
            if text.strip():
                yield image, text.strip()
    except (KeyError, TypeError, AttributeError, ValueError, csv.Error) as error:
        raise InputError(f"{file} holds no captions that can be read ({error})") from error


def _text(file: Path) -> str:
    try:
        data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        return data.decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read ({error})") from error


def _json(text: str) -> Iterator[Said]:
    found = json.loads(text)
    if isinstance(found, list):
        yield from _records(found)
    elif isinstance(found.get("annotations"), list):
        yield from ((str(item["image_id"]), str(item["caption"])) for item in found["annotations"])
    elif isinstance(found.get("images"), list):
        for item in found["images"]:
            name = str(item.get("filename") or item.get("cocoid") or item["imgid"])
            yield from ((name, str(said["raw"])) for said in item["sentences"])
    else:
        yield from (said for image, captions in found.items() for said in _said(image, captions))


def _lines(text: str) -> Iterator[Said]:
    yield from _records(json.loads(line) for line in text.splitlines() if line.strip())


def _records(records: Iterable[Mapping[str, Any]]) -> Iterator[Said]:
    for number, record in enumerate(records, 1):
        image, captions = (next((record[n] for n in names if n in record), None) for names in (_IMAGE, _TEXT))
        if image is None or captions is None:
            raise ValueError(f"record {number} has no image or no caption: {', '.join(record)}")
        yield from _said(image, captions)


def _said(image: object, captions: object) -> Iterator[Said]:
    for text in captions if isinstance(captions, list) else [captions]:
        if not isinstance(text, str):
            raise ValueError(f"the caption {text!r} of image '{image}' is no text")
        yield str(image), text


def _table(text: str, delimiter: str = ",") -> Iterator[Said]:
    yield from _records(csv.DictReader(io.StringIO(text), delimiter=delimiter))


def _tabs(text: str) -> Iterator[Said]:
    yield from _table(text, "\t")


def _flickr(text: str) -> Iterator[Said]:
    for number, line in enumerate(text.splitlines(), 1):
        name, tab, caption = line.partition("\t")
        if line.strip() and not tab:
            raise ValueError(f"line {number} has no tab between image and caption")
        stem, mark, place = name.rpartition("#")
        yield (stem if mark and place.isdigit() else name), caption

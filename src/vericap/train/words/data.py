"""Photos, captions and boxes brought together for the training of visual words."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core import shipped
from vericap.core.errors import InputError
from vericap.core.typing import Ints
from vericap.graphs.scene_graph import SceneGraph
from vericap.train import data, kept
from vericap.train.maps import MapStore, extract
from vericap.train.words.boxes import PhotoBoxes
from vericap.train.words.training import WordsData
from vericap.train.words.vocabulary import Said, Vocabulary, told_by_photo
from vericap.vision.backbone import open_backbone
from vericap.vision.mentions import class_of

DEV = 1000  # photos of COCO that validate
_FLICKR = "flickr8k/"  # before the names of its photos among the maps


@dataclass(frozen=True)
class Told:
    """Photos with the graphs of their captions."""

    keys: list[str]
    graphs: list[Sequence[SceneGraph]]

    def part(self, rows: Iterable[int]) -> Told:
        chosen = list(rows)
        return Told([self.keys[row] for row in chosen], [self.graphs[row] for row in chosen])


def maps_of(photos: Path, flickr8k: Path | None, folder: Path, *, threads: int) -> MapStore:
    """Maps of all photos of a folder and of Flickr8k; those that are not there yet are made."""
    keys = sorted(file.name for file in photos.iterdir() if file.suffix.lower() in (".jpg", ".jpeg", ".png"))
    flickr = flickr8k / "Images" if flickr8k else None
    keys += sorted(_FLICKR + file.name for file in flickr.iterdir()) if flickr else []

    def read(key: str) -> bytes:
        return (flickr / key.removeprefix(_FLICKR) if flickr and key.startswith(_FLICKR) else photos / key).read_bytes()

    meta = shipped.meta("backbone")
    file, size = shipped.path("backbone", meta["model"]), int(meta["size"])
    name = meta["files"][meta["model"]][:16]
    return extract(keys, read, open_backbone(file, side=size), folder, size=size, name=name, threads=threads)


def told(args: Any, maps: MapStore) -> Told:
    """Every photo that may be trained on and has maps, with the graphs of its captions."""
    left_out = held_out(args.held_out)
    coco = data.coco(args.captions, never=args.never)
    found = [(name, own) for key, own in zip(coco.keys, coco.captions) if key not in left_out for name in _named(key)]
    if args.flickr8k:
        flickr = data.flickr8k(args.flickr8k, "train")
        found += [(_FLICKR + key, own) for key, own in zip(flickr.keys, flickr.captions)]
    there = set(maps.keys)
    found = [(key, own) for key, own in found if key in there]
    if not found:
        raise InputError("no photo with captions has feature maps; are `photos=DIR` and `captions=FILE` of one set?")
    captions = [own for _, own in found]
    graphs = kept.graphs([text for own in captions for text in own], threads=args.threads)
    return Told([key for key, _ in found], list(told_by_photo(graphs, captions)))


def _named(key: str) -> tuple[str, ...]:
    return (f"{int(key):012d}.jpg",) if key.isdigit() else (key,)


def held_out(files: Sequence[str | Path]) -> set[str]:
    """Image ids of files: one per line, or JSONL with `image_id`; .gz too."""
    found: set[str] = set()
    for file in files:
        opened = gzip.open if str(file).endswith(".gz") else open
        try:
            with opened(file, "rt", encoding="utf-8") as stream:
                rows = [line.strip() for line in stream if line.strip()]
            found |= {str(json.loads(row)["image_id"]) if row.startswith("{") else row for row in rows}
        except (OSError, ValueError, KeyError) as error:
            raise InputError(f"{file} is no list of image ids ({error})") from error
    return found


def divided(photos: Told) -> tuple[Told, Told]:
    """What trains, and what validates: some of COCO's photos, drawn by their names."""
    from hashlib import sha256

    own = [row for row, key in enumerate(photos.keys) if not key.startswith(_FLICKR)]
    chosen = set(sorted(own, key=lambda row: sha256(photos.keys[row].encode()).digest())[: min(DEV, len(own) // 10)])
    return photos.part(row for row in range(len(photos.keys)) if row not in chosen), photos.part(sorted(chosen))


def assembled(photos: Told, maps: MapStore, vocabulary: Vocabulary, boxes: dict[int, PhotoBoxes]) -> WordsData:
    """Photos with their rows among the maps, what is said of them, and their boxes."""
    own = [None if key.startswith(_FLICKR) else boxes.get(_number(key)) for key in photos.keys]
    return WordsData(maps, maps.rows(photos.keys), Said.of(photos.graphs, vocabulary), own)


def _number(key: str) -> int:
    stem = Path(key).stem.rpartition("_")[2]
    return int(stem) if stem.isdigit() else -1


def entry_classes(vocabulary: Vocabulary, classes: Sequence[str]) -> Ints:
    """For every entry the class of boxes that shows it, -1 where none or more than one does."""
    places = {name: number for number, name in enumerate(classes)}
    found = np.full(len(vocabulary), -1, dtype=np.int64)
    for number, (kind, text) in enumerate(vocabulary.entries):
        named = class_of(text) if kind == "object" else ()
        if len(named) == 1:
            found[number] = places[named[0]]
    return found

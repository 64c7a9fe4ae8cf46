"""Reading the hand-checked captions, and tuple precision and recall against them."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

Tuple = tuple[str, ...]
HERE = Path(__file__).resolve().parent
ROOT = Path(os.environ.get("VERICAP_DATA", HERE.parents[3] / "shared" / "data"))
SETS = ("written", "robot", "jsts")  # by the rules of this package; "gold" is by the paper's


def load(part: str, name: str = "gold") -> list[tuple[str, set[Tuple]]]:
    """Captions of a set and part ("dev", "test") with their tuples; those of "jsts" are read from VERICAP_DATA."""
    lines = [line for line in (HERE / f"{name}_{part}.txt").read_text("utf-8").splitlines() if line[:1] != "#"]
    captions = [_captions()[key] for key in lines[::2]] if name == "jsts" else lines[::2]
    return [(caption, read(tuples)) for caption, tuples in zip(captions, lines[1::2])]


def has_captions() -> bool:
    """Whether JSTS's training part is at hand."""
    return (ROOT / "japanese" / "jsts_train.jsonl.gz").is_file()


@cache
def _captions() -> dict[str, str]:
    with gzip.open(ROOT / "japanese" / "jsts_train.jsonl.gz", "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    return {_key(row[side]): row[side] for row in rows for side in ("sentence1", "sentence2")}


def _key(caption: str) -> str:
    return hashlib.sha256(caption.encode("utf-8")).hexdigest()[:16]


def read(line: str) -> set[Tuple]:
    return {tuple(item.split("/")) for item in line.split()}


def agreement(gold: Iterable[set[Tuple]], found: Iterable[set[Tuple]]) -> tuple[float, float, float]:
    """Tuple precision, recall and F1 over all captions."""
    right = said = wanted = 0
    for one, other in zip(gold, found):
        right += len(one & other)
        said += len(other)
        wanted += len(one)
    precision, recall = right / said, right / wanted
    return precision, recall, 2 * precision * recall / (precision + recall)

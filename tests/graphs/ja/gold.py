"""Reading the hand-checked captions, and tuple precision and recall against them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

Tuple = tuple[str, ...]
HERE = Path(__file__).resolve().parent


def load(part: str) -> list[tuple[str, set[Tuple]]]:
    """Captions of a part ("dev", "test") with their tuples."""
    lines = [line for line in (HERE / f"gold_{part}.txt").read_text("utf-8").splitlines() if line[:1] != "#"]
    return [(caption, read(tuples)) for caption, tuples in zip(lines[::2], lines[1::2])]


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

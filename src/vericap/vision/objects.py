"""The objects of one image: labels with counts and, where known, scores and places."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from vericap.core.errors import Problem

Box = tuple[float, float, float, float]  # x0, y0, x1, y1 in pixels of the upright image
Instance = tuple[str, float | None, Box | None]  # label, score, box

# Names of the same class in other label sets -> the COCO name.
SYNONYMS = {
    "aeroplane": "airplane", "plane": "airplane", "motorbike": "motorcycle", "sofa": "couch",
    "bike": "bicycle",
    "tvmonitor": "tv", "tv monitor": "tv", "television": "tv", "pottedplant": "potted plant",
    "diningtable": "dining table", "mobile phone": "cell phone", "hair dryer": "hair drier",
    "doughnut": "donut", "fridge": "refrigerator", "stoplight": "traffic light",
    "trafficlight": "traffic light",
}  # fmt: skip
# Labels written as one word that are two: a word vector or a reader needs the blank.
_SPLIT = {"pottedplant": "potted plant", "diningtable": "dining table", "tvmonitor": "tv monitor"}


def tidy(label: str) -> str:
    """A label as words: lower case, blanks for underscores and hyphens ("dining-table"; a "t-shirt" keeps its own)."""
    plain = re.sub(r"[\s_]+|(?<=\w\w)-(?=\w\w)", " ", label).strip().lower()
    return _SPLIT.get(plain, plain)


def canonical(label: str) -> str:
    """The COCO name of a class where the label set is known to call it otherwise."""
    return SYNONYMS.get(label, label)


@dataclass(frozen=True)
class ImageObjects:
    """The distinct labels of one image with, for each, how often and, where known, how sure and where."""

    labels: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    scores: tuple[tuple[float, ...], ...] = ()  # per label, best first; empty where unknown
    boxes: tuple[tuple[Box, ...], ...] = ()  # per label, in the order of its scores; empty where unknown
    size: tuple[int, int] | None = None  # width and height the boxes refer to

    @classmethod
    def of(cls, found: Iterable[Instance], size: tuple[int, int] | None = None) -> ImageObjects:
        """From instances (label, score, box), surest first; without scores in the order given."""
        groups: dict[str, list[tuple[float | None, Box | None]]] = {}
        ordered = sorted(found, key=lambda item: -(1.0 if item[1] is None else item[1]))
        for label, score, box in ordered:
            groups.setdefault(tidy(label), []).append((score, box))
        return cls(
            tuple(groups),
            tuple(map(len, groups.values())),
            tuple(tuple(score for score, _ in group if score is not None) for group in groups.values()),
            tuple(tuple(box for _, box in group if box is not None) for group in groups.values()),
            size,
        )

    @classmethod
    def counted(cls, counts: Mapping[str, int]) -> ImageObjects:
        """From label -> count; zero counts vanish."""
        total: dict[str, int] = {}
        for label, count in counts.items():
            if count > 0:
                total[tidy(label)] = total.get(tidy(label), 0) + int(count)
        nothing: tuple[tuple[Any, ...], ...] = ((),) * len(total)
        return cls(tuple(total), tuple(total.values()), nothing, nothing)

    def __len__(self) -> int:
        return len(self.labels)

    def as_counts(self) -> dict[str, int]:
        return dict(zip(self.labels, self.counts))

    def above(self, threshold: float) -> ImageObjects:
        """The instances at least this sure; instances without a score stay."""
        kept = [
            item
            for label, count, scores, boxes in zip(self.labels, self.counts, self.scores, self.boxes)
            for item in _instances(label, count, scores, boxes)
            if item[1] is None or item[1] >= threshold
        ]
        return ImageObjects.of(kept, self.size)

    def instances(self) -> list[Instance]:
        """One row per instance: label, score, box."""
        columns = zip(self.labels, self.counts, self.scores, self.boxes)
        return [item for column in columns for item in _instances(*column)]

    def region(self, label: str) -> Box | None:
        """The surest box of a label as shares of the image's sides; None where no box or no size is known."""
        boxes = dict(zip(self.labels, self.boxes)).get(label)
        if not boxes or self.size is None or not all(self.size):
            return None
        x0, y0, x1, y1 = boxes[0]
        width, height = self.size
        return x0 / width, y0 / height, x1 / width, y1 / height

    def union(self, other: ImageObjects) -> ImageObjects:
        """Labels of either; a label of both is one label, with the larger count and its places."""
        mine = {canonical(label): place for place, label in enumerate(self.labels)}
        columns: list[list[Any]] = [list(c) for c in zip(self.labels, self.counts, self.scores, self.boxes)]
        for label, *others in zip(other.labels, other.counts, other.scores, other.boxes):
            rest: list[Any] = list(others)
            place = mine.get(canonical(label))
            if place is None:
                mine[canonical(label)] = len(columns)
                columns.append([label, *rest])
            elif rest[0] > columns[place][1]:
                columns[place][1:] = rest
        if not columns:
            return ImageObjects(size=self.size or other.size)
        labels, counts, scores, boxes = (tuple(column) for column in zip(*columns))
        return ImageObjects(labels, counts, scores, boxes, self.size or other.size)

    def as_json(self) -> dict[str, Any]:
        """As `vericap detect` writes it."""
        rows = self.instances()
        return {
            "labels": [label for label, _, _ in rows],
            "scores": [score for _, score, _ in rows],
            "boxes": [box for _, _, box in rows],
            "size": self.size,
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> ImageObjects:
        """The inverse of as_json; `scores` and `boxes` may be missing."""
        labels = record["labels"]
        if isinstance(labels, Mapping):
            return cls.counted(labels)
        scores = record.get("scores") or [None] * len(labels)
        boxes = record.get("boxes") or [None] * len(labels)
        if not len(labels) == len(scores) == len(boxes):
            raise ValueError("labels, scores and boxes differ in length")
        size = record.get("size")
        rows = [(str(label), s, tuple(b) if b else None) for label, s, b in zip(labels, scores, boxes)]
        return cls.of(rows, (int(size[0]), int(size[1])) if size else None)


def _instances(label: str, count: int, scores: Sequence[float], boxes: Sequence[Box]) -> list[Instance]:
    return [(label, scores[i] if i < len(scores) else None, boxes[i] if i < len(boxes) else None) for i in range(count)]


def union(found: Iterable[ImageObjects | Problem]) -> ImageObjects | Problem:
    """Labels of an image by any of several sources; a source that cannot tell of it is a problem."""
    rows = list(found)
    problem = next((item for item in rows if isinstance(item, Problem)), None)
    return problem or reduce(ImageObjects.union, (item for item in rows if isinstance(item, ImageObjects)))


def of_labels(given: Any) -> ImageObjects:
    """Objects from what a record or a plain JSON file says: [label, ...], {label: count} or detections."""
    if isinstance(given, ImageObjects):
        return given
    if isinstance(given, Mapping):
        if "labels" in given and not isinstance(given["labels"], int):
            return ImageObjects.from_json(given)
        return ImageObjects.counted({_label(name): _count(name, count) for name, count in given.items()})
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ValueError(f"expected a list of labels or label -> count, found {type(given).__name__}")
    return ImageObjects.of((_label(label), None, None) for label in given)


def _label(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"a label is {value!r}, not text")
    return value


def _count(label: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value) or value < 0:
        raise ValueError(f"the count of '{label}' is {value!r}, not a whole number")
    return int(value)

"""The objects of an image, wherever they come from: annotations, detection files, detectors, unions of them.

A source is written as text (`--objects`, or a metric's option `objects`):

    detector            the shipped detector; detector@0.5 with a threshold of its own
    model.onnx          another detector (see vericap.vision.detector); model.onnx@0.4
    hub/NAME            a hub model or local folder, through transformers
    gold.json           COCO instances, or {image: labels}
    folder/             PASCAL VOC XML files
    objects.jsonl       what `vericap detect` wrote
    gold.json+detector  both: a label found by either
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from vericap.errors import InputError, Problem, VericapError

if TYPE_CHECKING:
    from vericap.run.batch import Batch, Settings

Box = tuple[float, float, float, float]  # x0, y0, x1, y1 in pixels of the upright image

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
    """A label as words: lower case, blanks for underscores."""
    plain = re.sub(r"[\s_]+", " ", label).strip().lower()
    return _SPLIT.get(plain, plain)


def canonical(label: str) -> str:
    """The COCO name of a class where the label set is known to call it otherwise."""
    return SYNONYMS.get(label, label)


@dataclass(frozen=True)
class Objects:
    """The distinct labels of one image with, for each, how often and, where known, how sure and where."""

    labels: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    scores: tuple[tuple[float, ...], ...] = ()  # per label, best first; empty where unknown
    boxes: tuple[tuple[Box, ...], ...] = ()  # per label, in the order of its scores; empty where unknown
    size: tuple[int, int] | None = None  # width and height the boxes refer to

    @classmethod
    def of(cls, found: Iterable[tuple[str, float | None, Box | None]], size: tuple[int, int] | None = None) -> Objects:
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
    def counted(cls, counts: Mapping[str, int]) -> Objects:
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

    def above(self, threshold: float) -> Objects:
        """The instances at least this sure; instances without a score stay."""
        kept = [
            item
            for label, count, scores, boxes in zip(self.labels, self.counts, self.scores, self.boxes)
            for item in _instances(label, count, scores, boxes)
            if item[1] is None or item[1] >= threshold
        ]
        return Objects.of(kept, self.size)

    def instances(self) -> list[tuple[str, float | None, Box | None]]:
        """One row per instance: label, score, box."""
        columns = zip(self.labels, self.counts, self.scores, self.boxes)
        return [item for column in columns for item in _instances(*column)]

    def union(self, other: Objects) -> Objects:
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
            return Objects(size=self.size or other.size)
        labels, counts, scores, boxes = (tuple(column) for column in zip(*columns))
        return Objects(labels, counts, scores, boxes, self.size or other.size)

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
    def from_json(cls, record: Mapping[str, Any]) -> Objects:
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


def _instances(
    label: str, count: int, scores: Sequence[float], boxes: Sequence[Box]
) -> list[tuple[str, float | None, Box | None]]:
    return [(label, scores[i] if i < len(scores) else None, boxes[i] if i < len(boxes) else None) for i in range(count)]


class Source(Protocol):
    """Where objects come from. `name` is part of a score's signature."""

    @property
    def name(self) -> str: ...

    def objects(self, keys: Sequence[str], settings: Settings) -> list[Objects | Problem]:
        """The objects of each image key, or why there are none."""


class Union:
    """Several sources; an image that one of them cannot tell of is a problem."""

    def __init__(self, parts: Sequence[Source]) -> None:
        self.parts = parts
        self.name = "+".join(part.name for part in parts)

    def objects(self, keys: Sequence[str], settings: Settings) -> list[Objects | Problem]:
        columns = [part.objects(keys, settings) for part in self.parts]
        joined: list[Objects | Problem] = []
        for row in zip(*columns):
            result = row[0]
            for item in row[1:]:
                if isinstance(result, Objects):
                    result = item if isinstance(item, Problem) else result.union(item)
            joined.append(result)
        return joined


def from_spec(spec: str) -> Source:
    """The source a text names."""
    spec = spec.strip()
    if not spec:
        raise VericapError("the object source is empty; give detector, an annotation file, or a+b")
    parts = [spec] if Path(spec).exists() else [part.strip() for part in spec.split("+") if part.strip()]
    sources = [_single(part) for part in parts]
    return sources[0] if len(sources) == 1 else Union(sources)


def _single(spec: str) -> Source:
    from vericap.vision import annotations

    if Path(spec).is_dir() or spec.lower().endswith((".json", ".jsonl", ".json.gz", ".jsonl.gz", ".xml")):
        return annotations.open_source(Path(spec))
    from vericap.vision.detector_source import DetectorSource, detector_spec

    found = detector_spec(spec)
    if found is None:
        raise InputError(
            f"the object source '{spec}' is not known; give detector, a .json / .jsonl / VOC folder, "
            "a detector as model.onnx or hub/NAME, or several joined by '+'"
        )
    return DetectorSource(*found)


def analyse(batch: Batch) -> list[Objects | Problem]:
    """Provider of the analysis `objects`: one entry per distinct image key, from the run's source."""
    return of_images(batch, batch.settings.objects)


def of_images(batch: Batch, spec: str | None = None) -> list[Objects | Problem]:
    """One entry per distinct image key, from a source a metric names, computed once per batch and source."""
    spec = spec or batch.settings.objects
    kept: dict[str, Any] = batch._analyses
    name = f"objects of {spec}"
    if name not in kept:
        kept[name] = from_spec(spec).objects(batch.image_keys, batch.settings)
    return kept[name]


def of_samples(batch: Batch, spec: str | None = None) -> list[Objects | Problem]:
    """One entry per sample: the objects its record carries, else those of its image.

    Objects in the record count where no source is asked for by a metric's option.
    """
    own = [None if spec else given for given in batch.sample_objects]
    need = any(given is None and image >= 0 for given, image in zip(own, batch.images))
    images = of_images(batch, spec) if need else []
    rows: list[Objects | Problem] = []
    for row, given in enumerate(own):
        place = int(batch.images[row])
        if given is not None:
            rows.append(_checked(batch.ids[row], given))
        elif place >= 0:
            rows.append(images[place])
        else:
            rows.append(Problem(batch.ids[row], "the record names no image and carries no objects"))
    return rows


def _checked(identifier: str, given: Any) -> Objects | Problem:
    try:
        return of_labels(given)
    except (ValueError, TypeError) as error:
        return Problem(identifier, f"its objects cannot be read: {error}")


def of_labels(given: Any) -> Objects:
    """Objects from what a record or a plain JSON file says: [label, ...], {label: count} or detections."""
    if isinstance(given, Objects):
        return given
    if isinstance(given, Mapping):
        if "labels" in given and not isinstance(given["labels"], int):
            return Objects.from_json(given)
        return Objects.counted({_label(name): _count(name, count) for name, count in given.items()})
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ValueError(f"expected a list of labels or label -> count, found {type(given).__name__}")
    return Objects.of((_label(label), None, None) for label in given)


def _label(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"a label is {value!r}, not text")
    return value


def _count(label: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value) or value < 0:
        raise ValueError(f"the count of '{label}' is {value!r}, not a whole number")
    return int(value)

"""CHAIR: the share of mentioned objects that are not in the image (Rohrbach et al. 2018)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from vericap.errors import Problem
from vericap.metrics.base import Floats, Metric, Option, Statistics
from vericap.models import store
from vericap.run.batch import Batch
from vericap.vision.mentions import Mention, class_of, mentions, words
from vericap.vision.objects import Objects, from_spec, of_samples

REFERENCES = "references"
# fmt: off
VOC = frozenset((
    "airplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "dining table", "dog",
    "horse", "motorcycle", "person", "potted plant", "sheep", "couch", "train", "tv",
))
# fmt: on

_OBJECTS = Option(
    "",
    "where objects come from (detector, a file, a+b); 'references': only what the references mention; "
    "empty: the source of the run",
)
_REFERENCES = Option(True, "objects that the references mention count as there")
_CLASSES = Option("coco", "classes that are judged: all 80, or the 20 of PASCAL VOC", choices=("coco", "voc"))


class Chair(Metric):
    """Per mention: invented mentions / mentions."""

    name = "chair"
    title = "CHAIR-i"
    direction = "lower"
    needs = ("objects",)
    languages = ("en",)
    options: ClassVar[Mapping[str, Option]] = {"objects": _OBJECTS, "references": _REFERENCES, "classes": _CLASSES}

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        """Rows (invented mentions, mentions, 1 if any is invented)."""
        there = present(batch, self.opt.objects, references=self.opt.references, keep=judged(self.opt.classes))
        values = np.full((len(batch), 3), np.nan)
        problems: dict[int, str] = {}
        explanations: list[dict[str, Any] | None] = []
        invented_column, missed_column, counts = [], [], np.zeros(len(batch), dtype=np.int64)
        keep = judged(self.opt.classes)
        for row, objects in enumerate(there):
            invented: list[Mention] = []
            missed: list[str] = []
            explanation: dict[str, Any] | None = None
            if isinstance(objects, str):
                problems[row] = objects
            else:
                caption = batch.texts[batch.candidates[row]]
                said = [mention for mention in mentions(caption) if keep.issuperset(mention.classes)]
                invented = [mention for mention in said if objects.possible.isdisjoint(mention.classes)]
                named = {name for mention in said for name in mention.classes}
                missed = sorted(objects.sure - named)
                values[row] = len(invented), len(said), bool(invented)
                counts[row] = len(said)
                explanation = explain(said, objects, missed)
            explanations.append(explanation)
            invented_column.append(", ".join(mention.text for mention in invented))
            missed_column.append(", ".join(missed))
        return Statistics(
            values,
            problems,
            columns={
                "hallucinated": np.array(invented_column, dtype=object),
                "missed": np.array(missed_column, dtype=object),
                "mentions": counts,
            },
            explanations=explanations if batch.settings.explain else None,
        )

    def captions(self, values: Floats) -> Floats:
        """A caption that mentions no object has invented none: 0."""
        return np.where(np.isnan(values[:, 0]), np.nan, values[:, 0] / np.maximum(values[:, 1], 1))

    def corpus(self, sums: Floats, count: Floats) -> Floats:
        return np.asarray(np.where(np.asarray(count) > 0, sums[..., 0] / np.maximum(sums[..., 1], 1), np.nan))

    def signature_parts(self, batch: Batch) -> dict[str, str]:
        spec = self.opt.objects or batch.settings.objects
        parts = {"words": store.meta("chair")["version"]}
        if spec != REFERENCES and (self.opt.objects or any(given is None for given in batch.sample_objects)):
            parts["source"] = from_spec(spec).name
        return parts


class ChairS(Chair):
    """Per caption: captions with an invented object / captions."""

    name = "chair-s"
    title = "CHAIR-s"

    def captions(self, values: Floats) -> Floats:
        return values[:, 2]

    def corpus(self, sums: Floats, count: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(sums[..., 2] / count)


def judged(name: str) -> frozenset[str]:
    return VOC if name == "voc" else frozenset(words().classes)


@dataclass(frozen=True)
class There:
    """Classes known to be in an image, and those with some evidence in its references: a superset."""

    sure: frozenset[str]
    possible: frozenset[str]

    def restricted(self, keep: frozenset[str]) -> There:
        return There(self.sure & keep, self.possible & keep)


def present(batch: Batch, spec: str, *, references: bool, keep: frozenset[str]) -> list[There | str]:
    """For each sample the classes that are there, or why that cannot be told."""
    said = {int(i): _told(batch.texts[i]) for i in np.unique(batch.reference_index)}
    rows: list[Objects | Problem] | None = None
    if (spec or batch.settings.objects) != REFERENCES:
        rows = of_samples(batch, spec or None)
    found: list[There | str] = []
    for row in range(len(batch)):
        told = [said[int(i)] for i in batch.references(row)] if references or rows is None else []
        objects = rows[row] if rows is not None else Objects()
        if isinstance(objects, Problem):
            found.append(objects.reason)
        elif rows is None and not told:
            found.append("no reference that could mention objects")
        else:
            seen = frozenset(name for label in objects.labels for name in class_of(label))
            sure = seen.union(*(item.sure for item in told))
            found.append(There(sure, seen.union(*(item.possible for item in told))).restricted(keep))
    return found


def _told(reference: str) -> There:
    """What a reference tells. "Baby" may be any animal's: taken for a person where nothing tells."""
    sure = [mention.classes[0] for mention in mentions(reference) if len(mention.classes) == 1]
    possible = [
        name
        for mention in mentions(reference, evidence=True)
        for name in (mention.classes if len(mention.classes) <= 5 else mention.classes[:1])
    ]
    return There(frozenset(sure), frozenset(sure + possible))


def explain(said: list[Mention], objects: There, missed: list[str]) -> dict[str, Any]:
    """Every mention with its verdict, what is there, and what was left unsaid."""
    return {
        "mentions": [
            {
                "text": mention.text,
                "word": mention.start,
                "classes": list(mention.classes),
                "hallucinated": objects.possible.isdisjoint(mention.classes),
            }
            for mention in said
        ],
        "objects": sorted(objects.sure),
        "hallucinated": [mention.text for mention in said if objects.possible.isdisjoint(mention.classes)],
        "missed": missed,
    }

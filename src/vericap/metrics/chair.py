"""CHAIR: the share of mentioned objects that are not in the image (Rohrbach et al. 2018)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from vericap.core import shipped
from vericap.core.analysis import Key
from vericap.core.batch import Batch
from vericap.core.errors import Problem
from vericap.core.explanation import Box, Explanation, MissingContent, WordEvidence
from vericap.core.metric import Metric, Option
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.core.typing import Floats
from vericap.metrics.toolbox import words_of
from vericap.run.analyses import Objects
from vericap.vision.mentions import Mention, class_of, class_words, mentions, spans
from vericap.vision.objects import ImageObjects

IMAGE, REFERENCES = "image", "references"
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
    width = 3  # invented mentions, mentions, 1 if any is invented
    options: ClassVar[Mapping[str, Option]] = {"objects": _OBJECTS, "references": _REFERENCES, "classes": _CLASSES}

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return () if self._told(settings) else (self._objects(settings),)

    def _told(self, settings: Settings) -> bool:
        """Whether the references alone tell what is there."""
        return (self.opt.objects or settings.objects) == REFERENCES

    def _objects(self, settings: Settings) -> Objects:
        return Objects.of(settings, self.opt.objects)

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        values = np.full((len(batch), self.width), np.nan)
        problems: dict[int, str] = {}
        invented = np.full(len(batch), "", dtype=object)
        missed = np.full(len(batch), "", dtype=object)
        counts = np.zeros(len(batch), dtype=np.int64)
        for row, found in enumerate(self.verdicts(batch, range(len(batch)))):
            if isinstance(found, str):
                problems[row] = found
                continue
            values[row] = len(found.invented), len(found.said), bool(found.invented)
            counts[row] = len(found.said)
            invented[row] = ", ".join(mention.text for mention in found.invented)
            missed[row] = ", ".join(found.missed)
        return Statistics(values, problems, {"hallucinated": invented, "missed": missed, "mentions": counts})

    def captions(self, values: Floats) -> Floats:
        """A caption that mentions no object has invented none: 0."""
        return np.where(np.isnan(values[:, 0]), np.nan, values[:, 0] / np.maximum(values[:, 1], 1))

    def corpus(self, sums: Floats, count: Floats) -> Floats:
        return np.asarray(np.where(np.asarray(count) > 0, sums[..., 0] / np.maximum(sums[..., 1], 1), np.nan))

    def explain(
        self, batch: Batch, rows: Sequence[int], state: Any = None, *, full: bool = False
    ) -> list[Explanation | None]:
        verdicts = self.verdicts(batch, rows)
        return [None if isinstance(found, str) else found.explained(self.label) for found in verdicts]

    def verdicts(self, batch: Batch, rows: Sequence[int]) -> Iterator[Mentioned | str]:
        """What is to say of some captions, or why nothing can be said."""
        keep = judged(self.opt.classes)
        alone = self._told(batch.settings)
        objects = None if alone else batch[self._objects(batch.settings)]
        known: dict[int, There] = {}  # samples of several systems share their references
        for row in rows:
            references = batch.references(row).tolist() if alone or self.opt.references else []
            told = [known.get(i) or known.setdefault(i, there_in(batch.texts[i])) for i in references]
            seen = ImageObjects() if objects is None else objects[row]
            if isinstance(seen, Problem):
                yield seen.reason
            elif alone and not told:
                yield "no reference that could mention objects"
            else:
                source = REFERENCES if alone else IMAGE
                yield Mentioned.of(batch.texts[batch.candidates[row]], seen, There.of(seen, told, keep), keep, source)

    def signature_parts(self, batch: Batch) -> dict[str, str]:
        words = {"words": str(shipped.meta("chair")["version"])}
        return {**words, "objects": REFERENCES} if self._told(batch.settings) else words


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
    """The classes of a label set."""
    return VOC if name == "voc" else frozenset(class_words().classes)


@dataclass(frozen=True)
class There:
    """Classes known to be in an image, and those with some evidence in its references: a superset."""

    sure: frozenset[str]
    possible: frozenset[str]

    @classmethod
    def of(cls, seen: ImageObjects, told: Sequence[There], keep: frozenset[str]) -> There:
        """What the image shows or a reference tells, of the classes to keep."""
        labels = frozenset(name for label in seen.labels for name in class_of(label))
        sure = labels.union(*(item.sure for item in told))
        return cls(sure & keep, labels.union(*(item.possible for item in told)) & keep)


def there_in(reference: str) -> There:
    """What a reference tells. "Baby" may be any animal's: taken for a person where nothing tells."""
    sure = [mention.classes[0] for mention in mentions(reference) if len(mention.classes) == 1]
    possible = [
        name
        for mention in mentions(reference, evidence=True)
        for name in (mention.classes if len(mention.classes) <= 5 else mention.classes[:1])
    ]
    return There(frozenset(sure), frozenset(sure + possible))


@dataclass(frozen=True)
class Mentioned:
    """What a caption mentions, what of it is not there, and what is there and not mentioned."""

    caption: str
    seen: ImageObjects
    there: There
    said: list[Mention]
    invented: list[Mention]
    missed: list[str]
    source: str  # what tells that a mention is invented

    @classmethod
    def of(cls, caption: str, seen: ImageObjects, there: There, keep: frozenset[str], source: str) -> Mentioned:
        said = [mention for mention in mentions(caption) if keep.issuperset(mention.classes)]
        invented = [mention for mention in said if there.possible.isdisjoint(mention.classes)]
        named = {name for mention in said for name in mention.classes}
        return cls(caption, seen, there, said, invented, sorted(there.sure - named), source)

    def explained(self, label: str) -> Explanation:
        """Every mention with its verdict (support 1 there, 0 invented), and what was left unsaid."""
        missing = (MissingContent(name, 1.0, *self._place(name)) for name in self.missed)
        facts = {
            "objects": sorted(self.there.sure),
            "hallucinated": [mention.text for mention in self.invented],
            "mentions": len(self.said),
        }
        return Explanation(label, words=tuple(self.words()), missing=tuple(missing), facts=facts)

    def words(self) -> Iterator[WordEvidence]:
        """All words of the caption; those of a mention have its verdict."""
        letters = spans(self.caption)
        places = []
        for said in self.said:
            own = letters[said.start : said.start + len(said.text.split())]
            places.append((own[0][0], own[-1][1], said))
        for word, start, end in words_of(self.caption):
            mention = next((said for first, last, said in places if first < end and last > start), None)
            yield WordEvidence(word, start, end) if mention is None else self._judged(word, start, end, mention)

    def _judged(self, word: str, start: int, end: int, mention: Mention) -> WordEvidence:
        if mention in self.invented:
            return WordEvidence(word, start, end, 0.0, self.source)
        name = next(name for name in mention.classes if name in self.there.possible)
        return WordEvidence(word, start, end, 1.0, *self._place(name))

    def _place(self, name: str) -> tuple[str, Box | None]:
        """Who tells that an object of a class is there, and where the image's source says it is."""
        labels = [label for label in self.seen.labels if name in class_of(label)]
        regions = (self.seen.region(label) for label in labels)
        return IMAGE if labels else REFERENCES, next((region for region in regions if region is not None), None)

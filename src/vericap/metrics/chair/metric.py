"""CHAIR per mention and per caption, and the share of the image's objects that a caption mentions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from vericap.core.analysis import Key
from vericap.core.batch import Batch
from vericap.core.errors import Problem
from vericap.core.explanation import Explanation
from vericap.core.metric import Metric, Option
from vericap.core.samples import has_word
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.core.typing import Floats
from vericap.metrics.chair.verdict import IMAGE, REFERENCES, Reader, There, Verdict, judged_classes, there_in
from vericap.metrics.toolbox import NO_WORD
from vericap.run.analyses import Graphs, Objects, VisualWords
from vericap.vision.caption_words import without_addresses
from vericap.vision.objects import ImageObjects

if TYPE_CHECKING:
    from vericap.metrics.chair.open import OpenVerdict
    from vericap.metrics.verdict.parts import Parts

_OBJECTS = Option(
    "",
    "where objects come from (detector, a file, a+b); 'references': only what the references mention; "
    "empty: the source of the run",
)
_REFERENCES = Option(True, "objects that the references mention count as there")
OPEN = "open"
_CLASSES = Option(
    "coco",
    "what is judged: COCO's 80 classes, PASCAL VOC's 20, or every object a caption names, by its support (English)",
    choices=("coco", "voc", OPEN),
)
_COUNT = Option(
    "mentions", "what is counted: every mention, or an object once per caption", choices=("mentions", "distinct")
)
# Columns of the statistics
INVENTED, MENTIONS, ANY, FOUND, THERE, WORDS = range(6)


class Chair(Metric):
    """Per mention: invented mentions / mentions."""

    name = "chair"
    title = "CHAIR-i"
    direction = "lower"
    needs: ClassVar[tuple[str, ...]] = ("objects",)
    languages: ClassVar[tuple[str, ...]] = ("en", "ja")
    width = 6  # invented mentions, mentions, 1 if any is invented, objects mentioned, objects there, words
    version = "3"
    options: ClassVar[Mapping[str, Option]] = {
        "objects": _OBJECTS,
        "references": _REFERENCES,
        "classes": _CLASSES,
        "count": _COUNT,
    }

    def __init__(self, *, label: str | None = None, **options: Any) -> None:
        super().__init__(label=label, **options)
        if self.opt.classes == OPEN:
            self.languages = ("en",)  # type: ignore[misc]  # of claims and visual words
            self.needs = ("image",)  # type: ignore[misc]

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        if self.opt.classes == OPEN:
            return (self._parts(settings), VisualWords())
        return () if self._told(settings) else (self._objects(settings),)

    def _parts(self, settings: Settings) -> Parts:
        from vericap.metrics.verdict.parts import Parts

        return Parts(graphs=Graphs.of(settings))

    def _told(self, settings: Settings) -> bool:
        """Whether the references alone tell what is there."""
        return (self.opt.objects or settings.objects) == REFERENCES

    def _objects(self, settings: Settings) -> Objects:
        return Objects.of(settings, self.opt.objects)

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        values = np.full((len(batch), self.width), np.nan)
        problems: dict[int, str] = {}
        invented, missed = (np.full(len(batch), "", dtype=object) for _ in range(2))
        for row, found in enumerate(self._judged(batch, range(len(batch)))):
            if isinstance(found, str):
                problems[row] = found
            elif isinstance(found, Verdict):
                values[row] = self._row(found)
                invented[row] = ", ".join(mention.text for mention in found.invented)
                missed[row] = ", ".join(found.missed)
            else:
                values[row] = found.row(distinct=self.opt.count == "distinct")
                invented[row] = ", ".join(found.invented)
        with np.errstate(invalid="ignore", divide="ignore"):
            recall = values[:, FOUND] / values[:, THERE]
        columns = {
            "hallucinated": invented,
            "missed": missed,
            "mentions": values[:, MENTIONS],
            "recall": np.where(values[:, THERE] > 0, recall, np.nan),
            "words": values[:, WORDS],
        }
        return Statistics(values, problems, columns)

    def _row(self, found: Verdict) -> tuple[float, ...]:
        invented, said = found.counts(distinct=self.opt.count == "distinct")
        there = len(found.there.sure)
        length = len(found.reader.words(found.caption))
        return invented, said, invented > 0, there - len(found.missed), there, length

    def captions(self, values: Floats) -> Floats:
        """A caption that mentions no object has invented none: 0."""
        return np.where(np.isnan(values[:, INVENTED]), np.nan, values[:, INVENTED] / np.maximum(values[:, MENTIONS], 1))

    def corpus(self, sums: Floats, count: Floats) -> Floats:
        share = sums[..., INVENTED] / np.maximum(sums[..., MENTIONS], 1)
        return np.asarray(np.where(np.asarray(count) > 0, share, np.nan))

    def beside(self, sums: Floats, count: int) -> Mapping[str, float]:
        """A caption that says nothing invents nothing: how much was said, and how much of what is there."""
        recall = {"recall": float(sums[FOUND] / sums[THERE])} if sums[THERE] else {}
        each = {"mentions per caption": sums[MENTIONS], "words per caption": sums[WORDS]}
        return {**recall, **{name: float(number / count) for name, number in each.items()}}

    def explain(
        self, batch: Batch, rows: Sequence[int], state: Any = None, *, full: bool = False
    ) -> list[Explanation | None]:
        verdicts = self._judged(batch, rows)
        return [None if isinstance(found, str) else found.explained(self.label) for found in verdicts]

    def _judged(self, batch: Batch, rows: Sequence[int]) -> Iterator[Verdict | OpenVerdict | str]:
        if self.opt.classes != OPEN:
            yield from self.verdicts(batch, rows)
            return
        from vericap.metrics.chair.open import open_verdicts

        every = list(open_verdicts(batch, self._parts(batch.settings), references=self.opt.references))
        yield from (every[row] for row in rows)

    def verdicts(self, batch: Batch, rows: Sequence[int]) -> Iterator[Verdict | str]:
        """What is to say of some captions, or why nothing can be said."""
        keep, reader = judged_classes(self.opt.classes), Reader(batch.settings.lang)
        alone = self._told(batch.settings)
        objects = None if alone else batch[self._objects(batch.settings)]
        for row in rows:
            caption = batch.texts[batch.candidates[row]]
            references = batch.reference_texts(row) if alone or self.opt.references else []
            told = [there_in(text, reader) for text in references]
            seen = ImageObjects() if objects is None else objects[row]
            if isinstance(seen, Problem):
                yield seen.reason
            elif not has_word(without_addresses(caption)):
                yield NO_WORD
            elif alone and not told:
                yield "no reference that could mention objects"
            else:
                there = There.of(seen, told, keep, reader)
                yield Verdict.of(caption, reader, seen, there, keep, REFERENCES if alone else IMAGE)

    def signature_parts(self, batch: Batch) -> dict[str, str]:
        if self.opt.classes == OPEN:
            return {}
        words = {"words": Reader(batch.settings.lang).table}
        return {**words, "objects": REFERENCES} if self._told(batch.settings) else words


class ChairS(Chair):
    """Per caption: captions with an invented object / captions."""

    name = "chair-s"
    title = "CHAIR-s"

    def captions(self, values: Floats) -> Floats:
        return values[:, ANY]

    def corpus(self, sums: Floats, count: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(sums[..., ANY] / count)


class ChairRecall(Chair):
    """Objects of the image that the caption mentions / objects of the image."""

    name = "chair-recall"
    title = "CHAIR recall"
    direction = "higher"

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        found = super().statistics(batch, state)
        for row in np.flatnonzero(found.values[:, THERE] == 0).tolist():
            found.values[row] = np.nan
            found.problems[row] = "no object is known to be there"
        return found

    def captions(self, values: Floats) -> Floats:
        return np.asarray(values[:, FOUND] / values[:, THERE])

    def corpus(self, sums: Floats, count: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(sums[..., FOUND] / sums[..., THERE])

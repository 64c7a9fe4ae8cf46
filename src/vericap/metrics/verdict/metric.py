"""`fidelity`, `adequacy` and `verdict`: is the caption true to its image, does it say what matters, and all in all?

With references they are read beside the image; `references=none` leaves them aside. One judgement serves all three.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from vericap.core import shipped
from vericap.core.analysis import Analysis, Index, Key
from vericap.core.batch import Batch
from vericap.core.explanation import Explanation
from vericap.core.metric import Metric, Option
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.metrics.evidence import shortened
from vericap.metrics.verdict import reasons
from vericap.metrics.verdict.judge import BOTH, IMAGE, Judged, shipped_judge
from vericap.metrics.verdict.lexicon import PART
from vericap.metrics.verdict.parts import CaptionParts, Parts, problems_of
from vericap.run.analyses import Fluency, Graphs, PhotoFaults, VisualWords, VisualWordsWeights

if TYPE_CHECKING:
    from vericap.run.runtime import Runtime

TOLD = ("words", "sentences", "missing")  # parts of the reasons that are always there
_THROUGH = 3  # words that are told to be judged through others


@dataclass(frozen=True)
class Verdict:
    """One caption, judged in full."""

    parts: CaptionParts
    judged: Judged
    way: str
    rating: float  # what people are expected to give it, for content
    fluency: float
    told: dict[bool, Explanation] = field(default_factory=dict, compare=False)  # reasons, made once for all three

    @property
    def value(self) -> float:
        """The rating, lowered where the caption does not read as written by a person or says next to nothing."""
        judge = shipped_judge()
        return self.rating * judge.reads(self.fluency) * judge.tells(self.judged.adequacy)


@dataclass(frozen=True)
class Judgements(Analysis[list["Verdict | None"]]):
    """Every caption of a batch, judged; None where nothing can be."""

    references: str = "auto"
    parts: Parts = Parts()  # noqa: RUF009 - a frozen key
    index: ClassVar[Index] = "sample"
    cost: ClassVar[int] = 1000

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (self.parts, Fluency())

    def compute(self, batch: Batch, runtime: Runtime) -> list[Verdict | None]:
        judge, fluency = shipped_judge(), batch[Fluency()]
        every: list[CaptionParts | None] = batch[self.parts]
        texts = batch.candidates.tolist()
        found: list[Verdict | None] = [None] * len(every)
        ways = [self._way(parts) for parts in every]
        for way in (BOTH, IMAGE):
            rows = [row for row, own in enumerate(ways) if own == way]
            captions = [parts for parts, own in zip(every, ways) if parts is not None and own == way]
            judged = judge.judged(captions, way)
            for row, parts, one, rating in zip(rows, captions, judged, judge.ratings(captions, judged, way).tolist()):
                found[row] = Verdict(parts, one, way, rating, fluency[texts[row]].value)
        return found

    def _way(self, parts: CaptionParts | None) -> str:
        if parts is None:
            return ""
        return BOTH if self.references == "auto" and parts.recall == parts.recall else IMAGE

    def signature(self, batch: Batch) -> dict[str, str]:
        meta = shipped.meta(PART)
        return {"model": f"{meta['name']}-{meta['files']['weights.json'][:8]}"}


class _Judges(Metric):
    """What the three share."""

    range = (0.0, 1.0)
    needs = ("image",)
    languages = ("en",)
    other_languages = "or leave it out: visual words and scene graphs of captions are English here"
    options: ClassVar[Mapping[str, Option]] = {
        "references": Option("auto", "auto: used where they are there; none: the image alone", ("auto", "none")),
    }

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (self._key(settings), VisualWords())

    def explain_requires(self, settings: Settings) -> tuple[Key, ...]:
        return (VisualWordsWeights(), PhotoFaults())

    def _key(self, settings: Settings) -> Judgements:
        return Judgements(self.opt.references, Parts(graphs=Graphs.of(settings)))

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        found = batch[self._key(batch.settings)]
        values = np.array([np.nan if one is None else self.value(one) for one in found], dtype=np.float64)
        return Statistics(values, problems_of(batch))

    def value(self, found: Verdict) -> float:
        raise NotImplementedError

    def explain(
        self, batch: Batch, rows: Sequence[int], state: Any = None, *, full: bool = False
    ) -> list[Explanation | None]:
        """Words with support and region, sentences with theirs, and what was left out."""
        found, seen, model = batch[self._key(batch.settings)], batch[VisualWords()], batch[VisualWordsWeights()]
        faults = batch[PhotoFaults()]
        explained: list[Explanation | None] = []
        for row in rows:
            one, image = found[row], int(batch.images[row])
            if one is None:
                explained.append(None)
                continue
            if full not in one.told:
                text = batch.texts[int(batch.candidates[row])]
                told = reasons.explained(self.label, text, one, seen.photos[image], model, full=full)
                notes = (*_reservations(faults[image], one.parts.through), *told.notes)
                told = replace(told, notes=notes, promised=TOLD)
                one.told[full] = shortened(told, spare=("claims",), full=full)
            explained.append(replace(one.told[full], metric=self.label))
        return explained


def _reservations(fault: str, through: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """What makes a judgement less sure: the photo, and words that are judged through others."""
    if fault:
        yield f"{fault}: what is judged from it means little"
    if through:
        told = [f"{word} ({near[0]})" for word, near in list(through.items())[:_THROUGH] if near]
        more = f" and {len(through) - _THROUGH} more" if len(through) > _THROUGH else ""
        yield f"judged through others: {', '.join(told)}{more}"


class Fidelity(_Judges):
    name, title = "fidelity", "Fidelity"

    def value(self, found: Verdict) -> float:
        return found.judged.fidelity


class Adequacy(_Judges):
    name, title = "adequacy", "Adequacy"

    def value(self, found: Verdict) -> float:
        return found.judged.adequacy


class VerdictMetric(_Judges):
    name, title = "verdict", "Verdict"

    def value(self, found: Verdict) -> float:
        return found.value

"""METEOR 1.5 (Denkowski and Lavie 2014) as the COCO evaluation tool drives it, without Java."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from vericap.core.analysis import Key
from vericap.core.batch import Batch
from vericap.core.errors import VericapError
from vericap.core.explanation import Explanation, Match, MissingContent
from vericap.core.metric import Metric, Option
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.core.typing import Floats
from vericap.metrics.evidence import REFERENCES, shortened, token_evidence
from vericap.metrics.toolbox import without_references
from vericap.run.analyses import MeteorTexts
from vericap.run.progress import progress
from vericap.text import meteor_align
from vericap.text.meteor_align import DELTA, WEIGHTS, Aligner
from vericap.text.meteor_features import MATCHERS

_ROWS = 4000  # samples between two steps of the progress bar


class Meteor(Metric):
    name, title = "meteor", "METEOR"
    range = (0.0, 1.0)
    needs = ("references",)
    width = meteor_align.COLUMNS
    version = "1.5"
    options: ClassVar[Mapping[str, Option]] = {
        "matchers": Option(
            "auto",
            "names joined by +, of exact, stem, synonym, paraphrase; auto: all for English, exact+stem for Japanese",
        )
    }

    def __init__(self, *, label: str | None = None, **options: Any) -> None:
        super().__init__(label=label, **options)
        self.matchers("en")

    def matchers(self, lang: str) -> tuple[str, ...]:
        """The matchers of a language: all four for English, exact and base forms for Japanese, else exact ones."""
        able = MATCHERS[: {"en": 4, "ja": 2}.get(lang, 1)]
        if self.opt.matchers == "auto":
            return able
        names = self.opt.matchers.split("+")
        if "exact" not in names or not set(names) <= set(MATCHERS):
            raise VericapError(
                f"metric 'meteor': option matchers={self.opt.matchers} is not 'auto' or names joined by + "
                f"('exact' and any of {', '.join(MATCHERS[1:])}), for example matchers=exact+stem"
            )
        if not set(names) <= set(able):
            known = "+".join(able)
            raise VericapError(
                f"metric 'meteor': for `lang={lang}` only matchers={known} works; the tables are English"
            )
        return tuple(name for name in MATCHERS if name in names)

    def texts(self, settings: Settings) -> MeteorTexts:
        return MeteorTexts(self.matchers(settings.lang), settings.tokenizer, settings.lang == "en")

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (self.texts(settings),)

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        table = batch[self.texts(batch.settings)]
        values = np.empty((len(batch), self.width))
        for start in progress(range(0, len(batch), _ROWS), what="METEOR", show=batch.settings.progress):
            candidates = batch.candidates[start : start + _ROWS]
            offsets = batch.reference_offsets[start : start + len(candidates) + 1]
            best, _ = meteor_align.best_statistics(table, candidates, offsets, batch.reference_index)
            values[start : start + _ROWS] = best
        return without_references(batch, values)

    def captions(self, values: Floats) -> Floats:
        return meteor_align.scores(values)

    def corpus(self, sums: Floats, count: Floats) -> Floats:
        """METEOR of the summed statistics, not the mean of caption scores."""
        return np.where(np.asarray(count) > 0, meteor_align.scores(sums), np.nan)

    def explain(
        self, batch: Batch, rows: Sequence[int], state: Any = None, *, full: bool = False
    ) -> list[Explanation | None]:
        """The alignment with the best reference: what was matched by which matcher, and what was left over."""
        table = batch[self.texts(batch.settings)]
        some = batch.select(rows)
        best = meteor_align.best_statistics(table, some.candidates, some.reference_offsets, some.reference_index)[1]
        aligner = Aligner(table)
        return [
            None if place < 0 else shortened(self._reasons(aligner, some, row, place), full=full)
            for row, place in enumerate(best.tolist())
        ]

    def _reasons(self, aligner: Aligner, batch: Batch, row: int, best: int) -> Explanation:
        candidate, reference = int(batch.candidates[row]), int(batch.references(row)[best])
        path = aligner.align(candidate, reference)
        own, other = aligner.texts[candidate], aligner.texts[reference]
        support = [float(path.other_used >> place & 1) for place in range(len(own))]
        function = aligner.words.function[aligner.ids(reference)]
        return Explanation(
            self.label,
            words=token_evidence(batch.texts[candidate], own, support, lang=batch.settings.lang),
            missing=tuple(
                MissingContent(word, 1 - DELTA if function[place] else DELTA, REFERENCES)
                for place, word in enumerate(other)
                if not path.used >> place & 1
            ),
            matches=tuple(
                Match(
                    tuple(own[m.other : m.other + m.other_length]),
                    tuple(other[m.start : m.start + m.length]),
                    WEIGHTS[m.stage],
                    MATCHERS[m.stage],
                )
                for m in path.matches
            ),
            facts={"reference": batch.texts[reference], "chunks": path.chunks},
        )

    def signature_parts(self, batch: Batch) -> dict[str, str]:
        return {"matchers": "+".join(self.matchers(batch.settings.lang))}

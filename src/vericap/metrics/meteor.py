"""METEOR 1.5 (Denkowski and Lavie 2014) as the COCO evaluation tool drives it, without Java."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from vericap.errors import VericapError
from vericap.metrics.base import Floats, Metric, Option, Statistics
from vericap.metrics.references import without_references
from vericap.run.batch import Batch
from vericap.run.progress import progress
from vericap.text import meteor_align
from vericap.text.meteor_features import MATCHERS, find_phrases, no_phrases, word_features
from vericap.text.meteor_words import meteor_words

_ROWS = 4000  # samples between two steps of the progress bar


def explain(aligner: meteor_align.Aligner, batch: Batch, row: int, best: int) -> dict[str, Any] | None:
    """The alignment with the best reference: what was matched by which matcher, and what was left over."""
    if best < 0:
        return None
    candidate, reference = int(batch.candidates[row]), int(batch.references(row)[best])
    path = aligner.align(candidate, reference)
    own, other = aligner.texts[candidate], aligner.texts[reference]
    matches = [
        {
            "candidate": " ".join(own[m.other : m.other + m.other_length]),
            "reference": " ".join(other[m.start : m.start + m.length]),
            "matcher": MATCHERS[m.stage],
        }
        for m in path.matches
    ]
    return {
        "reference": batch.texts[reference],
        "matches": matches,
        "chunks": path.chunks,
        "candidate_only": [word for place, word in enumerate(own) if not path.other_used >> place & 1],
        "reference_only": [word for place, word in enumerate(other) if not path.used >> place & 1],
    }


class Meteor(Metric):
    name, title = "meteor", "METEOR"
    range = (0.0, 1.0)
    needs = ("references",)
    analyses = ("tokens",)
    options: ClassVar = {
        "matchers": Option("auto", "names joined by +, of exact, stem, synonym, paraphrase; auto: all for English")
    }

    def __init__(self, *, label: str | None = None, **options: Any) -> None:
        super().__init__(label=label, **options)
        self.matchers("en")

    def matchers(self, lang: str) -> tuple[str, ...]:
        """The matchers of a language: all four for English, exact ones where METEOR has no tables."""
        if self.opt.matchers == "auto":
            return MATCHERS if lang == "en" else MATCHERS[:1]
        names = self.opt.matchers.split("+")
        if "exact" not in names or not set(names) <= set(MATCHERS):
            raise VericapError(
                f"metric 'meteor': option matchers={self.opt.matchers} is not 'auto' or names joined by + "
                f"('exact' and any of {', '.join(MATCHERS[1:])}), for example matchers=exact+stem"
            )
        if lang != "en" and len(names) > 1:
            raise VericapError(f"metric 'meteor': for lang {lang} only matchers=exact works; the tables are English")
        return tuple(name for name in MATCHERS if name in names)

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        english = batch.settings.lang == "en"
        matchers = self.matchers(batch.settings.lang)
        tokens = batch.analysis("tokens")
        texts = meteor_words(tokens) if english else tokens
        words = word_features(texts.vocabulary, matchers, english=english)
        phrases = find_phrases(texts, words.number) if "paraphrase" in matchers else no_phrases(len(texts))
        values = np.empty((len(batch), meteor_align.COLUMNS))
        chosen = np.empty(len(batch), dtype=np.int32)
        starts = progress(range(0, len(batch), _ROWS), what="METEOR", show=batch.settings.progress)
        for start in starts:
            rows = slice(start, start + _ROWS)
            best = meteor_align.best_statistics(texts, words, phrases, matchers, batch, rows)
            values[rows], chosen[rows] = best
        found = without_references(batch, values)
        if batch.settings.explain:
            aligner = meteor_align.Aligner(texts, words, phrases, matchers)
            found.explanations = [explain(aligner, batch, row, int(best)) for row, best in enumerate(chosen)]
        return found

    def captions(self, values: Floats) -> Floats:
        return meteor_align.scores(values)

    def corpus(self, sums: Floats, count: Floats) -> Floats:
        """METEOR of the summed statistics, not the mean of caption scores."""
        return np.where(np.asarray(count) > 0, meteor_align.scores(sums), np.nan)

    def signature_parts(self, batch: Batch) -> dict[str, str]:
        return {"matchers": "+".join(self.matchers(batch.settings.lang)), "meteor": "1.5"}

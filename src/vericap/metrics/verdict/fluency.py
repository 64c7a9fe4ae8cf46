"""Fluency: how likely a text reads as written by a person, whatever it speaks of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from vericap.core.analysis import Key
from vericap.core.batch import Batch
from vericap.core.explanation import Explanation, SentenceEvidence, WordEvidence
from vericap.core.metric import Metric, Option
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.metrics.toolbox import NO_WORD, wordless, words_of
from vericap.models.fluency import KINDS, Mark, SentenceFluency, TextFluency
from vericap.run.analyses import Fluency as FluencyKey

MARKED = 0.2  # chance of an error from which on a token is named
MOST, NOTES = 12, 4  # marks of one text that are told, the strongest; those told in words
LONG = 60  # letters of a mark that are repeated in words
SOURCE = "language"


class Fluency(Metric):
    name, title = "fluency", "Fluency"
    reads_references = False
    range = (0.0, 1.0)
    needs = ()
    languages: ClassVar[tuple[str, ...]] = ("en",)
    other_languages = "or leave fluency out: its model knows English alone"
    options: ClassVar[Mapping[str, Option]] = {
        "model": Option("default", "'default' (shipped) or a folder of `vericap train fluency`")
    }

    def key(self) -> FluencyKey:
        return FluencyKey(self.opt.model)

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (self.key(),)

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        """A text without a word reads as written by nobody: 0, with the reason."""
        found = batch[self.key()]
        problems = dict.fromkeys(wordless(batch), f"{NO_WORD} and scores 0")
        values = np.array([found[text].value for text in batch.candidates.tolist()], dtype=np.float64)
        values[list(problems)] = 0.0
        return Statistics(values, problems)

    def explain(
        self, batch: Batch, rows: Sequence[int], state: Any = None, *, full: bool = False
    ) -> list[Explanation | None]:
        """Words with the chance that they stand right, sentences with their values, and what is wrong where."""
        found, unjudged = batch[self.key()], wordless(batch)
        return [
            None if row in unjudged else self._reasons(batch.texts[text], found[text])
            for row, text in zip(rows, batch.candidates[list(rows)].tolist())
        ]

    def _reasons(self, text: str, found: TextFluency) -> Explanation:
        marks = found.marks(MARKED)
        worst = sorted(marks, key=lambda mark: -mark.chance)[:MOST]
        return Explanation(
            self.label,
            words=tuple(word_evidence(text, found)),
            sentences=tuple(sentence_evidence(text, one) for one in found.sentences),
            notes=tuple(dict.fromkeys(note(text, mark) for mark in worst[:NOTES])),
            facts={"lowered_by": [fact(text, mark) for mark in marks if mark in worst]} if marks else {},
        )


def word_evidence(text: str, found: TextFluency) -> Iterator[WordEvidence]:
    """Every word with the chance that it stands right: the least of its tokens, of its sentence's end, of a copy's."""
    tokens = [token for one in found.sentences for token in _tokens(one)]
    place = 0
    for word, start, end in words_of(text):
        while place < len(tokens) and tokens[place][1] <= start:
            place += 1
        last = place
        while last < len(tokens) and tokens[last][0] < end:
            last += 1
        support = min((good for _, _, good in tokens[place:last]), default=None)
        yield WordEvidence(word, start, end, support, SOURCE)


def _tokens(one: SentenceFluency) -> list[tuple[int, int, float]]:
    good = np.minimum(one.good, 1.0 - one.copied)
    last = len(good) - 2
    good[last] = min(good[last], good[last + 1])  # an end that is missing is seen on the last word
    return [(start, end, float(value)) for (start, end), value in zip(one.sentence.spans, good)]


def sentence_evidence(text: str, one: SentenceFluency) -> SentenceEvidence:
    start, end = one.sentence.start, one.sentence.end
    return SentenceEvidence(text[start:end], start, end, one.value)


def fact(text: str, mark: Mark) -> dict[str, Any]:
    """A mark as plain data."""
    said = {"text": text[mark.start : mark.end][:LONG], "start": mark.start, "end": mark.end}
    return {**said, "reason": KINDS[mark.kind], "chance": round(mark.chance, 3)}


def note(text: str, mark: Mark) -> str:
    """A mark in words: 'dogs': wrong form."""
    said = text[mark.start : mark.end]
    return f"'{said if len(said) <= LONG else said[:LONG] + '...'}': {KINDS[mark.kind]}"

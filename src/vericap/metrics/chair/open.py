"""CHAIR without a list of classes: every object a caption names is judged by its support in the photo (`verdict`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vericap.core.batch import Batch
from vericap.core.explanation import Explanation, WordEvidence
from vericap.metrics.toolbox import words_of
from vericap.metrics.verdict.claims import OBJECT, RELATION
from vericap.metrics.verdict.judge import BOTH, IMAGE, shipped_judge, word_supports
from vericap.metrics.verdict.parts import CaptionParts, Parts, problems_of
from vericap.models.visual_words import box_of


@dataclass(frozen=True)
class OpenVerdict:
    """The objects that a caption names, those of them that are not supported, and the words."""

    caption: str
    said: tuple[str, ...]
    invented: tuple[str, ...]
    words: tuple[WordEvidence, ...]

    @classmethod
    def of(cls, caption: str, parts: CaptionParts, *, references: bool) -> OpenVerdict:
        judge, way = shipped_judge(), BOTH if references and parts.recall == parts.recall else IMAGE
        support, limit = judge.support([parts], way), judge.doubted(way)
        objects = [(claim.text, own) for claim, own in zip(parts.claims, support.tolist()) if claim.kind == OBJECT]
        rows = []
        for text, start, end, value, claim in word_supports(parts, support):
            named = value is not None and parts.claims[claim].kind not in ("", RELATION)
            region = box_of(parts.regions[claim]) if named else None
            rows.append(WordEvidence(text, start, end, value if named else None, "image" if named else "", region))
        said = tuple(text for text, _ in objects)
        return cls(caption, said, tuple(text for text, own in objects if own < limit), tuple(rows))

    def row(self, *, distinct: bool) -> tuple[float, ...]:
        """Invented mentions, mentions, 1 if any is invented; what is there is not counted: nobody lists it."""
        invented, said = (list(dict.fromkeys(some)) if distinct else some for some in (self.invented, self.said))
        return len(invented), len(said), len(invented) > 0, 0, 0, len(words_of(self.caption))

    def explained(self, label: str) -> Explanation:
        facts = {"hallucinated": list(self.invented), "mentions": len(self.said)}
        return Explanation(label, words=self.words, facts=facts)


def open_verdicts(batch: Batch, key: Parts, *, references: bool) -> Iterator[OpenVerdict | str]:
    """What is to say of every caption, or why nothing can be said."""
    problems = problems_of(batch, key.words)
    every: list[CaptionParts | None] = batch[key]
    for row, parts in enumerate(every):
        text = batch.texts[int(batch.candidates[row])]
        yield problems[row] if parts is None else OpenVerdict.of(text, parts, references=references)

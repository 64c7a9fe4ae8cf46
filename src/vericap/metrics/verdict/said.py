"""What references say of a caption's claims, and what they say that it does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vericap.core.batch import Batch
from vericap.core.typing import Floats32
from vericap.graphs.corruption_words import covers
from vericap.metrics.evidence import base_forms
from vericap.metrics.verdict.claims import Claim, ClaimedSentence, content_form, said_words
from vericap.metrics.verdict.lexicon import Lexicon
from vericap.metrics.verdict.meaning import said_otherwise

if TYPE_CHECKING:
    from vericap.run.runtime import Runtime

# The share of references that say a claim, the nearest word of theirs, how many they are; whether they say it in other
# words or more closely ("animal": "dog"), and the share of them that say what could stand instead ("man": "woman").
SAYING = ("said", "near", "references", "covered", "instead")
_SAME = 0.8  # cosine from which two words count as one


@dataclass(frozen=True, slots=True)
class _Words:
    """The content words of a text, without those for what it says is not there."""

    written: tuple[str, ...]  # in lower case, without 's
    forms: frozenset[str]  # all base forms
    joined: frozenset[str]  # of two neighbours, each pair as one word: "surf board"

    @classmethod
    def of(cls, text: str) -> _Words:
        words = said_words(text)
        forms = frozenset(form for word in words for form in base_forms(word))
        return cls(words, forms, frozenset(pair for place in range(1, len(words)) for pair in _pairs(words, place)))

    def says(self, place: int, other: _Words) -> bool:
        """Whether another text has the word at a place, in any form and spelling."""
        if not base_forms(self.written[place]).isdisjoint(other.forms | other.joined):
            return True
        return any(not other.forms.isdisjoint(_pairs(self.written, at)) for at in (place, place + 1))


def _pairs(words: Sequence[str], place: int) -> list[str]:
    """A word as one with that before it, in all its forms."""
    if not 0 < place < len(words):
        return []
    return [words[place - 1] + form for form in base_forms(words[place])]


class Said:
    """What references say of claims."""

    def __init__(self, batch: Batch, runtime: Runtime, lexicon: Lexicon) -> None:
        self._batch, self._vectors, self._lexicon = batch, PhraseTable(runtime), lexicon
        self._words: dict[int, _Words] = {}

    def of(self, row: int, sentences: Sequence[ClaimedSentence]) -> Floats32:
        """(claims, SAYING)."""
        claims = [claim for sentence in sentences for claim in sentence.claims]
        theirs = [self._of(place) for place in self._batch.references(row).tolist()]
        found = np.zeros((len(claims), len(SAYING)), dtype=np.float32)
        if not theirs or not claims:
            return found
        every = sorted(set().union(*(own.forms for own in theirs)))
        near = self._vectors([claim.text for claim in claims]) @ self._vectors(every).T if every else np.zeros((1, 1))
        forms = [own.forms | own.joined for own in theirs]
        for place, claim in enumerate(claims):
            parts = [base_forms(part) for part in claim.text.split()]
            said = sum(all(part & own for part in parts) for own in forms) / len(theirs)
            like = 1.0 if said else near[place].max() if every else 0.0
            covered = said > 0 or any(covers(claim.text, word) for word in every)
            found[place] = said, like, len(theirs), covered, self._instead(claim, forms, said)
        return found

    def _instead(self, claim: Claim, theirs: Sequence[frozenset[str]], said: float) -> float:
        """The share of references that say a rival of a claim that none of them says."""
        rivals = self._lexicon.rival_words(claim)
        return 0.0 if said or not rivals else sum(not rivals.isdisjoint(own) for own in theirs) / len(theirs)

    def left_out(self, row: int) -> tuple[tuple[tuple[str, float], ...], float]:
        """Content words of references that a caption lacks, as they mostly have them, with the share of them that say
        each; and the recall."""
        theirs = [self._of(place) for place in self._batch.references(row).tolist()]
        own = self._of(int(self._batch.candidates[row]))
        shares, written, said = Counter[str](), dict[str, Counter[str]](), set[str]()
        for words in theirs:
            meant = self._meant(words)
            shares.update(set(meant.values()))
            for place, form in meant.items():
                written.setdefault(form, Counter())[words.written[place]] += 1
                if words.says(place, own):
                    said.add(form)
        if not shares:
            return (), float("nan")
        lacking = [form for form in shares if form not in said]
        others = sorted(set(self._meant(own).values()))
        near = self._near(lacking, others)
        missing = [
            (form, shares[form])
            for form, like in zip(lacking, near.tolist())
            if like < _SAME and not said_otherwise(form, others)
        ]
        recall = 1 - sum(count for _, count in missing) / shares.total()
        shown = [(written[form].most_common(1)[0][0], count / len(theirs)) for form, count in missing]
        return tuple(sorted(shown, key=lambda item: (-item[1], item[0]))), recall

    def _meant(self, words: _Words) -> dict[int, str]:
        """The words of a text that somebody knows, each by the form under which it counts once."""
        forms = ((place, content_form(word)) for place, word in enumerate(words.written) if self._lexicon.knows(word))
        return {place: form for place, form in forms if form}

    def _near(self, words: Sequence[str], others: Sequence[str]) -> Floats32:
        if not words or not others:
            return np.zeros(len(words), dtype=np.float32)
        return np.asarray((self._vectors(words) @ self._vectors(others).T).max(axis=1))

    def _of(self, place: int) -> _Words:
        if place not in self._words:
            self._words[place] = _Words.of(self._batch.texts[place])
        return self._words[place]


class PhraseTable:
    """Vectors of words and short phrases, each made once for a batch."""

    def __init__(self, runtime: Runtime) -> None:
        self._encoder = runtime.encoder("captions")
        self._known: dict[str, Floats32] = {}

    def __call__(self, texts: Sequence[str]) -> Floats32:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._encoder.phrases(new)))
        return np.stack([self._known[text] for text in texts])

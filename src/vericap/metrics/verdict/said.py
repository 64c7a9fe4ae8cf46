"""What references say of a caption's claims, and what they say that it does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vericap.core.batch import Batch
from vericap.core.typing import Floats32
from vericap.graphs.corruption_words import covers
from vericap.metrics.evidence import base_forms
from vericap.metrics.toolbox import words_of
from vericap.metrics.verdict.claims import Claim, ClaimedSentence, content_form, is_content
from vericap.metrics.verdict.lexicon import Lexicon

if TYPE_CHECKING:
    from vericap.run.runtime import Runtime

# The share of references that say a claim, the nearest word of theirs, how many they are; whether they say it in other
# words or more closely ("animal": "dog"), and the share of them that say what could stand instead ("man": "woman").
SAYING = ("said", "near", "references", "covered", "instead")
_SAME = 0.8  # cosine from which two words count as one


class Said:
    """What references say of claims."""

    def __init__(self, batch: Batch, runtime: Runtime, lexicon: Lexicon) -> None:
        self._batch, self._vectors, self._lexicon = batch, PhraseTable(runtime), lexicon
        self._lemmas: dict[int, frozenset[str]] = {}

    def of(self, row: int, sentences: Sequence[ClaimedSentence]) -> Floats32:
        """(claims, SAYING)."""
        claims = [claim for sentence in sentences for claim in sentence.claims]
        theirs = [self._of(place) for place in self._batch.references(row).tolist()]
        found = np.zeros((len(claims), len(SAYING)), dtype=np.float32)
        if not theirs or not claims:
            return found
        every = sorted(set().union(*theirs))
        near = self._vectors([claim.text for claim in claims]) @ self._vectors(every).T if every else np.zeros((1, 1))
        for place, claim in enumerate(claims):
            parts = [base_forms(part) for part in claim.text.split()]
            said = sum(all(forms & own for forms in parts) for own in theirs) / len(theirs)
            like = 1.0 if said else near[place].max() if every else 0.0
            covered = said > 0 or any(covers(claim.text, word) for word in every)
            found[place] = said, like, len(theirs), covered, self._instead(claim, theirs, said)
        return found

    def _instead(self, claim: Claim, theirs: Sequence[frozenset[str]], said: float) -> float:
        """The share of references that say a rival of a claim that none of them says."""
        rivals = self._lexicon.rival_words(claim)
        return 0.0 if said or not rivals else sum(not rivals.isdisjoint(own) for own in theirs) / len(theirs)

    def left_out(self, row: int) -> tuple[tuple[tuple[str, float], ...], float]:
        """Content words of references that a caption lacks, with the share of them that say each; and the recall."""
        theirs = [self._content(place) for place in self._batch.references(row).tolist()]
        if not any(theirs):
            return (), float("nan")
        shares = Counter[str]()
        for own in theirs:
            shares.update(own)
        said = self._of(int(self._batch.candidates[row]))
        lacking = [word for word in shares if word not in said]
        near = self._near(lacking, sorted(said))
        missing = [(word, shares[word] / len(theirs)) for word, like in zip(lacking, near) if like < _SAME]
        recall = 1 - sum(share for _, share in missing) * len(theirs) / shares.total()
        return tuple(sorted(missing, key=lambda item: (-item[1], item[0]))), recall

    def _near(self, words: Sequence[str], others: Sequence[str]) -> Floats32:
        if not words or not others:
            return np.zeros(len(words), dtype=np.float32)
        return np.asarray((self._vectors(words) @ self._vectors(others).T).max(axis=1))

    def _of(self, place: int) -> frozenset[str]:
        """All forms of the content words of a text."""
        if place not in self._lemmas:
            self._lemmas[place] = frozenset(
                form for word in _content_of(self._batch.texts[place]) for form in base_forms(word)
            )
        return self._lemmas[place]

    def _content(self, place: int) -> frozenset[str]:
        """The content words of a text, each by its shortest base form."""
        return frozenset(filter(None, map(content_form, _content_of(self._batch.texts[place]))))


def _content_of(text: str) -> list[str]:
    return [word.lower() for word, _, _ in words_of(text) if is_content(word)]


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

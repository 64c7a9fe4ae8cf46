"""Tokens of texts and what is counted on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from vericap.core.analysis import Analysis, Index, Key
from vericap.core.batch import Batch
from vericap.core.settings import Settings
from vericap.core.typing import Ints
from vericap.text import ngrams
from vericap.text.ngrams import NGramTable
from vericap.text.tokens import TokenTable, tokenize


@dataclass(frozen=True)
class Tokens(Analysis[TokenTable]):
    """Every text cut into tokens, kept as numbers."""

    tokenizer: str = "ptb"
    cost: ClassVar[int] = 150

    def compute(self, batch: Batch, runtime: Any) -> TokenTable:
        if self.tokenizer == "ptb":
            from vericap.text import ptb

            return ptb.tokens(batch.texts, following=next_lines(batch))
        return tokenize(batch.texts, self.tokenizer)

    def signature(self, batch: Batch) -> dict[str, str]:
        return {"tok": self.tokenizer}


@dataclass(frozen=True)
class NGrams(Analysis[NGramTable]):
    """Distinct n-grams of every text, n = 1..4, with their counts."""

    tokenizer: str = "ptb"
    cost: ClassVar[int] = 600

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (Tokens(self.tokenizer),)

    def compute(self, batch: Batch, runtime: Any) -> NGramTable:
        return ngrams.ngrams(batch[Tokens(self.tokenizer)])


@dataclass(frozen=True)
class BleuCounts(Analysis[Ints]):
    """Matches, guesses and lengths that BLEU-1..4 share: (samples, 10)."""

    tokenizer: str = "ptb"
    index: ClassVar[Index] = "sample"
    cost: ClassVar[int] = 80

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (NGrams(self.tokenizer),)

    def compute(self, batch: Batch, runtime: Any) -> Ints:
        grams = batch[NGrams(self.tokenizer)]
        return ngrams.bleu_counts(grams, batch.candidates, batch.reference_offsets, batch.reference_index)


def next_lines(batch: Batch) -> Ints:
    """Which text the COCO tool reads after each text: a system's next candidate, or the next reference in the file.

    It decides one thing only, see `vericap.text.ptb.tokens`; a text that occurs twice keeps its first neighbour.
    """
    following = np.full(len(batch.texts), -1, dtype=np.int64)
    counts = batch.reference_counts()
    # Of several assignments to one place the last holds.
    for part in reversed(range(int(batch.part.max(initial=0)) + 1)):
        inside = batch.part == part
        for lines in (batch.reference_index[np.repeat(inside, counts)], batch.candidates[inside]):
            following[lines[:-1][::-1]] = lines[1:][::-1]
    return following

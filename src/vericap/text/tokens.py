"""Tokens of many texts, kept as numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vericap.core.errors import UnknownName

# name -> function(texts) -> Tokens or a sequence of token lists; imported when first asked for
TOKENIZERS: dict[str, str] = {
    "ptb": "vericap.text.ptb:tokens",
    "none": "vericap.text.tokens:split_blanks",
    "sudachi": "vericap.text.japanese:tokenize",
    "intl": "vericap.text.sacrebleu_tokens:intl",
    "char": "vericap.text.sacrebleu_tokens:char",
    "zh": "vericap.text.sacrebleu_tokens:zh",
}


@dataclass
class TokenTable:
    """Tokens of many texts as numbers: those of text i are `vocabulary[ids[offsets[i]:offsets[i + 1]]]`."""

    vocabulary: list[str]
    offsets: NDArray[np.int64]
    ids: NDArray[np.int32]
    _words: TokenTable | None = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, text: int) -> list[str]:
        if not -len(self) <= text < len(self):
            raise IndexError(f"text {text} of {len(self)}")
        text %= len(self)
        return [self.vocabulary[i] for i in self.ids[self.offsets[text] : self.offsets[text + 1]]]

    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]]) -> TokenTable:
        """Number the tokens of ready-made token lists."""
        seen: dict[str, int] = {}
        ids: list[int] = []
        offsets = [0]
        for text in texts:
            ids.extend(seen.setdefault(token, len(seen)) for token in text)
            offsets.append(len(ids))
        return cls(list(seen), np.array(offsets, dtype=np.int64), np.array(ids, dtype=np.int32))

    def words(self) -> TokenTable:
        """The same texts with tokens that hold white space cut at it.

        The COCO tool joins tokens by blanks and BLEU and CIDEr split the line again at any white space, so that
        `1 1/2` (one token, held together by a non-breaking space) counts as two words there, and as one in ROUGE-L.
        """
        if self._words is None:
            self._words = self._cut()
        return self._words

    def _cut(self) -> TokenTable:
        seen = {token: number for number, token in enumerate(self.vocabulary)}
        pieces = {
            number: [seen.setdefault(word, len(seen)) for word in token.split()]
            for number, token in enumerate(self.vocabulary)
            if not token.isalnum() and token.split() != [token]
        }
        return self.replaced(pieces, list(seen)) if pieces else self

    def replaced(self, pieces: Mapping[int, Sequence[int]], vocabulary: list[str]) -> TokenTable:
        """The same texts with some tokens replaced by others, of a vocabulary that goes on from this one."""
        arrays = {number: np.array(piece, dtype=np.int32) for number, piece in pieces.items()}
        marked = np.zeros(len(self.vocabulary), dtype=bool)
        marked[list(arrays)] = True
        places = np.flatnonzero(marked[self.ids])
        parts: list[NDArray[np.int32]] = []
        begin = 0
        for place, token in zip(places.tolist(), self.ids[places].tolist()):
            parts += [self.ids[begin:place], arrays[token]]  # few are replaced: the others are copied as they stand
            begin = place + 1
        more = np.cumsum([0, *(len(piece) - 1 for piece in parts[1::2])])
        offsets = self.offsets + more[np.searchsorted(places, self.offsets)]
        return TokenTable(vocabulary, offsets, np.concatenate([*parts, self.ids[begin:]]))


def split_blanks(texts: Sequence[str]) -> TokenTable:
    """Tokens as they stand: split at white space, nothing else changed."""
    return TokenTable.of(text.split() for text in texts)


def tokenizer(name: str) -> Callable[[Sequence[str]], Any]:
    """The tokeniser of that name."""
    if name not in TOKENIZERS:
        raise UnknownName(f"no tokenizer is called '{name}'; there are: {', '.join(TOKENIZERS)}")
    module, function = TOKENIZERS[name].split(":")
    found: Callable[[Sequence[str]], Any] = getattr(import_module(module), function)
    return found


def tokenize(texts: Sequence[str], name: str = "ptb") -> TokenTable:
    """Cut texts into tokens with the named tokeniser."""
    found = tokenizer(name)(texts)
    return found if isinstance(found, TokenTable) else TokenTable.of(found)

"""The kernels of `vericap.text.ngrams` in NumPy and Python, with results equal to the compiled ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vericap.core.typing import Floats, Ints, Ints32

if TYPE_CHECKING:
    from vericap.text.ngrams import NGramTable
    from vericap.text.tokens import TokenTable

_CHUNK = 4096  # samples joined at a time, which bounds memory


def number(words: Ints32, longer: Ints32, offsets: Ints, orders: int, vocabulary: int, starts: Ints) -> None:
    """Fill `longer` with the n-gram of each place, and `starts` with the first number of each order."""
    lengths = np.diff(offsets)
    room = np.repeat(offsets[1:], lengths) - np.arange(len(words))  # words from here to the end of the text
    starts[1], shorter = vocabulary, words
    for order in range(2, orders + 1):
        place = np.flatnonzero(room >= order)
        pairs = shorter[place].astype(np.int64) * max(vocabulary, 1) + words[place + order - 1]
        keys, first, inverse = np.unique(pairs, return_index=True, return_inverse=True)
        rank = np.empty(len(keys), dtype=np.int64)
        rank[np.argsort(first, kind="stable")] = np.arange(len(keys))  # numbers go by first appearance
        row = longer[order - 2]
        row[:] = -1
        row[place] = rank[inverse.reshape(-1)] + starts[order - 1]
        starts[order] = starts[order - 1] + len(keys)
        shorter = row


@dataclass
class _Distinct:
    """Distinct n-grams of one order of some texts, in the order of the texts."""

    owner: Ints  # place of the text among those asked for
    gram: Ints
    count: Ints

    @classmethod
    def of(cls, grams: NGramTable, texts: Ints, order: int) -> _Distinct:
        begin, row = grams.offsets[texts], grams.row(order)
        place, owner = _spans(begin, np.maximum(grams.offsets[texts + 1] - order + 1, begin))
        pairs = owner * max(len(grams), 1) + row[place]
        _, first, count = np.unique(pairs, return_index=True, return_counts=True)
        by_place = np.argsort(first)
        first = first[by_place]
        return cls(owner[first], row[place[first]].astype(np.int64), count[by_place])


def _orders(grams: NGramTable) -> range:
    return range(1, len(grams.longer) + 2)


def _spans(begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """All places begin[i] .. end[i] - 1 one after the other, and i of each."""
    lengths = end - begin
    owner = np.repeat(np.arange(len(begin)), lengths)
    before = np.cumsum(lengths) - lengths
    return np.arange(len(owner)) - before[owner] + begin[owner], owner


@dataclass
class _Shared:
    """N-grams of one order that candidates of some samples share with their references."""

    order: int
    samples: slice
    own: _Distinct
    place: Ints  # of each shared n-gram among the candidates' n-grams; ascending within a pair
    pair: Ints  # candidate and reference, by the reference's place
    count: Ints  # in the reference


def _shared(grams: NGramTable, candidates: Ints, offsets: Ints, references: Ints) -> Iterator[_Shared]:
    span = max(len(grams), 1)
    for start in range(0, len(candidates), _CHUNK):
        stop = min(start + _CHUNK, len(candidates))
        pairs = np.arange(offsets[start], offsets[stop])
        sample = np.repeat(np.arange(stop - start), np.diff(offsets[start : stop + 1]))
        for order in _orders(grams):
            own = _Distinct.of(grams, candidates[start:stop], order)
            other = _Distinct.of(grams, references[pairs], order)
            keys = own.owner * span + own.gram
            by_key = np.argsort(keys, kind="stable")
            wanted = sample[other.owner] * span + other.gram
            where = np.searchsorted(keys[by_key], wanted)
            where[where == len(keys)] = 0
            found = keys[by_key][where] == wanted if len(keys) else np.zeros(len(wanted), dtype=bool)
            place, pair = by_key[where[found]], pairs[other.owner[found]]
            turn = np.lexsort((place, pair))
            yield _Shared(order, slice(start, stop), own, place[turn], pair[turn], other.count[found][turn])


def bleu_counts(grams: NGramTable, candidates: Ints, offsets: Ints, references: Ints) -> Ints:
    orders = len(_orders(grams))
    out = np.zeros((len(candidates), 2 * orders + 2), dtype=np.int64)
    for shared in _shared(grams, candidates, offsets, references):
        own = shared.own
        most = np.zeros(len(own.gram), dtype=np.int64)
        np.maximum.at(most, shared.place, shared.count)
        clipped = np.minimum(most, own.count)
        rows = shared.samples
        out[rows, shared.order - 1] = np.bincount(own.owner, weights=clipped, minlength=rows.stop - rows.start)
    length = grams.lengths[candidates]
    for order in range(orders):
        out[:, orders + order] = np.maximum(0, length - order)
    out[:, 2 * orders] = length
    for sample, own_length in enumerate(length.tolist()):
        others = grams.lengths[references[offsets[sample] : offsets[sample + 1]]].tolist()
        out[sample, 2 * orders + 1] = min(((abs(other - own_length), other) for other in others), default=(0, 0))[1]
    return out


def lcs(first: list[int], second: list[int]) -> int:
    """Longest common subsequence by bit-parallel addition (Hyyrö 2004): one big integer per row."""
    masks: dict[int, int] = {}
    for place, token in enumerate(first):
        masks[token] = masks.get(token, 0) | 1 << place
    full = (1 << len(first)) - 1
    row = full
    for token in second:
        match = row & masks.get(token, 0)
        row = ((row + match) | (row - match)) & full
    return len(first) - row.bit_count()


def lcs_lengths(tokens: TokenTable, candidates: Ints, offsets: Ints, references: Ints) -> Ints:
    out = np.zeros(len(references), dtype=np.int64)
    bounds, ids = tokens.offsets, tokens.ids
    for sample, text in enumerate(candidates):
        own = ids[bounds[text] : bounds[text + 1]].tolist()
        for pair in range(offsets[sample], offsets[sample + 1]):
            other = references[pair]
            out[pair] = lcs(own, ids[bounds[other] : bounds[other + 1]].tolist())
    return out


def document_counts(grams: NGramTable, offsets: Ints, references: Ints) -> Ints32:
    total = np.zeros(len(grams), dtype=np.int64)
    span = max(len(grams), 1)
    for start in range(0, len(offsets) - 1, _CHUNK):
        stop = min(start + _CHUNK, len(offsets) - 1)
        texts = references[offsets[start] : offsets[stop]]
        sample = np.repeat(np.arange(stop - start), np.diff(offsets[start : stop + 1]))
        for order in _orders(grams):
            own = _Distinct.of(grams, texts, order)
            once = np.unique(sample[own.owner] * span + own.gram)
            total += np.bincount(once % span, minlength=len(grams))
    return total.astype(np.int32)


def norms(grams: NGramTable, weights: Floats) -> Floats:
    """Length of each text's tf-idf vector, (orders, texts); summed in the order of the text."""
    found = []
    for order in _orders(grams):
        own = _Distinct.of(grams, np.arange(grams.texts), order)
        values = own.count * weights[own.gram]
        found.append(np.sqrt(np.bincount(own.owner, weights=values * values, minlength=grams.texts)))
    return np.array(found)


def cosines(
    grams: NGramTable, weights: Floats, candidates: Ints, offsets: Ints, references: Ints, *, clip: bool
) -> Floats:
    out = np.zeros((len(references), len(_orders(grams))))
    for shared in _shared(grams, candidates, offsets, references):
        weight = weights[shared.own.gram[shared.place]]
        own, theirs = shared.own.count[shared.place] * weight, shared.count * weight
        product = (np.minimum(own, theirs) if clip else own) * theirs
        out[:, shared.order - 1] += np.bincount(shared.pair, weights=product, minlength=len(references))
    length = norms(grams, weights)
    own_length = np.repeat(length[:, candidates], np.diff(offsets), axis=1)
    both = (own_length * length[:, references]).T
    return np.divide(out, both, out=out, where=both != 0)

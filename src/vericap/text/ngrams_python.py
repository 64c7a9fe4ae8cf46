"""The kernels of `vericap.text.ngrams` in NumPy and Python, with results equal to the compiled ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from vericap.text.ngrams import NGramTable
    from vericap.text.tokens import TokenTable

Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]
Floats = NDArray[np.float64]

_CHUNK = 4096  # samples joined at a time, which bounds memory


def ngrams(ids: Ints32, offsets: Ints, words: int, orders: int) -> tuple[Ints32, Ints32, Ints, Ints, Ints32, Ints32]:
    """prefix, last, starts, rows, grams, counts of `NGrams`."""
    lengths = np.diff(offsets)
    text_of = np.repeat(np.arange(len(lengths)), lengths)
    room = np.repeat(offsets[1:], lengths) - np.arange(len(ids))  # words from here to the end of the text
    prefix = [np.full(words, -1, dtype=np.int64)]
    last = [np.arange(words, dtype=np.int64)]
    starts, rows, all_grams, all_counts = [0, words], [np.zeros(1, dtype=np.int64)], [], []
    current, place = ids.astype(np.int64), np.arange(len(ids))
    for order in range(1, orders + 1):
        if order > 1:
            keep = room[place] >= order
            place = place[keep]
            word = ids[place + order - 1].astype(np.int64)
            keys, first, inverse = np.unique(
                current[keep] * max(words, 1) + word, return_index=True, return_inverse=True
            )
            by_first = np.argsort(first, kind="stable")  # numbers go by first appearance
            rank = np.empty(len(keys), dtype=np.int64)
            rank[by_first] = np.arange(len(keys))
            current = rank[inverse.reshape(-1)] + starts[-1]
            prefix.append(keys[by_first] // max(words, 1))
            last.append(keys[by_first] % max(words, 1))
            starts.append(starts[-1] + len(keys))
        span = max(starts[-1], 1)
        pairs, count = np.unique(text_of[place] * span + current, return_counts=True)
        all_grams.append((pairs % span).astype(np.int32))
        all_counts.append(count.astype(np.int32))
        ends = np.cumsum(np.bincount(pairs // span, minlength=len(lengths)))
        rows.append(ends + rows[-1][-1])
    return (
        np.concatenate(prefix).astype(np.int32),
        np.concatenate(last).astype(np.int32),
        np.array(starts, dtype=np.int64),
        np.concatenate(rows).astype(np.int64),
        np.concatenate(all_grams),
        np.concatenate(all_counts),
    )


def spans(begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """All places begin[i] .. end[i] - 1 one after the other, and i of each."""
    lengths = end - begin
    owner = np.repeat(np.arange(len(begin)), lengths)
    before = np.cumsum(lengths) - lengths
    return np.arange(len(owner)) - before[owner] + begin[owner], owner


def _joins(
    grams: NGramTable, candidates: Ints, offsets: Ints, references: Ints, orders: int
) -> Iterator[tuple[int, int, int, Ints, Ints, Ints, Ints, Ints]]:
    """For chunks of samples and each order: the n-grams a candidate shares with its references.

    Yields order, first sample, end sample, candidate places, their samples, and for every shared n-gram
    the place in the candidate list, the place in `grams.grams` on the reference side and the pair's number.
    """
    span = max(len(grams), 1)
    for start in range(0, len(candidates), _CHUNK):
        stop = min(start + _CHUNK, len(candidates))
        pairs = np.arange(offsets[start], offsets[stop])
        sample = np.repeat(np.arange(stop - start), np.diff(offsets[start : stop + 1]))
        for order in range(orders):
            row = candidates[start:stop] + order * grams.texts
            place, owner = spans(grams.rows[row], grams.rows[row + 1])
            keys = owner * span + grams.grams[place]
            row = references[pairs] + order * grams.texts
            other, pair = spans(grams.rows[row], grams.rows[row + 1])
            wanted = sample[pair] * span + grams.grams[other]
            where = np.searchsorted(keys, wanted)
            where[where == len(keys)] = 0
            found = keys[where] == wanted if len(keys) else np.zeros(len(wanted), dtype=bool)
            yield order, start, stop, place, owner, where[found], other[found], pairs[pair[found]]


def bleu_counts(grams: NGramTable, candidates: Ints, offsets: Ints, references: Ints, orders: int) -> Ints:
    out = np.zeros((len(candidates), 2 * orders + 2), dtype=np.int64)
    for order, start, stop, place, owner, where, other, _ in _joins(grams, candidates, offsets, references, orders):
        most = np.zeros(len(place), dtype=np.int64)
        np.maximum.at(most, where, grams.counts[other])
        clipped = np.minimum(most, grams.counts[place])
        out[start:stop, order] = np.bincount(owner, weights=clipped, minlength=stop - start)
    length = grams.lengths[candidates]
    for order in range(orders):
        out[:, orders + order] = np.maximum(0, length - order)
    out[:, 2 * orders] = length
    for sample, own in enumerate(length.tolist()):
        others = grams.lengths[references[offsets[sample] : offsets[sample + 1]]].tolist()
        out[sample, 2 * orders + 1] = min(((abs(other - own), other) for other in others), default=(0, 0))[1]
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
        for base in range(0, len(grams.rows) - 1, max(grams.texts, 1)):
            row = texts + base
            place, pair = spans(grams.rows[row], grams.rows[row + 1])
            once = np.unique(sample[pair] * span + grams.grams[place])
            total += np.bincount(once % span, minlength=len(grams))
    return total.astype(np.int32)


def norms(grams: NGramTable, weights: Floats, orders: int) -> Floats:
    """Length of each text's tf-idf vector, (orders, texts)."""
    values = grams.counts * weights[grams.grams]
    rows = np.repeat(np.arange(len(grams.rows) - 1), np.diff(grams.rows))
    sums = np.bincount(rows, weights=values * values, minlength=orders * grams.texts)
    return np.sqrt(sums).reshape(orders, grams.texts)


def cosines(
    grams: NGramTable, weights: Floats, candidates: Ints, offsets: Ints, references: Ints, orders: int, *, clip: bool
) -> Floats:
    out = np.zeros((len(references), orders))
    for order, _, _, place, _, where, other, pair in _joins(grams, candidates, offsets, references, orders):
        own = grams.counts[place[where]] * weights[grams.grams[place[where]]]
        theirs = grams.counts[other] * weights[grams.grams[other]]
        product = (np.minimum(own, theirs) if clip else own) * theirs
        out[:, order] += np.bincount(pair, weights=product, minlength=len(references))
    length = norms(grams, weights, orders)
    own_length = np.repeat(length[:, candidates], np.diff(offsets), axis=1)
    both = (own_length * length[:, references]).T
    return np.divide(out, both, out=out, where=both != 0)

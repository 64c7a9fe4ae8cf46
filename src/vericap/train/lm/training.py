"""Modified Kneser-Ney n-grams (Chen and Goodman 1998): counted, smoothed, pruned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from vericap.core.typing import Floats, Floats32, Ints
from vericap.text.ngram_lm import END, MARKS, START, UNKNOWN, NgramModel, Order


def train(
    texts: Sequence[Sequence[str]], *, order: int = 4, min_word: int = 3, min_count: int = 2, name: str = "lm"
) -> NgramModel:
    """Estimate, prune, renormalise."""
    vocabulary, stream = numbered(texts, min_word)
    size = len(vocabulary)
    grams = [_count(stream, length, size) for length in range(1, order + 1)]
    raw = [counts for _, counts in grams]
    grams = _continuations(grams, size)
    probability = _interpolate(grams, size)
    orders: list[Order] = []
    for length in range(1, order + 1):
        keys, counts = grams[length - 1][0], raw[length - 1]
        keep = np.ones(len(keys), bool) if length == 1 else counts >= min_count
        _extend(orders, keys[keep], probability[length - 1][keep], size, length)
    return NgramModel(vocabulary, orders, log_frequencies(stream, size), name)


def log_frequencies(stream: Ints, size: int) -> Floats32:
    """The log of every word's share of a stream, its start left out."""
    words = np.bincount(stream[stream != START], minlength=size).astype(np.float64)
    words[UNKNOWN] = max(words[UNKNOWN], 1.0)
    return np.asarray(np.log(np.maximum(words, 1.0) / words.sum()), dtype=np.float32)


def numbered(texts: Sequence[Sequence[str]], min_word: int) -> tuple[dict[str, int], Ints]:
    """Vocabulary and all texts as one stream <s> w w w </s> <s> ..."""
    counts = Counter(token for text in texts for token in text)
    words = [word for word, count in counts.most_common() if count >= min_word and word not in MARKS]
    vocabulary = {word: i for i, word in enumerate((*MARKS, *words))}
    stream = [i for t in texts for i in (START, *(vocabulary.get(w, UNKNOWN) for w in t), END)]
    return vocabulary, np.array(stream, dtype=np.int64)


def _count(stream: Ints, length: int, size: int) -> tuple[Ints, Ints]:
    """Distinct n-grams as numbers in base `size`, sorted, and how often each is there; none crosses a text."""
    text = np.cumsum(stream == START)
    windows = len(stream) - length + 1
    key = np.zeros(windows, dtype=np.int64)
    for place in range(length):
        key = key * size + stream[place : place + windows]
    inside = text[:windows] == text[length - 1 : length - 1 + windows]
    if length == 1:
        inside &= stream != START  # <s> is never predicted
    keys, counts = np.unique(key[inside], return_counts=True)
    return keys, counts.astype(np.int64)


def _continuations(grams: list[tuple[Ints, Ints]], size: int) -> list[tuple[Ints, Ints]]:
    """Kneser-Ney counts: below the top, in how many contexts an n-gram is seen; after <s> as often as it is there."""
    made = []
    for length, (keys, counts) in enumerate(grams, 1):
        if length < len(grams):
            longer = grams[length][0] % size**length
            seen = np.bincount(np.searchsorted(keys, longer[np.isin(longer, keys)]), minlength=len(keys))
            counts = np.where(keys // size ** (length - 1) == START, counts, np.maximum(seen, 1))
        made.append((keys, counts))
    return made


def _discounts(counts: Ints) -> Floats:
    """D1, D2, D3+ from counts of counts, with plain 0.5, 1, 1.5 where a corpus is too small for them."""
    n1, n2, n3, n4 = (max(int((counts == k).sum()), 0) for k in (1, 2, 3, 4))
    if min(n1, n2, n3, n4) == 0:
        return np.array([0.0, 0.5, 1.0, 1.5])
    y = n1 / (n1 + 2 * n2)
    found = [0.0, 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3]
    return np.clip(found, 0.0, [0.0, 0.95, 1.9, 2.9])


def _interpolate(grams: list[tuple[Ints, Ints]], size: int) -> list[Floats]:
    """p(w | h) of every n-gram seen: discounted share plus what was discounted, spread by the shorter context."""
    found: list[Floats] = []
    for length, (keys, counts) in enumerate(grams, 1):
        discount = _discounts(counts)[np.minimum(counts, 3)]
        context, inverse = np.unique(keys // size, return_inverse=True)
        total = np.bincount(inverse, counts, minlength=len(context))
        freed = np.bincount(inverse, discount, minlength=len(context)) / total
        if length == 1:
            lower = np.full(len(keys), 1.0 / (size - 1))  # every word but <s>
        else:
            shorter = np.searchsorted(grams[length - 2][0], keys % size ** (length - 1))
            lower = found[length - 2][shorter]
        found.append((counts - discount) / total[inverse] + freed[inverse] * lower)
    return found


def _extend(orders: list[Order], keys: Ints, probability: Floats, size: int, length: int) -> None:
    """Add the kept n-grams of one length, and the back-off weights of their contexts."""
    if length == 1:
        full = np.full(size, 0.0)
        full[keys] = probability
        unseen = full == 0
        unseen[START] = False  # <unk>, where no word is rare, has its share of what was discounted
        full[unseen] = max(1.0 - full.sum(), 1e-12) / max(int(unseen.sum()), 1)
        full[START] = 1e-12
        orders.append(Order(np.arange(size), np.log(full).astype(np.float32), np.zeros(size, np.float32)))
        return
    digits = [keys // size**place % size for place in range(length - 1, -1, -1)]
    partial = NgramModel({str(i): i for i in range(size)}, orders, np.zeros(0, np.float32), "")
    numbers = partial._number(np.stack(digits[:-1]), length - 1)
    alive = numbers >= 0  # a pruned context takes its n-grams with it
    numbers, probability, digits = numbers[alive], probability[alive], [d[alive] for d in digits]
    nearer = np.stack(digits[1:-1][::-1]) if length > 2 else np.zeros((0, len(numbers)), dtype=np.int64)
    lower = np.exp(partial.scores(digits[-1], nearer).astype(np.float64))
    contexts = len(orders[-1].keys)
    left = 1.0 - np.bincount(numbers, probability, minlength=contexts)
    room = 1.0 - np.bincount(numbers, lower, minlength=contexts)
    weight = np.maximum(left, 1e-6) / np.maximum(room, 1e-6)
    used = np.bincount(numbers, minlength=contexts) > 0
    orders[-1].backoff = np.where(used, np.log(weight), 0.0).astype(np.float32)
    order = np.argsort(numbers * size + digits[-1], kind="stable")
    sorted_keys = (numbers * size + digits[-1])[order]
    orders.append(Order(sorted_keys, np.log(probability[order]).astype(np.float32), np.zeros(len(order), np.float32)))

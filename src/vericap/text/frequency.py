"""Document frequencies of n-grams: counted, merged, saved, read and looked up."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from vericap.core.typing import Floats, Ints, Ints32
from vericap.text.ngrams import ORDERS, NGramTable, NGramTree, document_counts

CORPUS = "corpus"  # where frequencies come from that are those of the captions at hand


@dataclass
class DocumentFrequency:
    """In how many of `images` images each n-gram occurs in a reference.

    N-grams that are not there count as seen once, as in the tool.
    """

    images: int
    grams: NGramTree | NGramTable  # a table: the one they were counted on
    counts: Ints32
    source: str = CORPUS

    def __len__(self) -> int:
        return len(self.counts)

    def __getstate__(self) -> dict[str, Any]:
        # What is only prepared for look-ups, and large, does not travel to other processes.
        kept = {name: value for name, value in self.__dict__.items() if name in self.__dataclass_fields__}
        return {**kept, "grams": self.tree}

    @property
    def tree(self) -> NGramTree:
        """What the n-grams are made of."""
        return self.grams if isinstance(self.grams, NGramTree) else self.grams.tree

    @classmethod
    def count(cls, grams: NGramTable, offsets: Ints, references: Ints) -> DocumentFrequency:
        """Frequencies in the references of the samples; a sample without references is no document."""
        counts = document_counts(grams, offsets, references)
        return cls(int((np.diff(offsets) > 0).sum()), grams, counts)

    @classmethod
    def merge(cls, parts: Sequence[DocumentFrequency]) -> DocumentFrequency:
        """Join the frequencies of shards: n-grams are the same where their words are."""
        if len(parts) == 1:
            return parts[0]
        seen: dict[str, int] = {}
        trees = [part.tree for part in parts]
        maps = [np.array([seen.setdefault(w, len(seen)) for w in tree.vocabulary], dtype=np.int64) for tree in trees]
        places = [np.empty(len(part), dtype=np.int64) for part in parts]
        prefix, last, counts, starts = [], [], [], [0]
        for order in range(ORDERS):
            slices = [slice(tree.starts[order], tree.starts[order + 1]) for tree in trees]
            keys = np.concatenate(
                [_keys(t, s, place, words, len(seen)) for t, s, place, words in zip(trees, slices, places, maps)]
            )
            once, inverse = np.unique(keys, return_inverse=True)
            inverse = inverse.reshape(-1)
            total = np.bincount(
                inverse, weights=np.concatenate([p.counts[s] for p, s in zip(parts, slices)]), minlength=len(once)
            )
            begin = 0
            for part_slice, place in zip(slices, places):
                length = part_slice.stop - part_slice.start
                place[part_slice] = inverse[begin : begin + length] + starts[-1]
                begin += length
            prefix.append(once // max(len(seen), 1) - 1)
            last.append(once % max(len(seen), 1))
            counts.append(total)
            starts.append(starts[-1] + len(once))
        tree = NGramTree(
            list(seen),
            np.concatenate(prefix).astype(np.int32),
            np.concatenate(last).astype(np.int32),
            np.array(starts, dtype=np.int64),
        )
        images = sum(part.images for part in parts)
        return cls(images, tree, np.concatenate(counts).astype(np.int32), parts[0].source)

    def idf(self, grams: NGramTable) -> Floats:
        """log(images / frequency) of every n-gram of `grams`."""
        codes, idf = self.weights(grams)
        return idf[codes]

    def weights(self, grams: NGramTable) -> tuple[Ints32, Floats]:
        """A code for every n-gram of `grams`, and the idf of every code: equally frequent n-grams share one."""
        return weights_of(self.counts if self.grams is grams else self.lookup(grams), self.images)

    def lookup(self, grams: NGramTable) -> Ints32:
        """Frequency of each n-gram of `grams`, 0 where unknown."""
        numbers = self._numbers
        words = np.array([numbers.get(word, -1) for word in grams.vocabulary], dtype=np.int64)
        place = np.full(len(grams), -1, dtype=np.int64)
        span, tree = max(len(self.tree.vocabulary), 1), grams.tree
        for order, (keys, by_key) in enumerate(self._sorted):
            asked = slice(grams.starts[order], grams.starts[order + 1])
            word = words[tree.last[asked]]
            before = np.full(len(word), 0, dtype=np.int64) if order == 0 else place[tree.prefix[asked]] + 1
            known = (word >= 0) & ((before > 0) | (order == 0))
            if not len(keys) or not known.any():
                break
            wanted = np.where(known, before * span + word, -1)
            where = np.minimum(_search(keys, wanted), len(keys) - 1)
            here = (where if by_key is None else by_key[where]) + self.tree.starts[order]
            place[asked] = np.where(keys[where] == wanted, here, -1)
        return np.where(place >= 0, self.counts[np.maximum(place, 0)], 0).astype(np.int32)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """The number of each word."""
        return {word: number for number, word in enumerate(self.tree.vocabulary)}

    @cached_property
    def _sorted(self) -> list[tuple[Ints, Ints | None]]:
        """Of each order the keys of its n-grams in ascending order, and the n-gram of each key.

        Merged n-grams are in this order already (None), and there may be millions of them.
        """
        tree = self.tree
        span = max(len(tree.vocabulary), 1)
        found: list[tuple[Ints, Ints | None]] = []
        for order in range(ORDERS):
            own = slice(tree.starts[order], tree.starts[order + 1])
            keys = (tree.prefix[own].astype(np.int64) + 1) * span + tree.last[own]
            if (keys[1:] > keys[:-1]).all():
                found.append((keys, None))
            else:
                by_key = np.argsort(keys, kind="stable")
                found.append((keys[by_key], by_key))
        return found

    def at_least(self, count: int) -> DocumentFrequency:
        """Only n-grams seen in so many images. Those seen in one image weigh as much as unknown ones."""
        tree, keep = self.tree, self.counts >= count
        number = np.cumsum(keep) - 1
        starts = np.concatenate([[0], np.cumsum(keep)])[tree.starts]
        words = np.unique(tree.last[keep])
        prefix = tree.prefix[keep]
        kept = NGramTree(
            [tree.vocabulary[word] for word in words],
            np.where(prefix >= 0, number[np.maximum(prefix, 0)], -1).astype(np.int32),
            np.searchsorted(words, tree.last[keep]).astype(np.int32),
            starts.astype(np.int64),
        )
        return DocumentFrequency(self.images, kept, self.counts[keep], self.source)

    def items(self) -> Iterable[tuple[str, int]]:
        """(n-gram as text, frequency) of every n-gram that occurs."""
        texts: list[str] = []
        tree = self.tree
        for prefix, last, count in zip(tree.prefix.tolist(), tree.last.tolist(), self.counts.tolist()):
            word = tree.vocabulary[last]
            texts.append(word if prefix < 0 else f"{texts[prefix]} {word}")
            if count:
                yield texts[-1], count

    @cached_property
    def digest(self) -> str:
        """A short name of the content, for signatures."""
        found = hashlib.sha256(f"{self.images}\0".encode())
        for text, count in sorted(self.items()):
            found.update(f"{text}\0{count}\0".encode("utf-8", "surrogatepass"))
        return found.hexdigest()[:8]


def weights_of(counts: Ints32, images: int) -> tuple[Ints32, Floats]:
    """A code for every n-gram of these frequencies, and the idf of every code: equally frequent n-grams share one."""
    codes: Ints32 = counts
    known: Ints = np.arange(int(counts.max(initial=0)) + 1)
    if len(known) > len(counts) + 1:  # frequencies of a larger corpus
        known, inverse = np.unique(counts, return_inverse=True)
        codes = inverse.reshape(-1).astype(np.int32)
    return codes, np.asarray(np.log(float(max(images, 1))) - np.log(np.maximum(1.0, known)))


def _search(keys: Ints, wanted: Ints) -> Ints:
    """`np.searchsorted`, asked in ascending order: neighbours are found where the last one was, not across memory."""
    order = np.argsort(wanted)
    found = np.empty(len(wanted), dtype=np.int64)
    found[order] = np.searchsorted(keys, wanted[order])
    return found


def _keys(tree: NGramTree, own: slice, place: Ints, words: Ints, span: int) -> Ints:
    before = tree.prefix[own].astype(np.int64)
    return np.where(before >= 0, place[np.maximum(before, 0)] + 1, 0) * max(span, 1) + words[tree.last[own]]

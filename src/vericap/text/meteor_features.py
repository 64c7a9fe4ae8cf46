"""What METEOR's matchers look at, once per distinct word and phrase of a batch.

Words are compared by Java's string hash, as METEOR does ("an" equals "c0"); stems likewise. The paraphrase
matcher looks at the phrases of the table that stand in a text: a span is eight times its first word plus its
length. Phrases are numbered within the batch, and a phrase's list holds only paraphrases that the batch has.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vericap.native import load
from vericap.text.meteor_tables import LONGEST, Paraphrases, function_words, paraphrases, synonyms
from vericap.text.meteor_words import meteor_words
from vericap.text.stem import stem
from vericap.text.tokens import TokenTable

_KEPT = threading.local()
MATCHERS = ("exact", "stem", "synonym", "paraphrase")


@dataclass
class WordFeatures:
    """Columns over the vocabulary."""

    key: NDArray[np.int32]
    stem: NDArray[np.int32]
    number: NDArray[np.int32]  # in the paraphrase table, -1 where it has no such word
    function: NDArray[np.uint8]
    signature: NDArray[np.uint64]  # bit n set: a synset number whose rest by 64 is n
    synset_offsets: NDArray[np.int64]
    synsets: NDArray[np.uint32]

    def columns(self) -> tuple[NDArray[np.generic], ...]:
        return (self.key, self.stem, self.number, self.function, self.signature, self.synset_offsets, self.synsets)


@dataclass
class Phrases:
    """Phrases of each text (CSR over texts, by first word, then by length), and the paraphrases of each."""

    offsets: NDArray[np.int64]
    spans: NDArray[np.int32]
    numbers: NDArray[np.int32]
    list_offsets: NDArray[np.int64]
    lists: NDArray[np.int32]

    def columns(self) -> tuple[NDArray[np.generic], ...]:
        return (self.offsets, self.spans, self.numbers, self.list_offsets, self.lists)


def java_hash(word: str) -> int:
    """Java's String.hashCode."""
    value = 0
    units = word.encode("utf-16-le", "surrogatepass") if not word.isascii() else None
    for unit in word.encode() if units is None else np.frombuffer(units, dtype="<u2").tolist():
        value = (31 * value + unit) & 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value


def word_features(vocabulary: list[str], matchers: tuple[str, ...], *, english: bool = True) -> WordFeatures:
    """Columns over the vocabulary, empty where no matcher asks for them."""
    count = len(vocabulary)
    key = np.fromiter(map(java_hash, vocabulary), dtype=np.int32, count=count)
    stems = key
    if "stem" in matchers:
        stemmer = stem if english else _japanese_stemmer()
        stems = np.fromiter((java_hash(stemmer(word)) for word in vocabulary), dtype=np.int32, count=count)
    number = np.full(count, -1, dtype=np.int32)
    if "paraphrase" in matchers:
        known = paraphrases().number
        number = np.fromiter((known.get(word, -1) for word in vocabulary), dtype=np.int32, count=count)
    function = np.zeros(count, dtype=np.uint8)
    if english:
        listed = function_words()
        function = np.fromiter((word in listed for word in vocabulary), dtype=np.uint8, count=count)
    sets = [sorted(synonyms(word)) for word in vocabulary] if "synonym" in matchers else [[]] * count
    sizes = np.fromiter(map(len, sets), dtype=np.int64, count=count)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    synsets = np.fromiter((n for part in sets for n in part), dtype=np.uint32, count=int(offsets[-1]))
    signature = np.zeros(count, dtype=np.uint64)
    bits = np.uint64(1) << (synsets.astype(np.uint64) & np.uint64(63))
    np.bitwise_or.at(signature, np.repeat(np.arange(count), sizes), bits)
    return WordFeatures(key, stems, number, function, signature, offsets, synsets)


def _japanese_stemmer() -> Callable[[str], str]:
    """Base forms of morphemes; only Japanese reaches this, and only then is its dictionary opened."""
    from vericap.text.japanese_spelling import base_form

    return base_form


@dataclass
class MeteorTable:
    """Texts as METEOR reads them, with what the chosen matchers look at."""

    texts: TokenTable
    words: WordFeatures
    phrases: Phrases
    matchers: tuple[str, ...]

    @classmethod
    def of(cls, tokens: TokenTable, matchers: tuple[str, ...], *, english: bool = True) -> MeteorTable:
        texts = meteor_words(tokens) if english else tokens
        words = word_features(texts.vocabulary, matchers, english=english)
        phrases = find_phrases(texts, words.number) if "paraphrase" in matchers else no_phrases(len(texts))
        return cls(texts, words, phrases, matchers)


def no_phrases(texts: int) -> Phrases:
    """Where the paraphrase matcher is off."""
    empty = np.zeros(0, dtype=np.int32)
    return Phrases(np.zeros(texts + 1, dtype=np.int64), empty, empty, np.zeros(1, dtype=np.int64), empty)


def find_phrases(words: TokenTable, number: NDArray[np.int32]) -> Phrases:
    """The phrases of the paraphrase table in each text, and their lists."""
    table = paraphrases()
    numbers = table.first[number][words.ids] if len(words.ids) else np.zeros(0, dtype=np.int32)
    kernel = load("meteor")
    if kernel is not None:
        texts = np.ascontiguousarray(words.offsets, np.int64)
        found = kernel.find_phrases(texts, numbers, table.labels, table.children, len(table.number))
        offsets, spans, nodes = (np.frombuffer(part, kind) for part, kind in zip(found, ("<i8", "<i4", "<u4")))
    else:
        offsets, spans, nodes = _walk(table, words.offsets, numbers)
    local = _numbering(len(table.number) + len(table.labels))
    here = _distinct(nodes, local)
    local[here] = np.arange(len(here), dtype=np.int32)
    try:
        if kernel is not None:
            found = kernel.read_lists(here, table.sources, table.list_offsets, table.lists, local)
            list_offsets, lists = np.frombuffer(found[0], "<i8"), np.frombuffer(found[1], "<i4")
        else:
            list_offsets, lists = _read_lists(table, here, local)
        return Phrases(offsets, spans, local[nodes], list_offsets, lists)
    finally:
        local[here] = -1


def _numbering(nodes: int) -> NDArray[np.int32]:
    """-1 for every node; made once per thread and left clean, so that scoring one caption at a time stays fast."""
    if not hasattr(_KEPT, "local"):
        _KEPT.local = np.full(nodes, -1, dtype=np.int32)
    kept: NDArray[np.int32] = _KEPT.local
    return kept


def _distinct(nodes: NDArray[np.uint32], local: NDArray[np.int32]) -> NDArray[np.uint32]:
    """Distinct nodes, ascending: sorted where they are few, marked and collected where they are many."""
    if len(nodes) < 100_000:
        return np.unique(nodes).astype(np.uint32)
    local[nodes] = 0
    return np.flatnonzero(local == 0).astype(np.uint32)


def _walk(
    table: Paraphrases, offsets: NDArray[np.int64], numbers: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint32]]:
    """Twin of the kernel's find_phrases."""
    counts, spans, nodes = [0], [], []
    child: dict[tuple[int, int], int] = {}
    for begin, end in zip(offsets[:-1].tolist(), offsets[1:].tolist()):
        text = numbers[begin:end].tolist()
        for start, node in enumerate(text):
            for length, word in enumerate([*text[start + 1 : start + LONGEST], -1], 1):
                if node < 0:
                    break
                spans.append(8 * start + length)
                nodes.append(node)
                if word < 0:
                    break
                if (node, word) not in child:
                    child[node, word] = table.child(node, word)
                node = child[node, word]
        counts.append(len(spans))
    return np.array(counts, np.int64), np.array(spans, np.int32), np.array(nodes, np.uint32)


def _read_lists(
    table: Paraphrases, here: NDArray[np.uint32], local: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Twin of the kernel's read_lists."""
    offsets, parts = [0], []
    for node in here.tolist():
        targets = local[table.targets(node)]
        parts.append(targets[targets >= 0])
        offsets.append(offsets[-1] + len(parts[-1]))
    return np.array(offsets, np.int64), np.concatenate([np.zeros(0, np.int32), *parts])

"""METEOR's alignment of a candidate with a reference, and the statistics it leaves (twin of native/meteor.c).

Matches are gathered for every word of the reference: exact, stem, synonym, then paraphrases whose source stands
in the reference, then those whose source stands in the candidate. Matches that compete with no other are taken;
a beam search over the words of the reference decides the rest. Paths are ranked by matched words, then chunks,
then distance, ties in the order they were made. Two habits of METEOR 1.5 are kept because scores depend on them:
a match that is not exact counts half its words, cut off, when paths are ranked (one word counts nothing); and the
distance of a match is booked on the path it extends, so that it weighs on the matches tried after it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from vericap.core.typing import Floats, Ints, Ints32
from vericap.native import load
from vericap.text.meteor_features import MATCHERS, MeteorTable

BEAM = 40
COLUMNS = 21  # lengths 2, function words 2, per stage content and function matches of both sides 16, chunks
ALPHA, BETA, GAMMA, DELTA = 0.85, 0.20, 0.60, 0.75
WEIGHTS = (1.0, 0.6, 0.8, 0.6)


class SpanMatch(NamedTuple):
    """Words start .. start + length - 1 of the reference against those of the candidate (other)."""

    start: int
    length: int
    other: int
    other_length: int
    stage: int


@dataclass(frozen=True)
class Path:
    """A partial alignment; used words are bit sets."""

    used: int = 0
    other_used: int = 0
    matched: int = 0
    chunks: int = 0
    distance: int = 0
    next: int = 0
    last_end: int = -1
    matches: tuple[SpanMatch, ...] = ()

    def rank(self) -> tuple[int, int, int]:
        return -self.matched, self.chunks, self.distance

    def extended(self, match: SpanMatch) -> Path:
        """This path with one more match; its distance is left as it is."""
        half = match.stage > 0
        gain = match.length // 2 + match.other_length // 2 if half else match.length + match.other_length
        return replace(
            self,
            used=self.used | _bits(match.start, match.length),
            other_used=self.other_used | _bits(match.other, match.other_length),
            matched=self.matched + gain,
            chunks=self.chunks + (self.last_end not in (-1, match.other)),
            next=match.start + match.length,
            last_end=match.other + match.other_length,
            matches=(*self.matches, match),
        )

    def skipped(self, distance: int) -> Path:
        """This path with a word of the reference left out."""
        chunks = self.chunks + (self.last_end != -1)
        return replace(self, distance=distance, chunks=chunks, last_end=-1, next=self.next + 1)


def _bits(start: int, length: int) -> int:
    return ((1 << length) - 1) << start


class Aligner:
    """Aligns texts of one batch."""

    def __init__(self, table: MeteorTable) -> None:
        self.words = table.words
        self.phrases = table.phrases
        self.matchers = table.matchers
        self.texts = table.texts
        self._sets: dict[int, frozenset[int]] = {}

    def ids(self, text: int) -> list[int]:
        return self.texts.ids[self.texts.offsets[text] : self.texts.offsets[text + 1]].tolist()

    def spans(self, text: int) -> list[tuple[int, int, int]]:
        """Phrases of a text: first word, length, number."""
        part = slice(self.phrases.offsets[text], self.phrases.offsets[text + 1])
        spans = self.phrases.spans[part].tolist()
        return [(span >> 3, span & 7, number) for span, number in zip(spans, self.phrases.numbers[part].tolist())]

    def paraphrases(self, number: int) -> list[int]:
        return self.phrases.lists[self.phrases.list_offsets[number] : self.phrases.list_offsets[number + 1]].tolist()

    def synsets(self, word: int) -> frozenset[int]:
        if word not in self._sets:
            part = slice(self.words.synset_offsets[word], self.words.synset_offsets[word + 1])
            self._sets[word] = frozenset(self.words.synsets[part].tolist())
        return self._sets[word]

    def matches(self, test: int, reference: int) -> list[list[SpanMatch]]:
        """For every word of the reference the matches that begin there, in METEOR's order."""
        own, other = self.ids(reference), self.ids(test)
        keys, other_keys = self.words.key[own].tolist(), self.words.key[other].tolist()
        stems, other_stems = self.words.stem[own].tolist(), self.words.stem[other].tolist()
        matchers = ("exact",) if keys == other_keys else self.matchers
        found: list[list[SpanMatch]] = [[] for _ in own]
        for i, key in enumerate(keys):
            differs = [j for j, other_key in enumerate(other_keys) if other_key != key]
            if "exact" in matchers and "exact" in self.matchers:
                found[i] += [SpanMatch(i, 1, j, 1, 0) for j, other_key in enumerate(other_keys) if other_key == key]
            if "stem" in matchers:
                found[i] += [SpanMatch(i, 1, j, 1, 1) for j in differs if other_stems[j] == stems[i]]
            if "synonym" in matchers:
                sets = self.synsets(own[i])
                found[i] += [SpanMatch(i, 1, j, 1, 2) for j in differs if not sets.isdisjoint(self.synsets(other[j]))]
        if "paraphrase" in matchers:
            for match in self._paraphrase_matches(test, reference):
                found[match.start].append(match)
        return found

    def _paraphrase_matches(self, test: int, reference: int) -> Iterator[SpanMatch]:
        own, other = self.spans(reference), self.spans(test)
        numbers = self.words.number[self.ids(test)].tolist()
        for start, length, phrase in own:
            listed = set(self.paraphrases(phrase))
            # The table's order is that of its words, then METEOR runs over the positions.
            places = sorted((numbers[j : j + n], j, n) for j, n, target in other if target in listed)
            for _, j, n in places:
                yield SpanMatch(start, length, j, n, 3)
        standing = defaultdict(list)
        for start, length, phrase in own:
            standing[phrase].append((start, length))
        for j, n, phrase in other:
            for start, length in sorted(span for t in self.paraphrases(phrase) for span in standing.get(t, ())):
                yield SpanMatch(start, length, j, n, 3)

    def align(self, test: int, reference: int) -> Path:
        """The best path through the matches."""
        matches = self.matches(test, reference)
        return search(matches, len(self.ids(test)))

    def statistics(self, test: int, reference: int) -> list[float]:
        """METEOR's counts for one pair; a whole-sentence chunk counts none, as in METEOR's sums."""
        own, other = self.words.function[self.ids(reference)], self.words.function[self.ids(test)]
        path = self.align(test, reference)
        row = [float(len(other)), float(len(own)), float(other.sum()), float(own.sum()), *[0.0] * 17]
        for match in path.matches:
            place = 4 + 4 * match.stage
            for function in other[match.other : match.other + match.other_length].tolist():
                row[place + 2 * function] += 1.0
            for function in own[match.start : match.start + match.length].tolist():
                row[place + 1 + 2 * function] += 1.0
        whole = sum(m.other_length for m in path.matches) == len(other)
        whole = whole and sum(m.length for m in path.matches) == len(own) and path.chunks == 1
        row[20] = 0.0 if whole else float(path.chunks)
        return row


def certain(matches: list[list[SpanMatch]], other_length: int) -> dict[int, SpanMatch]:
    """Matches none of whose words any other match covers, by their first word."""
    cover, other_cover = [0] * len(matches), [0] * other_length
    for match in (match for listed in matches for match in listed):
        for i in range(match.start, match.start + match.length):
            cover[i] += 1
        for j in range(match.other, match.other + match.other_length):
            other_cover[j] += 1
    return {
        listed[0].start: listed[0]
        for listed in matches
        if len(listed) == 1
        and all(n == 1 for n in cover[listed[0].start : listed[0].start + listed[0].length])
        and all(n == 1 for n in other_cover[listed[0].other : listed[0].other + listed[0].other_length])
    }


def search(matches: list[list[SpanMatch]], other_length: int) -> Path:
    """Beam search over the words of the reference."""
    fixed = certain(matches, other_length)
    used = sum(_bits(m.start, m.length) for m in fixed.values())
    other_used = sum(_bits(m.other, m.other_length) for m in fixed.values())
    paths = [Path(used, other_used)]
    for i, listed in enumerate(matches):
        made: list[Path] = []
        for path in paths:
            if path.used >> i & 1:
                if i < path.next:
                    made.append(path)
                elif path.next in fixed:
                    match = fixed[path.next]
                    distance = path.distance + abs(match.start - match.other)
                    made.append(replace(path.extended(match), distance=distance))
                continue
            distance = path.distance
            for match in listed:
                taken = path.used & _bits(match.start, match.length)
                if not taken and not path.other_used & _bits(match.other, match.other_length):
                    made.append(replace(path.extended(match), distance=distance))
                    distance += abs(match.start - match.other)
            made.append(path.skipped(distance))
        paths = sorted(made or paths[:1], key=Path.rank)[:BEAM]
    return min((replace(p, chunks=p.chunks + (p.last_end != -1)) for p in paths), key=Path.rank)


def scores(rows: Floats) -> Floats:
    """METEOR of rows of statistics (or of their sums), along the last axis."""
    rows = np.asarray(rows, dtype=np.float64)
    matched = rows[..., 4:20].sum(axis=-1)
    test, reference = np.zeros_like(matched), np.zeros_like(matched)
    for place, share in ((4, DELTA), (6, 1.0 - DELTA)):
        for stage, weight in enumerate(WEIGHTS):
            test = test + rows[..., place + 4 * stage] * weight * share
            reference = reference + rows[..., place + 1 + 4 * stage] * weight * share
    test_length = DELTA * (rows[..., 0] - rows[..., 2]) + (1.0 - DELTA) * rows[..., 2]
    reference_length = DELTA * (rows[..., 1] - rows[..., 3]) + (1.0 - DELTA) * rows[..., 3]
    with np.errstate(invalid="ignore", divide="ignore"):
        precision, recall = test / test_length, reference / reference_length
        mean = 1.0 / ((1.0 - ALPHA) / precision + ALPHA / recall)
        found = mean * (1.0 - GAMMA * np.power(rows[..., 20] / (matched / 2.0), BETA))
    # Nothing matched or nothing there: 0, as METEOR says. Rows that are not known stay so.
    return np.where(np.isnan(rows[..., 0]), np.nan, np.maximum(np.nan_to_num(found, nan=0.0), 0.0))


def best_statistics(table: MeteorTable, candidates: Ints, offsets: Ints, references: Ints) -> tuple[Floats, Ints32]:
    """Statistics of each candidate with its best reference, and which reference that is (-1: none).

    Candidate k is text `candidates[k]`, its references are the texts `references[offsets[k]:offsets[k + 1]]`.
    """
    kernel = load("meteor")
    if kernel is not None:
        flags = sum(1 << MATCHERS.index(name) for name in table.matchers)
        texts = table.texts
        ids = (np.ascontiguousarray(texts.offsets, np.int64), np.ascontiguousarray(texts.ids, np.int32))
        columns = (ids, table.words.columns(), table.phrases.columns())
        found = kernel.align(*columns, candidates, offsets, references, flags)
        values = np.frombuffer(found[0]).reshape(len(candidates), COLUMNS)
        return values, np.frombuffer(found[1], dtype=np.int32)
    aligner = Aligner(table)
    values, chosen = np.zeros((len(candidates), COLUMNS)), np.full(len(candidates), -1, dtype=np.int32)
    for row, candidate in enumerate(candidates.tolist()):
        own = references[offsets[row] : offsets[row + 1]].tolist()
        trials = np.array([aligner.statistics(candidate, reference) for reference in own])
        if len(trials):
            chosen[row] = int(np.argmax(scores(trials)))
            values[row] = trials[chosen[row]]
    return values, chosen

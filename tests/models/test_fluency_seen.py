"""Pairs and triples of classes: what was never seen is told, and files keep it."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from vericap.models.fluency_seen import RARE_PAIR, RARE_TRIPLE, Seen

CLASSES = 30
SENTENCES = st.lists(st.lists(st.integers(0, CLASSES - 1), min_size=1, max_size=12), min_size=1, max_size=8)


def of(sentences: list[list[int]]) -> Seen:
    plain = Seen(CLASSES, (), ())
    numbers = [plain.numbers(sentence) for sentence in sentences]
    return Seen(CLASSES, *({number for one in numbers for number in one[part]} for part in (0, 1)))


@given(SENTENCES)
def test_what_was_seen_has_no_flag(sentences: list[list[int]]) -> None:
    seen = of(sentences)
    assert all(seen.flags(sentence) == [0] * len(sentence) for sentence in sentences)


@given(SENTENCES, st.lists(st.integers(0, CLASSES - 1), min_size=2, max_size=12))
def test_pairs_never_seen_are_flagged(sentences: list[list[int]], other: list[int]) -> None:
    pairs = {pair for sentence in sentences for pair in pairwise(sentence)}
    flags = of(sentences).flags(other)
    assert [bool(flag & RARE_PAIR) for flag in flags] == [False, *(p not in pairs for p in pairwise(other))]


def test_triples_are_told_beside_pairs() -> None:
    seen = of([[1, 2, 3], [5, 2, 7]])
    assert seen.flags([1, 2, 7]) == [0, 0, RARE_TRIPLE]
    assert seen.flags([4]) == [0]


@given(SENTENCES, SENTENCES)
def test_files_keep_it(sentences: list[list[int]], others: list[list[int]]) -> None:
    seen = of(sentences)
    again = Seen.unpacked(CLASSES, **seen.packed())
    assert [again.flags(one) for one in others] == [seen.flags(one) for one in others]

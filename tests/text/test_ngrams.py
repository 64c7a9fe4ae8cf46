"""N-grams, what is counted on them and their frequencies, each against its definition; both forms agree."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.native import load
from vericap.text import ngrams
from vericap.text.frequency import DocumentFrequency
from vericap.text.ngrams import ORDERS, NGramTable, NGramTree
from vericap.text.tokens import TokenTable

words = st.sampled_from(list("aaabcdef"))
texts = st.lists(st.lists(words, max_size=12), max_size=8)


@pytest.fixture(params=["compiled", "python"], autouse=True)
def form(request: pytest.FixtureRequest) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "python":
            patch.setenv("VERICAP_PURE_PYTHON", "1")
        elif load("text") is None:
            pytest.skip("the compiled kernels were not built")
        yield request.param


def phrases(text: list[str], order: int) -> list[tuple[str, ...]]:
    return [tuple(text[i : i + order]) for i in range(len(text) - order + 1)]


def by_first_appearance(listed: list[list[str]], order: int) -> list[str]:
    return list(dict.fromkeys(" ".join(phrase) for text in listed for phrase in phrases(text, order)))


@settings(max_examples=60, deadline=None)
@given(texts)
def test_numbers_go_by_first_appearance(listed: list[list[str]]) -> None:
    table = ngrams.ngrams(TokenTable.of(listed))
    for order in range(1, ORDERS + 1):
        own = range(int(table.starts[order - 1]), int(table.starts[order]))
        assert [table.phrase(gram) for gram in own] == by_first_appearance(listed, order)
        for number, text in enumerate(listed):
            row = table.row(order)[table.offsets[number] : table.offsets[number + 1]].tolist()
            there = [table.phrase(gram) for gram in row if gram >= 0]
            assert there == [" ".join(phrase) for phrase in phrases(text, order)]
            assert row[len(there) :] == [-1] * (len(text) - len(there))


@settings(max_examples=60, deadline=None)
@given(texts)
def test_ngrams_of_one_text(listed: list[list[str]]) -> None:
    table = ngrams.ngrams(TokenTable.of(listed))
    for number, text in enumerate(listed):
        found = {table.phrase(gram): count for gram, count in zip(*(part.tolist() for part in table.of_text(number)))}
        assert found == Counter(" ".join(p) for order in range(1, ORDERS + 1) for p in phrases(text, order))


def samples_of(listed: list[list[str]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every text as a candidate against the two after it, and the first one against none."""
    count = len(listed)
    references = [(i + away) % count for i in range(count) for away in (1, 2) if i]
    offsets = np.array([0, 0, *range(2, 2 * count, 2)][: count + 1], dtype=np.int64)
    return np.arange(count), offsets, np.array(references, dtype=np.int64)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(words, max_size=12), min_size=1, max_size=6))
def test_clipped_matches_by_definition(listed: list[list[str]]) -> None:
    table = ngrams.ngrams(TokenTable.of(listed))
    candidates, offsets, references = samples_of(listed)
    found = ngrams.bleu_counts(table, candidates, offsets, references)
    for row, own in enumerate(listed):
        others = [listed[i] for i in references[offsets[row] : offsets[row + 1]]]
        for order in range(1, ORDERS + 1):
            most: Counter[tuple[str, ...]] = Counter()
            for other in others:
                most |= Counter(phrases(other, order))
            assert found[row, order - 1] == (Counter(phrases(own, order)) & most).total()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(words, max_size=12), min_size=1, max_size=6))
def test_similarity_by_definition(listed: list[list[str]]) -> None:
    table = ngrams.ngrams(TokenTable.of(listed))
    candidates, offsets, references = samples_of(listed)
    frequency = DocumentFrequency.count(table, np.arange(len(listed) + 1), np.arange(len(listed)))
    idf = {table.phrase(gram): float(weight) for gram, weight in enumerate(frequency.idf(table))}
    seen = Counter(" ".join(p) for text in listed for order in range(1, 5) for p in set(phrases(text, order)))
    assert idf == pytest.approx({phrase: math.log(len(listed) / count) for phrase, count in seen.items()}, abs=1e-12)
    for clip in (False, True):
        found = ngrams.cosines(table, *frequency.weights(table), candidates, offsets, references, clip=clip)
        for row, own in enumerate(listed):
            for pair in range(offsets[row], offsets[row + 1]):
                expected = [similarity(own, listed[references[pair]], idf, order, clip) for order in range(1, 5)]
                assert found[pair].tolist() == pytest.approx(expected, abs=1e-12)


def similarity(own: list[str], other: list[str], idf: dict[str, float], order: int, clip: bool) -> float:
    mine, theirs = (
        {phrase: count * idf[phrase] for phrase, count in Counter(map(" ".join, phrases(text, order))).items()}
        for text in (own, other)
    )
    dot = sum((min(mine[g], theirs[g]) if clip else mine[g]) * theirs[g] for g in mine.keys() & theirs.keys())
    size = math.hypot(*mine.values()) * math.hypot(*theirs.values())
    return dot / size if size else dot


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 200])
def test_common_subsequence_of_long_texts(length: int) -> None:
    rng = np.random.default_rng(length)
    own, other = (rng.integers(0, 6, size).astype(str).tolist() for size in (length, 90))
    table = np.zeros((len(own) + 1, len(other) + 1), dtype=int)
    for i, x in enumerate(own):
        for j, y in enumerate(other):
            table[i + 1, j + 1] = table[i, j] + 1 if x == y else max(table[i, j + 1], table[i + 1, j])
    found = ngrams.lcs_lengths(TokenTable.of([own, other]), np.array([0]), np.array([0, 1]), np.array([1]))
    assert found.tolist() == [table[-1, -1]]


def test_scores_do_not_depend_on_other_texts() -> None:
    """To the last bit: sums run in the order of the text, whatever numbers its n-grams have."""
    rng = np.random.default_rng(0)
    listed = [rng.choice(list("abcdefghij"), 12).tolist() for _ in range(40)]
    frequency = DocumentFrequency.count(ngrams.ngrams(TokenTable.of(listed)), np.arange(41), np.arange(40))

    def cosine(order: list[int]) -> dict[int, list[float]]:
        table = ngrams.ngrams(TokenTable.of(listed[i] for i in order))
        at = np.arange(0, len(order), 2)
        found = ngrams.cosines(
            table, *frequency.weights(table), at, np.arange(len(at) + 1), at + 1, clip=True
        )  # fmt: skip
        return {order[2 * row]: values.tolist() for row, values in enumerate(found)}

    turned = [i + away for i in range(38, -1, -2) for away in (0, 1)]
    assert cosine(list(range(40))) == cosine(turned)


def test_rare_words_in_a_large_corpus_share_codes() -> None:
    tree = NGramTree(["a", "b"], np.full(2, -1, np.int32), np.arange(2, dtype=np.int32), np.array([0, 2, 2, 2, 2]))
    frequency = DocumentFrequency(5_000_000, tree, np.array([4_000_000, 3], dtype=np.int32), "large")
    table: NGramTable = ngrams.ngrams(TokenTable.of([["a", "b", "c"]]))
    codes, idf = frequency.weights(table)
    assert len(idf) <= len(table)
    assert idf[codes[:3]].tolist() == pytest.approx([math.log(5 / 4), math.log(5_000_000 / 3), math.log(5_000_000)])


def test_kernels_refuse_arrays_that_do_not_fit() -> None:
    kernel = load("text")
    if kernel is None:
        pytest.skip("the compiled kernels were not built")
    ids, offsets, starts = np.zeros(3, np.int32), np.array([0, 3]), np.zeros(5, np.int64)
    with pytest.raises(ValueError, match="as many as words"):
        kernel.ngrams(ids, np.zeros((2, 3), np.int32), offsets, 4, 1, starts)

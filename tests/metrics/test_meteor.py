"""METEOR: the tool's numbers, a brute-force witness for the search, both kernels alike, invariants."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.core.batch import Batch
from vericap.core.errors import VericapError
from vericap.core.explanation import Explanation, Match
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.metrics.meteor import Meteor
from vericap.metrics.registry import make
from vericap.native import load
from vericap.run.engine import Run
from vericap.run.plan import analysed
from vericap.text import meteor_align
from vericap.text.meteor_align import SpanMatch, search

GOLDEN = json.loads((Path(__file__).parent / "golden" / "meteor.json").read_text("utf-8"))
BOTH = pytest.mark.parametrize("pure", [False, True], ids=["compiled", "python"])
WORDS = [
    "a", "the", "of", "in", "man", "men", "woman", "dog", "dogs", "riding", "rides", "ride", "street", "road", "large",
    "big", "kid", "child", "group", "people",
]  # fmt: skip
LINES = st.lists(st.sampled_from(WORDS), min_size=0, max_size=9).map(" ".join)


def batch_of(rows: list[tuple[str, list[str]]], lang: str = "en") -> Batch:
    samples = [Sample(str(row), candidate, tuple(references)) for row, (candidate, references) in enumerate(rows)]
    return Batch.of(samples, Settings(lang=lang, tokenizer="none"))


def statistics(batch: Batch, metric: Meteor | None = None) -> Statistics:
    metric = metric or Meteor()
    return metric.statistics(analysed(batch, *metric.requires(batch.settings)))


def scores(rows: list[tuple[str, list[str]]], metric: Meteor | None = None) -> np.ndarray:
    return Meteor().captions(statistics(batch_of(rows), metric).values)


@BOTH
def test_equal_to_the_tool(pure: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if pure:
        monkeypatch.setenv("VERICAP_PURE_PYTHON", "1")
    elif load("meteor") is None:
        pytest.skip("the kernel was not built (no compiler)")
    metric = Meteor()
    rows = [(row["candidate"], row["references"]) for row in GOLDEN["rows"]]
    values = statistics(batch_of(rows)).values
    expected = [row["meteor"] for row in GOLDEN["rows"]]
    np.testing.assert_allclose(metric.captions(values), expected, rtol=0, atol=1e-12)
    corpus = metric.corpus(values.sum(axis=0), np.array(len(rows)))
    assert float(corpus) == pytest.approx(GOLDEN["corpus"], abs=1e-12)


def alignments(
    matches: list[list[SpanMatch]], i: int = 0, taken: frozenset[int] = frozenset()
) -> list[list[SpanMatch]]:
    """Every way to choose matches that share no word."""
    if i >= len(matches):
        return [[]]
    found = alignments(matches, i + 1, taken)
    for match in matches[i]:
        other = frozenset(range(match.other, match.other + match.other_length))
        if i + match.length <= len(matches) and not other & taken:
            found = found + [[match, *rest] for rest in alignments(matches, i + match.length, taken | other)]
    return found


def rank(matches: list[SpanMatch]) -> tuple[int, int]:
    """Matched words (not exact: half, cut off), then chunks."""
    matched = sum(m.length + m.other_length if m.stage == 0 else m.length // 2 + m.other_length // 2 for m in matches)
    breaks = sum(
        (b.start, b.other) != (a.start + a.length, a.other + a.other_length) for a, b in itertools.pairwise(matches)
    )
    return -matched, breaks + bool(matches)


@given(st.lists(st.lists(st.integers(0, 3), max_size=2, unique=True), min_size=1, max_size=4), st.booleans())
@settings(max_examples=150, deadline=None)
def test_search_finds_the_best_of_all_alignments(links: list[list[int]], exact: bool) -> None:
    # Few enough paths for the beam to hold them all, so that the search must be optimal. Matches whose words no
    # other match wants are always taken, even where leaving them out would save a chunk.
    matches = [[SpanMatch(i, 1, j, 1, 0 if exact or j % 2 else 2) for j in other] for i, other in enumerate(links)]
    times = [sum(j in other for other in links) for j in range(4)]
    sure = {m for listed in matches for m in listed if len(listed) == 1 and times[m.other] == 1}
    path = search(matches, 4)
    assert rank(list(path.matches)) == min(rank(found) for found in alignments(matches) if sure <= set(found))
    assert path.chunks == rank(list(path.matches))[1]


@pytest.mark.skipif(load("meteor") is None, reason="the kernel was not built (no compiler)")
@given(st.lists(st.tuples(LINES, st.lists(LINES, min_size=1, max_size=3)), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_both_kernels_give_equal_statistics(rows: list[tuple[str, list[str]]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        compiled = statistics(batch_of(rows)).values
        patch.setenv("VERICAP_PURE_PYTHON", "1")
        np.testing.assert_array_equal(statistics(batch_of(rows)).values, compiled)


@given(LINES, st.lists(LINES, min_size=1, max_size=4), st.randoms())
@settings(max_examples=60, deadline=None)
def test_order_of_references_and_of_samples_does_not_matter(line: str, references: list[str], rng: object) -> None:
    mixed = list(references)
    rng.shuffle(mixed)  # type: ignore[attr-defined]
    one = scores([(line, references)])
    assert one == pytest.approx(scores([(line, mixed)]))
    assert one[0] == scores([("a dog", ["the man"]), (line, references), (line, mixed)])[1]
    assert one[0] == max(scores([(line, [reference])])[0] for reference in references)


@given(LINES.filter(bool))
@settings(max_examples=40, deadline=None)
def test_identity_is_one_and_scores_stay_in_range(line: str) -> None:
    assert scores([(line, [line])])[0] == pytest.approx(1.0)
    assert 0.0 <= scores([(line, ["a man riding a dog"])])[0] <= 1.0


def test_corpus_score_comes_from_sums_not_means() -> None:
    metric = Meteor()
    rows = [("a dog", ["a dog"]), ("a man riding a horse", ["the people in the street", "horses"])]
    values = statistics(batch_of(rows)).values
    corpus = float(metric.corpus(values.sum(axis=0), np.array(2)))
    assert corpus != pytest.approx(metric.captions(values).mean())
    # many sums at once, as the bootstrap asks for
    many = metric.corpus(np.stack([values.sum(axis=0), values[0]]), np.array([2, 1]))
    np.testing.assert_allclose(many, [corpus, 1.0])


def test_no_reference_is_a_problem_not_a_zero() -> None:
    found = statistics(batch_of([("a dog", []), ("a dog", ["a dog"])]))
    assert list(found.problems) == [0]
    assert np.isnan(Meteor().captions(found.values)[0])


def test_long_caption_is_scored() -> None:
    long = " ".join(f"word{i % 700}" for i in range(10_000))
    assert 0.0 < scores([(long, ["word1 word2 word3 a dog"])])[0] < 1.0


def test_matchers_can_be_chosen() -> None:
    rows = [("a man rides a large horse", ["a man riding a big horse"])]
    steps = ["exact", "exact+stem", "exact+stem+synonym", "exact+stem+synonym+paraphrase"]
    found = [scores(rows, make(f"meteor:matchers={text}"))[0] for text in steps]
    assert found[0] < found[1] < found[2]
    assert found[3] == scores(rows)[0]
    for text in ("stem", "exact+wordnet", ""):
        with pytest.raises(VericapError, match="matchers"):
            make(f"meteor:matchers={text}")


def test_other_languages_use_exact_matches() -> None:
    batch = batch_of([("ein Hund läuft", ["ein Hund lief"])], lang="de")
    metric = Meteor()
    assert "matchers:exact|" in metric.signature(batch)
    assert 0.3 < metric.captions(statistics(batch).values)[0] < 1.0
    with pytest.raises(VericapError, match="lang=de"):
        make("meteor:matchers=exact+stem").requires(batch.settings)
    with pytest.raises(VericapError, match="lang=ja"):
        make("meteor:matchers=exact+synonym").requires(batch_of([("犬", ["犬"])], lang="ja").settings)


def test_explanation_names_matches_and_what_is_left() -> None:
    sample = Sample("1", "a man rides a large horse", ("two cats", "a man is riding a big horse"))
    run = Run([Meteor()], Settings(tokenizer="none"))
    first, second = run.explain([sample, Sample("2", "a dog", ())])["meteor"]
    assert second is None
    assert first is not None
    assert first.facts == {"reference": sample.references[1], "chunks": 2}
    assert Match(("large",), ("big",), 0.8, "synonym") in first.matches
    assert [word.support for word in first.words] == [1.0] * 6
    assert [(item.text, item.weight) for item in first.missing] == [("is", 0.25)]
    assert Explanation.from_dict(json.loads(json.dumps(first.as_dict()))) == first


def test_explanation_of_a_long_caption_is_cut() -> None:
    text = " ".join(WORDS)
    sample = Sample("1", text, (f"{text} {text} zebra",))
    (found,) = Run([Meteor()]).explain([sample])["meteor"]
    assert found is not None
    assert len(found.words) == 20
    assert len(json.dumps(found.as_dict())) < 3000
    (whole,) = Run([Meteor()]).explain([sample], full=True)["meteor"]
    assert whole is not None
    assert len(whole.missing) == 21
    assert len(whole.missing) == len(found.missing) + found.facts["left_out"]["missing"]


def test_agreement_with_experts_is_the_tools(data_dir: Path) -> None:
    from scipy.stats import kendalltau

    from vericap.meta.datasets import flickr8k

    found = flickr8k.read_expert(data_dir / "flickr8k")
    keep = [i for i in range(len(found)) if found.candidates[i] not in found.references[i]]
    batch = Batch.of(Sample(str(i), found.candidates[i], tuple(found.references[i])) for i in keep)
    values = Meteor().captions(statistics(batch).values)
    ratings = found.ratings[keep]
    tau = kendalltau(np.repeat(values, ratings.shape[1]), ratings.ravel(), variant="c").statistic
    assert 100 * tau == pytest.approx(41.82, abs=0.005)  # the COCO tool, same protocol


def test_scores_of_nothing() -> None:
    assert meteor_align.scores(np.zeros(meteor_align.COLUMNS)) == 0.0
    assert statistics(batch_of([])).values.shape == (0, meteor_align.COLUMNS)

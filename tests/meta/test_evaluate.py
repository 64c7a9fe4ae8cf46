"""Agreement tables on judgements made here: user metrics, protocols, bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest

from vericap.core.errors import InputError, UnknownName, VericapError
from vericap.core.explanation import Explanation, HeatMap
from vericap.meta.catalogue import load
from vericap.meta.evaluation import evaluate
from vericap.meta.failure_cases import failure_table, failures
from vericap.meta.grounding import Grounded, analyse, grounded, grounding_table, labels_of_boxes
from vericap.meta.human import human_ceiling, human_machine
from vericap.meta.judgements import Pairs, Ratings, Retrieval, Systems
from vericap.meta.protocols import check_same, protocol_of
from vericap.meta.ranking import rank_systems
from vericap.meta.retrieval import recalls, retrieval_table, retrieve, score_matrices
from vericap.meta.scoring import metrics_of
from vericap.meta.tables import ablation_table, agreement_table, curve_table


def length(candidates, references, images):
    return [len(text.split()) for text in candidates]


def constant(candidates, references, images):
    return [1.0] * len(candidates)


def overlap(candidates, references, images):
    return [max((len(set(c.split()) & set(r.split())) for r in rs), default=0) for c, rs in zip(candidates, references)]


def rated(n=60, seed=0, **options):
    generator = np.random.default_rng(seed)
    words = ["a", "dog", "runs", "on", "the", "green", "grass", "near", "two", "small", "trees"]
    sizes = generator.integers(1, len(words), n)
    noise = generator.integers(-2, 3, (n, 3))
    return Ratings(
        name="made",
        candidates=[" ".join(words[:size]) for size in sizes],
        references=[("a dog runs on the grass", "the dog", "trees near a dog")] * n,
        ratings=np.clip(sizes[:, None] // 2 + noise, 1, 5).astype(float),
        scale=(1, 5),
        images=[f"i{row // 4}" for row in range(n)],
        **options,
    )


def test_fewer_references_than_asked_for_are_named():
    data = rated()
    few = evaluate(data, [overlap], references=48, resamples=20)
    assert "48 references were asked for: 60 of 60 have fewer (3), which are all used" in few.notes
    assert evaluate(data, [overlap], references=3, resamples=20).notes == []
    data.references[0] = ("a dog",)
    data.references[5] = ()
    mixed = evaluate(data, [overlap], references=2, resamples=20)
    assert "2 references were asked for: 2 of 60 have fewer (0-1), which are all used" in mixed.notes
    assert "48 references were asked for" in curve_table([mixed, few]).text()


def test_user_functions_and_metrics_side_by_side():
    found = evaluate(rated(), ["rouge-l", length, constant], resamples=100)
    assert found["length"].value > 0.5
    low, high = found["length"].interval
    assert low < found["length"].value < high
    assert found["rouge-l"].p is not None
    assert found["constant"].value is None
    assert "all scores are equal" in found["constant"].reason
    text = agreement_table(found).text()
    assert "ratings/tau-c" in text
    assert "constant: all scores are equal" in text
    for kind in ("markdown", "latex", "csv", "json"):
        assert "rouge-l" in agreement_table(found).render(kind)


def test_protocol_changes_the_number_and_the_name():
    flat = evaluate(rated(), [length], resamples=0)
    mean = evaluate(rated(), [length], protocol="mean-tau-c", resamples=0)
    assert flat["length"].value != mean["length"].value
    with pytest.raises(VericapError, match="not comparable"):
        flat.joined(mean)
    with pytest.raises(VericapError, match="not comparable"):
        check_same(flat.protocol, mean.protocol)
    assert len(flat.joined(evaluate(rated(), [constant], resamples=0)).lines) == 2
    with pytest.raises(UnknownName, match="did you mean"):
        evaluate(rated(), [length], protocol="mean-taub")


def test_reference_draws_are_seeded_nested_and_named():
    from vericap.meta.task import make_task

    one, two = (make_task(rated(), protocol_of("made").changed(references=n, runs=3)) for n in (1, 2))
    assert one.protocol.name == "ratings/tau-c[1 reference, 3 runs]"
    assert all(set(a.references) <= set(b.references) for a, b in zip(one.samples(1), two.samples(1)))
    assert [s.references for s in one.samples(0)] == [s.references for s in one.samples(0)]
    assert [s.references for s in one.samples(0)] != [s.references for s in one.samples(1)]
    points = [evaluate(rated(), [overlap], references=n, runs=3, resamples=50) for n in (0, 1, 2)]
    assert points[0]["overlap"].value is None
    assert points[1]["overlap"].deviation is not None
    assert "1 ref" in curve_table(points).text()
    assert "(+0.00)" not in ablation_table(points[1:], base="overlap").text()


def test_a_broken_metric_is_listed_not_fatal():
    def broken(candidates, references, images):
        raise ZeroDivisionError("oops")

    def short(candidates, references, images):
        return [1.0]

    found = evaluate(rated(), [broken, length], resamples=0, keep_going=True)
    assert found["broken"].reason == "ZeroDivisionError: oops"
    assert found["length"].value is not None
    assert "one number each" in evaluate(rated(), [short], resamples=0)["short"].reason
    with pytest.raises(ZeroDivisionError):
        evaluate(rated(), [length, broken], resamples=0)


def test_out_of_range_and_missing_ratings():
    values = np.array([[1.0, 9.0], [np.nan, 3.0], [np.nan, np.nan], [2.0, 4.0]])
    data = Ratings("made", list("abcd"), [("r",)] * 4, values, (1, 5))
    reasons = [str(problem) for problem in data.problems]
    assert "rating 9 is outside the scale 1..5" in reasons[0]
    assert "no rater judged it" in reasons[1]
    assert len(evaluate(data, [lambda c, r, i: [1, 2, 3, 4]], resamples=0).task.judgement) == 4
    with pytest.raises(InputError, match="no rating inside its scale"):
        Ratings("made", ["a"], [("r",)], np.array([[7.0]]), (1, 5))


def test_system_and_image_level():
    data = rated(systems=[f"s{row % 4}" for row in range(60)])
    assert -1 <= evaluate(data, [length], protocol="system", resamples=50)["length"].value <= 1
    assert evaluate(data, [length], protocol="image", resamples=50)["length"].value > 0
    with pytest.raises(InputError, match="names no systems"):
        evaluate(rated(), [length], protocol="system", resamples=0)


def pairs(**options):
    return Pairs(
        name="made",
        images=["i", "i", "j", "k"],
        first=["a dog", "a b c", "x", "a"],
        second=["a", "a b", "x y", "b"],
        references=[("a dog",)] * 4,
        preferences={"preference": np.array([0.0, 0.0, 0.0, np.nan])},
        **options,
    )


def test_pairs_ties_and_missing_preferences():
    data = pairs()
    assert "no preference" in str(data.problems[0])
    found = evaluate(data, [length, constant], resamples=50)
    assert found["length"].value == pytest.approx(2 / 3)
    assert found["constant"].value == 0.5
    groups = evaluate(pairs(groups=["g", "g", "h", "h"]), [length], resamples=0)
    assert groups["length"].groups["g"][0] == 1.0
    assert groups["length"].value == 0.5  # mean over groups
    empty = pairs()
    empty.preferences["preference"][:] = np.nan
    with pytest.raises(InputError, match="no pair has a preference"):
        evaluate(empty, [length])
    with pytest.raises(InputError, match=r"not 0 \(first\)"):
        Pairs("p", ["i"], ["a"], ["b"], [()], {"preference": np.array([2.0])})


def test_plain_files(tmp_path):
    path = tmp_path / "mine.jsonl"
    rows = [
        {"image": f"i{k // 2}", "candidate": "w " * (k % 5 + 1), "references": ["w w w"], "ratings": [k % 5 + 1, 3]}
        for k in range(10)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = evaluate(str(path), [length], resamples=20)
    assert found.dataset == "mine.jsonl"
    assert found["length"].value > 0
    table = tmp_path / "mine.csv"
    table.write_text("image,candidate,references,rating_1,rating_2\ni,a b,x || y,1,\nj,a,z,5,4\n")
    data = load(str(table))
    assert data.references == [("x", "y"), ("z",)]
    assert np.isnan(data.ratings[0, 1])
    pair = tmp_path / "pairs.csv"
    pair.write_text("image,first,second,references,preference\ni,a b,a,x,first\nj,a,b c,x,second\n")
    assert evaluate(str(pair), [length], resamples=0)["length"].value == 1.0
    pair.write_text("image,first,second,references,preference\ni,a b,a,x,maybe\n")
    with pytest.raises(InputError, match=r"line 2: preference 'maybe'"):
        load(str(pair))
    table.write_text("image,candidate,references,rating\ni,a,x,good\n")
    with pytest.raises(InputError, match=r"line 2: rating 'good' is not a number"):
        load(str(table))
    with pytest.raises(InputError, match="no such file"):
        load(str(tmp_path / "none.jsonl"))


def test_human_ceiling():
    data = rated()
    found = human_ceiling(data, statistic="pearson")
    expected = np.mean([np.corrcoef(data.ratings[:, a], data.ratings[:, b])[0, 1] for a, b in ((0, 1), (0, 2), (1, 2))])
    assert found.between == pytest.approx(expected)
    assert found.others > found.between
    with pytest.raises(VericapError, match="needs at least 2"):
        human_ceiling(Ratings("one", ["a", "b"], [(), ()], np.array([1.0, 2.0]), (1, 5)))


def test_human_against_machine():
    data = pairs()
    data.preferences = {"human": np.zeros(4)}
    row = human_machine(data, np.array([[2.0, 1.0], [3.0, 1.0], [1.0, 1.0], [0.0, 1.0]]))[0]
    assert row.accuracy == pytest.approx(2.5 / 4)
    assert (row.human, row.machine) == (1.5, 1.0)


def test_retrieval_ranks():
    owner = np.array([0, 0, 1, 1])
    scores = np.array([[0.9, 0.1, 0.8, 0.2], [0.3, 0.2, 0.7, 0.1]])
    found = recalls(scores, owner, ks=(1, 2))
    assert found.captions == {1: 1.0, 2: 1.0}
    assert found.images == {1: 0.25, 2: 1.0}
    assert recalls(np.ones((2, 4)), owner, ks=(1,)).captions[1] == 0.0  # constants gain nothing
    assert "text R@1" in retrieval_table({"m": found}).text()
    with pytest.raises(VericapError, match="no caption of its own"):
        recalls(np.ones((3, 4)), owner)


def right(candidates, references, images):
    return [f"{x}{y}" in ("ai", "bj", "ck") for x, y in zip(candidates, images)]


def test_retrieval_asks_for_every_pair():
    data = Retrieval("made", ["i", "j", "k"], ["a", "b", "c"], np.array([0, 1, 2]))
    found, owner = score_matrices(data, metrics_of([right, length]), {}, chunk=4)
    assert found["right"].tolist() == np.eye(3).tolist()
    assert owner.tolist() == [0, 1, 2]
    assert score_matrices(data, metrics_of([right]), {}, images=2)[0]["right"].shape == (2, 2)
    table = retrieve(data, [right, length, "rouge-l"])
    assert table.recalls["right"].captions[1] == 1.0
    assert table.recalls["length"].captions[1] == 0.0
    assert "needs references" in table.reasons["rouge-l"]
    assert "rouge-l: " in table.table().text()


def test_grounding():
    item = Grounded(["a", "dog", "runs"], np.array([[0.1, 0.9, 0.3], [0.5, 0.2, 0.4]]), ["dogs", "tree"])
    found = analyse([item])
    assert (found.truth, found.others, found.best) == (0.9, pytest.approx(0.2), 1.0)
    assert (found.regions, found.skipped) == (1, 1)
    assert "ground-truth" in grounding_table({"m": found}).text()
    other = HeatMap("regions x words of reference 1: attention", ("x",), ((0.0,), (0.0,)))
    values = tuple(map(tuple, item.scores.tolist()))
    drawn = HeatMap("regions x words of the candidate: similarity", tuple(item.words), values)
    assert analyse([grounded(Explanation("m", heatmaps=(other, drawn)), item.labels)]) == found
    with pytest.raises(VericapError, match="no heat map"):
        grounded(Explanation("m", heatmaps=(other,)), ["x"])
    boxes = np.array([[0, 0, 10, 10], [20, 20, 30, 30.0]])
    assert labels_of_boxes(boxes + 1, boxes[:1], ["dog"]) == ["dog", ""]
    with pytest.raises(VericapError, match="shape"):
        analyse([Grounded(["a"], np.ones((2, 2)), ["x"])])


def test_failures_are_the_large_gaps():
    table = evaluate(rated(), [length, constant], resamples=0)
    cases = failures(table, "length", theta=0.2)
    assert cases
    gaps = [abs(case.gap) for case in cases]
    assert gaps == sorted(gaps, reverse=True)
    assert min(gaps) >= 0.2
    assert cases[0].references
    assert cases[0].cause in failure_table(cases).text()
    with pytest.raises(VericapError, match="was not scored"):
        failures(table, "meteor")


def test_systems_are_ranked_with_significance():
    generator = np.random.default_rng(0)
    words = np.array(["a", "dog", "runs", "on", "the", "green", "grass", "near", "two", "small", "trees"])
    references = {str(i): (" ".join(words),) for i in range(40)}
    outputs = {
        "good": {str(i): " ".join(words[: generator.integers(7, 11)]) for i in range(40)},
        "poor": {str(i): " ".join(words[: generator.integers(1, 4)]) for i in range(40)},
        "same": {str(i): " ".join(words[: generator.integers(1, 4)]) for i in range(40)},
    }
    found = rank_systems(Systems("made", references, outputs), ["rouge-l", "bleu-1", length, "vse"], resamples=200)
    assert found.order("rouge-l").startswith("good > ")
    assert "~" in found.order("rouge-l")
    assert found.places["rouge-l"][1].worse_than == ("good",)
    assert "[" in found.table().latex()
    assert found.order("length").startswith("good > ")  # the corpus score of a function is its mean
    assert list(found.reasons) == ["vse"]
    with pytest.raises(VericapError, match="needs two"):
        rank_systems(Systems("made", references, {"good": outputs["good"]}), "rouge-l")

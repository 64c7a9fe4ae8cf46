"""The Python API: lists, dicts, tables in; scores, columns, tables out."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import vericap
from vericap.errors import InputError, VericapError

CANDIDATES = ["a dog runs", "two cats"]
REFERENCES = [["a dog is running", "the dog runs"], ["two cats sleep"]]


def test_lists_dicts_and_tables_agree() -> None:
    lists = vericap.score(CANDIDATES, REFERENCES, metrics=["rouge-l", "bleu-1"])
    keyed = vericap.score(dict(enumerate(CANDIDATES)), dict(enumerate(REFERENCES)), metrics="rouge-l,bleu-1")
    table = vericap.score(pa.table({"candidate": CANDIDATES, "references": REFERENCES}), metrics="rouge-l,bleu-1")
    for other in (keyed, table):
        np.testing.assert_array_equal(lists["rouge-l"], other["rouge-l"])
        assert lists.corpus["bleu-1"].value == other.corpus["bleu-1"].value


def test_pandas_in_and_out() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": ["x", "y"], "candidate": CANDIDATES, "references": REFERENCES})
    found = vericap.score(frame, metrics="rouge-l").to_pandas()
    assert list(found["id"]) == ["x", "y"]
    assert found["rouge-l"].gt(0).all()


def test_dict_subset_is_scored() -> None:
    result = vericap.score({1: "a dog"}, {1: ["a dog"], 2: ["a cat"]}, metrics="rouge-l")
    assert result.ids == ["1"]


def test_coco_shape_with_one_caption_lists() -> None:
    assert vericap.score({1: ["a dog"]}, {1: ["a dog"]}, metrics="rouge-l").corpus["rouge-l"].value == 1.0


def test_result_converts() -> None:
    result = vericap.score(CANDIDATES, REFERENCES, metrics="rouge-l", confidence=True, resamples=50)
    assert result.to_arrow().column_names == ["id", "candidate", "rouge-l"]
    assert result.corpus["rouge-l"].interval is not None
    assert result.summary()["scores"]["rouge-l"]["count"] == 2


def test_user_metric_sits_beside_ours() -> None:
    from vericap.metrics.base import Metric, Statistics

    class Words(Metric):
        name = "words"
        needs = ()

        def statistics(self, batch, state=None):
            return Statistics(np.array([len(t.split()) for t in batch.candidate_texts()]))

    assert vericap.score(CANDIDATES, REFERENCES, metrics=[Words(), "rouge-l"]).corpus["words"].value == 2.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], [["a"], ["b"]]), "1 candidates but 2 entries"),
        (("a dog", [["a"]]), "single text"),
        (([3], [["a"]]), "record '0': the candidate is a int"),
        ((["a"], [[None]]), "reference 1 is missing"),
        (({1: "a"}, [["a"]]), "must be dicts keyed by id"),
        ((pa.table({"x": [1]}),), "no column 'candidate'"),
    ],
)
def test_mistakes_are_named(arguments, message) -> None:
    with pytest.raises(InputError, match=message):
        vericap.score(*arguments, metrics="rouge-l")


def test_ids_must_be_parallel_and_differ() -> None:
    with pytest.raises(InputError, match="2 candidates but 1 ids"):
        vericap.score(CANDIDATES, REFERENCES, ids=["x"], metrics="rouge-l")
    with pytest.raises(InputError, match="'x' occurs more than once"):
        vericap.score(CANDIDATES, REFERENCES, ids=["x", "x"], metrics="rouge-l")


def test_unknown_option() -> None:
    with pytest.raises(VericapError, match="unknown option tokeniser"):
        vericap.score(CANDIDATES, REFERENCES, tokeniser="ptb")


def test_compare_systems() -> None:
    systems = {"a": CANDIDATES, "b": ["a dog runs", "two cats sleep"]}
    found = vericap.compare(systems, REFERENCES, metrics="rouge-l", resamples=100)
    assert found.baseline == "a"
    assert 0 < found.p_values["b", "rouge-l"] <= 1
    assert "rouge-l" in found.table().text()

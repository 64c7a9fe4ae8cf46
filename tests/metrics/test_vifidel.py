from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.errors import Problem
from vericap.metrics.registry import make
from vericap.metrics.vifidel import Vifidel, penalised, rho_by_word
from vericap.run.batch import Batch, Settings
from vericap.run.engine import score_batch
from vericap.samples import Sample

COCO = ["person", "dog", "cat", "dining table", "wine glass", "car", "pizza", "surfboard", "potted plant"]


def score(metric: str, *samples: Sample) -> np.ndarray:
    return make(metric).statistics(Batch.of(samples)).values[:, 0]


@pytest.fixture
def made(tmp_path: Path) -> str:
    """Vectors at known angles: encyclopedias 0.8 from books, everything else at right angles."""
    file = tmp_path / "made.txt"
    file.write_text("cat 1 0 0 0\nbooks 0 1 0 0\nencyclopedias 0 0.8 0.6 0\nsofa 0 0 0 1\n", "utf-8")
    return str(file)


def test_worked_example_of_figure_3(made: str) -> None:
    # Objects cat and books; the caption says cat and encyclopedias; one reference has both objects, one the cat.
    sample = Sample("1", "a cat on encyclopedias", ("a cat on books", "the cat"), objects={"cat": 1, "books": 1})
    batch = Batch.of([sample])
    metric = Vifidel(vectors=made, centre=False)
    space = metric.space(batch)
    images, _ = metric.image_bags(space, metric.objects(batch))
    images, captions = penalised(batch, space, images, space.texts.take(batch.candidates))
    rho = {**rho_by_word(space, images, 0), **rho_by_word(space, captions, 0)}
    # rho_k = mean over references of (1 - max_t cos) / 2
    assert rho["cat"] == 0.0
    assert rho["books"] == pytest.approx((0.0 + 0.5) / 2)
    assert rho["encyclopedias"] == pytest.approx((0.1 + 0.5) / 2, abs=1e-6)
    # cat moves to cat free of charge; books to encyclopedias at |.25 x_b - .3 x_e|^2, half of the mass
    cost = 0.25**2 + 0.3**2 - 2 * 0.25 * 0.3 * 0.8
    found = metric.statistics(batch)
    assert found.columns["distance"][0] == pytest.approx(cost / 2, abs=1e-6)
    assert found.values[0, 0] == pytest.approx(np.exp(-cost / 2), abs=1e-6)


def test_figure_5_mentioned_objects_raise_unmentioned_ones_lower_the_score(tmp_path: Path) -> None:
    names = ["dog", "ball", "tree", "bench", "car", "house"]
    lines = [f"{name} {' '.join('1' if i == j else '0' for j in range(6))}" for i, name in enumerate(names)]
    file = tmp_path / "axes.txt"
    file.write_text("\n".join(lines), "utf-8")
    metric = f"vifidel:centre=no:vectors={file}"
    caption = "a dog with a ball near a tree and a bench"

    def with_objects(count: int, start: int = 0) -> float:
        return float(score(metric, Sample("1", caption, objects=dict.fromkeys(names[start : start + count], 1)))[0])

    rising = [with_objects(count) for count in (1, 2, 3, 4)]
    assert rising == sorted(rising)
    assert rising[-1] == 1.0
    gently = [rising[-1], with_objects(5), with_objects(6)]
    assert gently == sorted(gently, reverse=True)
    assert gently[1] > rising[2] - 0.2  # an extra object costs less than most missing ones
    assert with_objects(1, start=4) < rising[0]


def test_identity_scores_one() -> None:
    assert score("vifidel", Sample("1", "a dog and a cat", objects={"cat": 1, "dog": 1}))[0] == 1.0
    with_reference = Sample("1", "a dog and a cat", ("dog and cat",), objects={"cat": 1, "dog": 1})
    assert score("vifidel", with_reference)[0] == 1.0


def test_true_captions_score_higher_than_false_ones() -> None:
    objects = {"dog": 1, "frisbee": 1, "person": 2}
    right, wrong = score(
        "vifidel",
        Sample("1", "a man throws a frisbee to his dog", objects=objects),
        Sample("2", "a plate of pasta on a kitchen counter", objects=objects),
    )
    assert right > wrong


def test_references_change_the_score_unless_switched_off() -> None:
    sample = Sample("1", "a dog in a park", ("a dog plays", "a puppy"), objects={"dog": 1, "bench": 1})
    bare = Sample("1", sample.candidate, objects=sample.objects)
    assert score("vifidel:references=none", sample)[0] == score("vifidel", bare)[0]
    assert score("vifidel", sample)[0] > score("vifidel", bare)[0]


def test_counts_threshold_and_multi_word_labels() -> None:
    many = Sample("1", "a dog", objects={"dog": 9, "car": 1})
    frequency, binary = score("vifidel", many)[0], score("vifidel:counts=binary", many)[0]
    assert frequency > binary
    table = score("vifidel", Sample("1", "a dining table", objects={"dining table": 1}))[0]
    far = score("vifidel", Sample("1", "a car", objects={"dining table": 1}))[0]
    assert table > far
    detections = {"labels": ["dog", "car"], "scores": [0.9, 0.2]}
    sure, all_ = (
        score(metric, Sample("1", "a dog", objects=detections))[0]  # type: ignore[arg-type]
        for metric in ("vifidel:threshold=0.5", "vifidel")
    )
    assert sure == 1.0 > all_


def test_rows_that_cannot_be_judged_have_reasons(made: str) -> None:
    samples = [
        Sample("good", "a cat", objects={"cat": 1}),
        Sample("stop words", "of the", objects={"cat": 1}),
        Sample("no objects", "a cat", objects={}),
        Sample("unknown label", "a cat", objects={"zebra": 1}),
        Sample("nothing", "a cat"),
        Sample("partly", "a cat zebra", objects={"cat": 1, "zebra crossing": 2}),
    ]
    result = score_batch(samples, f"vifidel:vectors={made}:centre=no")
    found = next(iter(result.statistics.values()))
    assert found.values[:4, 0].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert np.isnan(found.values[4, 0])
    assert found.values[5, 0] == 1.0
    assert found.columns["unknown_words"].tolist() == [0, 0, 0, 0, 0, 1]
    assert found.columns["unknown_labels"].tolist() == [0, 0, 0, 1, 0, 1]
    assert [problem.record for problem in result.problems] == ["nothing"]
    reasons = {samples[row].id: why for row, why in found.problems.items()}
    assert set(reasons) == {"stop words", "no objects", "unknown label", "nothing"}
    assert "no image" in reasons["nothing"]


def test_an_image_that_cannot_be_read_is_reported() -> None:
    batch = Batch.of([Sample("1", "a dog", image="a.jpg"), Sample("2", "a dog", image="b.jpg")])
    from vericap.vision.objects import Objects

    batch.provide("objects of detector", [Problem("a.jpg", "the file is empty"), Objects.counted({"dog": 1})])
    found = make("vifidel").statistics(batch)
    assert np.isnan(found.values[0, 0])
    assert found.problems[0] == "the file is empty"
    assert found.values[1, 0] == 1.0


def test_explanation_names_plan_partners_and_penalties() -> None:
    sample = Sample("1", "a puppy on a skateboard", ("a dog rides",), objects={"dog": 1, "car": 2})
    batch = Batch.of([sample, Sample("2", "of the", objects={"dog": 1})], Settings(explain=True))
    metric = make("vifidel")
    found = metric.statistics(batch)
    assert found.explanations is not None
    first, second = found.explanations
    assert first is not None
    assert second is not None
    json.dumps(found.explanations)
    assert sum(move["mass"] for move in first["plan"]) == pytest.approx(1.0, abs=1e-4)
    assert sum(move["part"] for move in first["plan"]) == pytest.approx(found.columns["distance"][0], abs=1e-4)
    assert first["unmatched_objects"] == ["car"]
    assert first["words_without_object"] == ["skateboard"]
    assert first["rho"]["dog"] == 0.0
    assert first["rho"]["skateboard"] > first["rho"]["puppy"]
    assert second["plan"] == []
    assert second["unmatched_objects"] == ["dog"]


def test_signature_names_every_choice() -> None:
    batch = Batch.of([Sample("1", "a dog", objects={"dog": 1})])
    signature = make("vifidel:p=1").signature(batch)
    for part in ("p:1.0", "counts:frequency", "normalise:True", "threshold:0.0", "objects:record", "vectors:gte"):
        assert part in signature


objects = st.dictionaries(st.sampled_from(COCO), st.integers(1, 4), min_size=1, max_size=5)
words = st.lists(st.sampled_from(["dog", "man", "table", "red", "street", "glass", "the"]), min_size=1, max_size=6)


@settings(max_examples=40, deadline=None)
@given(objects, words, st.lists(words, max_size=3), st.sampled_from(["1", "2"]))
def test_scores_lie_in_range_and_order_does_not_matter(
    found: dict[str, int], caption: list[str], references: list[list[str]], p: str
) -> None:
    texts = tuple(" ".join(reference) for reference in references)
    turned = dict(reversed(found.items()))
    one, two = score(
        f"vifidel:p={p}",
        Sample("1", " ".join(caption), texts, objects=found),
        Sample("2", " ".join(reversed(caption)), texts[::-1], objects=turned),
    )
    assert 0.0 <= one <= 1.0
    assert one == pytest.approx(two, rel=1e-5)


def test_without_compiled_kernel_the_scores_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = [
        Sample("1", "a man throws a frisbee to his dog", ("a dog plays", "a man"), objects={"dog": 1, "person": 2}),
        Sample("2", "a plate of pasta on a table", ("some food",), objects={"dining table": 1, "bowl": 3}),
    ]
    compiled = {name: score(name, *samples) for name in ("vifidel", "vifidel:references=none", "wmd")}
    monkeypatch.setenv("VERICAP_PURE_PYTHON", "1")
    for name, wanted in compiled.items():
        assert score(name, *samples) == pytest.approx(wanted, rel=1e-5)

"""FAIEr-plus as a metric: references in any order, batches of any size, odd input, reasons."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from vericap.core.batch import Batch
from vericap.core.errors import VericapError
from vericap.core.explanation import Explanation
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.metrics.faier_plus import FaierPlus
from vericap.metrics.faier_plus.explanation import NO_RELATIONS
from vericap.models import vse
from vericap.models.faier_plus import LEVELS
from vericap.run.analyses import Regions, RegionVectors
from vericap.run.plan import analysed
from vericap.vision.regions import pyramid
from vericap.vision.store import RegionTable

D = 384
CAPTIONS = (
    "a man rides a brown horse on the beach",
    "a young man on a horse near the sea",
    "two dogs play with a red frisbee in the snow",
    "a cat",
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A network that leaves everything as the encoders give it."""
    folder = tmp_path_factory.mktemp("model")
    eye = np.eye(D, dtype=np.float32)
    weights: dict[str, np.ndarray] = {
        "offset": np.array([1.0, 0.5, -1.0, 0.2], np.float32),
        "mix": 0.3 * eye,
        "sharpness": np.array(2.0, np.float32),
        "calibration": np.array([[[1.0, 0.0]] * 3, [[0.9, 0.1]] * 3, [[0.8, 0.0]] * 3], np.float32),
        "claims": np.array([[1.0, 0.05], [0.9, 0.1], [0.8, 0.0]], np.float32),
    }
    for level in LEVELS:
        weights[f"{level}.linear"], weights[f"{level}.bias"] = eye, np.zeros(D, np.float32)
        weights[f"{level}.hidden"], weights[f"{level}.hidden_bias"] = (
            np.zeros((4, D), np.float32),
            np.zeros(4, np.float32),
        )
        weights[f"{level}.output"] = np.zeros((D, 4), np.float32)
        weights[f"temperature.{level}"], weights[f"gate.{level}"] = np.array(1.5, np.float32), np.array(0.5, np.float32)
        if level != "sentence":
            weights[f"text.{level}"], weights[f"text.{level}_bias"] = eye, np.zeros(D, np.float32)
            weights[f"importance.{level}"] = np.linspace(-0.1, 0.1, D, dtype=np.float32)
    save_file(weights, folder / "faier_plus.safetensors")
    better = {"right": 0.6, "chance": 0.3, "cases": 500}
    pointing = {"candidate": better, "references": better}
    meta = {"name": "tiny", "fingerprint": "made", "encoder": "default", "pointing": pointing}
    (folder / "meta.json").write_text(json.dumps(meta))
    return str(folder)


def batch_of(samples: list[Sample], *, fingerprint: str = "made") -> Batch:
    batch = Batch.of(samples, Settings())
    boxes = pyramid()
    items = []
    for key in batch.image_keys:
        rng = np.random.default_rng(sum(map(ord, key)))
        count = 5 if key == "few" else len(boxes)
        items.append((rng.random((count, 1408)).astype(np.float32), boxes[:count]))
    table = RegionTable.of(items, fingerprint, {})
    batch.put(Regions(), table)
    batch.put(RegionVectors(), vse.load().embed(table.features))
    return batch


def ready(metric: FaierPlus, batch: Batch) -> Batch:
    """The batch with everything but the regions, which are made here, computed."""
    return analysed(batch, *(key for key in metric.requires(batch.settings) if key not in batch))


def judged(model: str, batch: Batch, **options: str) -> Statistics:
    metric = FaierPlus(model=model, **options)
    return metric.statistics(ready(metric, batch))


def scores(model: str, samples: list[Sample], **options: str) -> np.ndarray:
    return judged(model, batch_of(samples), **options).values[:, 0]


def explained(model: str, samples: list[Sample], *, full: bool = False) -> list[Explanation]:
    metric, batch = FaierPlus(model=model), batch_of(samples)
    found = metric.explain(ready(metric, batch), range(len(batch)), full=full)
    return [one for one in found if one is not None]


def test_the_order_of_references_does_not_matter(model: str) -> None:
    one = Sample("1", CAPTIONS[0], CAPTIONS[1:], "x")
    other = Sample("1", CAPTIONS[0], CAPTIONS[:0:-1], "x")
    np.testing.assert_allclose(scores(model, [one]), scores(model, [other]), atol=1e-6)


def test_a_sample_is_judged_alike_in_any_batch(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = [
        Sample(str(i), text, refs, image)
        for i, (text, refs, image) in enumerate(
            [
                (CAPTIONS[0], CAPTIONS[1:3], "x"),
                (CAPTIONS[1], (), "x"),
                (CAPTIONS[2], CAPTIONS[:1], "few"),
                (CAPTIONS[3], CAPTIONS[:3], "y"),
            ]
        )
    ]
    together = scores(model, samples)
    alone = [scores(model, [sample])[0] for sample in samples]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    for limit in ("_PIECES", "_CASES", "_TOGETHER"):
        with monkeypatch.context() as patch:
            patch.setattr(f"vericap.metrics.faier_plus.metric.{limit}", 1)
            np.testing.assert_allclose(scores(model, samples), together, atol=1e-5)


def test_without_references_it_is_fidelity(model: str) -> None:
    sample = Sample("1", CAPTIONS[0], CAPTIONS[1:], "x")
    found = judged(model, batch_of([sample]))
    alone = scores(model, [sample], references="none")
    np.testing.assert_allclose(found.columns["fidelity"], alone, atol=1e-6)
    np.testing.assert_allclose(found.columns["gain"], found.values[:, 0] - alone, atol=1e-6)
    np.testing.assert_allclose(scores(model, [Sample("1", CAPTIONS[0], (), "x")]), alone, atol=1e-6)


def test_saying_what_a_reference_says_is_adequate(model: str) -> None:
    same = Sample("1", CAPTIONS[0], (CAPTIONS[0],), "x")
    other = Sample("2", CAPTIONS[2], (CAPTIONS[0],), "x")
    adequacy = judged(model, batch_of([same, other])).columns["adequacy"]
    np.testing.assert_allclose(adequacy[0], 0.8, atol=1e-3)  # every cosine is 1, and the calibration says 0.8
    assert adequacy[1] < adequacy[0] - 0.05


def test_odd_input(model: str) -> None:
    many = tuple(f"{CAPTIONS[k % 4]} number {k}" for k in range(50))
    samples = [
        Sample("1", "", CAPTIONS[:1], "x"),
        Sample("2", "...", CAPTIONS[:1], "x"),
        Sample("3", CAPTIONS[0], CAPTIONS[:1], None),
        Sample("4", " ".join([CAPTIONS[2]] * 20), many, "x"),
        Sample("5", CAPTIONS[3], ("", "!!"), "x"),
    ]
    found = judged(model, batch_of(samples))
    assert set(found.problems) == {0, 1, 2}
    assert np.isnan(found.values[:3, 0]).all()
    assert np.isfinite(found.values[3:, 0]).all()
    # References without a word are none.
    np.testing.assert_allclose(found.values[4, 0], scores(model, [Sample("5", CAPTIONS[3], (), "x")])[0], atol=1e-6)


def test_an_image_without_regions_is_a_problem(model: str) -> None:
    batch = batch_of([Sample("1", CAPTIONS[0], (), "x"), Sample("2", CAPTIONS[0], (), "y")])
    batch[Regions()].mask[1] = False
    found = judged(model, batch)
    assert found.problems == {1: "the image has no region"}
    matrix = FaierPlus(model=model)._scorer(batch).matrix()
    assert np.isneginf(matrix[1]).all()
    np.testing.assert_allclose(matrix[0], found.values[0], atol=1e-6)


def test_other_features_are_refused(model: str) -> None:
    with pytest.raises(VericapError, match="tiny"):
        judged(model, batch_of([Sample("1", CAPTIONS[0], (), "x")], fingerprint="other"))


def test_a_damaged_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "faier_plus.safetensors").write_bytes(b"\0" * 40)
    (tmp_path / "meta.json").write_text("{}")
    with pytest.raises(VericapError, match="faier_plus"):
        judged(str(tmp_path), batch_of([Sample("1", CAPTIONS[0], (), "x")]))


def test_reasons(model: str) -> None:
    sample = Sample("1", f"{CAPTIONS[0]}, t-shirt!", CAPTIONS[1:3], "few")
    first, second = explained(model, [sample, Sample("2", "cats", (), "few")])
    assert [word.text for word in first.words] == [*CAPTIONS[0].split(), "t-shirt"]
    assert all(sample.candidate[word.start : word.end] == word.text for word in first.words)
    assert all(word.support is not None and 0.0 <= word.support <= 1.0 for word in first.words)
    assert {word.source for word in first.words} == {"references"}
    assert {word.source for word in second.words} == {"image"}
    assert [word.region is not None for word in first.words][:3] == [False, True, True]
    kinds = {match.candidate[0]: match.kind for match in first.matches}
    assert kinds["man"] == "object"
    assert kinds["brown horse"] == "attribute"
    assert kinds["man ride brown horse"] == "relation"
    grades = [match.grade for match in first.matches]
    assert grades == sorted(grades)
    assert len(first.facts["told"]["words"]) == len(first.words)
    assert len(first.facts["told"]["claims"]) == len(first.matches)
    assert second.notes == (NO_RELATIONS,)
    assert not second.facts
    assert not first.heatmaps
    record = first.as_dict()
    assert Explanation.from_dict(json.loads(json.dumps(record))).as_dict() == record
    assert len(json.dumps(record)) < 3000


def test_reasons_in_full(model: str) -> None:
    (found,) = explained(model, [Sample("1", CAPTIONS[0], CAPTIONS[1:3], "few")], full=True)
    similarity, *attention = found.heatmaps
    assert similarity.columns == tuple(CAPTIONS[0].split())
    values = np.array(similarity.values)
    assert values.shape == (5, len(found.words))
    assert len(similarity.boxes) == 5
    np.testing.assert_allclose(values.max(axis=0), [word.support for word in found.words], atol=1e-3)
    for one, text in zip(attention, CAPTIONS[1:3], strict=True):
        assert one.columns == tuple(text.split())
        np.testing.assert_allclose(np.array(one.values).sum(axis=1), 1.0, atol=1e-2)
    assert sum(found.facts["weights"]) == pytest.approx(1.0, abs=0.01)


def test_words_far_behind_are_read_too(model: str) -> None:
    """A text of more than 128 pieces is read in windows."""
    late = Sample("1", ". " * 140 + "dog", CAPTIONS[:1], "x")
    assert np.isfinite(scores(model, [late])).all()
    (found,) = explained(model, [late], full=True)
    (word,) = found.words
    assert word.support is not None


def test_the_matrix_holds_every_pair(model: str) -> None:
    samples = [Sample(str(i), text, (), image) for i, (text, image) in enumerate(zip(CAPTIONS, ("x", "few", "x", "y")))]
    metric, batch = FaierPlus(model=model), batch_of(samples)
    found = metric._scorer(ready(metric, batch)).matrix(together=3)
    assert found.shape == (3, 4)
    own = found[batch.images, batch.candidates]
    np.testing.assert_allclose(own, scores(model, samples), atol=1e-5)

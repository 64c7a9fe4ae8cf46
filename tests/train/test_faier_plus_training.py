"""FAIEr-plus learns, goes on after an interruption to the same weights, and draws batches as it says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from safetensors.numpy import load_file  # noqa: E402

from vericap.core.shipped import weights  # noqa: E402
from vericap.models import faier_plus as plain  # noqa: E402
from vericap.models.arrays import unit  # noqa: E402
from vericap.models.faier_plus.layout import CaptionLayout  # noqa: E402
from vericap.train.claims import ClaimTable  # noqa: E402
from vericap.train.data import Draw  # noqa: E402
from vericap.train.faier_plus import training as learned  # noqa: E402
from vericap.train.faier_plus.data import CaptionStates, FaierPlusSource  # noqa: E402
from vericap.train.trainer import TrainPlan  # noqa: E402

D = 384


def captions(rng: np.random.Generator, topics: np.ndarray) -> CaptionStates:
    """Made captions: token states around the topic of their image."""
    lengths = rng.integers(5, 9, len(topics))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    states = np.repeat(topics, lengths, axis=0) + 0.5 * rng.normal(size=(offsets[-1], D)) / np.sqrt(D)
    layouts = [CaptionLayout(list(range(1, n - 1)), [[1, 2], [2, 3]] if n > 5 else []) for n in lengths]
    return CaptionStates(states.astype(np.float16), offsets.astype(np.int64), layouts)


def source(images: int, seed: int = 0) -> FaierPlusSource:
    rng = np.random.default_rng(seed)
    topics = unit(rng.normal(size=(images, D)).astype(np.float32))
    mixed = unit(topics[rng.permutation(images)])
    regions = unit(topics[:, None] @ np.roll(np.eye(D), 7, axis=1) + 0.3 * rng.normal(size=(images, 14, D)) / 20)
    sentences = unit(topics[:, None] + 0.4 * rng.normal(size=(images, 5, D)).astype(np.float32) / np.sqrt(D))
    return FaierPlusSource(
        regions.astype(np.float16),
        np.sort(rng.random((images, 14, 2, 2)), axis=2).reshape(images, 14, 4).astype(np.float32),
        sentences.astype(np.float16),
        5,
        captions(rng, np.repeat(topics, 5, axis=0)),
        captions(rng, mixed),
        mixed,
        np.arange(images) % 3 > 0,
    )


def fit(output: Path, data: FaierPlusSource, start: str = "", share: float = 1.0, **more: int) -> dict:
    plan = TrainPlan(**{"steps": 6, "warmup": 1, "validate": 3, "threads": 1, **more})
    return learned.train(
        [data],
        [12],
        data,
        output,
        plan=plan,
        options=learned.FaierPlusOptions(batch=12, hidden=8, rate=3e-3),
        features={"fingerprint": "f", "width": 20, "regions": 14},
        text_encoder="captions",
        encoder="default",
        token_mean=np.zeros(D, np.float32),
        start=weights(start, "faier_plus") if start else None,
        share=share,
        quiet=True,
    )


def test_it_learns_and_is_written(tmp_path: Path) -> None:
    data = source(24)
    with torch.no_grad():
        before = learned.FaierPlusTask(
            learned.FaierPlusModule(8, D), [data], [12], data, learned.FaierPlusOptions(batch=12)
        ).validate()
    trained = fit(tmp_path, data, steps=40, validate=20)
    network = plain.load(str(tmp_path / "faier_plus"))
    assert network.fingerprint == "f"
    assert trained["agreement"] > before["agreement"]
    assert (tmp_path / "log.csv").is_file()


def test_an_interrupted_training_ends_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = source(20)
    fit(tmp_path / "whole", data)
    run = learned.Trainer.run
    monkeypatch.setattr(learned.Trainer, "run", lambda self, *given: run(self, *given, until=3))
    fit(tmp_path / "parts", data)
    monkeypatch.setattr(learned.Trainer, "run", run)
    fit(tmp_path / "parts", data)
    one, two = (load_file(tmp_path / name / "faier_plus" / "faier_plus.safetensors") for name in ("whole", "parts"))
    for name in one:
        np.testing.assert_array_equal(one[name], two[name])


def test_the_teacher_reads_no_caption_that_was_given() -> None:
    data = source(10)
    options = learned.FaierPlusOptions(batch=10)
    draws = [Draw(10, 10, 0)]
    batch = learned.FaierPlusStep.draw([data], draws, 0, np.random.default_rng(0), options)
    assert batch.target.shape == (10, 20)
    assert len(batch.candidates.word_counts) == len(batch.candidates.sentences) == 30
    assert torch.equal(batch.changed, torch.from_numpy(data.changed_there[draws[0].batch(0)]))
    # CaptionStates are near their image's topic, so the held-out ones are too, whichever were given.
    own = batch.target[torch.arange(10), torch.arange(10) * 2]
    assert float(own.min()) > float(batch.target.mean())


def test_a_training_goes_on_from_a_written_model(tmp_path: Path) -> None:
    data = source(20)
    fit(tmp_path / "first", data, steps=40, validate=20)
    first = str(tmp_path / "first" / "faier_plus")
    module = learned.FaierPlusModule(8, D)
    module.begin_with(weights(first, "faier_plus")[0])
    for name, value in module.weights().items():
        np.testing.assert_array_equal(value, np.asarray(weights(first, "faier_plus")[0][name], np.float32))
    trained = fit(tmp_path / "second", data, start=first)
    assert trained["before"]["steps"] in (20, 40)


def test_weights_go_a_share_of_the_way(tmp_path: Path) -> None:
    data = source(20)
    fit(tmp_path / "first", data)
    first = str(tmp_path / "first" / "faier_plus")
    trained = {share: fit(tmp_path / str(share), data, first, share) for share in (1.0, 0.5, 0.0)}
    begun, whole, half, none = (
        weights(str(tmp_path / name / "faier_plus"), "faier_plus")[0] for name in ("first", "1.0", "0.5", "0.0")
    )
    assert set(half) == set(whole) == set(begun)
    moved = {}
    for name, value in half.items():
        step = max(np.abs(given[name]).max() for given in (begun, whole)) / 127  # of the 8-bit numbers
        np.testing.assert_allclose(value, (begun[name] + whole[name]) / 2, atol=step + 1e-6)
        np.testing.assert_allclose(none[name], begun[name], atol=step + 1e-6)
        moved[name] = np.abs(whole[name] - begun[name]).max() / max(step, 1e-6)
    assert max(moved.values()) > 4  # far enough to tell half of the way from all of it
    assert "share" not in trained[1.0]
    assert (trained[0.5]["share"], trained[0.0]["share"]) == (0.5, 0.0)
    network = learned.FaierPlusModule(8, D)
    network.begin_with(half)
    task = learned.FaierPlusTask(network, [data], [12], data, learned.FaierPlusOptions(batch=12, hidden=8))
    with torch.no_grad():  # what is said of the weights is true of those that are written
        assert trained[0.5]["agreement"] == pytest.approx(task.validate()["agreement"], abs=2.0)


def test_a_share_without_a_start_changes_nothing(tmp_path: Path) -> None:
    data = source(20)
    trained = [fit(tmp_path / str(share), data, share=share) for share in (1.0, 0.5)]
    assert trained[0] == trained[1]
    one, two = (load_file(tmp_path / name / "faier_plus" / "faier_plus.safetensors") for name in ("1.0", "0.5"))
    for name in one:
        np.testing.assert_array_equal(one[name], two[name])


def test_claims_are_half_of_the_target() -> None:
    data = source(10)
    rng = np.random.default_rng(3)
    table = unit(rng.normal(size=(30, D))).astype(np.float16)
    counts = rng.integers(1, 4, size=50)
    phrases = rng.integers(0, 30, size=int(counts.sum()))
    data.claims = ClaimTable(
        table, np.concatenate([[0], np.cumsum(counts)]), phrases, np.ones(len(phrases), np.float32)
    )
    options, draws = learned.FaierPlusOptions(batch=10, references=0), [Draw(10, 10, 0)]
    with_claims = learned.FaierPlusStep.draw([data], draws, 0, np.random.default_rng(0), options)
    claims, data.claims = data.claims, None
    without = learned.FaierPlusStep.draw([data], draws, 0, np.random.default_rng(0), options)
    other = 2 * with_claims.target - without.target  # brought to mean and spread of the cosines
    assert float(other.mean()) == pytest.approx(float(without.target.mean()), abs=1e-4)
    rows = draws[0].batch(0)
    # The first candidate of an image is its caption 0; against another image nothing is left out.
    expected = claims.graded(np.array([rows[1], rows[2], rows[3]]), np.full(3, rows[0] * 5), 0)
    found = other[1:4, 0].numpy()
    spread = expected.std() / found.std()
    np.testing.assert_allclose((found - found.mean()) * spread, expected - expected.mean(), atol=2e-3)


def test_the_boxes_of_the_store_are_used() -> None:
    data, options = source(10), learned.FaierPlusOptions(batch=10, hidden=8)
    torch.manual_seed(0)
    model = learned.FaierPlusModule(8, D)
    torch.nn.init.normal_(model.mix, std=0.3)

    def relation(boxes: np.ndarray) -> torch.Tensor:
        data.boxes = boxes
        batch = learned.FaierPlusStep.draw([data], [Draw(10, 10, 0)], 0, np.random.default_rng(0), options)
        with torch.no_grad():
            return batch.shown.visual(model)["relation"]

    own = relation(data.boxes)
    moved = relation(data.boxes[:, ::-1].copy())
    assert not torch.allclose(own, moved, atol=1e-3)
    rows = Draw(10, 10, 0).batch(0)
    network = plain.FaierPlusModel(model.weights(), {"name": "m", "fingerprint": "f"})
    expected = network.regions(np.asarray(data.features[rows], np.float32), data.boxes[rows], np.ones((10, 14), bool))
    np.testing.assert_allclose(moved, expected["relation"], atol=1e-4)

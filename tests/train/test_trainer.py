"""The loop every training shares."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from vericap.core.errors import VericapError  # noqa: E402
from vericap.train import losses  # noqa: E402
from vericap.train.trainer import OPTIMIZERS, Trainer, TrainPlan, between, optimizer_of  # noqa: E402


@pytest.mark.parametrize(("keep", "step"), [("best", 2), ("last", 6)])
def test_weights_that_are_kept(keep: str, step: int, tmp_path: Path) -> None:
    """Agreement falls after the first validation: `best` keeps it, `last` has seen all batches."""
    model = torch.nn.Linear(1, 1)
    plan = TrainPlan(steps=6, warmup=1, validate=2, threads=1, average=0.0, keep=keep)
    trainer = Trainer(model, [{"params": list(model.parameters()), "lr": 0.1}], plan, tmp_path, quiet=True)
    seen, falling = [], iter((3.0, 2.0, 1.0))

    def validate() -> dict[str, float]:
        seen.append(model.weight.item())
        return {"agreement": next(falling)}

    state = trainer.run(lambda *_: {"loss": (model(torch.ones(1, 1)) - 5.0).square().mean()}, validate)
    trainer.load_best()
    assert state.best_step == step
    assert model.weight.item() == seen[step // 2 - 1]


def trainer(folder: Path, **more: object) -> Trainer:
    model = torch.nn.Linear(1, 1)
    plan = TrainPlan(steps=6, warmup=1, validate=2, threads=1, average=0.0)
    return Trainer(model, [{"params": list(model.parameters()), "lr": 0.1}], plan, folder, quiet=True, **more)  # type: ignore[arg-type]


def test_the_best_by_every_figure_watched_is_kept(tmp_path: Path) -> None:
    """One figure rises, the other one falls; both checkpoints are kept, over an interruption too."""
    figures = iter(((1.0, 3.0), (2.0, 2.0), (3.0, 1.0)))
    seen = []

    def run(until: int) -> Trainer:
        own = trainer(tmp_path, watch=("rising", "falling"))

        def validate() -> dict[str, float]:
            seen.append(own.model.weight.item())
            rising, falling = next(figures)
            return {"agreement": 0.0, "rising": rising, "falling": falling}

        torch.manual_seed(0)
        own.run(lambda *_: {"loss": (own.model(torch.ones(1, 1)) - 5.0).square().mean()}, validate, until=until)
        return own

    run(4)
    last = run(6)
    assert last.load_best()["step"] == 6
    assert last.model.weight.item() == pytest.approx(seen[2])
    assert last.load_best("falling")["step"] == 2
    assert last.model.weight.item() == pytest.approx(seen[0])


def test_checkpoints_of_before_go_on(tmp_path: Path) -> None:
    """What a checkpoint says of its plan is what it said before there were optimizers and devices to choose from."""
    before = {"steps", "warmup", "decay", "validate", "patience", "average", "keep", "clip", "seed", "threads"}
    assert set(TrainPlan().described()) == before
    assert set(TrainPlan(optimizer="adam", device="cuda").described()) == {*before, "optimizer"}
    assert set(TrainPlan(precision="bfloat16").described()) == {*before, "precision"}
    own = trainer(tmp_path)
    own.run(lambda *_: {"loss": own.model.weight.square().sum()}, lambda: {"agreement": 1.0}, until=2)
    saved = torch.load(own.checkpoint, weights_only=True)
    state = json.loads(saved["state"])
    del state["others"]
    torch.save({**saved, "state": json.dumps(state)}, own.checkpoint)
    assert trainer(tmp_path).state.step == 2


def test_optimizers() -> None:
    parameter = torch.nn.Parameter(torch.ones(1))
    decays = {name: optimizer_of(name, [{"params": [parameter], "lr": 1.0}]).param_groups[0] for name in OPTIMIZERS}
    assert decays["adam"]["weight_decay"] == 0.0
    assert decays["adamw"]["weight_decay"] == 1e-4
    with pytest.raises(VericapError, match="not one of adamw, adam"):
        optimizer_of("sgd", [])


def test_weights_a_share_of_the_way() -> None:
    rng = np.random.default_rng(0)
    start = {"text": rng.normal(size=(3, 4)), "text_bias": rng.normal(size=3), "whitening": np.eye(3)}
    learned = {name: rng.normal(size=start[name].shape).astype(np.float32) for name in ("text", "text_bias")}
    expected = {0.0: start, 1.0: learned, 0.5: {name: (start[name] + learned[name]) / 2 for name in learned}}
    for share, weights in expected.items():
        found = between(start, learned, share)
        assert set(found) == {"text", "text_bias"}  # what was learned, nothing else
        for name, value in found.items():
            assert value.dtype == np.float32
            np.testing.assert_allclose(value, weights[name], atol=1e-6)
    with pytest.raises(KeyError):
        between({}, learned, 0.5)


def test_what_training_makes_goes_to_its_device() -> None:
    """`torch.as_tensor` follows the device of the trainer, `torch.from_numpy` stays on the processor."""
    with torch.device("meta"):
        assert torch.as_tensor(np.ones(2)).device.type == "meta"
        scores = torch.ones(4, 4)
        for loss in (losses.hardest_negative, losses.all_negatives, losses.info_nce):
            assert loss(scores).device.type == "meta"
        own = torch.zeros(4, 1, dtype=torch.long)
        similar = losses.cosines(torch.ones(4, 3, 8), own)
        assert losses.held_out(similar, own, torch.ones(4, 3)).device.type == "meta"
    folder = Path(losses.__file__).parent
    own = [file for part in ("scan", "faier", "faier_plus", "vse") for file in (folder / part).glob("*.py")]
    made = [(file, line) for file in own for line in file.read_text().splitlines() if "torch.from_numpy" in line]
    # Weights are copied into a model before it goes to its device; nothing else may stay behind.
    assert all(".copy_(" in line or "own[key]" in line or "load_state_dict" in line or "self.embedding" in line
               for _, line in made)  # fmt: skip

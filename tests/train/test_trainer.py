"""The loop every training shares."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from vericap.train.trainer import Trainer, TrainPlan  # noqa: E402


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

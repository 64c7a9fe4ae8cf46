"""The training loop every model shares: seed, schedule, validation, early stop, checkpoints, logs, plot.

A run interrupted at any step and started again with the same command ends with the same weights: data of step k
depend on the seed and k alone, and a checkpoint holds weights, optimiser, averaged weights and the log's length.

Under `torchrun` several processes take each step together (train.parallel); the first one validates and writes.
"""

from __future__ import annotations

import csv
import ctypes
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from vericap.core.errors import VericapError
from vericap.train import parallel

Losses = dict[str, torch.Tensor]  # "loss" is minimised, the others are logged
StepLosses = Callable[[int, np.random.Generator], Losses]
OPTIMIZERS = ("adamw", "adam")
PRECISIONS = ("float32", "bfloat16")


@dataclass
class TrainPlan:
    """How long and how fast to train."""

    steps: int = 1000
    warmup: int = 100
    decay: float = 0.3  # last share of the steps, over which the rate falls to zero
    validate: int = 100
    patience: int = 0  # validations without a better one before stopping; 0: never
    average: float = 0.998  # of the weights that are validated and kept
    keep: str = "best"  # or last: the weights at the end, whatever validated better before
    clip: float = 1.0
    seed: int = 0
    threads: int = 2
    optimizer: str = "adamw"  # or adam: without decay of the weights
    device: str = "cpu"
    precision: str = "float32"  # or bfloat16: of matrix products, weights stay as they are; up to 5 times faster

    def described(self) -> dict[str, Any]:
        """What decides the result, for checkpoints; where it is computed does not."""
        found = asdict(self)
        del found["device"]
        if self.optimizer == "adamw":  # checkpoints of before there was a choice go on
            del found["optimizer"]
        if self.precision == "float32":
            del found["precision"]
        return found

    def rate(self, step: int) -> float:
        """Share of the full learning rate at a step (from 0): warm-up, constant, linear fall."""
        start = self.steps * (1.0 - self.decay)
        fall = 1.0 if step < start else max(0.0, (self.steps - step) / max(self.steps - start, 1.0))
        return min(fall, (step + 1) / max(self.warmup, 1))


@dataclass
class TrainState:
    """How far a training is, what validated best, and its log."""

    step: int = 0
    best: float = -float("inf")
    best_step: int = -1
    waited: int = 0
    log: list[dict[str, float]] = field(default_factory=list)
    others: dict[str, tuple[float, int]] = field(default_factory=dict)  # other figures: best value and its step


class Trainer:
    """Trains `model` with `losses(step, generator)`; keeps the averaged weights that validate best (or the last).

    `watch` are figures of the validation: the first one decides, the best weights by each other one are kept beside it.
    """

    def __init__(
        self,
        model: nn.Module,
        groups: list[dict[str, Any]],
        plan: TrainPlan,
        folder: str | Path,
        *,
        describe: Mapping[str, Any] | None = None,
        watch: Sequence[str] = ("agreement",),
        quiet: bool = False,
    ) -> None:
        self.model, self.plan, self.folder = model, plan, Path(folder)
        self.quiet, self.watch = quiet or parallel.rank() > 0, tuple(watch)
        self.folder.mkdir(parents=True, exist_ok=True)
        torch.set_num_threads(plan.threads)
        self.device = parallel.start(plan.device)
        model.to(self.device)
        self.rates = [float(group["lr"]) for group in groups]
        self.optimizer = optimizer_of(plan.optimizer, groups)
        self.parameters = [p for group in self.optimizer.param_groups for p in group["params"]]
        self.averaged = [p.detach().clone() for p in self.parameters]
        self.state = TrainState()
        self.describe = {**(describe or {}), "plan": plan.described()}
        self._resume()

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint.pt"

    def _resume(self) -> None:
        if not self.checkpoint.is_file():
            return
        saved = torch.load(self.checkpoint, map_location=self.device, weights_only=True)
        if json.loads(saved["describe"]) != json.loads(json.dumps(self.describe)):
            raise VericapError(
                f"{self.folder} holds a training with other options; choose another `output=DIR` or delete the folder"
            )
        self.model.load_state_dict(saved["model"])
        self.optimizer.load_state_dict(saved["optimizer"])
        for own, old in zip(self.averaged, saved["averaged"]):
            own.copy_(old)
        self.state = TrainState(**json.loads(saved["state"]))

    def save(self) -> None:
        """Write the checkpoint, whole or not at all."""
        part = self.checkpoint.with_suffix(".part")
        torch.save(
            {
                "model": self.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "averaged": self.averaged,
                "state": json.dumps(asdict(self.state)),
                "describe": json.dumps(self.describe),
            },
            part,
        )
        os.replace(part, self.checkpoint)

    def run(
        self,
        losses: StepLosses,
        validate: Callable[[], dict[str, float]],
        *,
        until: int | None = None,
    ) -> TrainState:
        """Train to the end (or to step `until`); `validate` returns figures, the first one watched decides."""
        # Tiny activations would cost hundreds of cycles each. The switch is the whole process's: put it back.
        torch.set_flush_denormal(True)
        keep_memory()
        try:
            # What losses and validation make goes where the model is.
            with self.device if self.device.type != "cpu" else nullcontext():
                return self._run(self._together(losses), validate, until)
        finally:
            torch.set_flush_denormal(False)

    def _together(self, losses: StepLosses) -> StepLosses:
        """The losses of a step; with several processes gradients become the mean of theirs."""
        if parallel.count() == 1:
            return losses
        # Which parameters a step uses depends on what was drawn: references, triplets.
        return DistributedDataParallel(_Step(self.model, losses), find_unused_parameters=True)

    def _run(
        self,
        losses: StepLosses,
        validate: Callable[[], dict[str, float]],
        until: int | None,
    ) -> TrainState:
        plan, state = self.plan, self.state
        end = plan.steps if until is None else min(until, plan.steps)
        started, sums = time.monotonic(), dict[str, float]()
        if not plan.steps and not state.log:  # nothing to learn: the model it begins with is measured and kept
            self._validated({"step": 0, **parallel.told(lambda: self.with_average(validate))}, 0.0)
        while state.step < end and not (plan.patience and state.waited >= plan.patience):
            generator = np.random.default_rng([plan.seed, state.step])
            torch.manual_seed(plan.seed * 1_000_003 + state.step)
            with torch.autocast(self.device.type, torch.bfloat16, enabled=plan.precision == "bfloat16"):
                lost = losses(state.step, generator)
            found = self._step(lost)
            for name, value in found.items():
                sums[name] = sums.get(name, 0.0) + value
            state.step += 1
            if state.step % plan.validate == 0 or state.step == plan.steps:
                count = (state.step - 1) % plan.validate + 1
                row = {"step": state.step, **{name: value / count for name, value in sums.items()}}
                sums.clear()
                found = parallel.told(lambda: self.with_average(validate))
                self._validated({**row, **found}, time.monotonic() - started)
        if parallel.rank() == 0:
            self._write_log()
        parallel.wait()  # for what the first process writes
        return state

    def _step(self, losses: Losses) -> dict[str, float]:
        share = self.plan.rate(self.state.step)
        for group, rate in zip(self.optimizer.param_groups, self.rates):
            group["lr"] = rate * share
        self.optimizer.zero_grad(set_to_none=True)
        losses["loss"].backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.parameters, self.plan.clip)
        self.optimizer.step()
        keep = min(self.plan.average, (1 + self.state.step) / (10 + self.state.step))
        with torch.no_grad():
            for own, new in zip(self.averaged, self.parameters):
                own.lerp_(new, 1.0 - keep)
        found = {name: float(value.detach()) for name, value in losses.items()}
        if not np.isfinite(found["loss"]):
            raise VericapError(f"the loss is not finite at step {self.state.step}; lower the learning rate")
        return found

    def with_average(self, function: Callable[[], Any]) -> Any:
        """Call with the averaged weights in place."""
        self._swap()
        try:
            with torch.no_grad():
                return function()
        finally:
            self._swap()

    def _swap(self) -> None:
        with torch.no_grad():
            for own, other in zip(self.parameters, self.averaged):
                kept = own.detach().clone()
                own.copy_(other)
                other.copy_(kept)

    def _validated(self, row: dict[str, float], seconds: float) -> None:
        state = self.state
        state.log.append({name: float(value) for name, value in row.items()})
        decides, *others = self.watch
        if row[decides] > state.best or self.plan.keep == "last":
            state.best, state.best_step, state.waited = float(row[decides]), state.step, 0
            self._keep("best.pt")
        else:
            state.waited += 1
        for name in others:
            if row[name] > state.others.get(name, (-float("inf"), -1))[0] or self.plan.keep == "last":
                state.others[name] = (float(row[name]), state.step)
                self._keep(f"best-{name}.pt")
        if parallel.rank() == 0:
            self.save()
            self._write_log()
        if not self.quiet:
            print("  ".join(f"{name} {value:.4g}" for name, value in row.items()), f"{seconds:.0f}s", flush=True)

    def _keep(self, name: str) -> None:
        if parallel.rank() == 0:
            torch.save({"averaged": self.averaged, "step": self.state.step}, self.folder / name)

    def load_best(self, figure: str = "") -> dict[str, float]:
        """Put the averaged weights that were kept into the model, on the processor; the log's row of their step."""
        file = self.folder / (f"best-{figure}.pt" if figure in self.watch[1:] else "best.pt")
        saved = torch.load(file, map_location="cpu", weights_only=True)
        with torch.no_grad():
            for own, best in zip(self.parameters, saved["averaged"]):
                own.copy_(best)
        self.model.to("cpu")
        return next((row for row in self.state.log if row["step"] == saved["step"]), {"step": saved["step"]})

    def _write_log(self) -> None:
        if not self.state.log:
            return
        names = list(self.state.log[0])
        with (self.folder / "log.csv").open("w", newline="") as stream:
            writer = csv.DictWriter(stream, names, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(self.state.log)
        plot(self.state.log, self.folder / "loss.png")


class _Step(nn.Module):
    """One step as DistributedDataParallel calls it."""

    def __init__(self, model: nn.Module, losses: StepLosses) -> None:
        super().__init__()
        self.model, self._losses = model, losses

    def forward(self, step: int, generator: np.random.Generator) -> Losses:
        return self._losses(step, generator)


def optimizer_of(name: str, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
    if name not in OPTIMIZERS:
        raise VericapError(f"the optimizer '{name}' is not one of {', '.join(OPTIMIZERS)}")
    if name == "adam":
        return torch.optim.Adam(groups)
    return torch.optim.AdamW(groups, weight_decay=1e-4, betas=(0.9, 0.99))


def plot(log: list[dict[str, float]], file: Path) -> None:
    """Loss and agreement against steps; nothing is drawn where matplotlib is not installed."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(6, 3.5))
    steps = [row["step"] for row in log]
    axis.plot(steps, [row.get("loss", np.nan) for row in log], color="tab:blue", label="loss")
    axis.set_xlabel("step")
    axis.set_ylabel("training loss")
    other = axis.twinx()
    other.plot(steps, [row.get("agreement", np.nan) for row in log], color="tab:orange", label="agreement")
    other.set_ylabel("agreement on validation pairs")
    figure.legend(loc="upper center", ncols=2, frameon=False)
    figure.tight_layout()
    figure.savefig(file, dpi=120)
    pyplot.close(figure)


def keep_memory() -> None:
    """Tell the C library to keep freed memory (glibc; elsewhere nothing happens).

    A step takes and frees gigabytes; given back, their pages are cleared and mapped anew, which costs a third of it.
    """
    trim_threshold, most_mapped = -1, -4  # numbers of malloc.h: -1 bytes never trims, 0 mapped blocks maps none
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(trim_threshold, -1)
    mallopt(most_mapped, 0)


def between(start: Mapping[str, Any], learned: Mapping[str, Any], share: float) -> dict[str, Any]:
    """Weights a share of the way from those a training began with to those it ended with: what tuning brings on its own
    kind of data is mostly kept, what it costs on others mostly not (Wortsman et al. 2022)."""
    return {
        name: (1 - share) * np.asarray(start[name], dtype=np.float32) + share * np.asarray(value, dtype=np.float32)
        for name, value in learned.items()
    }

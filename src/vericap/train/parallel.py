"""Several processes that train one model (`torchrun`): who does what, and values that travel with their gradients.

All processes draw the same batch from the same seed; each computes the scores of its own images with *all* captions of
the batch. `gather` brings the rows together, so every process has the loss of the whole batch, and negatives come from
all of them. Its gradient adds what all processes ask for; DistributedDataParallel then takes the mean over processes,
so that the step is the one a single process would take with the same batch.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed

from vericap.core.errors import InputError, VericapError

Value = TypeVar("Value")
_PATIENCE = timedelta(days=2)  # preparing data may take one process hours, while the others wait
_groups: list[Any] = []  # of `gather`: its messages must not mix with those of DistributedDataParallel


def start(device: str = "cpu") -> torch.device:
    """The device of this process; under `torchrun` it joins the others first."""
    rank, count = int(os.environ.get("LOCAL_RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    chosen = f"cuda:{rank}" if device == "cuda" and count > 1 else device
    try:
        found = torch.device(chosen)
        torch.zeros(1, device=found)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"`device={device}` cannot be used here ({reason}); leave it out for the processor") from error
    if count > 1 and not distributed.is_initialized():
        if found.type == "cuda":
            torch.cuda.set_device(found)
        distributed.init_process_group("nccl" if found.type == "cuda" else "gloo", timeout=_PATIENCE)
        _groups.append(distributed.new_group(timeout=_PATIENCE))
    return found


def finish() -> None:
    """Leave the others, once all have done their work."""
    if distributed.is_initialized():
        wait()
        distributed.destroy_process_group()
        _groups.clear()


def count() -> int:
    """How many processes train together."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def rank() -> int:
    return distributed.get_rank() if distributed.is_initialized() else 0


def part(total: int) -> slice:
    """Which of a batch's images are this process's: neighbours, so that `gather` brings back their order."""
    many, own = count(), rank()
    if total < many:
        raise VericapError(f"{many} processes cannot share {total} images of a batch; make `batch=N` larger")
    return slice(total * own // many, total * (own + 1) // many)


def first(work: Callable[[], Value]) -> Value:
    """Let one process do some work before the others: they find what it has kept on disk."""
    if count() == 1:
        return work()
    if rank() == 0:
        found = work()
        wait()
        return found
    wait()
    return work()


def wait() -> None:
    """Until all processes have come here."""
    if count() > 1:
        distributed.barrier()


def told(work: Callable[[], dict[str, float]]) -> dict[str, float]:
    """Figures that the first process computes, told to all."""
    if count() == 1:
        return work()
    device = torch.device("cuda", torch.cuda.current_device()) if _uses_cuda() else torch.device("cpu")
    text = json.dumps(work()).encode() if rank() == 0 else b""
    size = torch.tensor([len(text)], device=device)
    distributed.broadcast(size, 0)
    letters = torch.zeros(int(size), dtype=torch.uint8, device=device)
    if rank() == 0:
        letters.copy_(torch.frombuffer(bytearray(text), dtype=torch.uint8))
    distributed.broadcast(letters, 0)
    found: dict[str, float] = json.loads(bytes(letters.cpu().tolist()))
    return found


def _uses_cuda() -> bool:
    return bool(distributed.get_backend() == "nccl")


def gather(values: Tensor) -> Tensor:
    """Rows of all processes, one process after the other; gradients go back to where rows came from."""
    if count() == 1:
        return values
    if torch.is_grad_enabled() and values.is_floating_point() and not values.requires_grad:
        values = values.detach().requires_grad_()  # all processes must take part in the way back
    found: Tensor = _Gather.apply(values)  # type: ignore[no-untyped-call]
    return found


def _sizes(rows: int, device: torch.device) -> list[int]:
    own = torch.tensor([rows], device=device)
    sizes = [torch.zeros_like(own) for _ in range(count())]
    distributed.all_gather(sizes, own, group=_groups[0])
    return [int(size) for size in sizes]


class _Gather(torch.autograd.Function):
    """Processes may have different numbers of rows: they are padded on the way."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        ctx.sizes = _sizes(len(values), values.device)
        padded = values.new_zeros(max(ctx.sizes), *values.shape[1:])
        padded[: len(values)] = values
        parts = [torch.empty_like(padded) for _ in ctx.sizes]
        distributed.all_gather(parts, padded, group=_groups[0])
        return torch.cat([part[:size] for part, size in zip(parts, ctx.sizes)])

    @staticmethod
    def backward(ctx: Any, *received: Tensor) -> Tensor:
        (total,) = (tensor.contiguous().clone() for tensor in received)
        distributed.all_reduce(total, group=_groups[0])
        before = sum(ctx.sizes[: rank()])
        return total[before : before + ctx.sizes[rank()]]

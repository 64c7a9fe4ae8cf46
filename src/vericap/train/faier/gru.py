"""A gated recurrent unit over packed sequences, with its own backward pass.

torch's GRU keeps every step's intermediate values and multiplies the recurrent weights' gradient step by step; here
the gradient is one product over all steps, the first step (nothing to carry) multiplies nothing, and the input's share
of the gates comes from outside, where equal words share it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from vericap.core.typing import Ints


class PackedOrder:
    """Sequences of a flat array in time-major order, the longest first: what to gather, and how to go back."""

    def __init__(self, lengths: Ints) -> None:
        lengths = np.asarray(lengths, dtype=np.int64)
        starts = np.cumsum(lengths) - lengths
        order = np.argsort(-lengths, kind="stable")
        sorted_lengths = lengths[order]
        inside = np.arange(int(sorted_lengths[0]))[:, None] < sorted_lengths[None, :]
        step, place = np.nonzero(inside)
        self.sizes: list[int] = inside.sum(axis=1).tolist()
        forward = starts[order][place] + step
        backward = starts[order][place] + sorted_lengths[place] - 1 - step
        back = np.empty_like(forward), np.empty_like(backward)
        back[0][forward] = back[1][backward] = np.arange(len(forward))
        self.forward, self.backward = torch.as_tensor(forward), torch.as_tensor(backward)
        self.from_forward, self.from_backward = map(torch.as_tensor, back)
        # A sequence's last step is the same row in both directions' packed order.
        self.last = self.from_forward[torch.as_tensor(starts + lengths - 1)]


class _Gru(torch.autograd.Function):
    """States (rows, h) from gates' input share (rows, 3h); `sizes` rows at each step, never growing."""

    @staticmethod
    def forward(ctx: Any, given: Tensor, weight: Tensor, bias: Tensor, sizes: list[int]) -> Tensor:
        hidden = weight.shape[1]
        weight, bias = weight.to(given.dtype), bias.to(given.dtype)  # narrower under autocast
        states = given.new_empty(len(given), hidden)
        gates = given.new_empty(len(given), 3 * hidden)  # reset, update, new
        carried_new = given.new_empty(len(given), hidden)
        transposed = weight.t()
        start, before = 0, 0
        for step, size in enumerate(sizes):
            rows = slice(start, start + size)
            gate, now = gates[rows], given[rows]
            old = states[before : before + size]
            carried = torch.addmm(bias, old, transposed) if step else bias.expand(size, -1)
            torch.add(now[:, : 2 * hidden], carried[:, : 2 * hidden], out=gate[:, : 2 * hidden]).sigmoid_()
            carried_new[rows] = carried[:, 2 * hidden :]
            new = gate[:, 2 * hidden :]
            torch.addcmul(now[:, 2 * hidden :], gate[:, :hidden], carried_new[rows], out=new).tanh_()
            update = gate[:, hidden : 2 * hidden]
            if step:
                torch.lerp(new, old, update, out=states[rows])
            else:
                torch.sub(new, new * update, out=states[rows])
            before, start = start, start + size
        ctx.save_for_backward(states, gates, carried_new, weight)
        ctx.sizes = sizes
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor | None, ...]:
        (received,) = outputs
        states, gates, carried_new, weight = ctx.saved_tensors
        sizes, hidden = ctx.sizes, weight.shape[1]
        starts = np.concatenate([[0], np.cumsum(sizes)]).tolist()
        d_given, d_carried = torch.empty_like(gates), torch.empty_like(gates)
        flowing = received.new_zeros(0, hidden)
        for step in range(len(sizes) - 1, -1, -1):
            rows = slice(starts[step], starts[step + 1])
            size = sizes[step]
            reset, update, new = gates[rows].split(hidden, dim=1)
            d_state = received[rows].clone()
            d_state[: len(flowing)] += flowing
            d_new = (d_state - d_state * update).mul_(1.0 - new * new)
            gap = states[starts[step - 1] : starts[step - 1] + size] - new if step else -new
            d_update = gap.mul_(d_state).mul_(update * (1.0 - update))
            d_reset = (d_new * carried_new[rows]).mul_(reset * (1.0 - reset))
            for target in (d_given[rows], d_carried[rows]):
                target[:, :hidden] = d_reset
                target[:, hidden : 2 * hidden] = d_update
            d_given[rows, 2 * hidden :] = d_new
            torch.mul(d_new, reset, out=d_carried[rows, 2 * hidden :])
            if step:
                flowing = torch.addmm(d_state.mul_(update), d_carried[rows], weight)
        later = d_carried[starts[1] :]
        before = [states[starts[t - 1] : starts[t - 1] + sizes[t]] for t in range(1, len(sizes))]
        d_weight = later.t() @ torch.cat(before) if before else torch.zeros_like(weight)
        return d_given, d_weight, d_carried.sum(dim=0), None


def recur(given: Tensor, weight: Tensor, bias: Tensor, sizes: list[int]) -> Tensor:
    """All states of packed sequences, in the precision of the input's share."""
    with torch.autocast(given.device.type, enabled=False):
        found: Tensor = _Gru.apply(given, weight, bias, sizes)  # type: ignore[no-untyped-call]
    return found

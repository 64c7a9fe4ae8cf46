"""Gated recurrent units in NumPy, with torch's parameters and equations."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vericap.core.typing import Floats32, Ints

GruWeights = Mapping[str, Floats32]  # weight_ih, weight_hh, bias_ih, bias_hh, and the same with _reverse
_TOGETHER = 512  # sequences read at once: their states stay in the processor's cache


def linear(inputs: Floats32, weight: Floats32, bias: Floats32 | None = None) -> Floats32:
    """W x + b of the last axis, as one product whatever stands before it."""
    found = inputs.reshape(-1, inputs.shape[-1]) @ weight.T
    if bias is not None:
        found += bias
    return found.reshape(*inputs.shape[:-1], len(weight))


def step(state: Floats32 | None, given: Floats32, recurrent: Floats32, bias: Floats32) -> Floats32:
    """The next state (rows, hidden), from the input's share of the gates (rows, 3 hidden), which is overwritten."""
    hidden = len(bias) // 3
    gates, new = given[:, : 2 * hidden], given[:, 2 * hidden :]
    carried = None if state is None else state @ recurrent  # before the first step there is nothing to carry
    gates += bias[: 2 * hidden] if carried is None else carried[:, : 2 * hidden] + bias[: 2 * hidden]
    gates *= 0.5
    np.tanh(gates, out=gates)  # sigmoid(x) = (1 + tanh(x / 2)) / 2
    gates += 1.0
    gates *= 0.5
    reset, update = gates[:, :hidden], gates[:, hidden:]
    new += reset * (bias[2 * hidden :] if carried is None else carried[:, 2 * hidden :] + bias[2 * hidden :])
    np.tanh(new, out=new)
    return np.asarray(new + update * ((0.0 if state is None else state) - new), dtype=np.float32)


def gru(inputs: Floats32, weights: GruWeights) -> Floats32:
    """Last states (rows, hidden) of sequences (rows, time, width) of equal length."""
    given = linear(inputs, weights["weight_ih"], weights["bias_ih"])
    recurrent = np.ascontiguousarray(weights["weight_hh"].T)
    state = None
    for time in range(inputs.shape[1]):
        state = step(state, np.ascontiguousarray(given[:, time]), recurrent, weights["bias_hh"])
    if state is None:
        raise ValueError("a sequence has at least one step")
    return state


def read(table: Floats32, words: Ints, lengths: Ints, weights: GruWeights) -> tuple[Floats32, Floats32]:
    """Both directions over sequences that lie one after the other, side by side; one where there is no `_reverse`.

    Row `words[i]` of `table` is the input at place i; every sequence has at least one. Returns the states of all places
    (places, 2 hidden), and each direction's last state (sequences, 2 hidden).
    """
    hidden = weights["weight_hh"].shape[1]
    ways = ("", "_reverse") if "weight_hh_reverse" in weights else ("",)
    states = np.empty((len(words), len(ways) * hidden), dtype=np.float32)
    last = np.empty((len(lengths), len(ways) * hidden), dtype=np.float32)
    starts = np.cumsum(lengths) - lengths
    order = np.argsort(-lengths, kind="stable")
    for number, way in enumerate(ways):
        half = slice(number * hidden, (number + 1) * hidden)
        # Every distinct input goes through its half of the gates once.
        given = linear(table, weights[f"weight_ih{way}"], weights[f"bias_ih{way}"])
        recurrent, bias = np.ascontiguousarray(weights[f"weight_hh{way}"].T), weights[f"bias_hh{way}"]
        for first in range(0, len(order), _TOGETHER):
            rows = order[first : first + _TOGETHER]
            state, ends = None, lengths[rows]
            for time in range(int(ends[0])):
                active = int(np.searchsorted(-ends, -time))  # the longer sequences come first
                here = starts[rows[:active]] + (ends[:active] - 1 - time if number else time)
                state = step(None if state is None else state[:active], given[words[here]], recurrent, bias)
                states[here, half] = state
        last[:, half] = states[starts if number else starts + lengths - 1, half]
    return states, last


def bidirectional(inputs: Floats32, lengths: Ints, weights: GruWeights) -> tuple[Floats32, Floats32]:
    """`read` of padded sequences (batch, time, width): states (batch, time, 2 hidden), zero behind each end."""
    inside = np.arange(inputs.shape[1]) < lengths[:, None]
    flat = inputs[inside]
    found, last = read(flat, np.arange(len(flat)), lengths, weights)
    states = np.zeros((*inside.shape, found.shape[1]), dtype=np.float32)
    states[inside] = found
    return states, last

"""Gated recurrent units in NumPy, with torch's parameters and equations."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


def sigmoid(x: Floats) -> Floats:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)), dtype=np.float32)


def gru(inputs: Floats, lengths: Ints, weights: Mapping[str, Floats], *, suffix: str = "") -> Floats:
    """States (batch, time, hidden) of one direction; past a sequence's end the last state is repeated.

    `weights` holds `weight_ih`, `weight_hh`, `bias_ih`, `bias_hh`, each with `suffix` (`_reverse` reads
    backwards).
    """
    # The input's share of all three gates for all steps in one product.
    given = inputs @ weights[f"weight_ih{suffix}"].T + weights[f"bias_ih{suffix}"]
    return recur(given, lengths, weights, suffix=suffix)


def recur(given: Floats, lengths: Ints, weights: Mapping[str, Floats], *, suffix: str = "") -> Floats:
    """States from the input's share of the gates (batch, time, 3 hidden)."""
    if suffix == "_reverse":
        given = reverse(given, lengths)
    batch, time, _ = given.shape
    hidden = weights[f"weight_hh{suffix}"].shape[1]
    recurrent = np.ascontiguousarray(weights[f"weight_hh{suffix}"].T)
    bias = weights[f"bias_hh{suffix}"]
    state = np.zeros((batch, hidden), dtype=np.float32)
    states = np.empty((batch, time, hidden), dtype=np.float32)
    shortest = int(lengths.min(initial=time))
    for step in range(time):
        # Before the first step there is nothing to carry.
        carried = state @ recurrent + bias if step else np.broadcast_to(bias, (batch, 3 * hidden))
        now = given[:, step]
        gates = sigmoid(now[:, : 2 * hidden] + carried[:, : 2 * hidden])
        reset, update = gates[:, :hidden], gates[:, hidden:]
        new = np.tanh(now[:, 2 * hidden :] + reset * carried[:, 2 * hidden :])
        moved = new + update * (state - new)
        state = moved if step < shortest else np.where((step < lengths)[:, None], moved, state)
        states[:, step] = state
    return reverse(states, lengths) if suffix == "_reverse" else states


def reverse(values: Floats, lengths: Ints) -> Floats:
    """Each sequence turned round within its own length; padding stays behind it."""
    time = np.arange(values.shape[1])
    place = np.where(time < lengths[:, None], lengths[:, None] - 1 - time, time)
    return np.take_along_axis(values, place[:, :, None], axis=1)


def bidirectional(inputs: Floats, lengths: Ints, weights: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    """States of both directions side by side (batch, time, 2 hidden), and each direction's last state."""
    given = [inputs @ weights[f"weight_ih{way}"].T + weights[f"bias_ih{way}"] for way in ("", "_reverse")]
    return both_ways(given[0], given[1], lengths, weights)


def both_ways(
    given: Floats, given_reverse: Floats, lengths: Ints, weights: Mapping[str, Floats]
) -> tuple[Floats, Floats]:
    """`bidirectional` from the inputs' shares of both directions' gates."""
    forward = recur(given, lengths, weights)
    backward = recur(given_reverse, lengths, weights, suffix="_reverse")
    rows = np.arange(len(lengths))
    last = np.concatenate([forward[rows, np.maximum(lengths, 1) - 1], backward[rows, 0]], axis=1)
    return np.concatenate([forward, backward], axis=2), last

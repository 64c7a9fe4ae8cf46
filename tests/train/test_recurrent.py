"""The packed GRU against torch's own, and its hand-written gradient against differences."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from vericap.train.faier.gru import PackedOrder, recur  # noqa: E402


def test_states_and_gradients_equal_torchs() -> None:
    torch.manual_seed(0)
    net = torch.nn.GRU(5, 4, bidirectional=True).double()
    lengths = np.array([3, 1, 6, 3])
    flat = torch.randn(int(lengths.sum()), 5, dtype=torch.float64, requires_grad=True)
    packed = PackedOrder(lengths)
    found = []
    for way, order, back in (
        ("", packed.forward, packed.from_forward),
        ("_reverse", packed.backward, packed.from_backward),
    ):
        given = flat[order] @ getattr(net, f"weight_ih_l0{way}").t() + getattr(net, f"bias_ih_l0{way}")
        hidden, bias = getattr(net, f"weight_hh_l0{way}"), getattr(net, f"bias_hh_l0{way}")
        states = recur(given, hidden, bias, packed.sizes)
        found.append((states[back], states[packed.last]))
    states, last = (torch.cat(pair, dim=1) for pair in zip(*found))
    starts = np.cumsum(lengths) - lengths
    expected, ends = zip(*(net(flat[s : s + n]) for s, n in zip(starts, lengths)))
    torch.testing.assert_close(states, torch.cat(expected))
    torch.testing.assert_close(last, torch.stack([end.reshape(-1) for end in ends]))
    weights = torch.randn_like(states)
    own = torch.autograd.grad((states * weights).sum(), [flat, *net.parameters()])
    theirs = torch.autograd.grad((torch.cat(expected) * weights).sum(), [flat, *net.parameters()])
    for one, other in zip(own, theirs):
        torch.testing.assert_close(one, other)


def test_gradient_against_differences() -> None:
    torch.manual_seed(1)
    sizes = [4, 3, 1]
    given, weight, bias = (torch.randn(*shape, dtype=torch.float64) for shape in ((8, 9), (9, 3), (9,)))
    inputs = tuple(part.requires_grad_() for part in (given, weight, bias))
    assert torch.autograd.gradcheck(lambda g, w, b: recur(g, w, b, sizes), inputs)

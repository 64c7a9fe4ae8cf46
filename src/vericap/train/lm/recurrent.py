"""Training of the recurrent language model (torch): next words of captions, one layer of gated units."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from vericap.core.typing import Floats32, Ints
from vericap.models.recurrent_lm import RecurrentLm
from vericap.text.ngram_lm import START
from vericap.train.lm.training import log_frequencies, numbered

_HEAD = 1000  # most frequent words, whose part of the sum over all words is exact
_TAIL = 1000  # others drawn for every step; each stands for its share of them
_SIZE = 256  # captions of a step
_MIDDLE = 0.1  # share of captions that are read from somewhere in their middle, as behind an unknown word
_FILL = -1


class Network(nn.Module):
    """Words -> vectors in the space of the embedding, one per place."""

    def __init__(self, words: int, *, embedding: int, hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, embedding)
        self.gru = nn.GRU(embedding, hidden, batch_first=True)
        self.project = nn.Linear(hidden, embedding, bias=False)
        self.bias = nn.Parameter(torch.zeros(words))
        self.dropout = nn.Dropout(0.1)
        nn.init.normal_(self.embedding.weight, std=embedding**-0.5)

    def forward(self, words: Tensor) -> Tensor:
        states, _ = self.gru(self.dropout(self.embedding(words)))
        found: Tensor = self.project(self.dropout(states))
        return found


def loss(network: Network, given: Tensor, wanted: Tensor, dice: np.random.Generator) -> Tensor:
    """Mean of -log p of the next words; the sum over the rarer words is estimated from some of them."""
    size = len(network.bias)
    inside = wanted != _FILL
    vectors, wanted = network(given)[inside], wanted[inside]
    head = min(_HEAD, size)
    drawn = head + dice.choice(size - head, min(_TAIL, size - head), replace=False)
    chosen = torch.from_numpy(np.concatenate([np.arange(head), drawn]).astype(np.int64))
    stands_for = torch.zeros(len(chosen))
    if len(drawn):
        stands_for[head:] = math.log((size - head) / len(drawn))
    logits = vectors @ network.embedding.weight[chosen].T + network.bias[chosen] + stands_for
    right = (vectors * network.embedding.weight[wanted]).sum(dim=1) + network.bias[wanted]
    return (torch.logsumexp(logits, dim=1) - right).mean()


def steps(captions: Sequence[Ints], passes: int, dice: np.random.Generator) -> Iterator[tuple[Tensor, Tensor]]:
    """Words given and wanted (captions, places); captions of about equal length share a step."""
    lengths = np.array([len(caption) for caption in captions])
    for _ in range(passes):
        order = np.lexsort((dice.random(len(captions)), lengths))
        groups = [order[start : start + _SIZE] for start in range(0, len(order), _SIZE)]
        for at in dice.permutation(len(groups)).tolist():
            rows = [_part(captions[row], dice) for row in groups[at].tolist()]
            table = np.full((2, len(rows), max(map(len, rows)) - 1), _FILL, dtype=np.int64)
            for place, row in enumerate(rows):
                table[0, place, : len(row) - 1], table[1, place, : len(row) - 1] = row[:-1], row[1:]
            given, wanted = torch.from_numpy(table)
            yield given.clamp(min=0), wanted


def _part(caption: Ints, dice: np.random.Generator) -> Ints:
    if len(caption) > 3 and dice.random() < _MIDDLE:
        return caption[int(dice.integers(1, len(caption) - 2)) :]
    return caption


def train(
    texts: Sequence[Sequence[str]], *, min_word: int = 3, passes: int = 3, embedding: int = 96, hidden: int = 192,
    rate: float = 4e-3, seed: int = 0, name: str = "lm-rnn",
) -> RecurrentLm:  # fmt: skip
    """A trained model, its vocabulary that of the n-gram model."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    dice = np.random.default_rng(seed)
    vocabulary, stream = numbered(texts, min_word)
    captions = [caption for caption in np.split(stream, np.flatnonzero(stream == START)[1:]) if len(caption) > 2]
    network = Network(len(vocabulary), embedding=embedding, hidden=hidden)
    frequency = log_frequencies(stream, len(vocabulary))
    with torch.no_grad():
        network.bias.copy_(torch.from_numpy(frequency))
    total = passes * math.ceil(len(captions) / _SIZE)
    optimiser = torch.optim.Adam(network.parameters(), lr=rate)
    plan = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=total, pct_start=0.1)
    mean = 0.0
    for step, (given, wanted) in enumerate(steps(captions, passes, dice), 1):
        value = loss(network, given, wanted, dice)
        optimiser.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        plan.step()
        mean += (float(value.detach()) - mean) / min(step, 200)
        if step % 200 == 0:
            print(f"step {step}/{total}: loss {mean:.4f}", flush=True)
    return RecurrentLm(list(vocabulary), {**_arrays(network.eval()), "frequency": frequency}, name)


def _arrays(network: Network) -> dict[str, Floats32]:
    found: dict[str, Tensor] = {name.removesuffix("_l0"): value for name, value in network.gru.named_parameters()}
    found |= {"embedding": network.embedding.weight, "project": network.project.weight, "bias": network.bias}
    return {name: np.ascontiguousarray(value.detach().numpy()) for name, value in found.items()}

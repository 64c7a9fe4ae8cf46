"""The labeller as a torch module; `vericap.graphs.labeller` computes the same with NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from vericap.graphs.labels import FLAGS


@dataclass(frozen=True)
class LabellerConfig:
    """Sizes of the network."""

    words: int
    bases: int
    endings: int
    templates: int
    word: int = 64
    base: int = 32
    ending: int = 16
    hidden: int = 128
    layers: int = 2
    edge: int = 96
    verb: int = 64
    pair: int = 160
    dropout: float = 0.33
    forget: float = 0.04  # share of words that are taken for unknown ones


@dataclass
class Scores:
    """States of all words, and the scores that need no choice of objects first."""

    states: torch.Tensor
    objects: torch.Tensor
    edges: torch.Tensor  # (captions, 2, words, words)


class LabellerModule(nn.Module):
    """Word features -> BiLSTM -> objects, edges, relations of pairs, their verbs."""

    def __init__(self, config: LabellerConfig) -> None:
        super().__init__()
        self.config = config
        self.word = nn.Embedding(config.words, config.word)
        self.base = nn.Embedding(config.bases, config.base)
        self.ending = nn.Embedding(config.endings, config.ending)
        width = config.word + config.base + config.ending + FLAGS
        self.lstm = nn.LSTM(
            width, config.hidden, config.layers, bidirectional=True, batch_first=True, dropout=config.dropout
        )
        both = 2 * config.hidden
        self.objects = nn.Linear(both, 1)
        self.edge_from, self.edge_to = nn.Linear(both, config.edge), nn.Linear(both, config.edge)
        self.edge = nn.Parameter(torch.zeros(2, config.edge + 1, config.edge + 1))
        self.verb_of_subject, self.verb_of_object = nn.Linear(both, config.verb), nn.Linear(both, config.verb)
        self.subject_of_verb, self.object_of_verb = nn.Linear(both, config.verb), nn.Linear(both, config.verb)
        self.pair_subject, self.pair_object = nn.Linear(both, config.pair), nn.Linear(both, config.pair)
        self.pair = nn.Linear(config.pair, config.templates + 1)  # 0: no relation
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, numbers: torch.Tensor, flags: torch.Tensor) -> Scores:
        word, base, ending = numbers.unbind(-1)
        if self.training:  # unknown words must be met in training
            kept = torch.rand(word.shape) > self.config.forget
            word, base = word * kept, base * kept
        inputs = torch.cat([self.word(word), self.base(base), self.ending(ending), flags], dim=-1)
        states, _ = self.lstm(self.dropout(inputs))
        states = self.dropout(states)
        left, right = (self._side(layer, states) for layer in (self.edge_from, self.edge_to))
        edges = torch.einsum("bid,kde,bje->bkij", left, self.edge, right)
        return Scores(states, self.objects(states)[..., 0], edges)

    def _side(self, layer: nn.Linear, states: torch.Tensor) -> torch.Tensor:
        found = self.dropout(functional.relu(layer(states)))
        return torch.cat([found, torch.ones_like(found[..., :1])], dim=-1)

    def pairs(self, states: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """Scores of templates for pairs given as rows (caption, subject, object)."""
        rows, subjects, targets = places.unbind(-1)
        mixed = self.pair_subject(states[rows, subjects]) + self.pair_object(states[rows, targets])
        found: torch.Tensor = self.pair(self.dropout(functional.relu(mixed)))
        return found

    def verbs(self, states: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """Scores of every word as the verb of a pair."""
        rows, subjects, targets = places.unbind(-1)
        one = functional.relu(self.verb_of_subject(states))[rows], self.subject_of_verb(states[rows, subjects])
        two = functional.relu(self.verb_of_object(states))[rows], self.object_of_verb(states[rows, targets])
        return torch.einsum("pvd,pd->pv", *one) + torch.einsum("pvd,pd->pv", *two)

"""Losses and validation of the labeller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from vericap.graphs.labeller import UNKNOWN, Labeller, Vocabulary
from vericap.graphs.labels import Labels, base, flags, graph_of
from vericap.train.parser.alignment import Example, align, templates
from vericap.train.parser.network import LabellerModule, Scores
from vericap.train.trainer import Losses

_LONGEST = 40  # words of a caption that is learnt from
_LEAST_WORD, _LEAST_ENDING = 2, 5  # rarer ones are unknown


@dataclass(frozen=True)
class Lesson:
    """What is learnt from one caption."""

    numbers: np.ndarray
    flags: np.ndarray
    labels: Labels


def vocabulary_of(data: Sequence[Example]) -> Vocabulary:
    """Words, base forms, endings and templates that are frequent enough."""
    words = Counter(word for item in data for word in item.words)
    bases, endings = Counter[str](), Counter[str]()
    for word, count in words.items():
        bases[base(word)] += count
        endings[word[-3:]] += count
    columns = ((words, _LEAST_WORD), (bases, _LEAST_WORD), (endings, _LEAST_ENDING))
    known = [[UNKNOWN, *(name for name, count in c.most_common() if count >= least)] for c, least in columns]
    return Vocabulary(known[0], known[1], known[2], templates(data))


def lessons(data: Iterable[Example], vocabulary: Vocabulary) -> list[Lesson]:
    """Captions whose graph their words can say."""
    known = set(vocabulary.templates)
    found = []
    for item in data:
        labels, complete = align(item, known)
        if complete and labels.objects and len(item.words) <= _LONGEST:
            numbers = np.array([vocabulary.numbers(word) for word in item.words])
            found.append(Lesson(numbers, np.array([flags(word) for word in item.words], np.float32), labels))
    return found


class LabellerTask:
    """Batches of captions of one length, their losses, and agreement with people on captions kept out."""

    def __init__(
        self, model: LabellerModule, data: list[Lesson], kept: Sequence[Example], vocabulary: Vocabulary, batch: int
    ) -> None:
        self.model, self.data, self.kept, self.batch = model, data, kept, batch
        self.vocabulary = vocabulary
        self._templates = {name: number for number, name in enumerate(vocabulary.templates, 1)}
        self._order = np.argsort([len(lesson.numbers) for lesson in data], kind="stable")
        self._lengths = np.array([len(data[place].numbers) for place in self._order])

    def losses(self, step: int, generator: np.random.Generator) -> Losses:
        """A caption is drawn, and others of its length with it."""
        length = self._lengths[generator.integers(len(self._lengths))]
        first, last = np.searchsorted(self._lengths, [length, length + 1])
        chosen = self._order[generator.integers(first, last, size=self.batch)]
        return self.loss([self.data[place] for place in chosen])

    def loss(self, part: Sequence[Lesson]) -> Losses:
        numbers = torch.from_numpy(np.stack([lesson.numbers for lesson in part]))
        known = torch.from_numpy(np.stack([lesson.flags for lesson in part]))
        scores: Scores = self.model(numbers, known)
        objects, edges = torch.zeros_like(scores.objects), torch.zeros_like(scores.edges)
        pairs: list[tuple[int, int, int]] = []
        wanted: list[int] = []
        verbs: list[tuple[int, int, int, int]] = []
        for row, lesson in enumerate(part):
            labels = lesson.labels
            objects[row, labels.objects] = 1
            for kind, arcs in enumerate((labels.parts, labels.attributes)):
                for source, target in arcs:
                    edges[row, kind, source, target] = 1
            told = {(s, o): self._templates[template] for s, o, template, _ in labels.relations}
            own = [(row, s, o) for s in labels.objects for o in labels.objects if s != o]
            pairs += own
            wanted += [told.get((s, o), 0) for _, s, o in own]
            verbs += [(row, s, o, verb) for s, o, _, verb in labels.relations if verb >= 0]
        found = {
            "objects": functional.binary_cross_entropy_with_logits(scores.objects, objects, reduction="sum"),
            "edges": functional.binary_cross_entropy_with_logits(scores.edges, edges, reduction="sum"),
        }
        if pairs:
            found["relations"] = functional.cross_entropy(
                self.model.pairs(scores.states, torch.tensor(pairs)), torch.tensor(wanted), reduction="sum"
            )
        if verbs:
            places = torch.tensor(verbs)
            found["verbs"] = functional.cross_entropy(
                self.model.verbs(scores.states, places[:, :3]), places[:, 3], reduction="sum"
            )
        found = {name: value / len(part) for name, value in found.items()}
        return {"loss": torch.stack(list(found.values())).sum(), **found}

    def validate(self) -> dict[str, float]:
        """Whole graphs and tuples that are as people drew them, by NumPy as in the product."""
        labeller = Labeller({name: value.numpy() for name, value in self.model.state_dict().items()}, self.vocabulary)
        found = labeller([item.words for item in self.kept])
        same, hits, told = 0, 0, 0
        for item, labels in zip(self.kept, found):
            mine, theirs = (_bases(graph) for graph in (graph_of(item.words, labels).tuples(), item.graph))
            same += mine == theirs
            hits += 2 * len(mine & theirs)
            told += len(mine) + len(theirs)
        return {"agreement": 100 * same / len(self.kept), "f1": 100 * hits / told}


def _bases(graph: Iterable[tuple[str, ...]]) -> set[tuple[str, ...]]:
    return {tuple(" ".join(base(word) for word in part.lower().split()) for part in item) for item in graph}

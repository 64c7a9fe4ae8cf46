"""The trained labeller of captions, run with NumPy: FACTUAL's graphs without a parser.

Word features (word, base form, ending, what WordNet knows) -> two bidirectional LSTM layers -> scores of objects, of
edges between words, and of relations between the objects found. Captions of one length are computed together.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core import shipped
from vericap.core.typing import Array, Floats32, Ints
from vericap.graphs.labels import VERB, Labels, base, flags, graph_of, words_of
from vericap.graphs.scene_graph import SceneGraph

PART = "labeller"
UNKNOWN = "<unknown>"
_BATCH = 256
_LONGEST = 200  # words; what follows is not read


class Vocabulary:
    """Words, base forms, endings and templates of relations, by number."""

    def __init__(self, words: Sequence[str], bases: Sequence[str], endings: Sequence[str], templates: Sequence[str]):
        self.templates = list(templates)
        self._lists = {"words": list(words), "bases": list(bases), "endings": list(endings)}
        self._words, self._bases, self._endings = (
            {word: place for place, word in enumerate(column)} for column in self._lists.values()
        )
        self.numbers = lru_cache(maxsize=1 << 16)(self._numbers)

    @classmethod
    def read(cls, file: Path) -> Vocabulary:
        return cls(**json.loads(file.read_text("utf-8")))

    def write(self, file: Path) -> None:
        file.write_text(json.dumps({**self._lists, "templates": self.templates}, ensure_ascii=False), "utf-8")

    @property
    def sizes(self) -> tuple[int, int, int]:
        """How many words, base forms and endings there are; number 0 is an unknown one."""
        return len(self._words), len(self._bases), len(self._endings)

    def _numbers(self, word: str) -> tuple[int, int, int]:
        return self._words.get(word, 0), self._bases.get(base(word), 0), self._endings.get(word[-3:], 0)


class Labeller:
    """A labeller's weights; call it with captions' words."""

    def __init__(self, weights: Mapping[str, Array], vocabulary: Vocabulary) -> None:
        self._weights = {name: np.asarray(array, dtype=np.float32) for name, array in weights.items()}
        self.vocabulary = vocabulary
        self._vector = lru_cache(maxsize=1 << 15)(self._embedded)

    def __call__(self, captions: Sequence[Sequence[str]]) -> list[Labels]:
        found = [Labels() for _ in captions]
        by_length: dict[int, list[int]] = {}
        for place, words in enumerate(captions):
            if words:
                by_length.setdefault(min(len(words), _LONGEST), []).append(place)
        for length, places in by_length.items():
            for start in range(0, len(places), _BATCH):
                part = places[start : start + _BATCH]
                made = self._label([captions[place][:length] for place in part])
                for place, labels in zip(part, made):
                    found[place] = labels
        return found

    def _embedded(self, word: str) -> Floats32:
        numbers = self.vocabulary.numbers(word)
        tables = (self._weights[f"{name}.weight"] for name in ("word", "base", "ending"))
        parts = [table[number] for table, number in zip(tables, numbers)]
        found: Floats32 = np.concatenate([*parts, np.array(flags(word), dtype=np.float32)])
        return found

    def _label(self, captions: list[Sequence[str]]) -> list[Labels]:
        inputs = np.array([[self._vector(word) for word in words] for words in captions])
        states = self._states(inputs)
        objects = self._linear("objects", states)[..., 0] > 0
        edges = self._edges(states)
        found = [self._edge_labels(own, between) for own, between in zip(objects, edges)]
        self._relate(found, states)
        return found

    def _states(self, inputs: Floats32) -> Floats32:
        layer = 0
        while f"lstm.weight_ih_l{layer}" in self._weights:
            both = [self._direction(inputs, f"l{layer}", 1), self._direction(inputs, f"l{layer}_reverse", -1)]
            inputs = np.concatenate(both, axis=-1)
            layer += 1
        return inputs

    def _direction(self, inputs: Floats32, name: str, step: int) -> Floats32:
        """One direction of one LSTM layer; gates stand as torch has them: in, forget, cell, out."""
        into, over = self._weights[f"lstm.weight_ih_{name}"].T, self._weights[f"lstm.weight_hh_{name}"].T
        bias = self._weights[f"lstm.bias_ih_{name}"] + self._weights[f"lstm.bias_hh_{name}"]
        gates = inputs @ into + bias
        count, length, width = len(inputs), inputs.shape[1], over.shape[0]
        states = np.empty((count, length, width), dtype=np.float32)
        hidden = cell = np.zeros((count, width), dtype=np.float32)
        for place in range(length)[::step]:
            now = gates[:, place] + hidden @ over
            enter, forget, out = (_sigmoid(now[:, k * width : (k + 1) * width]) for k in (0, 1, 3))
            cell = forget * cell + enter * np.tanh(now[:, 2 * width : 3 * width])
            hidden = out * np.tanh(cell)
            states[:, place] = hidden
        return states

    def _linear(self, name: str, states: Floats32) -> Floats32:
        found: Floats32 = states @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return found

    def _edges(self, states: Floats32) -> Array:
        """Whether word i belongs to the name that ends with j (first), or is an attribute of j (second)."""
        left, right = (_with_one(np.maximum(self._linear(name, states), 0)) for name in ("edge_from", "edge_to"))
        scores = [left @ bilinear @ right.transpose(0, 2, 1) for bilinear in self._weights["edge"]]
        found: Array = np.stack(scores, axis=1) > 0
        return found

    def _edge_labels(self, objects: Array, edges: Array) -> Labels:
        places = np.flatnonzero(objects)
        own = set(places.tolist())
        parts = {(int(i), int(j)) for i, j in np.argwhere(edges[0]) if i < j}
        attributes = [(int(i), int(j)) for i, j in np.argwhere(edges[1]) if i != j and int(j) in own]
        return Labels(places.tolist(), parts, attributes)

    def _relate(self, found: list[Labels], states: Floats32) -> None:
        """Relations of all ordered pairs of objects of all captions at once."""
        pairs = [(row, s, o) for row, own in enumerate(found) for s in own.objects for o in own.objects if s != o]
        if not pairs:
            return
        rows, subjects, targets = np.array(pairs, dtype=np.int64).T
        mixed = self._linear("pair_subject", states[rows, subjects]) + self._linear(
            "pair_object", states[rows, targets]
        )
        chosen = self._linear("pair", np.maximum(mixed, 0)).argmax(axis=-1)
        kept = np.flatnonzero(chosen)
        verbs = self._verbs(states, rows[kept], subjects[kept], targets[kept])
        for place, verb in zip(kept, verbs):
            template = self.vocabulary.templates[chosen[place] - 1]
            at = int(verb) if template.split()[0] == VERB else -1
            found[rows[place]].relations.append((int(subjects[place]), int(targets[place]), template, at))

    def _verbs(self, states: Floats32, rows: Ints, subjects: Ints, targets: Ints) -> Ints:
        """The word that fits best as the verb between two objects."""
        scores = np.zeros((len(rows), states.shape[1]), dtype=np.float32)
        for side, places in (("subject", subjects), ("object", targets)):
            acts = np.maximum(self._linear(f"verb_of_{side}", states), 0)[rows]
            takes = self._linear(f"{side}_of_verb", states[rows, places])
            scores += np.einsum("pvd,pd->pv", acts, takes)
        found: Ints = scores.argmax(axis=-1)
        return found


def _sigmoid(values: Floats32) -> Floats32:
    found: Floats32 = np.float32(0.5) * np.tanh(np.float32(0.5) * values) + np.float32(0.5)
    return found


def _with_one(values: Floats32) -> Floats32:
    return np.concatenate([values, np.ones((*values.shape[:-1], 1), dtype=np.float32)], axis=-1)


@lru_cache(maxsize=2)
def load(folder: str = "") -> Labeller:
    """The shipped labeller, or one that `vericap train parser` wrote into a folder."""
    from safetensors.numpy import load_file

    names = (f"{PART}.safetensors", "vocabulary.json")
    files = [Path(folder) / name for name in names] if folder else [shipped.path(PART, name) for name in names]
    return Labeller(load_file(files[0]), Vocabulary.read(files[1]))


def name() -> str:
    """What signatures and cache keys call it."""
    found: dict[str, Any] = shipped.meta(PART)
    return shipped.version(found)


def parse_many(texts: Iterable[str]) -> list[SceneGraph]:
    """Graphs of clean lower-case captions in FACTUAL's convention."""
    captions = [words_of(text) for text in texts]
    return [graph_of(words, labels) for words, labels in zip(captions, load()(captions))]

"""FAIEr without torch: visual and textual scene graphs, fused under the guidance of references.

Equation by equation after the paper (CVPR 2021); the parameters' names are those of `vericap.train.faier`.
Open choices of ours, all in `Config` and the metric's signature: both GRU directions have d/2 units and stand side by
side; similarities are dot products (`dot`, as published) or cosines; a caption without triplets has no relation score.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vericap.errors import VericapError
from vericap.models.recurrent import bidirectional, gru

Floats = NDArray[np.float32]
VARIANTS = ("faier", "faier-norel", "fier")
UNKNOWN = "<unknown>"
EMPTY = "."  # the reference of an image without references


@dataclass(frozen=True)
class Config:
    """What decides the network's shape."""

    width: int = 1280  # of the region features
    d: int = 512
    words: int = 300
    variant: str = "faier"
    similarity: str = "dot"
    fingerprint: str = ""  # of the region features it was trained on


@dataclass(frozen=True)
class Nodes:
    """Textual nodes of captions: words at object level, triplets at relation level."""

    objects: list[Floats]  # per caption (words, d)
    relations: list[Floats]  # per caption (triplets, d); none for a caption without triplets

    def level(self, name: str) -> list[Floats]:
        return self.objects if name == "object" else self.relations


class Faier:
    """A trained network, ready to score."""

    def __init__(self, config: Config, weights: Mapping[str, Floats], vocabulary: Sequence[str]) -> None:
        self.config = config
        self.weights = {name: np.asarray(value, dtype=np.float32) for name, value in weights.items()}
        self.vocabulary = list(vocabulary)
        self._ids = {word: number for number, word in enumerate(self.vocabulary)}
        self._check()

    def _check(self) -> None:
        if self.config.variant not in VARIANTS:
            raise VericapError(f"FAIEr variant '{self.config.variant}' is not one of {', '.join(VARIANTS)}")
        expected = (self.config.d, self.config.width)
        found = self.weights["visual.0.weight"].shape
        if found != expected:
            raise VericapError(f"the FAIEr weights have a visual layer {found}, their options say {expected}")
        for name, value in self.weights.items():
            if not np.isfinite(value).all():
                raise VericapError(f"the FAIEr weights hold a value that is no number, in {name}; the file is damaged")

    @classmethod
    def load(cls, folder: str | Path) -> Faier:
        """A folder with `faier.safetensors` and `faier.json` (options, vocabulary)."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        folder = Path(folder)
        try:
            meta = json.loads((folder / "faier.json").read_text("utf-8"))
            weights = load_file(folder / "faier.safetensors")
            return cls(Config(**meta["config"]), weights, meta["vocabulary"])
        except FileNotFoundError as error:
            raise VericapError(
                f"{error.filename}: no such file; a FAIEr model is a folder made by `vericap train faier`"
            ) from None
        except (SafetensorError, ValueError, KeyError, TypeError) as error:
            raise VericapError(f"{folder}: not a readable FAIEr model ({error})") from None

    def save(self, folder: str | Path, **more: Any) -> None:
        """Write float16 weights and everything needed to use them."""
        from safetensors.numpy import save_file

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        save_file({n: v.astype(np.float16) for n, v in self.weights.items()}, folder / "faier.safetensors")
        meta = {"config": asdict(self.config), "vocabulary": self.vocabulary, **more}
        (folder / "faier.json").write_text(json.dumps(meta, ensure_ascii=False), encoding="utf-8")

    @property
    def levels(self) -> tuple[str, ...]:
        return ("object",) if self.config.variant == "faier-norel" else ("object", "relation")

    # --- text ---------------------------------------------------------------------------------------------------

    def ids(self, words: Sequence[str]) -> list[int]:
        """Numbers of words; a caption without a word is the empty sentence."""
        unknown = self._ids[UNKNOWN]
        return [self._ids.get(word, unknown) for word in words] or [self._ids.get(EMPTY, unknown)]

    def captions(self, words: Sequence[Sequence[str]], triplets: Sequence[Sequence[Sequence[str]]]) -> Nodes:
        """Textual graphs: bi-GRU states of all words; each triplet's last bi-GRU state."""
        states, lengths, _ = self._read(words, "words")
        objects = [states[row, :length] for row, length in enumerate(lengths)]
        flat = [triplet for found in triplets for triplet in found]
        counts = [len(found) for found in triplets]
        last = self._read(flat, "triplets")[2] if flat else np.zeros((0, self.config.d), dtype=np.float32)
        return Nodes(objects, np.split(last, np.cumsum(counts)[:-1]) if counts else [])

    def _read(self, texts: Sequence[Sequence[str]], reader: str) -> tuple[Floats, NDArray[np.int64], Floats]:
        numbers = [self.ids(words) for words in texts]
        lengths = np.array([len(found) for found in numbers], dtype=np.int64)
        padded = np.zeros((len(numbers), int(lengths.max(initial=1))), dtype=np.int64)
        for row, found in enumerate(numbers):
            padded[row, : len(found)] = found
        inputs = self.weights["embedding.weight"][padded]
        states, last = bidirectional(inputs, lengths, self._gru(reader))
        return self._unit(states), lengths, self._unit(last)

    def _gru(self, reader: str) -> dict[str, Floats]:
        prefix = f"{reader}."
        return {n[len(prefix) :].replace("_l0", ""): v for n, v in self.weights.items() if n.startswith(prefix)}

    def _unit(self, values: Floats) -> Floats:
        """Vectors of length 1 where similarities are cosines."""
        if self.config.similarity == "dot":
            return values
        return np.asarray(values / np.maximum(np.linalg.norm(values, axis=-1, keepdims=True), 1e-8), np.float32)

    # --- image --------------------------------------------------------------------------------------------------

    def regions(self, features: Floats, boxes: Floats, mask: NDArray[np.bool_]) -> dict[str, Floats]:
        """Visual graph of images (images, regions, ...): objects, and objects in the light of the others (eq. 1-3)."""
        if features.shape[-1] != self.config.width:
            raise VericapError(
                f"region features have width {features.shape[-1]}, this FAIEr model reads {self.config.width}; "
                "use the features it was trained on"
            )
        w = self.weights
        objects = np.tanh(features @ w["visual.0.weight"].T + w["visual.0.bias"]) @ w["visual.2.weight"].T
        objects = np.asarray(objects + w["visual.2.bias"], dtype=np.float32)
        # W_delta (b_i - b_j) = W_delta b_i - W_delta b_j: no pair of boxes is ever built.
        place = boxes @ w["offset.weight"][0]
        pull = np.tanh(place[:, :, None] - place[:, None, :])
        gamma = softmax(np.where(mask[:, None, :], pull, -np.inf))
        relations = np.matmul(gamma, objects @ w["relation.weight"].T)
        return {"object": objects, "relation": relations}

    # --- fusion and matching ------------------------------------------------------------------------------------

    def attend(self, level: str, visual: Floats, reference: Floats) -> tuple[Floats, Floats]:
        """Attention of regions (regions, d) over one reference's nodes (nodes, d): weights and context (eq. 4-5)."""
        weight = softmax((visual * self.weights[f"attention.{level}.weight"][0]) @ reference.T)
        return weight, np.asarray(weight @ reference, dtype=np.float32)

    def union(self, level: str, visual: Floats, references: Sequence[Floats]) -> Floats:
        """Union nodes of one image: what it shows, guided by what references say of it (eq. 6-7)."""
        if self.config.variant == "fier":
            return self._unit(visual)
        found = [self.attend(level, visual, nodes)[1] for nodes in references if len(nodes)]
        if not found:
            nothing = self.captions([[EMPTY]], [[[EMPTY]]]).level(level)[0]
            found = [self.attend(level, visual, nothing)[1]]
        read = gru(np.stack(found, axis=1), np.full(len(visual), len(found)), self._gru(f"memory.{level}"))[:, -1]
        joined = np.concatenate([visual, read], axis=1) @ self.weights[f"union.{level}.weight"].T
        return self._unit(joined + self.weights[f"union.{level}.bias"])

    @staticmethod
    def match(union: Floats, nodes: Floats) -> Floats:
        """Each textual node's best union node: (nodes,) scores, whose mean is the level's score (eq. 8)."""
        if not len(nodes):
            return np.zeros(0, dtype=np.float32)
        best: Floats = (union @ nodes.T).max(axis=0)
        return best


def softmax(values: Floats) -> Floats:
    """Softmax over the last axis; a row with nothing to look at is all zero."""
    top = values.max(axis=-1, keepdims=True)
    raised = np.exp(values - np.where(np.isfinite(top), top, 0.0))
    return np.asarray(raised / np.maximum(raised.sum(axis=-1, keepdims=True), 1e-30), dtype=np.float32)

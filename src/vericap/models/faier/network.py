"""FAIEr without torch: visual and textual scene graphs, fused under the guidance of references.

Equation by equation after the paper (CVPR 2021); the parameters' names are those of `vericap.train.faier`.
Open choices of ours, all in the configuration: both GRU directions have d/2 units and stand side by side; similarities
are dot products (`dot`, as published) or cosines; a caption without triplets has no relation score; `aier` matches with
the references' own nodes; `fier+aier` weighs both best matches by one linear layer per level.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core import shipped
from vericap.core.errors import InputError, VericapError
from vericap.core.typing import Bools, Floats32
from vericap.graphs.scene_graph import SceneGraph
from vericap.models.arrays import softmax
from vericap.models.described import check_width, checked
from vericap.models.faier.config import EMPTY, UNKNOWN, FaierConfig
from vericap.models.recurrent import gru, linear, read
from vericap.models.words import tokens

Sides = list[tuple[float, Floats32]]  # weight and nodes (nodes, d) of each graph that textual nodes are matched with


@dataclass(frozen=True)
class CaptionNodes:
    """Textual nodes of captions: words at object level, triplets at relation level."""

    objects: list[Floats32]  # per caption (words, d)
    relations: list[Floats32]  # per caption (triplets, d); none for a caption without triplets

    def level(self, name: str) -> list[Floats32]:
        return self.objects if name == "object" else self.relations


class FaierModel:
    """A trained network, ready to score."""

    def __init__(
        self,
        config: FaierConfig,
        weights: Mapping[str, Floats32],
        vocabulary: Sequence[str],
        name: str = "",
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self.config, self.name = config, name or config.variant
        self.meta = {"name": self.name, "fingerprint": config.fingerprint, **(meta or {})}
        self.weights = {key: np.asarray(value, dtype=np.float32) for key, value in weights.items()}
        self.vocabulary = list(vocabulary)
        self._ids = {word: number for number, word in enumerate(self.vocabulary)}
        self._check()
        self._nothing: dict[str, Floats32] = {}
        self._blank: dict[str, Floats32] = {}

    def _check(self) -> None:
        self.config.check()
        for name, expected in self.config.shapes(len(self.vocabulary)).items():
            if name not in self.weights:
                raise VericapError(f"the FAIEr weights lack {name}, which variant '{self.config.variant}' needs")
            found = self.weights[name].shape
            if found != expected:
                raise VericapError(f"the FAIEr weights have {name} {found}, their options say {expected}")
            if not np.isfinite(self.weights[name]).all():
                raise VericapError(f"the FAIEr weights hold a value that is no number, in {name}; the file is damaged")
        if UNKNOWN not in self._ids:
            raise VericapError(f"the FAIEr vocabulary has no {UNKNOWN}; the file is damaged")

    def save(self, folder: str | Path, *, storage: str = "int8", **more: Any) -> None:
        """Write `faier.safetensors` (int8, float16 or float32) and `meta.json` with what is needed to use them."""
        folder = Path(folder)
        shipped.save_weights(self.weights, folder, "faier", storage)
        config = {name: value for name, value in asdict(self.config).items() if name != "fingerprint"}
        about = {"name": self.name, "fingerprint": self.fingerprint, "storage": storage, "config": config}
        shipped.write_meta(folder, {**about, **more, "vocabulary": self.vocabulary})

    @property
    def fingerprint(self) -> str:
        """Of the region features it was trained on."""
        return self.config.fingerprint

    @property
    def levels(self) -> tuple[str, ...]:
        return self.config.levels

    # --- text ---------------------------------------------------------------------------------------------------

    def ids(self, words: Sequence[str]) -> list[int]:
        """Numbers of words; a caption without a word is the empty sentence."""
        unknown = self._ids[UNKNOWN]
        return [self._ids.get(word, unknown) for word in words] or [self._ids.get(EMPTY, unknown)]

    def captions(self, words: Sequence[Sequence[str]], triplets: Sequence[Sequence[Sequence[str]]]) -> CaptionNodes:
        """Textual graphs: bi-GRU states of all words; each triplet's last bi-GRU state."""
        objects, _ = self._read(words, "words")
        counts = [len(found) for found in triplets]
        last = np.zeros((0, self.config.d), dtype=np.float32)
        flat = [triplet for found in triplets for triplet in found]
        if "relation" not in self.levels:
            counts = [0] * len(counts)
        elif flat:
            _, last = self._read(flat, "triplets")
        return CaptionNodes(objects, np.split(last, np.cumsum(counts)[:-1]) if counts else [])

    def _read(self, texts: Sequence[Sequence[str]], reader: str) -> tuple[list[Floats32], Floats32]:
        """States of each text's words, and last states (texts, d)."""
        numbers = [self.ids(words) for words in texts]
        lengths = np.array([len(found) for found in numbers], dtype=np.int64)
        flat = np.fromiter((number for found in numbers for number in found), np.int64, int(lengths.sum()))
        used, places = np.unique(flat, return_inverse=True)
        states, last = read(self.weights["embedding.weight"][used], places.reshape(-1), lengths, self._gru(reader))
        return np.split(self._unit(states), np.cumsum(lengths)[:-1]), self._unit(last)

    def _gru(self, reader: str) -> dict[str, Floats32]:
        prefix = f"{reader}."
        return {n[len(prefix) :].replace("_l0", ""): v for n, v in self.weights.items() if n.startswith(prefix)}

    def _unit(self, values: Floats32) -> Floats32:
        """Vectors of length 1 where similarities are cosines."""
        if self.config.similarity == "dot":
            return values
        return np.asarray(values / np.maximum(np.linalg.norm(values, axis=-1, keepdims=True), 1e-8), np.float32)

    def nothing(self, level: str) -> Floats32:
        """Nodes of the empty sentence, which stands for absent references."""
        if not self._nothing:
            found = self.captions([[EMPTY]], [[[EMPTY]]])
            self._nothing = {name: found.level(name)[0] for name in self.levels}
        return self._nothing[level]

    def blank(self, level: str) -> Floats32:
        """The memory (d,) of every region where there are no references: attention to one node is that node."""
        if level not in self._blank:
            self._blank[level] = self.remember(level, self.nothing(level)[None])[0]
        return self._blank[level]

    # --- image --------------------------------------------------------------------------------------------------

    def regions(self, features: Floats32, boxes: Floats32, mask: Bools) -> dict[str, Floats32]:
        """Visual graph of images (images, regions, ...): objects, and objects in the light of the others (eq. 1-3)."""
        if not self.config.looks:  # one blank region, so that callers need not ask
            return dict.fromkeys(self.levels, np.zeros((*mask.shape, self.config.d), dtype=np.float32))
        check_width(features.shape[-1], self.config.width, self.name)
        w = self.weights
        hidden = np.tanh(linear(features, w["visual.0.weight"], w["visual.0.bias"]))
        objects = linear(hidden, w["visual.2.weight"], w["visual.2.bias"])
        if "relation" not in self.levels:
            return {"object": objects}
        # W_delta (b_i - b_j) = W_delta b_i - W_delta b_j: no pair of boxes is ever built.
        place = boxes @ w["offset.weight"][0]
        pull = np.tanh(place[:, :, None] - place[:, None, :])
        gamma = softmax(np.where(mask[:, None, :], pull, -np.inf))
        return {"object": objects, "relation": np.matmul(gamma, linear(objects, w["relation.weight"]))}

    # --- fusion and matching ------------------------------------------------------------------------------------

    def attend(self, level: str, visual: Floats32, reference: Floats32) -> tuple[Floats32, Floats32]:
        """Attention of regions (regions, d) over one reference's nodes (nodes, d): weights and context (eq. 4-5)."""
        weight = softmax((visual * self.weights[f"attention.{level}.weight"][0]) @ reference.T)
        return weight, np.asarray(weight @ reference, dtype=np.float32)

    def union(self, level: str, visual: Floats32, references: Sequence[Floats32]) -> Floats32:
        """Union nodes of one image: what it shows, guided by what references say of it (eq. 6-7)."""
        found = [nodes for nodes in references if len(nodes)] or [self.nothing(level)]
        contexts = np.stack([self.attend(level, visual, nodes)[1] for nodes in found], axis=1)
        return self.joined(level, visual, self.remember(level, contexts))

    def remember(self, level: str, contexts: Floats32) -> Floats32:
        """The last state of the GRU over references: (rows, references, d) -> (rows, d) (eq. 6)."""
        return gru(contexts, self.memory(level))

    def memory(self, level: str) -> dict[str, Floats32]:
        """Weights of the GRU over references."""
        return self._gru(f"memory.{level}")

    def joined(self, level: str, visual: Floats32, memory: Floats32) -> Floats32:
        """z = W_u [v ; m] (eq. 7); one memory (d,) may serve all regions."""
        weight, bias, d = self.weights[f"union.{level}.weight"], self.weights[f"union.{level}.bias"], self.config.d
        return self._unit(linear(visual, weight[:, :d]) + linear(memory, weight[:, d:], bias))

    def sides(self, level: str, visual: Floats32, references: Sequence[Floats32]) -> Sides:
        """What textual nodes are matched with: the union graph, or image and references apart."""
        if self.config.fuses:
            return [(1.0, self.union(level, visual, references))]
        said = np.concatenate([nodes for nodes in references if len(nodes)] or [self.nothing(level)])
        if self.config.variant == "aier":
            return [(1.0, said)]
        if self.config.variant == "fier":
            return [(1.0, self._unit(visual))]
        image, text = self.weights[f"merge.{level}.weight"][0]
        return [(float(image), self._unit(visual)), (float(text), said)]

    @staticmethod
    def match(union: Floats32, nodes: Floats32) -> Floats32:
        """Each textual node's best union node: (nodes,) scores, whose mean is the level's score (eq. 8)."""
        if not len(nodes):
            return np.zeros(0, dtype=np.float32)
        best: Floats32 = (union @ nodes.T).max(axis=0)
        return best

    def matched(self, sides: Sides, nodes: Floats32) -> Floats32:
        """Scores of textual nodes, over all graphs they are matched with."""
        total = np.zeros(len(nodes), dtype=np.float32)
        for weight, graph in sides:
            total += np.float32(weight) * self.match(graph, nodes)
        return total


def reading(text: str, graph: SceneGraph) -> tuple[list[str], list[list[str]]]:
    """Words of a caption and of its triplets, the same at training and scoring time."""
    return tokens(text), [words for words in map(tokens, graph.triplets()) if words]


def load(model: str = "default") -> FaierModel:
    """The shipped model (default), or one in a folder (`faier.safetensors`, `meta.json`)."""
    weights, meta = checked(*shipped.weights(model, "faier"))
    try:
        about = meta if "config" in meta else _earlier(model)
        config = FaierConfig(**{**about["config"], "fingerprint": meta["fingerprint"]})
        return FaierModel(config, weights, about["vocabulary"], meta["name"], meta)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{model}: not a readable FAIEr model ({error!r}); train it again") from error


def _earlier(model: str) -> dict[str, Any]:
    """Folders of the first version hold configuration and vocabulary in a file of their own."""
    found: dict[str, Any] = json.loads((Path(model) / "faier.json").read_text("utf-8"))
    return found

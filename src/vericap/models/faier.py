"""FAIEr without torch: visual and textual scene graphs, fused under the guidance of references.

Equation by equation after the paper (CVPR 2021); the parameters' names are those of `vericap.train.faier`.
Open choices of ours, all in `Config` and the metric's signature: both GRU directions have d/2 units and stand side by
side; similarities are dot products (`dot`, as published) or cosines; a caption without triplets has no relation score;
`aier` matches with the references' own nodes; `fier+aier` weighs both best matches by one linear layer per level.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vericap.errors import VericapError
from vericap.models import packed, store
from vericap.models.recurrent import gru, linear, read
from vericap.models.words import tokens

if TYPE_CHECKING:
    from vericap.graphs.scene_graph import SceneGraph

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Sides = list[tuple[float, Floats]]  # weight and nodes (nodes, d) of each graph that textual nodes are matched with
VARIANTS = ("faier", "faier-norel", "fier", "aier", "fier+aier")
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

    @property
    def levels(self) -> tuple[str, ...]:
        return ("object",) if self.variant == "faier-norel" else ("object", "relation")

    @property
    def fuses(self) -> bool:
        """Are image and references one graph?"""
        return self.variant in ("faier", "faier-norel")

    @property
    def looks(self) -> bool:
        """Is the image read?"""
        return self.variant != "aier"

    @property
    def merges(self) -> bool:
        """Are image and references matched apart and added up?"""
        return self.variant == "fier+aier"

    def shapes(self, vocabulary: int) -> dict[str, tuple[int, ...]]:
        """Every parameter of the network."""
        d, relation = self.d, "relation" in self.levels
        found: dict[str, tuple[int, ...]] = {"embedding.weight": (vocabulary, self.words)}
        for reader in ("words", "triplets")[: 1 + relation]:
            for way in ("", "_reverse"):
                found.update(_gru_shapes(reader, self.words, d // 2, way))
        if self.looks:
            found.update({"visual.0.weight": (d, self.width), "visual.0.bias": (d,)})
            found.update({"visual.2.weight": (d, d), "visual.2.bias": (d,)})
            found.update({"offset.weight": (1, 4), "relation.weight": (d, d)} if relation else {})
        for level in self.levels:
            if self.fuses:
                found.update({f"attention.{level}.weight": (1, d), **_gru_shapes(f"memory.{level}", d, d)})
                found.update({f"union.{level}.weight": (d, 2 * d), f"union.{level}.bias": (d,)})
            if self.merges:
                found[f"merge.{level}.weight"] = (1, 2)
        return found

    def check(self) -> None:
        if self.variant not in VARIANTS:
            raise VericapError(f"FAIEr variant '{self.variant}' is not one of {', '.join(VARIANTS)}")
        if self.similarity not in ("dot", "cosine"):
            raise VericapError(f"FAIEr similarity '{self.similarity}' is not one of dot, cosine")
        if self.d < 2 or self.d % 2:
            raise VericapError(f"FAIEr's d is {self.d}; both directions of the GRU share it, so it must be even")


def _gru_shapes(name: str, inputs: int, hidden: int, way: str = "") -> dict[str, tuple[int, ...]]:
    sizes = {"weight_ih": (3 * hidden, inputs), "weight_hh": (3 * hidden, hidden)}
    return {f"{name}.{part}_l0{way}": sizes.get(part, (3 * hidden,)) for part in (*sizes, "bias_ih", "bias_hh")}


@dataclass(frozen=True)
class Nodes:
    """Textual nodes of captions: words at object level, triplets at relation level."""

    objects: list[Floats]  # per caption (words, d)
    relations: list[Floats]  # per caption (triplets, d); none for a caption without triplets

    def level(self, name: str) -> list[Floats]:
        return self.objects if name == "object" else self.relations


class Faier:
    """A trained network, ready to score."""

    def __init__(
        self, config: Config, weights: Mapping[str, Floats], vocabulary: Sequence[str], name: str = ""
    ) -> None:
        self.config, self.name = config, name or config.variant
        self.version = self.name  # with digits of the file's SHA-256 where it was read from one
        self.weights = {key: np.asarray(value, dtype=np.float32) for key, value in weights.items()}
        self.vocabulary = list(vocabulary)
        self._ids = {word: number for number, word in enumerate(self.vocabulary)}
        self._check()
        self._nothing: dict[str, Floats] = {}
        self._blank: dict[str, Floats] = {}

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

    @classmethod
    def load(cls, folder: str | Path) -> Faier:
        """A folder with `faier.safetensors` and `faier.json` (options, vocabulary); `meta.json` tells their SHA-256."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        folder = Path(folder)
        try:
            meta = _checked_meta(folder)
            about = json.loads((folder / "faier.json").read_text("utf-8"))
            weights = packed.widen(load_file(folder / "faier.safetensors"))
            found = cls(Config(**about["config"]), weights, about["vocabulary"], meta.get("name", ""))
            found.version = store.version({**meta, "name": found.name})
            return found
        except FileNotFoundError as error:
            raise VericapError(
                f"{error.filename}: no such file; a FAIEr model is a folder made by `vericap train faier`"
            ) from None
        except (SafetensorError, ValueError, KeyError, TypeError) as error:
            raise VericapError(f"{folder}: not a readable FAIEr model ({error})") from None

    def save(self, folder: str | Path, *, storage: str = "int8", **more: Any) -> None:
        """Write weights (int8, float16 or float32), what is needed to use them, and `meta.json` with `more`."""
        from safetensors.numpy import save_file

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        save_file(packed.pack(self.weights, storage), folder / "faier.safetensors")
        (folder / "faier.safetensors").chmod(0o644)  # it is written for its owner alone
        about = {"config": asdict(self.config), "vocabulary": self.vocabulary}
        (folder / "faier.json").write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")
        files = {name: store.sha256(folder / name) for name in ("faier.json", "faier.safetensors")}
        meta = {"name": self.name, "fingerprint": self.config.fingerprint, "storage": storage, **more, "files": files}
        (folder / "meta.json").write_text(json.dumps(meta, ensure_ascii=False, indent=1), encoding="utf-8")

    @property
    def levels(self) -> tuple[str, ...]:
        return self.config.levels

    # --- text ---------------------------------------------------------------------------------------------------

    def ids(self, words: Sequence[str]) -> list[int]:
        """Numbers of words; a caption without a word is the empty sentence."""
        unknown = self._ids[UNKNOWN]
        return [self._ids.get(word, unknown) for word in words] or [self._ids.get(EMPTY, unknown)]

    def captions(self, words: Sequence[Sequence[str]], triplets: Sequence[Sequence[Sequence[str]]]) -> Nodes:
        """Textual graphs: bi-GRU states of all words; each triplet's last bi-GRU state."""
        objects, _ = self._read(words, "words")
        counts = [len(found) for found in triplets]
        last = np.zeros((0, self.config.d), dtype=np.float32)
        flat = [triplet for found in triplets for triplet in found]
        if "relation" not in self.levels:
            counts = [0] * len(counts)
        elif flat:
            _, last = self._read(flat, "triplets")
        return Nodes(objects, np.split(last, np.cumsum(counts)[:-1]) if counts else [])

    def _read(self, texts: Sequence[Sequence[str]], reader: str) -> tuple[list[Floats], Floats]:
        """States of each text's words, and last states (texts, d)."""
        numbers = [self.ids(words) for words in texts]
        lengths = np.array([len(found) for found in numbers], dtype=np.int64)
        flat = np.fromiter((number for found in numbers for number in found), np.int64, int(lengths.sum()))
        used, places = np.unique(flat, return_inverse=True)
        states, last = read(self.weights["embedding.weight"][used], places.reshape(-1), lengths, self._gru(reader))
        return np.split(self._unit(states), np.cumsum(lengths)[:-1]), self._unit(last)

    def _gru(self, reader: str) -> dict[str, Floats]:
        prefix = f"{reader}."
        return {n[len(prefix) :].replace("_l0", ""): v for n, v in self.weights.items() if n.startswith(prefix)}

    def _unit(self, values: Floats) -> Floats:
        """Vectors of length 1 where similarities are cosines."""
        if self.config.similarity == "dot":
            return values
        return np.asarray(values / np.maximum(np.linalg.norm(values, axis=-1, keepdims=True), 1e-8), np.float32)

    def nothing(self, level: str) -> Floats:
        """Nodes of the empty sentence, which stands for absent references."""
        if not self._nothing:
            found = self.captions([[EMPTY]], [[[EMPTY]]])
            self._nothing = {name: found.level(name)[0] for name in self.levels}
        return self._nothing[level]

    def blank(self, level: str) -> Floats:
        """The memory (d,) of every region where there are no references: attention to one node is that node."""
        if level not in self._blank:
            self._blank[level] = self.remember(level, self.nothing(level)[None])[0]
        return self._blank[level]

    # --- image --------------------------------------------------------------------------------------------------

    def regions(self, features: Floats, boxes: Floats, mask: NDArray[np.bool_]) -> dict[str, Floats]:
        """Visual graph of images (images, regions, ...): objects, and objects in the light of the others (eq. 1-3)."""
        if not self.config.looks:  # one blank region, so that callers need not ask
            return dict.fromkeys(self.levels, np.zeros((*mask.shape, self.config.d), dtype=np.float32))
        if features.shape[-1] != self.config.width:
            raise VericapError(
                f"region features have width {features.shape[-1]}, this FAIEr model reads {self.config.width}; "
                "use the features it was trained on"
            )
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

    def attend(self, level: str, visual: Floats, reference: Floats) -> tuple[Floats, Floats]:
        """Attention of regions (regions, d) over one reference's nodes (nodes, d): weights and context (eq. 4-5)."""
        weight = softmax((visual * self.weights[f"attention.{level}.weight"][0]) @ reference.T)
        return weight, np.asarray(weight @ reference, dtype=np.float32)

    def union(self, level: str, visual: Floats, references: Sequence[Floats]) -> Floats:
        """Union nodes of one image: what it shows, guided by what references say of it (eq. 6-7)."""
        found = [nodes for nodes in references if len(nodes)] or [self.nothing(level)]
        contexts = np.stack([self.attend(level, visual, nodes)[1] for nodes in found], axis=1)
        return self.joined(level, visual, self.remember(level, contexts))

    def remember(self, level: str, contexts: Floats) -> Floats:
        """The last state of the GRU over references: (rows, references, d) -> (rows, d) (eq. 6)."""
        return gru(contexts, self.memory(level))

    def memory(self, level: str) -> dict[str, Floats]:
        """Weights of the GRU over references."""
        return self._gru(f"memory.{level}")

    def joined(self, level: str, visual: Floats, memory: Floats) -> Floats:
        """z = W_u [v ; m] (eq. 7); one memory (d,) may serve all regions."""
        weight, bias, d = self.weights[f"union.{level}.weight"], self.weights[f"union.{level}.bias"], self.config.d
        return self._unit(linear(visual, weight[:, :d]) + linear(memory, weight[:, d:], bias))

    def sides(self, level: str, visual: Floats, references: Sequence[Floats]) -> Sides:
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
    def match(union: Floats, nodes: Floats) -> Floats:
        """Each textual node's best union node: (nodes,) scores, whose mean is the level's score (eq. 8)."""
        if not len(nodes):
            return np.zeros(0, dtype=np.float32)
        best: Floats = (union @ nodes.T).max(axis=0)
        return best

    def matched(self, sides: Sides, nodes: Floats) -> Floats:
        """Scores of textual nodes, over all graphs they are matched with."""
        total = np.zeros(len(nodes), dtype=np.float32)
        for weight, graph in sides:
            total += np.float32(weight) * self.match(graph, nodes)
        return total


def reading(text: str, graph: SceneGraph) -> tuple[list[str], list[list[str]]]:
    """Words of a caption and of its triplets, the same at training and scoring time."""
    return tokens(text), [words for words in map(tokens, graph.triplets()) if words]


@lru_cache(maxsize=4)
def load(model: str = "default") -> Faier:
    """The shipped model (`default`) or a folder made by `vericap train faier`, opened once per process."""
    return Faier.load(store.folder("faier") if model == "default" else model)


def _checked_meta(folder: Path) -> dict[str, Any]:
    """What `meta.json` says, after comparing the files with it; a folder without one is read as it is."""
    if not (folder / "meta.json").is_file():
        return {}
    meta: dict[str, Any] = json.loads((folder / "meta.json").read_text("utf-8"))
    for name in ("faier.json", "faier.safetensors"):
        expected = meta.get("files", {}).get(name)
        if expected and store.sha256(folder / name) != expected:
            raise VericapError(
                f"{folder / name} is damaged (SHA-256 differs from meta.json); reinstall vericap, "
                "or train the model again"
            )
    return meta


def softmax(values: Floats) -> Floats:
    """Softmax over the last axis; a row with nothing to look at is all zero."""
    top = values.max(axis=-1, keepdims=True)
    raised = np.exp(values - np.where(np.isfinite(top), top, 0.0))
    return np.asarray(raised / np.maximum(raised.sum(axis=-1, keepdims=True), 1e-30), dtype=np.float32)

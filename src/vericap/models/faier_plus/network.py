"""FAIEr-plus without torch: the paper's union of visual and textual graphs, on pretrained parts.

Every node lives in the space of the shipped sentence encoder:
    regions   v_i = unit(A e_i + C relu(D e_i + b) + a), e_i the region as the `vse` encoder embeds it; the relation
              level then mixes regions by their boxes as in the paper (eq. 2-3), added to the region itself
    words     h_k = unit(W t_k + w), t_k the encoder's contextual state of a word piece
    relations unit(W' mean of t_k over the words of an attribute pair or triplet + w')
    sentence  the centred sentence vector
Three levels x (object, relation, sentence), each matched with the image under the guidance of the references and,
where there are references, with the references themselves:
    union     z_i = unit(v_i + g mean_j a_ij),  a_ij = sum_k softmax_k(tau v_i . h_jk) h_jk      (no reference: v_i)
    seen      V = sum_k w_k max_i z_i . h_ck          w: learned importance of the candidate's nodes, sums to 1
    told      T = (P + R) / 2,  P = sum_k w_k max_l h_l . h_ck,  R = sum_l w_l max_k h_l . h_ck   over all references
The sentence level weighs windows as `vse` does, and T is the mean cosine. Each part is mapped to the teacher's
cosine (a slope and an offset learned with it); a level is V, or (V + T) / 2. Beside these levels, whose words are read
in their sentence, stands a fourth: the claims of the scene graph by themselves ("brown horse", "man ride horse"), as
phrases in the sentence space. The score is the mean of the levels a caption has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from vericap.core import shipped
from vericap.core.errors import VericapError
from vericap.core.typing import Bools, Floats32, Ints
from vericap.models.arrays import runs, shares, softmax, unit
from vericap.models.described import checked
from vericap.native.dense import Layers

LEVELS = ("object", "relation", "sentence")
CLAIMS = "claims"  # scene-graph phrases by themselves, in the sentence space; calibrated after training
PARTS = ("alone", "seen", "told")  # rows of the calibration: V without references, V with them, T


@dataclass(frozen=True)
class WeightedNodes:
    """Textual nodes of some captions on one level, caption after caption: nothing is padded."""

    vectors: Floats32  # (nodes, d) unit vectors
    weights: Floats32  # (nodes,), sum to 1 for each caption that has any
    counts: Ints  # (captions,)

    @cached_property
    def ends(self) -> Ints:
        return np.cumsum(self.counts)

    @cached_property
    def there(self) -> Bools:
        """(captions,): which have nodes."""
        return self.counts > 0

    @cached_property
    def starts(self) -> Ints:
        """First node of each caption that has any."""
        return np.asarray((self.ends - self.counts)[self.there])

    def rows(self, which: Ints) -> WeightedNodes:
        """The nodes of some captions."""
        if len(which) == 1:  # no copy
            one = slice(self.ends[which[0]] - self.counts[which[0]], self.ends[which[0]])
            return WeightedNodes(self.vectors[one], self.weights[one], self.counts[which])
        places = runs(self.ends[which] - self.counts[which], self.counts[which])
        return WeightedNodes(self.vectors[places], self.weights[places], self.counts[which])

    def weighted(self, values: Floats32) -> Floats32:
        """Weighted mean of the nodes' values (..., nodes) for each caption; NaN where it has no node."""
        if len(self.counts) == 1 and len(self.weights):
            return np.add.reduce(values * self.weights, axis=-1, keepdims=True)
        found = np.full((*values.shape[:-1], len(self.counts)), np.nan, dtype=np.float32)
        if len(self.starts):
            found[..., self.there] = np.add.reduceat(values * self.weights, self.starts, axis=-1)
        return found


class FaierPlusModel:
    """The trained network."""

    def __init__(self, weights: Mapping[str, Floats32], meta: Mapping[str, Any]) -> None:
        self.weights = {name: np.asarray(value, dtype=np.float32) for name, value in weights.items()}
        self._layer = Layers(self.weights)
        self.meta = meta
        self.name: str = meta["name"]
        self.fingerprint: str = meta["fingerprint"]
        missing = [name for name in ("object.linear", "text.object", "calibration") if name not in self.weights]
        if missing:
            raise VericapError(f"the FAIEr-plus model {self.name} lacks {', '.join(missing)}; the file is damaged")

    # --- nodes --------------------------------------------------------------------------------------------------

    def regions(self, embedded: Floats32, boxes: Floats32, mask: Bools) -> dict[str, Floats32]:
        """Visual nodes of all levels (images, regions, d) from regions in the sentence space."""
        flat = embedded.reshape(-1, embedded.shape[-1])  # one large product is twice as fast as one for each image
        found = {level: self._visual(level, flat).reshape(embedded.shape) for level in LEVELS}
        place = boxes @ self.weights["offset"]
        pull = np.tanh(place[:, :, None] - place[:, None, :])
        gamma = softmax(np.where(mask[:, None, :], pull, -np.inf))
        self._layer("mix")(np.matmul(gamma, found["relation"]), add=found["relation"])
        return {level: unit(values) * mask[..., None] for level, values in found.items()}

    def _visual(self, level: str, x: Floats32) -> Floats32:
        hidden = self._layer(f"{level}.hidden", f"{level}.hidden_bias")(x, rectify=True)
        return self._layer(f"{level}.output")(hidden, add=self._layer(f"{level}.linear", f"{level}.bias")(x))

    def nodes(self, level: str, states: Floats32, counts: Ints) -> WeightedNodes:
        """WeightedNodes of the object or relation level from their states (nodes, d), caption after caption."""
        vectors = unit(self._layer(f"text.{level}", f"text.{level}_bias")(states))
        return WeightedNodes(vectors, shares(states @ self.weights[f"importance.{level}"], counts), counts)

    # --- fusion and matching: one image with one set of references at a time ---------------------------------------

    def attend(self, level: str, regions: Floats32, references: WeightedNodes) -> Floats32:
        """Attention of regions over the nodes of every reference (regions, nodes): sums to 1 for each reference."""
        sharpness = np.exp(self.weights[f"temperature.{level}"])
        return shares(sharpness * (regions @ references.vectors.T), references.counts)

    def union(self, level: str, regions: Floats32, references: WeightedNodes) -> Floats32:
        """Union nodes (regions, d) of the object or relation level; a reference without nodes says nothing."""
        context = self.attend(level, regions, references) @ references.vectors / np.float32(len(references.counts))
        return unit(regions + self.weights[f"gate.{level}"] * context)

    def union_sentence(self, regions: Floats32, sentences: Floats32) -> Floats32:
        """Union nodes of the sentence level from the references' sentence vectors."""
        return unit(regions + self.weights["gate.sentence"] * sentences.mean(axis=0))

    @staticmethod
    def seen(union: Floats32, nodes: WeightedNodes) -> Floats32:
        """V of captions (captions,); NaN for a caption without nodes of this level."""
        return nodes.weighted((union @ nodes.vectors.T).max(axis=0))

    def seen_sentence(self, union: Floats32, sentences: Floats32) -> Floats32:
        """V of the sentence level: half the whole image, half the windows that fit best."""
        cosines = sentences @ union.T
        whole, windows = cosines[:, 0], cosines[:, 1:]
        if not windows.shape[1]:
            return whole
        weights = softmax(np.exp(self.weights["sharpness"]) * windows)
        return np.asarray(0.5 * whole + 0.5 * (weights * windows).sum(axis=1), dtype=np.float32)

    @staticmethod
    def told(nodes: WeightedNodes, references: WeightedNodes) -> Floats32:
        """T of captions: precision and recall over the nodes of all references; NaN where either side has none."""
        found = np.full(len(nodes.counts), np.nan, dtype=np.float32)
        if len(nodes.starts) and len(references.starts):
            similar = references.vectors @ nodes.vectors.T
            precision = nodes.weighted(similar.max(axis=0))[nodes.there]
            # Of each caption for each node of references.
            one = len(nodes.starts) == 1
            best = similar.max(axis=1, keepdims=True) if one else np.maximum.reduceat(similar, nodes.starts, axis=1)
            recall = references.weights @ best / len(references.starts)  # references share the weight alike
            found[nodes.there] = (precision + recall) / 2
        return found

    @staticmethod
    def told_sentence(sentences: Floats32, references: Floats32) -> Floats32:
        """T of the sentence level: the mean cosine."""
        return np.asarray(sentences @ references.mean(axis=0))

    def calibrated(self, part: str, level: str, values: Floats32) -> Floats32:
        """A part as the teacher's cosine it stands for."""
        if level == CLAIMS and CLAIMS not in self.weights:
            raise VericapError(
                f"the claims of the FAIEr-plus model {self.name} are not fitted; `vericap train faier-plus` does it"
            )
        table = self.weights["calibration"][:, LEVELS.index(level)] if level != CLAIMS else self.weights[CLAIMS]
        slope, offset = table[PARTS.index(part)]
        return np.asarray(slope * values + offset, dtype=np.float32)


def load(model: str = "default") -> FaierPlusModel:
    """The shipped model (default), or one in a folder (`faier_plus.safetensors`, `meta.json`)."""
    return FaierPlusModel(*checked(*shipped.weights(model, "faier_plus")))

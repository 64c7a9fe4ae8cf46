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
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vericap.errors import VericapError
from vericap.models import store

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]
LEVELS = ("object", "relation", "sentence")
CLAIMS = "claims"  # scene-graph phrases by themselves, in the sentence space; calibrated after training
PARTS = ("alone", "seen", "told")  # rows of the calibration: V without references, V with them, T
_TINY = 1e-8


@dataclass(frozen=True)
class Texts:
    """Padded captions: word pieces, relation nodes as averages of pieces, sentence vectors."""

    states: Floats  # (captions, pieces, 384)
    mask: Bools  # (captions, pieces): the pieces of words
    averages: Floats  # (captions, relations, pieces), each row of a node sums to 1
    sentences: Floats  # (captions, 384) centred unit vectors

    def __len__(self) -> int:
        return len(self.states)


@dataclass(frozen=True)
class Nodes:
    """Textual nodes of one level: unit vectors, what is there, and weights that sum to 1 for each caption."""

    vectors: Floats  # (captions, nodes, d)
    mask: Bools
    weights: Floats

    def rows(self, which: Any) -> Nodes:
        return Nodes(self.vectors[which], self.mask[which], self.weights[which])


class FaierPlus:
    """The trained network."""

    def __init__(self, weights: Mapping[str, Floats], meta: Mapping[str, Any]) -> None:
        self.weights = {name: np.asarray(value, dtype=np.float32) for name, value in weights.items()}
        self.meta = meta
        self.name: str = meta["name"]
        self.fingerprint: str = meta["fingerprint"]
        missing = [name for name in ("object.linear", "text.object", "calibration") if name not in self.weights]
        if missing:
            raise VericapError(f"the FAIEr-plus model {self.name} lacks {', '.join(missing)}; the file is damaged")

    # --- nodes --------------------------------------------------------------------------------------------------

    def regions(self, embedded: Floats, boxes: Floats, mask: Bools) -> dict[str, Floats]:
        """Visual nodes of all levels (images, regions, d) from regions in the sentence space."""
        found = {level: self._visual(level, embedded) for level in LEVELS}
        place = boxes @ self.weights["offset"]
        pull = np.tanh(place[:, :, None] - place[:, None, :])
        gamma = softmax(np.where(mask[:, None, :], pull, -np.inf))
        found["relation"] = found["relation"] + np.matmul(gamma, found["relation"]) @ self.weights["mix"].T
        return {level: unit(values) * mask[..., None] for level, values in found.items()}

    def _visual(self, level: str, x: Floats) -> Floats:
        w = self.weights
        hidden = np.maximum(x @ w[f"{level}.hidden"].T + w[f"{level}.hidden_bias"], 0.0)
        return np.asarray(x @ w[f"{level}.linear"].T + w[f"{level}.bias"] + hidden @ w[f"{level}.output"].T, np.float32)

    def nodes(self, texts: Texts) -> dict[str, Nodes]:
        """Textual nodes of the object and relation levels."""
        averaged = np.matmul(texts.averages, texts.states)
        there = texts.averages.sum(axis=-1) > 0
        given = {"object": (texts.states, texts.mask), "relation": (averaged, there)}
        found = {}
        for level, (states, mask) in given.items():
            there = states[mask]  # padding is never computed
            vectors = np.zeros_like(states)
            vectors[mask] = unit(there @ self.weights[f"text.{level}"].T + self.weights[f"text.{level}_bias"])
            logits = np.full(mask.shape, -np.inf, dtype=np.float32)
            logits[mask] = there @ self.weights[f"importance.{level}"]
            found[level] = Nodes(vectors, mask, softmax(logits))
        return found

    # --- fusion and matching ------------------------------------------------------------------------------------

    def attend(self, level: str, visual: Floats, references: Nodes) -> Floats:
        """Attention of regions (n, regions, d) over one reference's nodes each: (n, regions, nodes)."""
        logits = np.exp(self.weights[f"temperature.{level}"]) * (visual @ references.vectors.transpose(0, 2, 1))
        return softmax(np.where(references.mask[:, None, :], logits, -np.inf))

    def union(self, level: str, visual: Floats, contexts: Floats, counts: NDArray[Any]) -> Floats:
        """Union nodes from regions and the sum of contexts over `counts` references."""
        mean = contexts / np.maximum(counts, 1)[:, None, None]
        return unit(visual + self.weights[f"gate.{level}"] * mean)

    def seen(self, level: str, union: Floats, inside: Bools, nodes: Nodes) -> tuple[Floats, Floats]:
        """V of pairs, and similarities (pairs, regions, nodes); NaN for a caption without nodes of this level."""
        similar = union @ nodes.vectors.transpose(0, 2, 1)
        best = np.where(inside[:, :, None], similar, -np.inf).max(axis=1)
        value = (np.where(nodes.mask, best, 0.0) * nodes.weights).sum(axis=1)
        return np.where(nodes.mask.any(axis=1), value, np.nan).astype(np.float32), similar

    def seen_sentence(self, union: Floats, inside: Bools, sentences: Floats) -> Floats:
        """V of the sentence level: half the whole image, half the windows that fit best."""
        cosines = np.einsum("nrd,nd->nr", union, sentences)
        windows = inside[:, 1:]
        weights = softmax(np.where(windows, np.exp(self.weights["sharpness"]) * cosines[:, 1:], -np.inf))
        parts = np.where(windows.any(axis=1), (weights * cosines[:, 1:]).sum(axis=1), cosines[:, 0])
        return np.asarray(0.5 * cosines[:, 0] + 0.5 * parts, dtype=np.float32)

    @staticmethod
    def told(nodes: Nodes, references: Nodes) -> Floats:
        """T of pairs: precision and recall over the nodes of all references; NaN where either side has none."""
        similar = nodes.vectors @ references.vectors.transpose(0, 2, 1)
        inside = nodes.mask[:, :, None] & references.mask[:, None, :]
        similar = np.where(inside, similar, -1.0)
        precision = (np.where(nodes.mask, similar.max(axis=2), 0.0) * nodes.weights).sum(axis=1)
        recall = (np.where(references.mask, similar.max(axis=1), 0.0) * references.weights).sum(axis=1)
        there = nodes.mask.any(axis=1) & references.mask.any(axis=1)
        return np.where(there, (precision + recall) / 2, np.nan).astype(np.float32)

    def calibrated(self, part: str, level: str, values: Floats) -> Floats:
        """A part as the teacher's cosine it stands for."""
        if level == CLAIMS and CLAIMS not in self.weights:
            raise VericapError(
                f"the claims of the FAIEr-plus model {self.name} are not fitted; `vericap train faier-plus` does it"
            )
        table = self.weights["calibration"][:, LEVELS.index(level)] if level != CLAIMS else self.weights[CLAIMS]
        slope, offset = table[PARTS.index(part)]
        return np.asarray(slope * values + offset, dtype=np.float32)


def unit(values: Floats) -> Floats:
    return np.asarray(values / np.maximum(np.linalg.norm(values, axis=-1, keepdims=True), _TINY), dtype=np.float32)


def softmax(values: Floats) -> Floats:
    """Softmax over the last axis; a row with nothing to look at is all zero."""
    if values.shape[-1] == 0:
        return np.asarray(values, dtype=np.float32)
    top = values.max(axis=-1, keepdims=True)
    raised = np.exp(values - np.where(np.isfinite(top), top, 0.0))
    return np.asarray(raised / np.maximum(raised.sum(axis=-1, keepdims=True), 1e-30), dtype=np.float32)


@lru_cache(maxsize=4)
def load(model: str = "default") -> FaierPlus:
    """The shipped model (default), or one in a folder (`faier_plus.safetensors`, `meta.json`)."""
    return FaierPlus(*store.weights(model, "faier_plus"))

"""Why REO scored a caption so: which words feed the extra part, which regions are missing, what the residuals mean.

The extra part named here is orthogonal to the image's region and to all references together: what none of them says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vericap.metrics.reo import projection
from vericap.metrics.word_meanings import content
from vericap.models.scan import Scan, unit, weights

if TYPE_CHECKING:
    from vericap.metrics.grounding import Grounding, Group

Array = NDArray[Any]


def residual(vector: Array, truth: Array) -> Array:
    """The part of a vector orthogonal to the truth: extra content; the other way round: missing content."""
    return np.asarray(vector - projection(vector, truth))


def word_shares(alpha: Array, words: Array, extra: Array, mask: Array) -> Array:
    """How much of the extra part each word feeds: sum_i alpha_ij h_j . unit(e_i), over the regions."""
    return np.asarray(((alpha * (unit(extra) @ words.T)) * mask[:, None]).sum(axis=0) / max(mask.sum(), 1.0))


def beyond(vectors: Array, truths: Array) -> Array:
    """What of (regions, D) vectors none of several (truths, regions, D) says: orthogonal to all of them."""
    bases, sizes, _ = np.linalg.svd(truths.transpose(1, 2, 0), full_matrices=False)  # (regions, D, truths)
    bases = bases * (sizes > 1e-4 * sizes.max(axis=1, keepdims=True))[:, None, :]  # a truth said twice counts once
    along = bases @ (bases.transpose(0, 2, 1) @ vectors[..., None])
    return np.asarray(vectors - along[..., 0])


def pieces(grounding: Grounding, text: int) -> list[str]:
    """The words of a text as the model reads them."""
    if grounding.model.meta["words"] != "states":
        from vericap.models.words import tokens

        return ["<start>", *tokens(grounding.batch.texts[text]), "<end>"]
    states = grounding.batch.analysis("token_states")
    letters = grounding.batch.texts[text]
    spans = states.spans[states.offsets[text] : states.offsets[text + 1]]
    return [letters[a:b] if b > a else "<mark>" for a, b in spans]


def attention(model: Scan, regions: Array, mask: Array, words: Array) -> Array:
    """Region x word weights alpha of one image and one caption."""
    return weights(regions @ words.T, mask, model.attention)


def reasons(grounding: Grounding, group: Group, place: int) -> dict[str, Any]:
    """Explanation of one sample, ready for JSON."""
    row = int(group.rows[place])
    text = int(grounding.batch.candidates[row])
    words, names = grounding.words[text], pieces(grounding, text)
    inside = group.mask[place] > 0
    regions, candidate = group.regions[place][inside], group.candidate[place][inside]
    alpha = attention(grounding.model, regions, np.ones(len(regions), np.float32), words)
    missing = residual(regions, candidate)
    said = group.reference[group.owner == place][:, inside]
    extra = beyond(candidate, np.concatenate([regions[None], said]))
    own = content(grounding.batch.texts[text])
    spoken = content(" ".join(grounding.batch.reference_texts(row))) if len(said) else []
    unsaid = [word for word in own if word not in spoken]
    found = {
        "words": names,
        "attention": alpha.round(4).tolist(),
        "extra_by_word": word_shares(alpha, words, extra, np.ones(len(regions))).round(4).tolist(),
        "extra_by_region": np.linalg.norm(extra, axis=1).round(4).tolist(),
        "missing_by_region": np.linalg.norm(missing, axis=1).round(4).tolist(),
        "boxes": grounding.found.boxes[grounding.batch.images[row]][inside].round(4).tolist(),
        "extra_words": grounding.meanings.nearest(extra.mean(axis=0), unsaid),
        "nearest_to_extra": [[item["word"] for item in grounding.meanings.nearest(part, own, 3)] for part in extra],
    }
    if len(said):
        left = residual(said, candidate[None]).mean(axis=(0, 1))
        found["missing_words"] = grounding.meanings.nearest(left, [word for word in spoken if word not in own])
    return found

"""Why REO scored a caption so: which words feed the extra part, which regions are missing, what the residuals mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vericap.metrics.reo import projection
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


def nearest(vectors: Array, words: Array, names: list[str], count: int = 3) -> list[list[str]]:
    """The words whose vectors are nearest to each residual."""
    cosines = unit(vectors) @ unit(words).T
    order = np.argsort(-cosines, axis=1)[:, :count]
    return [[names[j] for j in row] for row in order]


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
    extra = residual(candidate, regions)
    missing = residual(regions, candidate)
    found = {
        "words": names,
        "attention": alpha.round(4).tolist(),
        "extra_by_word": word_shares(alpha, words, extra, np.ones(len(regions))).round(4).tolist(),
        "extra_by_region": np.linalg.norm(extra, axis=1).round(4).tolist(),
        "missing_by_region": np.linalg.norm(missing, axis=1).round(4).tolist(),
        "boxes": grounding.found.boxes[grounding.batch.images[row]][inside].round(4).tolist(),
        "nearest_to_extra": nearest(extra, words, names),
    }
    references = np.flatnonzero(group.owner == place)
    if references.size:
        found["missing_words"] = _missing_words(grounding, group, place, references)
    return found


def _missing_words(grounding: Grounding, group: Group, place: int, references: Array) -> list[dict[str, Any]]:
    """Words of the references nearest to what the candidate leaves out, strongest first."""
    row = int(group.rows[place])
    inside = group.mask[place] > 0
    candidate = group.candidate[place][inside]
    strength: dict[str, float] = {}
    texts = [text for text in grounding.batch.references(row) if grounding.words.lengths()[text] > 0]
    for text, reference in zip(texts, references):
        left = unit(residual(group.reference[reference][inside], candidate)).mean(axis=0)
        for name, value in zip(pieces(grounding, int(text)), grounding.words[int(text)] @ left):
            if name[:1].isalnum():
                strength[name] = max(strength.get(name, -1.0), float(value))
    best = sorted(strength, key=lambda name: -strength[name])[:5]
    return [{"word": name, "strength": round(strength[name], 4)} for name in best]

"""Regions against words, as a model matches them: FAIEr's region-reference and union-candidate pairs, SCAN's words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vericap.core.batch import Batch
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.typing import Array, Floats
from vericap.metrics.batching import references_of
from vericap.metrics.faier.explanation import FaierReasons
from vericap.metrics.faier.judge import Judge, UnionBlock
from vericap.models import words as vocabulary
from vericap.models.arrays import softmax
from vericap.models.scan import weights
from vericap.run.analyses import FaierWeights, Graphs, Grounding, Regions
from vericap.run.analyses.grounding import GroundedBatch
from vericap.run.plan import analysed

Span = tuple[int, int]


@dataclass(frozen=True)
class WordMap:
    """Scores (regions, words) of one caption on one image.

    Attributes
    ----------
    text : the caption.
    spans : the letters of each word; (0, 0) for marks, which stand nowhere.
    boxes : (regions, 4) as shares of the image's sides.
    values : (regions, words).
    """

    text: str
    spans: Sequence[Span]
    boxes: Floats
    values: Floats

    def words(self) -> list[str]:
        return [self.text[start:end] for start, end in self.spans]

    def places(self, start: int, end: int) -> list[int]:
        """Columns of the words that overlap some letters."""
        return [place for place, (first, last) in enumerate(self.spans) if first < end and last > start]

    def attention(self) -> WordMap:
        """What regions attend to where these values are logits."""
        return replace(self, values=np.asarray(softmax(self.values), dtype=np.float64))


@dataclass(frozen=True)
class FaierMaps:
    """What FAIEr matches at object level: regions with the words of each reference, W_a (v_i * h_jk), which softmax
    turns into attention; and union nodes with the words of the candidate, z_i . h_ck."""

    references: tuple[WordMap, ...]
    candidate: WordMap


def faier_maps(samples: Sequence[Sample], settings: Settings, model: str = "default") -> list[FaierMaps | None]:
    """The maps of every sample; None where its image has no region or its caption no word."""
    weights_of, graphs, regions = FaierWeights(model), Graphs.of(settings), Regions.of(settings)
    batch = analysed(Batch.of(samples, settings), weights_of, graphs, regions)
    judge = Judge(batch, batch[weights_of], batch[graphs], batch[regions], references_of(batch))
    rows = np.array([row for row in range(len(batch)) if _judged(judge, row)], dtype=np.int64)
    found: list[FaierMaps | None] = [None] * len(batch)
    for block in judge.blocks(rows):
        for case in range(len(block.cases)):
            for row in block.cases[case].rows.tolist():
                found[row] = _maps(judge, block, case, row)
    return found


def _judged(judge: Judge, row: int) -> bool:
    image, text = int(judge.batch.images[row]), int(judge.batch.candidates[row])
    return bool(judge.regions.mask[image].any()) and bool(judge.reading(text)[0])


def _maps(judge: Judge, block: UnionBlock, case: int, row: int) -> FaierMaps:
    reasons = FaierReasons(judge, block, case, row)
    similarity = reasons.similarity("object")
    assert similarity is not None  # variants that do not look at the image have no regions to draw
    assert judge.model.config.fuses  # other variants read references by themselves
    visual = block.visual["object"][case][reasons.inside] * judge.model.weights["attention.object.weight"][0]
    references = [
        _map(judge, text, reasons.boxes, visual @ block.nodes[text]["object"].T)
        for text in block.cases[case].references.tolist()
    ]
    return FaierMaps(tuple(references), _map(judge, reasons.text, reasons.boxes, similarity))


def _map(judge: Judge, text: int, boxes: Array, values: Array) -> WordMap:
    caption = judge.batch.texts[text]
    return WordMap(
        caption,
        vocabulary.spans(caption)[1:-1],
        np.asarray(boxes, dtype=np.float64),
        np.asarray(values, dtype=np.float64),
    )


def scan_maps(samples: Sequence[Sample], settings: Settings, model: str = "default") -> list[dict[str, WordMap] | None]:
    """How SCAN grounds the candidates: `similarity` (v_i . h_j) and `attention` (alpha_ij)."""
    key = Grounding(model)
    batch = analysed(Batch.of(samples, settings), key)
    grounding = batch[key]
    found: list[dict[str, WordMap] | None] = []
    for row in range(len(batch)):
        image, text = int(batch.images[row]), int(batch.candidates[row])
        inside = grounding.mask[image] > 0
        words = grounding.words[text]
        if not inside.any() or not len(words):
            found.append(None)
            continue
        similarity = grounding.regions[image][inside] @ words.T
        alpha = weights(similarity, np.ones(len(similarity), np.float32), grounding.model.attention)
        caption, boxes = batch.texts[text], np.asarray(grounding.table.boxes[image][inside], dtype=np.float64)
        spans = _spans(grounding, text, caption)
        maps = {"similarity": similarity, "attention": alpha}
        found.append({name: WordMap(caption, spans, boxes, np.asarray(m, np.float64)) for name, m in maps.items()})
    return found


def _spans(grounding: GroundedBatch, number: int, text: str) -> list[Span]:
    """Where the words that the model reads stand in the caption."""
    states = grounding.states
    if states is None:
        return vocabulary.spans(text, grounding.model.cut)
    return [(int(a), int(b)) for a, b in states.spans[states.offsets[number] : states.offsets[number + 1]]]

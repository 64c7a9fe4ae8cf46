"""Regions against words, as a model matches them: FAIEr's and FAIEr-plus's region-reference and union-candidate pairs,
SCAN's words; regions against single nouns for models that read a caption as a whole (vse) or know words (visual words).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vericap.core.batch import Batch
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.typing import Array, Floats
from vericap.graphs.english_words import noun_lemma
from vericap.metrics.batching import references_of
from vericap.metrics.faier.explanation import FaierReasons
from vericap.metrics.faier.judge import Judge, UnionBlock
from vericap.metrics.faier_plus.explanation import FaierPlusReasons
from vericap.metrics.faier_plus.metric import FaierPlus
from vericap.models import words as vocabulary
from vericap.models.arrays import softmax
from vericap.models.scan import there, weights
from vericap.models.visual_words import VisualWords as VisualWordsModel
from vericap.run.analyses import (
    FaierWeights,
    Graphs,
    Grounding,
    Regions,
    RegionVectors,
    Sentences,
    VisualWords,
    VisualWordsWeights,
    VseWeights,
)
from vericap.run.analyses.grounding import GroundedBatch
from vericap.run.plan import Plan, analysed

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
    turns into attention; and union nodes with the words of the candidate, z_i . h_ck. The references' maps of
    FAIEr-plus are attention itself.

    At relation level the same for triplets: a column for every word of the text that is part of one, with the values
    of its triplet; of references it is attention. Texts without triplets have no column.
    """

    references: tuple[WordMap, ...]
    candidate: WordMap
    reference_triplets: tuple[WordMap, ...] = ()
    candidate_triplets: WordMap | None = None


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
    candidate = _map(judge, reasons.text, reasons.boxes, similarity)
    related = reasons.similarity("relation") if "relation" in judge.model.levels else None
    if related is None:
        return FaierMaps(tuple(references), candidate)
    said = [_of_triplets(judge, text, reasons.boxes, reasons.attends("relation", text))
            for text in block.cases[case].references.tolist()]  # fmt: skip
    return FaierMaps(
        tuple(references), candidate, tuple(said), _of_triplets(judge, reasons.text, reasons.boxes, related)
    )


def _of_triplets(judge: Judge, text: int, boxes: Array, values: Array) -> WordMap:
    """The map of triplets, spread over the words of the text that they are made of."""
    caption, triplets = judge.batch.texts[text], judge.reading(text)[1]
    parts = [
        (k, (start, end))
        for start, end in vocabulary.spans(caption)[1:-1]
        for k, words in enumerate(triplets)
        if {caption[start:end].lower(), noun_lemma(caption[start:end].lower(), "NNS")} & set(words)
    ]
    columns = np.asarray(values, dtype=np.float64)[:, [k for k, _ in parts]]
    return WordMap(caption, [span for _, span in parts], np.asarray(boxes, dtype=np.float64), columns)


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
        alpha = weights(similarity, np.ones(len(similarity), np.float32), grounding.model.attention, there(words))
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


def plus_maps(samples: Sequence[Sample], settings: Settings, model: str = "default") -> list[FaierMaps | None]:
    """The maps of FAIEr-plus, over word pieces."""
    metric = FaierPlus(model=model)
    declared = Plan((metric,), settings, explain=True).keys_of(metric)
    batch = analysed(Batch.of(samples, settings), *declared)
    found: list[FaierMaps | None] = [None] * len(batch)
    for row, given in metric.matched(batch, range(len(batch))):
        reasons = FaierPlusReasons(*given)
        references = [_pieces(reasons, text, reasons.attention(text)) for text in reasons.case.references.tolist()]
        found[row] = FaierMaps(tuple(references), _pieces(reasons, reasons.text, reasons.similarity))
    return found


def _pieces(reasons: FaierPlusReasons, text: int, values: Array) -> WordMap:
    caption = reasons.scorer.texts.texts[int(reasons.group.numbers[text])]
    return WordMap(
        caption, reasons.spans_of(text), np.asarray(reasons.boxes, np.float64), np.asarray(values, dtype=np.float64)
    )


# --- models that are asked for single nouns ---------------------------------------------------------------------

Asked = Mapping[str, Sequence[Span]]  # image -> letters of its caption that are asked for


def vse_maps(
    captions: Mapping[str, str], asked: Asked, settings: Settings, model: str = "default"
) -> dict[str, WordMap]:
    """Cosines of regions with nouns, each read as a caption of its own; images without a region are left out."""
    nouns = [(image, span) for image, spans in asked.items() for span in spans]
    samples = [
        Sample(str(place), captions[image][start:end], (), image) for place, (image, (start, end)) in enumerate(nouns)
    ]
    sentences = Sentences(encoder=VseWeights(model).text_encoder)
    batch = analysed(
        Batch.of(samples, settings), Regions.of(settings), RegionVectors(model), VseWeights(model), sentences
    )
    table, vectors = batch[Regions.of(settings)], batch[RegionVectors(model)]
    texts = batch[VseWeights(model)].weighed(batch[sentences])
    columns: dict[str, list[Floats]] = {}
    boxes: dict[str, Floats] = {}
    for row, (name, _) in enumerate(nouns):
        image = int(batch.images[row])
        inside = table.mask[image]
        columns.setdefault(name, []).append(vectors[image][inside] @ texts[batch.candidates[row]])
        boxes[name] = np.asarray(table.boxes[image][inside], dtype=np.float64)
    return {
        name: WordMap(captions[name], asked[name], boxes[name], np.stack(own, axis=1).astype(np.float64))
        for name, own in columns.items()
        if len(boxes[name])
    }


def visual_word_maps(
    captions: Mapping[str, str], asked: Asked, settings: Settings, model: str = "default"
) -> dict[str, WordMap]:
    """Log odds of nouns at the cells of photos; nouns that are no visual word are left out."""
    samples = [Sample(image, captions[image], (), image) for image in asked]
    batch = analysed(Batch.of(samples, settings), VisualWords(model), VisualWordsWeights(model))
    words, seen = batch[VisualWordsWeights(model)], batch[VisualWords(model)]
    found = {}
    for row, image in enumerate(asked):
        photo, text = seen.photos[int(batch.images[row])], captions[image]
        known = {span: _entry(words, text[span[0] : span[1]]) for span in asked[image]}
        there = {span: entry for span, entry in known.items() if entry is not None}
        if photo is not None and there:
            values = words.at_cells(photo, np.array(list(there.values()), dtype=np.int64))
            found[image] = WordMap(text, list(there), _cells(len(values)), np.asarray(values, dtype=np.float64))
    return found


def _entry(words: VisualWordsModel, noun: str) -> int | None:
    """The visual word of a noun: itself, its singular, or its last word."""
    text = noun.lower()
    for form in (text, noun_lemma(text, "NNS"), noun_lemma(text.split()[-1], "NNS")):
        if ("object", form) in words.places:
            return words.places["object", form]
    return None


def _cells(count: int) -> Floats:
    """Boxes of the cells of a square map, row by row."""
    side = round(count**0.5)
    top, left = np.divmod(np.arange(count), side)
    return np.stack([left, top, left + 1, top + 1], axis=1) / side

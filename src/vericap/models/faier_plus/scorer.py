"""Scores of FAIEr-plus from arrays: texts that have been read, a table of regions, and which belong together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from vericap.core.typing import Array, Bools, Floats, Floats32, Ints, Ints32
from vericap.graphs.claims import RELATIONS
from vericap.graphs.scene_graph import SceneGraph
from vericap.models.faier_plus.layout import NodeStates, layout
from vericap.models.faier_plus.network import CLAIMS, LEVELS, PARTS, FaierPlusModel, WeightedNodes
from vericap.text.encoders import StateTable
from vericap.vision.store import RegionTable

COLUMNS = ("score", "fidelity", "adequacy", "gain", *LEVELS, CLAIMS)
_IMAGES = 8  # whose regions are mapped together: what is made on the way stays near the processor
_WEIGHTS = np.array([1.0, 1.0, RELATIONS])  # of an object, an attribute, a relation among claims


class PhraseLookup(Protocol):
    """Unit vectors of scene-graph phrases, those of all texts at least."""

    def __getitem__(self, phrases: Sequence[str], /) -> Floats32: ...


@dataclass(frozen=True)
class ReadTexts:
    """Texts with what is read of them: states of their word pieces, vectors of sentences, graphs and their phrases."""

    texts: Sequence[str]
    states: StateTable
    sentences: Floats32  # centred unit vectors
    graphs: Sequence[SceneGraph]
    phrases: PhraseLookup

    def spans(self, text: int) -> Ints32:
        """Letters of each word piece of a text, start and end."""
        return self.states.spans[self.states.offsets[text] : self.states.offsets[text + 1]]


@dataclass(frozen=True)
class ImageCase:
    """Candidates that are judged by one image and one list of references: numbers of texts and of the image."""

    candidates: Ints
    image: int
    references: Ints


@dataclass(frozen=True)
class PlacedCase:
    """A case among those of its group: places of its candidates, image and references there."""

    samples: slice
    image: int
    references: Ints


class VisualNodes:
    """Visual nodes of some images on all levels.

    A few images are mapped together when one of them is asked for, and held until another one is: cases come in the
    order of their images, and what is made of these stays near the processor.
    """

    def __init__(self, model: FaierPlusModel, table: RegionTable, embedded: Floats32, images: Ints) -> None:
        self._model, self._table, self._embedded, self._images = model, table, embedded, images
        self._held: tuple[int, dict[str, Floats32]] = -1, {}

    def of(self, level: str, image: int) -> Floats32:
        """(regions, d) of one image, those that are not there too; claims live where sentences do."""
        part, place = divmod(image, _IMAGES)
        if part != self._held[0]:
            some = self._images[part * _IMAGES : (part + 1) * _IMAGES]
            boxes, inside = (np.asarray(own[some]) for own in (self._table.boxes, self._table.mask))
            made = self._model.regions(self._embedded[some], boxes.astype(np.float32), inside.astype(bool))
            self._held = part, made
        return self._held[1]["sentence" if level == CLAIMS else level][place]


@dataclass(frozen=True)
class CaseGroup:
    """Some cases with everything that is computed once for them; candidates stand in the order of the cases."""

    candidates: Ints  # place of each candidate among the texts
    cases: list[PlacedCase]
    numbers: Ints  # of the texts that the group reads
    nodes: dict[str, WeightedNodes]  # of the texts: words, relations, and the scene graph's claims by themselves
    sentences: Floats32  # of the texts
    visual: VisualNodes  # of the images
    inside: Bools  # (images, regions)

    @cached_property
    def whole(self) -> list[bool]:
        """Which images have all regions there can be: nothing is copied of them."""
        return [bool(one.all()) for one in self.inside]

    def regions(self, level: str, image: int) -> Floats32:
        """Visual nodes of one image."""
        visual = self.visual.of(level, image)
        return visual if self.whole[image] else np.asarray(visual[self.inside[image]])

    def textual(self, level: str, texts: Ints) -> Any:
        """Textual nodes of some texts, or their sentence vectors."""
        return self.sentences[texts] if level == "sentence" else self.nodes[level].rows(texts)


class FaierPlusScorer:
    """The model with texts and regions; `embedded` (images, regions, d) is what its `vse` encoder makes of these."""

    def __init__(self, model: FaierPlusModel, texts: ReadTexts, regions: RegionTable, embedded: Floats32) -> None:
        regions.check_fits(model.meta)
        self.model, self.texts, self.table, self.embedded = model, texts, regions, embedded

    # --- groups -------------------------------------------------------------------------------------------------

    def group(self, cases: Sequence[ImageCase]) -> CaseGroup:
        """What some cases are judged by, each text and image once."""
        own, given = [case.candidates for case in cases], [case.references for case in cases]
        numbers, places = np.unique(np.concatenate([*own, *given]), return_inverse=True)
        sizes = [len(some) for some in (*own, *given)]
        parts = np.split(places.reshape(-1), np.cumsum(sizes)[:-1])
        images, shown = np.unique([case.image for case in cases], return_inverse=True)
        ends = np.cumsum(sizes[: len(cases)]).tolist()
        samples = [slice(end - size, end) for end, size in zip(ends, sizes)]
        placed = [PlacedCase(*some) for some in zip(samples, shown.tolist(), parts[len(cases) :])]
        inside = self.table.mask[images].astype(bool)
        nodes, sentences = self._textual(numbers)
        visual = VisualNodes(self.model, self.table, self.embedded, images)
        return CaseGroup(np.concatenate(parts[: len(cases)]), placed, numbers, nodes, sentences, visual, inside)

    def _textual(self, numbers: Ints) -> tuple[dict[str, WeightedNodes], Floats32]:
        """Nodes of all levels, and sentence vectors."""
        texts, model = self.texts, self.model
        graphs = [texts.graphs[text] for text in numbers.tolist()]
        layouts = [layout(texts.texts[text], texts.spans(text), graph) for text, graph in zip(numbers.tolist(), graphs)]
        states = NodeStates.of(numbers, texts.states, layouts)
        nodes = {
            "object": model.nodes("object", states.words, states.word_counts),
            "relation": model.nodes("relation", states.relations, states.relation_counts),
            CLAIMS: self._claims(graphs),
        }
        return nodes, texts.sentences[numbers]

    def _claims(self, graphs: Sequence[SceneGraph]) -> WeightedNodes:
        """Phrases of graphs ("horse", "brown horse", "man ride horse"), embedded as semantic SPICE does."""
        phrases = [phrase for graph in graphs for phrase in graph.phrases(full=True)]
        kinds = np.array([(len(g.objects), len(g.attributes), len(g.relations)) for g in graphs])
        weights = np.repeat(_WEIGHTS / np.maximum(kinds @ _WEIGHTS, 1.0)[:, None], kinds.ravel()).astype(np.float32)
        return WeightedNodes(self.texts.phrases[phrases], weights, kinds.sum(axis=1))

    # --- scores -------------------------------------------------------------------------------------------------

    def scores(self, group: CaseGroup) -> dict[str, Floats]:
        """Score, fidelity (the image alone), adequacy (the references alone), gain, and each level's share."""
        alone, seen, told = (self._calibrated(part, values) for part, values in self.parts(group).items())
        guided = ~np.isnan(seen["sentence"])  # the level that every caption has
        levels = {}
        for level in alone:
            both = np.where(np.isnan(told[level]), seen[level], (seen[level] + told[level]) / 2)
            levels[level] = np.where(guided, both, alone[level])
        score, fidelity = _mean(levels), _mean(alone)
        adequacy = np.where(guided, _mean(told), np.nan)
        gain = np.where(guided, score - fidelity, np.nan)
        return {"score": score, "fidelity": fidelity, "adequacy": adequacy, "gain": gain, **levels}

    def parts(self, group: CaseGroup) -> dict[str, dict[str, Floats32]]:
        """V of the image alone, V as the references guide it, and T: of every level; NaN where there is none."""
        count, levels = len(group.candidates), (*LEVELS, CLAIMS)
        found = {part: {level: np.full(count, np.nan, np.float32) for level in levels} for part in PARTS}
        for case in group.cases:
            for part, level, values in self._matched(group, case):
                found[part][level][case.samples] = values
        return found

    def _matched(self, group: CaseGroup, case: PlacedCase) -> Iterator[tuple[str, str, Floats32]]:
        model, candidates = self.model, group.candidates[case.samples]
        for levels in (("object",), ("relation",), ("sentence", CLAIMS)):  # the last two look at the same regions
            regions, guided = group.regions(levels[0], case.image), None
            for level in levels:
                sentence, own = level == "sentence", group.textual(level, candidates)
                seen, told = (model.seen_sentence, model.told_sentence) if sentence else (model.seen, model.told)
                yield "alone", level, seen(regions, own)
                if not len(case.references):
                    continue
                said = group.textual(level, case.references)
                guided = self._guided(level, regions, said) if guided is None else guided
                yield "seen", level, seen(guided, own)
                yield "told", level, told(own, said)

    def _calibrated(self, part: str, values: Mapping[str, Floats32]) -> dict[str, Floats32]:
        return {level: self.model.calibrated(part, level, value) for level, value in values.items()}

    def union(self, level: str, group: CaseGroup, case: PlacedCase) -> Floats32:
        """Visual nodes of an image under the guidance of the references, where there are any."""
        regions = group.regions(level, case.image)
        if not len(case.references):
            return regions
        level = "sentence" if level == CLAIMS else level
        return self._guided(level, regions, group.textual(level, case.references))

    def _guided(self, level: str, regions: Floats32, said: Any) -> Floats32:
        """Regions under the guidance of references, as `CaseGroup.textual` gives them."""
        return (
            self.model.union_sentence(regions, said) if level == "sentence" else self.model.union(level, regions, said)
        )

    def matrix(self, *, together: int = 512) -> Floats:
        """Scores of every image with every text, without references (retrieval)."""
        mask, count = self.table.mask.astype(bool), len(self.texts.texts)
        images = np.flatnonzero(mask.any(axis=1))
        found = np.full((len(mask), count), -np.inf)  # an image without regions comes last
        visual = VisualNodes(self.model, self.table, self.embedded, images)
        for start in range(0, count, together):
            texts = np.arange(start, min(start + together, count))
            nodes, sentences = self._textual(texts)
            for place, image in enumerate(images):
                regions = {level: visual.of(level, place)[mask[image]] for level in (*LEVELS, CLAIMS)}
                levels = {level: self.model.seen(regions[level], own) for level, own in nodes.items()}
                levels["sentence"] = self.model.seen_sentence(regions["sentence"], sentences)
                found[image, texts] = _mean(self._calibrated("alone", levels))
        return found


def _mean(levels: Mapping[str, Array]) -> Floats:
    """Mean over the levels a caption has; the sentence level is always there."""
    stacked = np.stack(list(levels.values())).astype(np.float64)
    there = ~np.isnan(stacked)
    return np.asarray(np.where(there, stacked, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1))

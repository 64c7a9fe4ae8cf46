"""FAIEr-plus: is the caption true to the image, and does it say what the references say? (models.faier_plus)"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vericap.graphs.scene_graph import SceneGraph
from vericap.metrics.base import Metric, Option, Statistics
from vericap.metrics.spice_soft import phrase_vectors
from vericap.metrics.vse import blank, image_problems
from vericap.models import faier_plus, faier_text, store, vse
from vericap.models.faier_plus import CLAIMS, LEVELS, PARTS, Nodes
from vericap.run.batch import Batch
from vericap.text import encoder
from vericap.vision.store import Regions, check_same

Array = NDArray[Any]
Ints = NDArray[np.int64]
RELATIONS = 3.0  # weight of a relation among claims; objects and attributes have 1 (as in spice-soft)
# Held at once: word pieces of distinct captions, images with their references, candidates of one of these.
_PIECES, _CASES, _TOGETHER = 32_000, 256, 1024


class FaierPlus(Metric):
    name, title = "faier-plus", "FAIEr-plus"
    range = (-1.0, 1.0)
    needs = ("image",)
    reads_references = True
    analyses = ("token_states", "graphs", "regions")
    languages = ("en",)
    options: ClassVar[Mapping[str, Option]] = {
        "references": Option("auto", "auto: used where they are there; none: the image alone", ("auto", "none")),
        "model": Option("default", "the shipped model (default) or a folder of a trained one"),
    }

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        scorer = Scorer(batch, self.opt.model, references=self.opt.references == "auto")
        names = ("score", "fidelity", "adequacy", "gain", *LEVELS, CLAIMS)
        table = {name: np.full(len(batch), np.nan) for name in names}
        explanations: list[dict[str, Any] | None] | None = [None] * len(batch) if batch.settings.explain else None
        for group in scorer.groups():
            for name, values in scorer.score(group).items():
                table[name][group.rows] = values
            if explanations is not None:
                from vericap.metrics.faier_plus_reasons import reasons

                for case in group.cases:
                    for place in range(case.samples.start, case.samples.stop):
                        explanations[int(group.rows[place])] = reasons(scorer, group, case, place)
        return Statistics(table.pop("score"), scorer.problems, table, explanations)

    def signature_parts(self, batch: Batch) -> dict[str, str]:
        from vericap.graphs import analysis

        model = faier_plus.load(self.opt.model)
        graphs = analysis.parser_name(batch.settings)
        return {
            "faier": store.version(model.meta),
            "features": model.fingerprint,
            "text": encoder.name(),
            "graphs": graphs,
        }


@dataclass
class Case:
    """Samples that share an image and references: their candidates are matched together."""

    samples: slice  # of the group
    image: int  # place among the group's images
    references: Ints  # places among the group's texts


@dataclass
class Group:
    """Some samples with everything that is computed once for them."""

    rows: Ints
    candidates: Ints  # place of each sample's candidate among the texts
    cases: list[Case]
    numbers: Ints  # texts of the batch that the group reads
    nodes: dict[str, Nodes]  # of the texts: words, relations, and the scene graph's claims as phrases by themselves
    sentences: Array  # of the texts
    visual: dict[str, Array]  # (images, regions, d)
    inside: NDArray[np.bool_]  # (images, regions)

    def regions(self, level: str, image: int) -> Array:
        """Visual nodes of one image."""
        return np.asarray(self.visual[level][image][self.inside[image]])

    def textual(self, level: str, texts: Ints) -> Any:
        """Textual nodes of some texts, or their sentence vectors."""
        return self.sentences[texts] if level == "sentence" else self.nodes[level].rows(texts)


class Scorer:
    """The model with the texts and regions of one batch."""

    def __init__(self, batch: Batch, model: str, *, references: bool) -> None:
        self.batch, self.references = batch, references
        self.model = faier_plus.load(model)
        self.encoder = vse.load(self.model.meta["encoder"])
        self.found: Regions = batch.analysis("regions")
        check_same(self.found.fingerprint, "this run", self.model.fingerprint, self.model.name)
        self.states = batch.analysis("token_states")
        self.graphs = batch.analysis("graphs")
        self._text_encoder = encoder.of(batch)  # one network for the phrases of all groups
        self._wordy = np.array([any(True for _ in self.words(text)) for text in range(len(batch.texts))], dtype=bool)
        wordless = np.flatnonzero(~self._wordy[batch.candidates])
        without = dict.fromkeys(np.flatnonzero(~self.found.mask.any(axis=1)).tolist(), "the image has no region")
        self.problems = {
            **dict.fromkeys(wordless.tolist(), "the candidate holds no word"),
            **blank(batch),
            **image_problems(batch, {**without, **self.found.problems}),
        }

    def words(self, text: int) -> Iterator[tuple[str, list[int]]]:
        """Words of a text of the batch with their pieces."""
        return faier_text.words_of(self.batch.texts[text], self._spans(text))

    def _spans(self, text: int) -> faier_text.Spans:
        return np.asarray(self.states.spans[self.states.offsets[text] : self.states.offsets[text + 1]])

    def _given(self, row: int) -> Ints:
        """References of a sample that hold a word."""
        found = self.batch.references(row)
        return found[self._wordy[found]] if self.references else found[:0]

    # --- groups -------------------------------------------------------------------------------------------------

    def groups(self) -> Iterator[Group]:
        """Samples that can be judged, those of one image together; memory does not grow with their number."""
        rows = np.array([row for row in range(len(self.batch)) if row not in self.problems], dtype=np.int64)
        images, lengths = self.batch.images, np.diff(self.states.offsets).tolist()
        cases: dict[tuple[int, bytes], list[int]] = {}
        texts: set[int] = set()
        pieces = 0
        for row in rows[np.argsort(images[rows], kind="stable")].tolist():
            given = self._given(row)
            alike = cases.setdefault((int(images[row]), given.tobytes()), [])
            alike.append(row)
            new = {int(self.batch.candidates[row]), *given.tolist()} - texts
            texts |= new
            pieces += sum(lengths[text] for text in new)
            if pieces > _PIECES or len(cases) == _CASES or len(alike) == _TOGETHER:
                yield self._group(list(cases.values()))
                cases, texts, pieces = {}, set(), 0
        if cases:
            yield self._group(list(cases.values()))

    def _group(self, alike: list[list[int]]) -> Group:
        """A group from the rows of each of its cases."""
        rows = np.concatenate(alike)
        first = [own[0] for own in alike]
        given = [self._given(row) for row in first]
        numbers, places = np.unique(np.concatenate([self.batch.candidates[rows], *given]), return_inverse=True)
        candidates, *references = np.split(places, np.cumsum([len(rows), *map(len, given)])[:-1])
        images, own_images = np.unique(self.batch.images[first], return_inverse=True)
        ends = np.cumsum([len(own) for own in alike]).tolist()
        samples = [slice(end - len(own), end) for own, end in zip(alike, ends)]
        cases = [Case(*parts) for parts in zip(samples, own_images.tolist(), references)]
        inside = self.found.mask[images].astype(bool)
        visual = self._visual(images, inside)
        return Group(rows, candidates, cases, numbers, *self._textual(numbers), visual, inside)

    def _visual(self, images: Ints, inside: NDArray[np.bool_]) -> dict[str, Array]:
        boxes = np.asarray(self.found.boxes[images], dtype=np.float32)
        found = self.model.regions(self.encoder.embed(self.found.features[images]), boxes, inside)
        return {**found, CLAIMS: found["sentence"]}  # claims live where sentences do

    def _textual(self, texts: Ints) -> tuple[dict[str, Nodes], Array]:
        """Nodes of all levels, and centred sentence vectors: the encoder's states, averaged."""
        graphs = [self.graphs[text] for text in texts.tolist()]
        layouts = [
            faier_text.layout(self.batch.texts[text], self._spans(text), graph)
            for text, graph in zip(texts.tolist(), graphs)
        ]
        states = faier_text.States.of(texts, self.states, layouts)
        nodes = {
            "object": self.model.nodes("object", states.words, states.word_counts),
            "relation": self.model.nodes("relation", states.relations, states.relation_counts),
            CLAIMS: self._claims(graphs),
        }
        return nodes, encoder.normalise(encoder.normalise(states.means) - encoder.caption_mean())

    def _claims(self, graphs: list[SceneGraph]) -> Nodes:
        """Phrases of graphs ("horse", "brown horse", "man ride horse"), embedded as semantic SPICE does."""
        phrases = [phrase for graph in graphs for phrase in graph.phrases(full=True)]
        place = {phrase: number for number, phrase in enumerate(dict.fromkeys(phrases))}
        vectors = phrase_vectors(self.batch, list(place), self._text_encoder)
        kinds = np.array([(len(g.objects), len(g.attributes), len(g.relations)) for g in graphs])
        weigh = np.array([1.0, 1.0, RELATIONS])
        weights = np.repeat(weigh / np.maximum(kinds @ weigh, 1.0)[:, None], kinds.ravel()).astype(np.float32)
        return Nodes(vectors[[place[phrase] for phrase in phrases]], weights, kinds.sum(axis=1))

    # --- scores -------------------------------------------------------------------------------------------------

    def score(self, group: Group) -> dict[str, Array]:
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

    def parts(self, group: Group) -> dict[str, dict[str, Array]]:
        """V of the image alone, V as the references guide it, and T: of every level; NaN where there is none."""
        found = {
            part: {level: np.full(len(group.rows), np.nan, np.float32) for level in (*LEVELS, CLAIMS)} for part in PARTS
        }
        for case in group.cases:
            for level in (*LEVELS, CLAIMS):
                for part, values in self._matched(level, group, case):
                    found[part][level][case.samples] = values
        return found

    def _matched(self, level: str, group: Group, case: Case) -> Iterator[tuple[str, Array]]:
        model, own = self.model, group.textual(level, group.candidates[case.samples])
        seen, told = (model.seen_sentence, model.told_sentence) if level == "sentence" else (model.seen, model.told)
        yield "alone", seen(group.regions(level, case.image), own)
        if len(case.references):
            yield "seen", seen(self.union(level, group, case), own)
            yield "told", told(own, group.textual(level, case.references))

    def _calibrated(self, part: str, values: dict[str, Array]) -> dict[str, Array]:
        return {level: self.model.calibrated(part, level, value) for level, value in values.items()}

    def union(self, level: str, group: Group, case: Case) -> Array:
        """Visual nodes of an image under the guidance of the references, where there are any."""
        regions = group.regions(level, case.image)
        if not len(case.references):
            return regions
        if level in ("sentence", CLAIMS):
            return self.model.union_sentence(regions, group.sentences[case.references])
        return self.model.union(level, regions, group.nodes[level].rows(case.references))

    def matrix(self, *, together: int = 512) -> Array:
        """Scores of every image with every text of the batch, without references (retrieval)."""
        images = np.flatnonzero(self.found.mask.any(axis=1))
        found = np.full((len(self.found.mask), len(self.batch.texts)), -np.inf)  # an image without regions comes last
        inside = self.found.mask[images].astype(bool)
        visual = self._visual(images, inside)
        for start in range(0, len(self.batch.texts), together):
            texts = np.arange(start, min(start + together, len(self.batch.texts)))
            nodes, sentences = self._textual(texts)
            for place, image in enumerate(images):
                regions = {level: values[place][inside[place]] for level, values in visual.items()}
                levels = {level: self.model.seen(regions[level], own) for level, own in nodes.items()}
                levels["sentence"] = self.model.seen_sentence(regions["sentence"], sentences)
                found[image, texts] = _mean(self._calibrated("alone", levels))
        return found


def _mean(levels: dict[str, Array]) -> Array:
    """Mean over the levels a caption has; the sentence level is always there."""
    stacked = np.stack(list(levels.values())).astype(np.float64)
    there = ~np.isnan(stacked)
    return np.asarray(np.where(there, stacked, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1))

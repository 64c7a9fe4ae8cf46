"""FAIEr-plus: is the caption true to the image, and does it say what the references say? (models.faier_plus)"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vericap.metrics.base import Metric, Option, Statistics
from vericap.metrics.spice_soft import Claims, phrase_vectors
from vericap.metrics.vse import blank, image_problems
from vericap.models import faier_plus, faier_text, vse
from vericap.models.faier_plus import CLAIMS, LEVELS, Nodes, Texts
from vericap.run.batch import Batch
from vericap.text import encoder
from vericap.vision.store import Regions, check_same

Array = NDArray[Any]
Ints = NDArray[np.int64]
RELATIONS = 3.0  # weight of a relation among claims; objects and attributes have 1 (as in spice-soft)
_SAMPLES, _PIECES = 256, 24_000  # held at once: samples of a group, and word pieces of its padded captions


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

                for place, row in enumerate(group.rows):
                    explanations[int(row)] = reasons(scorer, group, place)
        return Statistics(table.pop("score"), scorer.problems, table, explanations)

    def signature_parts(self, batch: Batch) -> dict[str, str]:
        from vericap.graphs import analysis

        model = faier_plus.load(self.opt.model)
        graphs = analysis.parser_name(batch.settings)
        return {"faier": model.name, "features": model.fingerprint, "text": encoder.name(), "graphs": graphs}


@dataclass
class Group:
    """Some samples with everything that is computed once for them."""

    rows: Ints
    images: Ints  # place of each sample's image among `visual`
    candidates: Ints  # place of each sample's candidate among the texts
    unions: Ints  # place of each sample's (image, references) among the unions
    texts: Texts
    layouts: list[faier_text.Layout]
    numbers: Ints  # texts of the batch that `texts` holds
    nodes: dict[str, Nodes]
    claims: Nodes  # what each text's scene graph claims, as phrases by themselves
    visual: dict[str, Array]
    inside: NDArray[np.bool_]  # (images, regions)
    union_images: Ints
    references: list[Ints]  # texts of each union, by place


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
        self._layouts: dict[int, faier_text.Layout] = {}
        self._text_encoder = encoder.of(batch)  # one network for the phrases of all groups
        self.problems = {**self._wordless(), **blank(batch), **image_problems(batch, self.found.problems)}

    def layout(self, text: int) -> faier_text.Layout:
        if text not in self._layouts:
            spans = self.states.spans[self.states.offsets[text] : self.states.offsets[text + 1]]
            self._layouts[text] = faier_text.layout(self.batch.texts[text], spans, self.graphs[text])
        return self._layouts[text]

    def _wordless(self) -> dict[int, str]:
        return {
            row: "the candidate holds no word"
            for row, text in enumerate(self.batch.candidates)
            if not self.layout(int(text)).words
        }

    def _given(self, row: int) -> Ints:
        if not self.references:
            return np.zeros(0, dtype=np.int64)
        found = self.batch.references(row)
        return np.array([text for text in found if self.layout(int(text)).words], dtype=np.int64)

    # --- groups -------------------------------------------------------------------------------------------------

    def groups(self) -> Iterator[Group]:
        """Samples that can be judged, those of one image together; memory does not grow with their number."""
        rows = np.array([row for row in range(len(self.batch)) if row not in self.problems], dtype=np.int64)
        rows = rows[np.argsort(self.batch.images[rows], kind="stable")] if rows.size else rows
        lengths = np.diff(self.states.offsets)
        chosen: list[int] = []
        texts: set[int] = set()
        longest = 0
        for row in map(int, rows):
            own = {int(self.batch.candidates[row]), *map(int, self._given(row))}
            most = max(longest, *(int(lengths[text]) for text in own))
            if chosen and (len(chosen) == _SAMPLES or len(texts | own) * most > _PIECES):
                yield self._group(np.array(chosen))
                chosen, texts, longest = [], set(), 0
                most = max(int(lengths[text]) for text in own)
            chosen.append(row)
            texts |= own
            longest = most
        if chosen:
            yield self._group(np.array(chosen))
            self._layouts.clear()

    def _group(self, rows: Ints) -> Group:
        batch = self.batch
        given = [self._given(int(row)) for row in rows]
        numbers, inverse = np.unique(np.concatenate([batch.candidates[rows], *given]), return_inverse=True)
        places = np.split(inverse, np.cumsum([len(rows), *map(len, given)])[:-1])
        candidates, references = places[0], places[1:]
        images, own = np.unique(batch.images[rows], return_inverse=True)
        keys = {(int(image), refs.tobytes()): refs for image, refs in zip(own, references)}
        order = {key: place for place, key in enumerate(keys)}
        layouts = [self.layout(int(text)) for text in numbers]
        texts = faier_text.padded([self.states[int(text)] for text in numbers], layouts, self._sentences(numbers))
        inside = self.found.mask[images].astype(bool)
        boxes = np.asarray(self.found.boxes[images], dtype=np.float32)
        embedded = self.encoder.embed(self.found.features[images])
        return Group(
            rows=rows,
            images=own,
            candidates=candidates,
            unions=np.array([order[int(i), refs.tobytes()] for i, refs in zip(own, references)], dtype=np.int64),
            texts=texts,
            layouts=layouts,
            numbers=numbers,
            nodes=self.model.nodes(texts),
            claims=self._claims(numbers),
            visual=self.model.regions(embedded, boxes, inside),
            inside=inside,
            union_images=np.array([image for image, _ in keys], dtype=np.int64),
            references=list(keys.values()),
        )

    def _claims(self, texts: Ints) -> Nodes:
        """Phrases of the texts' graphs ("horse", "brown horse", "man ride horse"), embedded as semantic SPICE does."""
        found = [Claims(self.graphs[int(text)], RELATIONS) for text in texts]
        phrases = list(dict.fromkeys(phrase for own in found for phrase in own.phrases))
        vectors = phrase_vectors(self.batch, phrases, self._text_encoder)
        place = {phrase: number for number, phrase in enumerate(phrases)}
        longest = max((len(own.phrases) for own in found), default=0)
        shape = (len(found), max(longest, 1))
        nodes = Nodes(np.zeros((*shape, encoder.WIDTH), np.float32), np.zeros(shape, bool), np.zeros(shape, np.float32))
        for row, own in enumerate(found):
            part = slice(0, len(own.phrases))
            nodes.vectors[row, part] = vectors[[place[phrase] for phrase in own.phrases]]
            nodes.mask[row, part] = True
            nodes.weights[row, part] = own.weights / max(own.weights.sum(), 1.0)
        return nodes

    def _sentences(self, texts: Ints) -> Array:
        """Centred sentence vectors: the encoder's states, averaged."""
        means = np.stack([self.states[int(text)].astype(np.float32).mean(axis=0) for text in texts])
        return encoder.normalise(encoder.normalise(means) - encoder.caption_mean())

    # --- scores -------------------------------------------------------------------------------------------------

    def score(self, group: Group) -> dict[str, Array]:
        """Score, fidelity (the image alone), adequacy (the references alone), gain, and each level's share."""
        counts = np.array([len(refs) for refs in group.references])
        guided = counts[group.unions] > 0
        alone = {level: self._seen(level, group, "alone", counts) for level in (*LEVELS, CLAIMS)}
        fidelity = _mean(list(alone.values()))
        if not guided.any():
            nothing = np.full(len(group.rows), np.nan)
            return {"score": fidelity, "fidelity": fidelity, "adequacy": nothing, "gain": nothing, **alone}
        seen = {level: self._seen(level, group, "seen", counts) for level in alone}
        told = {level: self._told(level, group, counts) for level in alone}
        levels = {
            level: np.where(guided, np.where(np.isnan(told[level]), seen[level], (seen[level] + told[level]) / 2), own)
            for level, own in alone.items()
        }
        score = _mean(list(levels.values()))
        adequacy = np.where(guided, _mean(list(told.values())), np.nan)
        gain = np.where(guided, score - fidelity, np.nan)
        return {"score": score, "fidelity": fidelity, "adequacy": adequacy, "gain": gain, **levels}

    def matrix(self, *, together: int = 64) -> Array:
        """Scores of every image with every text of the batch, without references (retrieval)."""
        mask = self.found.mask.astype(bool)
        boxes = np.asarray(self.found.boxes, dtype=np.float32)
        visual = self.model.regions(self.encoder.embed(self.found.features), boxes, mask)
        images, regions = mask.shape
        columns = []
        for start in range(0, len(self.batch.texts), together):
            numbers = np.arange(start, min(start + together, len(self.batch.texts)))
            parts = [self.states[int(text)] for text in numbers]
            texts = faier_text.padded(parts, [self.layout(int(t)) for t in numbers], self._sentences(numbers))
            levels = []
            for level, nodes in self.model.nodes(texts).items():
                captions, count, d = nodes.vectors.shape
                similar = visual[level].reshape(-1, d) @ nodes.vectors.reshape(-1, d).T
                similar = similar.reshape(images, regions, captions * count)
                best = np.where(mask[:, :, None], similar, -np.inf).max(axis=1).reshape(images, captions, count)
                value = (np.where(nodes.mask, best, 0.0) * nodes.weights).sum(axis=-1)
                value = np.where(nodes.mask.any(axis=1), value, np.nan)
                levels.append(self.model.calibrated("alone", level, value))
            whole = [
                self.model.seen_sentence(visual["sentence"], mask, np.repeat(s[None], images, 0))
                for s in texts.sentences
            ]
            levels.append(self.model.calibrated("alone", "sentence", np.stack(whole, axis=1)))
            levels.append(self._all_claims(visual["sentence"], mask, self._claims(numbers)))
            columns.append(_mean(levels))
        return np.concatenate(columns, axis=1)

    def _all_claims(self, visual: Array, mask: NDArray[np.bool_], claims: Nodes) -> Array:
        images, regions = mask.shape
        captions, count, d = claims.vectors.shape
        similar = (visual.reshape(-1, d) @ claims.vectors.reshape(-1, d).T).reshape(images, regions, -1)
        best = np.where(mask[:, :, None], similar, -np.inf).max(axis=1).reshape(images, captions, count)
        value = (np.where(claims.mask, best, 0.0) * claims.weights).sum(axis=-1)
        return self.model.calibrated("alone", CLAIMS, np.where(claims.mask.any(axis=1), value, np.nan))

    def union(self, level: str, group: Group, counts: Ints) -> Array:
        """Union nodes of every (image, references)."""
        visual = group.visual[level][group.union_images]
        owner = np.repeat(np.arange(len(counts)), counts)
        contexts = np.zeros_like(visual)
        if len(owner):
            texts = np.concatenate(group.references)
            if level == "sentence":
                contexts += _sums(group.texts.sentences[texts], counts)[:, None]
            else:
                nodes = group.nodes[level].rows(texts)
                contexts = _sums(self.model.attend(level, visual[owner], nodes) @ nodes.vectors, counts)
        return self.model.union(level, visual, contexts, counts) * group.inside[group.union_images][..., None]

    def _seen(self, level: str, group: Group, part: str, counts: Ints) -> Array:
        return self.model.calibrated(part, level, self.seen(level, group, part, counts))

    def _told(self, level: str, group: Group, counts: Ints) -> Array:
        return self.model.calibrated("told", level, self.told(level, group, counts))

    def seen(self, level: str, group: Group, part: str, counts: Ints) -> Array:
        """V of the samples: against the image alone, or as the references guide it (part `seen`)."""
        inside = group.inside[group.images]
        space = "sentence" if level == CLAIMS else level  # phrases live where sentences do
        union = group.visual[space][group.images] if part == "alone" else self.union(space, group, counts)[group.unions]
        if level == "sentence":
            return self.model.seen_sentence(union, inside, group.texts.sentences[group.candidates])
        nodes = group.claims if level == CLAIMS else group.nodes[level]
        return self.model.seen(level, union, inside, nodes.rows(group.candidates))[0]

    def told(self, level: str, group: Group, counts: Ints) -> Array:
        """T of the samples; NaN without references."""
        if level != "sentence":
            nodes = group.claims if level == CLAIMS else group.nodes[level]
            return self.model.told(nodes.rows(group.candidates), _merged(nodes, group.references).rows(group.unions))
        mean = _sums(group.texts.sentences[_flat(group.references)], counts) / np.maximum(counts, 1)[:, None]
        own = group.texts.sentences[group.candidates]
        return np.where(counts[group.unions] > 0, (mean[group.unions] * own).sum(axis=1), np.nan)


def _sums(values: Array, counts: Ints) -> Array:
    """Sums over consecutive rows: the first counts[0] of them, the next counts[1], and so on."""
    found = np.zeros((len(counts), *values.shape[1:]), dtype=np.float32)
    filled = counts > 0
    if filled.any():
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])[filled]
        found[filled] = np.add.reduceat(values, starts, axis=0)
    return found


def _flat(references: list[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, dtype=np.int64), *references])


def _mean(parts: list[Array]) -> Array:
    """Mean over the levels a caption has; the sentence level is always there."""
    stacked = np.stack(parts).astype(np.float64)
    there = ~np.isnan(stacked)
    return np.asarray(np.where(there, stacked, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1))


def _merged(nodes: Nodes, references: list[Ints]) -> Nodes:
    """Nodes of each union's references as one graph; every reference with nodes has the same share of the weight."""
    sizes = nodes.mask.sum(axis=1)
    longest = max((int(sizes[texts].sum()) for texts in references), default=0)
    shape = (len(references), max(longest, 1))
    vectors = np.zeros((*shape, nodes.vectors.shape[2]), dtype=np.float32)
    mask, weights = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=np.float32)
    for row, texts in enumerate(references):
        end, share = 0, 1.0 / max(int((sizes[texts] > 0).sum()), 1)
        for text in texts:
            inside = nodes.mask[text]
            part = slice(end, end + int(sizes[text]))
            vectors[row, part], mask[row, part] = nodes.vectors[text][inside], True
            weights[row, part] = nodes.weights[text][inside] * share
            end = part.stop
    return Nodes(vectors, mask, weights)

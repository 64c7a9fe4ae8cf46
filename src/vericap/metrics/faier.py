"""FAIEr (Wang et al. 2021): does the caption hold true of the image, and does it say what people would say?

The image's regions, guided by the references, become union nodes; the candidate's words (object level) and scene-graph
triplets (relation level) are each matched with their best union node. Score = object level + relation level.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vericap.graphs.scene_graph import SceneGraph
from vericap.metrics.base import Metric, Option, Statistics
from vericap.metrics.vse import blank, image_problems
from vericap.models import faier
from vericap.models.faier_batch import Encodings, all_sides, blocks, mean_matches
from vericap.models.words import tokens
from vericap.run.batch import Batch
from vericap.vision.store import Regions, check_same

Array = NDArray[Any]
Ints = NDArray[np.int64]
_BLOCK = 1024  # samples whose union nodes are held at once


@dataclass
class Level:
    """Union nodes at one level, and what was matched with them."""

    with_references: list[faier.Sides]
    alone: list[faier.Sides]  # of the image without references


@dataclass
class Block:
    """Some samples: the distinct pairs of image and references they are judged by, and their nodes."""

    rows: Ints
    place: Ints  # of each row: which pair of image and references
    images: Ints  # of each pair
    references: list[Ints]  # of each pair
    nodes: dict[int, dict[str, faier.Floats]]  # by text
    visual: dict[str, faier.Floats]  # (pairs, regions, d)
    mask: NDArray[np.bool_]  # (pairs, regions)
    levels: dict[str, Level]


class Judge:
    """The model with the regions, texts and graphs of one batch."""

    def __init__(self, batch: Batch, model: faier.Faier, *, references: bool) -> None:
        self.batch, self.model, self.use_references = batch, model, references
        self.regions: Regions = batch.analysis("regions")
        check_same(self.regions.fingerprint, "this run", model.config.fingerprint, model.name)
        self.graphs: Sequence[SceneGraph] = batch.analysis("graphs")
        self._encodings = Encodings(model)
        self.problems = {**self._wordless(), **blank(batch), **image_problems(batch, self.regions.problems)}

    def _wordless(self) -> dict[int, str]:
        texts = self.batch.texts
        return {row: "the candidate has no word" for row, i in enumerate(self.batch.candidates) if not tokens(texts[i])}

    def blocks(self) -> Iterator[Block]:
        """Samples that can be judged, those of one image together."""
        rows = np.array([row for row in range(len(self.batch)) if row not in self.problems], dtype=np.int64)
        rows = rows[np.argsort(self.batch.images[rows], kind="stable")] if rows.size else rows
        for part in blocks(rows, _BLOCK):
            yield self._block(part)

    def _block(self, rows: Ints) -> Block:
        batch, pairs, first = self.batch, dict[tuple[int, bytes], int](), list[int]()
        none = np.zeros(0, dtype=np.int64)
        own = [self._said(int(row)) if self.use_references else none for row in rows]
        place = np.empty(len(rows), dtype=np.int64)
        for i, (row, said) in enumerate(zip(rows, own)):
            place[i] = pairs.setdefault((int(batch.images[row]), said.tobytes()), len(pairs))
            if place[i] == len(first):
                first.append(i)
        images, references = batch.images[rows[first]], [own[i] for i in first]
        texts = np.unique(np.concatenate([batch.candidates[rows], *references]))
        nodes = self._read(texts)
        mask = self.regions.mask[images]
        visual = self.model.regions(self.regions.features[images], self.regions.boxes[images], mask)
        block = Block(rows, place, images, references, nodes, visual, mask, {})
        for level in self.model.levels:
            block.levels[level] = self._level(level, block)
        return block

    def _said(self, row: int) -> Ints:
        """References that say something."""
        texts = self.batch.references(row)
        return np.array([text for text in texts if self.batch.texts[text].strip()], dtype=np.int64)

    def _read(self, texts: Ints) -> dict[int, dict[str, faier.Floats]]:
        words = {
            text: faier.reading(self.batch.texts[text], self.graphs[text])
            for text in self._encodings.missing(texts.tolist())
        }
        return self._encodings.read(texts.tolist(), words)

    def _level(self, level: str, block: Block) -> Level:
        """Graphs the captions are matched with; regions that are not there become copies of the first."""
        visual = block.visual[level]
        visual = np.where(block.mask[:, :, None], visual, visual[:, :1])  # the best of copies is the best
        said = [[block.nodes[int(text)][level] for text in texts] for texts in block.references]
        alone = all_sides(self.model, level, visual, [[]] * len(visual))
        return Level(all_sides(self.model, level, visual, said) if any(said) else alone, alone)

    def score(self, block: Block, level: str) -> tuple[Array, Array]:
        """Level scores of the block's rows: with references, and by the image alone."""
        found = np.zeros(len(block.rows)), np.zeros(len(block.rows))
        graphs = block.levels[level]
        order = np.argsort(block.place, kind="stable")
        for members in np.split(order, np.flatnonzero(np.diff(block.place[order])) + 1):
            pair = int(block.place[members[0]])
            captions = [block.nodes[int(text)][level] for text in self.batch.candidates[block.rows[members]]]
            found[0][members] = mean_matches(self.model, graphs.with_references[pair], captions)
            if graphs.alone is graphs.with_references:
                found[1][members] = found[0][members]
            else:
                found[1][members] = mean_matches(self.model, graphs.alone[pair], captions)
        return found


class Faier(Metric):
    name, title = "faier", "FAIEr"
    range = (-float("inf"), float("inf"))
    needs = ("image",)
    analyses = ("graphs", "regions")
    languages = ("en",)
    options: ClassVar = {
        "model": Option("default", "the shipped model (default) or a folder made by `vericap train faier`"),
        "references": Option("auto", "auto: read them where they are at hand; none: the image alone", ("auto", "none")),
    }

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        model = faier.load(self.opt.model)
        judge = Judge(batch, model, references=self.opt.references == "auto" and model.config.variant != "fier")
        columns = {level: np.full(len(batch), np.nan) for level in model.levels}
        fidelity = np.full(len(batch), np.nan)
        explanations: list[dict[str, Any] | None] | None = [None] * len(batch) if batch.settings.explain else None
        for block in judge.blocks():
            fidelity[block.rows] = 0.0
            for level in model.levels:
                columns[level][block.rows], alone = judge.score(block, level)
                fidelity[block.rows] += alone
            if explanations is not None:
                _explain(judge, block, explanations)
        total = np.sum(list(columns.values()), axis=0)
        if judge.use_references and model.config.looks:
            columns["fidelity"], columns["gain"] = fidelity, total - fidelity
        return Statistics(total, dict(judge.problems), columns, explanations)

    def signature_parts(self, batch: Batch) -> dict[str, str]:
        from vericap.graphs.analysis import parser_name

        model = faier.load(self.opt.model)
        return {
            "faier": model.version,
            "variant": model.config.variant,
            "similarity": model.config.similarity,
            "features": model.config.fingerprint,
            "graphs": parser_name(batch.settings),
        }


def _explain(judge: Judge, block: Block, explanations: list[dict[str, Any] | None]) -> None:
    from vericap.metrics.faier_reasons import reasons

    for place, row in enumerate(block.rows):
        explanations[int(row)] = reasons(judge, block, place)

"""FAIEr's network with the texts and regions of a batch: union nodes of images and references, matched by captions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vericap.core.batch import Batch
from vericap.core.typing import Bools, Floats, Floats32, Ints
from vericap.graphs.scene_graph import SceneGraph
from vericap.metrics.batching import Case, cases, grouped
from vericap.models.faier import FaierModel, Sides, reading
from vericap.models.faier.together import Encodings, all_sides, mean_matches
from vericap.vision.regions import regions_for
from vericap.vision.store import RegionTable

_ROWS = 1024  # samples whose union nodes are held at once


@dataclass(frozen=True)
class LevelGraphs:
    """What captions are matched with at one level, for each case: with its references, and by the image alone."""

    guided: list[Sides]
    alone: list[Sides]


@dataclass(frozen=True)
class UnionBlock:
    """Some cases with the nodes they are judged by."""

    cases: list[Case]
    nodes: dict[int, dict[str, Floats32]]  # by text and level
    visual: dict[str, Floats32]  # (cases, regions, d)
    mask: Bools  # (cases, regions)
    levels: dict[str, LevelGraphs]

    @property
    def rows(self) -> Ints:
        """Rows of the batch, case after case."""
        return np.concatenate([case.rows for case in self.cases])


class Judge:
    """The model with the graphs and regions of a batch; `references` says which of a row's are read."""

    def __init__(
        self,
        batch: Batch,
        model: FaierModel,
        graphs: Sequence[SceneGraph],
        regions: RegionTable,
        references: Callable[[int], Ints],
    ) -> None:
        self.batch, self.model, self.graphs, self.references = batch, model, graphs, references
        self.regions = regions_for(regions, model.meta)
        self._encodings = Encodings(model)

    def blocks(self, rows: Ints) -> Iterator[UnionBlock]:
        """Rows of the batch, those of one image and the same references together."""
        alike = cases(self.batch, rows, self.references, together=_ROWS)
        for group in grouped(alike, lambda case: len(case.rows), _ROWS):
            yield self._block(group)

    def _block(self, group: list[Case]) -> UnionBlock:
        images = np.array([case.image for case in group])
        own, said = (np.concatenate([case.rows for case in group]), [case.references for case in group])
        nodes = self.read(np.unique(np.concatenate([self.batch.candidates[own], *said])))
        mask = self.regions.mask[images]
        visual = self.model.regions(self.regions.features[images], self.regions.boxes[images], mask)
        block = UnionBlock(group, nodes, visual, mask, {})
        for level in self.model.levels:
            block.levels[level] = self._level(level, block)
        return block

    def reading(self, text: int) -> tuple[list[str], list[list[str]]]:
        """Words of a text, and of its triplets."""
        return reading(self.batch.texts[text], self.graphs[text])

    def read(self, texts: Ints) -> dict[int, dict[str, Floats32]]:
        """Textual nodes of texts."""
        words = {text: self.reading(text) for text in self._encodings.missing(texts.tolist())}
        return self._encodings.read(texts.tolist(), words)

    def _level(self, level: str, block: UnionBlock) -> LevelGraphs:
        """Graphs the captions are matched with; regions that are not there become copies of the first."""
        visual = block.visual[level]
        visual = np.where(block.mask[:, :, None], visual, visual[:, :1])  # the best of copies is the best
        said = [[block.nodes[text][level] for text in case.references.tolist()] for case in block.cases]
        alone = all_sides(self.model, level, visual, [[]] * len(visual))
        return LevelGraphs(all_sides(self.model, level, visual, said) if any(said) else alone, alone)

    def scores(self, block: UnionBlock, level: str) -> tuple[Floats, Floats]:
        """Level scores of the block's rows: with references, and by the image alone."""
        graphs = block.levels[level]
        guided = self._matched(block, level, graphs.guided)
        return guided, guided if graphs.alone is graphs.guided else self._matched(block, level, graphs.alone)

    def _matched(self, block: UnionBlock, level: str, graphs: list[Sides]) -> Floats:
        texts = self.batch.candidates
        found = [
            mean_matches(self.model, sides, [block.nodes[text][level] for text in texts[case.rows].tolist()])
            for case, sides in zip(block.cases, graphs)
        ]
        return np.concatenate(found)

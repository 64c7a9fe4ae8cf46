"""Why FAIEr scored a caption so: words and triplets with their support and region, and the heat maps behind them."""

from __future__ import annotations

import numpy as np

from vericap.core.explanation import Box, Explanation, HeatMap, Match, WordEvidence
from vericap.core.typing import Array, Floats, Floats32
from vericap.metrics.evidence import shortened
from vericap.metrics.faier.judge import Judge, UnionBlock
from vericap.metrics.region_evidence import box_of, heatmap, word_evidence
from vericap.models.described import NO_MAP, points
from vericap.models.faier import EMPTY
from vericap.models.words import spans

NO_TRIPLETS = "no triplets in the candidate: its relation score is 0"
NO_PLACE = "no regions of triplets: at relation level they were not found to point better than chance"


def support_of(scores: Array, similarity: str) -> Floats:
    """Scores of words or triplets as support in [0, 1].

    A cosine is its own support. A dot product s has no upper end; tanh(s) keeps the order, 1 becomes .76 and 2 .96.
    Negative scores are no support.
    """
    positive = np.maximum(np.asarray(scores, dtype=np.float64), 0.0)
    return np.minimum(positive, 1.0) if similarity == "cosine" else np.tanh(positive)


class FaierReasons:
    """What one candidate was matched with: a row of the batch, judged by a case of a block."""

    def __init__(self, judge: Judge, block: UnionBlock, case: int, row: int) -> None:
        self.judge, self.block, self.case = judge, block, case
        self.text = int(judge.batch.candidates[row])
        self.inside = block.mask[case]
        self.boxes = judge.regions.boxes[block.cases[case].image][self.inside]
        self.words, self.triplets = judge.reading(self.text)

    def nodes(self, level: str) -> Floats32:
        return self.block.nodes[self.text][level]

    def support(self, level: str) -> Floats:
        """Of each node of the candidate."""
        found = self.judge.model.matched(self.block.levels[level].guided[self.case], self.nodes(level))
        return support_of(found, self.judge.model.config.similarity)

    def similarity(self, level: str) -> Floats32 | None:
        """(regions, nodes); None where the variant does not look at the image."""
        if not self.judge.model.config.looks:
            return None
        graph = self.block.levels[level].guided[self.case][0][1]  # the graph that stands on the image comes first
        return np.asarray(graph[self.inside] @ self.nodes(level).T)

    def region(self, similarity: Floats32 | None, nodes: list[int]) -> Box | None:
        """Where the best region of some nodes lies."""
        if similarity is None:
            return None
        return box_of(self.boxes[int(similarity[:, nodes].mean(axis=1).argmax())])

    def evidence(self) -> tuple[WordEvidence, ...]:
        """Every word of the caption; one that the model reads as several has their mean."""
        support, similarity = self.support("object"), self.similarity("object")
        caption = self.judge.batch.texts[self.text]

        def judge(own: list[int]) -> tuple[float, Box | None]:
            return float(support[own].mean()), self.region(similarity, own)

        return word_evidence(caption, spans(caption)[1:-1], judge, self.source)

    @property
    def source(self) -> str:
        """What the support comes from: the image as the references guide it, or the image alone."""
        guided = len(self.block.cases[self.case].references) or not self.judge.model.config.looks
        return "references" if guided else "image"

    def matches(self) -> tuple[Match, ...]:
        """Triplets, the least supported first; with a region where the relation level points better than chance."""
        support = self.support("relation")
        similarity = self.similarity("relation") if self.located else None
        found = [
            Match((" ".join(words),), (), float(support[k]), "relation", self.region(similarity, [k]))
            for k, words in enumerate(self.triplets)
        ]
        return tuple(sorted(found, key=lambda match: match.grade))

    @property
    def located(self) -> bool:
        """Whether regions of triplets are worth showing."""
        return points(self.judge.model.meta, "relation")

    def heatmaps(self) -> tuple[HeatMap, ...]:
        """Similarities of regions and nodes, and the regions' attention over references (Figure 6 of the paper), where
        they point better than chance."""
        found = []
        for level, kind, names in self._levels(self.words, self.triplets, "candidate"):
            similarity = self.similarity(level)
            if similarity is not None:
                title = f"regions x {kind} of the candidate: similarity"
                found.append(heatmap(title, names, similarity, self.boxes))
        if self.judge.model.config.fuses:
            for number, text in enumerate(self.block.cases[self.case].references.tolist(), 1):
                found += self._attention(number, text)
        return tuple(found)

    def _attention(self, number: int, text: int) -> list[HeatMap]:
        """Heat maps of what the regions attended to in one reference."""
        found = []
        for level, kind, names in self._levels(*self.judge.reading(text), "references"):
            weight = self.attends(level, text)
            found.append(heatmap(f"regions x {kind} of reference {number}: attention", names, weight, self.boxes))
        return found

    def attends(self, level: str, text: int) -> Floats32:
        """(regions, nodes): what the regions attend to in one reference (eq. 4)."""
        visual = self.block.visual[level][self.case][self.inside]
        return self.judge.model.attend(level, visual, self.block.nodes[text][level])[0]

    def _levels(self, words: list[str], triplets: list[list[str]], side: str) -> list[tuple[str, str, list[str]]]:
        """Levels that a text has nodes of and that point, with their kind and names. Words were played for each
        side by itself (`contestants`), triplets for both together."""
        found = [("object", "words", words or [EMPTY])] if points(self.judge.model.meta, side) else []
        if triplets and "relation" in self.judge.model.levels and self.located:
            found.append(("relation", "triplets", [" ".join(words) for words in triplets]))
        return found


def explained(metric: str, judge: Judge, block: UnionBlock, case: int, row: int, *, full: bool) -> Explanation:
    """FaierReasons for the score of one row of the batch."""
    reasons = FaierReasons(judge, block, case, row)
    relation = "relation" in judge.model.levels
    maps = reasons.heatmaps() if full else ()
    notes = [NO_TRIPLETS] if relation and not reasons.triplets else []
    if full and judge.model.config.looks:
        notes += [] if maps else [NO_MAP]
        notes += [NO_PLACE] if relation and reasons.triplets and not reasons.located else []
    found = Explanation(
        metric,
        words=reasons.evidence(),
        matches=reasons.matches() if relation else (),
        heatmaps=maps,
        notes=tuple(notes),
    )
    return shortened(found, full=full)

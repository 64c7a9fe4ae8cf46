"""Why FAIEr-plus scored a caption so: words and claims with their support and region, and the heat maps behind them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from vericap.core.explanation import Box, Explanation, HeatMap, Match, WordEvidence
from vericap.core.typing import Array, Floats32, Ints
from vericap.graphs.claims import KINDS, GraphClaims
from vericap.metrics.evidence import shortened
from vericap.metrics.region_evidence import Span, box_of, heatmap, word_evidence, word_parts
from vericap.models.described import NO_MAP, points
from vericap.models.faier_plus import CLAIMS, WeightedNodes
from vericap.models.faier_plus.layout import words_of
from vericap.models.faier_plus.scorer import CaseGroup, FaierPlusScorer, PlacedCase

NO_RELATIONS = "the caption has no attribute and no relation: that level is left out of its mean"


class FaierPlusReasons:
    """What one candidate (a place among the group's texts) was matched with."""

    def __init__(self, scorer: FaierPlusScorer, group: CaseGroup, case: PlacedCase, text: int, boxes: Array) -> None:
        self.scorer, self.group, self.case, self.text, self.boxes = scorer, group, case, text, boxes
        self.objects = self.nodes("object", np.array([text]))
        self.similarity = np.asarray(scorer.union("object", group, case) @ self.objects.vectors.T)  # (regions, pieces)
        self.told = self._told("object", self.objects)

    def nodes(self, level: str, texts: Ints) -> WeightedNodes:
        return self.group.nodes[level].rows(texts)

    def _told(self, level: str, own: WeightedNodes) -> Floats32 | None:
        """How well the references back each node of the candidate; None where they have none of this level."""
        vectors = self.nodes(level, self.case.references).vectors
        return np.asarray((vectors @ own.vectors.T).max(axis=0)) if len(vectors) else None

    @cached_property
    def spans(self) -> list[Span]:
        return self.spans_of(self.text)

    def spans_of(self, text: int) -> list[Span]:
        """Letters of a text's word pieces, those that the nodes are made from."""
        texts, number = self.scorer.texts, int(self.group.numbers[text])
        spans = texts.spans(number)
        read = [place for _, places in words_of(texts.texts[number], spans) for place in places]
        return [(int(first), int(last)) for first, last in spans[read].tolist()]

    @property
    def caption(self) -> str:
        return self.scorer.texts.texts[int(self.group.numbers[self.text])]

    def words(self) -> tuple[WordEvidence, ...]:
        """Support is the cosine of the word with its best region (the mean of its pieces), 0 where it is negative."""

        def judge(own: list[int]) -> tuple[float, Box | None]:
            regions = self.similarity[:, own].mean(axis=1)
            return float(np.clip(regions.max(), 0.0, 1.0)), box_of(self.boxes[int(regions.argmax())])

        return word_evidence(self.caption, self.spans, judge, "references" if len(self.case.references) else "image")

    def claims(self) -> tuple[tuple[Match, ...], list[float]]:
        """Claims of the scene graph with their best region, the least seen first; and their backing by references."""
        claims = GraphClaims.of(self.scorer.texts.graphs[int(self.group.numbers[self.text])])
        own = self.nodes(CLAIMS, np.array([self.text]))
        seen = np.asarray(self.scorer.union(CLAIMS, self.group, self.case) @ own.vectors.T)
        told = self._told(CLAIMS, own)
        best, places = seen.max(axis=0), seen.argmax(axis=0)
        order = np.argsort(best, kind="stable").tolist()
        grades, regions = np.maximum(best, 0.0).tolist(), [box_of(self.boxes[place]) for place in places]
        matches = (Match((claims.phrases[k],), (), grades[k], KINDS[claims.kinds[k]], regions[k]) for k in order)
        return tuple(matches), [] if told is None else told[order].round(3).tolist()

    def facts(self, backed: list[float], *, full: bool) -> dict[str, Any]:
        """How well references back the words and `matches`; and, with `full`, the words' weights in their level."""
        parts = word_parts(self.caption, self.spans)
        found: dict[str, Any] = {}
        if self.told is not None:
            words = [round(float(self.told[own].mean()), 3) if own else None for *_, own in parts]
            found["told"] = {"words": words, "claims": backed}
        if full:
            found["weights"] = [round(float(self.objects.weights[own].sum()), 3) for *_, own in parts]
        return found

    def heatmaps(self) -> tuple[HeatMap, ...]:
        """Similarities of union regions and words, and the regions' attention over the words of each reference, where
        they point better than chance."""
        meta, found = self.scorer.model.meta, []
        if points(meta, "candidate"):
            found.append(self._heatmap("the candidate: similarity", self.text, self.similarity, shared=True))
        if not points(meta, "references"):
            return tuple(found)
        for number, text in enumerate(self.case.references.tolist(), 1):
            found.append(self._heatmap(f"reference {number}: attention", text, self.attention(text)))
        return tuple(found)

    def attention(self, text: int) -> Array:
        """(regions, pieces): what the regions attend to in a reference."""
        regions = self.group.regions("object", self.case.image)
        return np.asarray(self.scorer.model.attend("object", regions, self.nodes("object", np.array([text]))))

    def _heatmap(self, of: str, text: int, pieces: Array, *, shared: bool = False) -> HeatMap:
        """Columns of word pieces as columns of words: sums, or means where `shared`."""
        number, texts = int(self.group.numbers[text]), self.scorer.texts
        words = [(word, len(places)) for word, places in words_of(texts.texts[number], texts.spans(number))]
        sizes = np.array([size for _, size in words], dtype=np.int64)
        values = np.add.reduceat(pieces, np.cumsum(sizes) - sizes, axis=-1) if words else pieces
        names = [word for word, _ in words]
        return heatmap(f"regions x words of {of}", names, values / sizes if shared else values, self.boxes)


def explained(
    metric: str,
    scorer: FaierPlusScorer,
    group: CaseGroup,
    case: PlacedCase,
    text: int,
    boxes: Array,
    *,
    full: bool,
) -> Explanation:
    """FaierPlusReasons for the score of one candidate; `boxes` are those of its image's regions."""
    reasons = FaierPlusReasons(scorer, group, case, text, boxes)
    matches, backed = reasons.claims()
    maps = reasons.heatmaps() if full else ()
    notes = [] if group.nodes["relation"].there[text] else [NO_RELATIONS]
    found = Explanation(
        metric,
        words=reasons.words(),
        matches=matches,
        heatmaps=maps,
        notes=(*notes, *([NO_MAP] if full and not maps else [])),
        facts=reasons.facts(backed, full=full),
    )
    return shortened(found, spare=("told",), full=full)

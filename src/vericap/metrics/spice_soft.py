"""Semantic SPICE: scene-graph tuples matched by the similarity of their phrase embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from vericap.core.analysis import Key
from vericap.core.batch import Batch
from vericap.core.explanation import Explanation, Match, MissingContent
from vericap.core.metric import Metric, Option
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.core.typing import Floats, Floats32
from vericap.graphs.claims import KINDS, RELATIONS, GraphClaims, covered, match
from vericap.graphs.scene_graph import SceneGraph
from vericap.metrics.evidence import REFERENCES, claim_evidence, drawn, shortened
from vericap.metrics.spice import why_not
from vericap.metrics.toolbox import reference_cosines, row_means
from vericap.run.analyses import Graphs, PhraseVectors, Sentences
from vericap.run.progress import progress
from vericap.text.encoders import CAPTIONS, HELP

SAID = 0.5  # similarity from which a claim of the references counts as said by the caption, in explanations

_KEPT = 1000  # sets of references whose vectors are held (70 kB each)


class SpiceSoft(Metric):
    name, title = "spice-soft", "Semantic SPICE"
    range = (-1.0, 1.0)
    needs = ("references",)
    languages = ("en",)
    options: ClassVar[Mapping[str, Option]] = {
        "relations": Option(RELATIONS, "weight of a relation; objects and attributes have 1"),
        "whole": Option(0.5, "weight of the whole caption's cosine to the references beside the tuples'"),
        "parser": Option("", "an installed spaCy English pipeline instead of the shipped one"),
        "encoder": Option(CAPTIONS, HELP),
    }

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        phrases = self._phrases(settings)
        whole = (Sentences(settings.lang, self.opt.encoder),) if self.opt.whole else ()
        return (phrases.graphs, phrases, *whole)

    def _phrases(self, settings: Settings) -> PhraseVectors:
        return PhraseVectors(Graphs.of(settings, self.opt.parser), self.opt.encoder)

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        said = ClaimSimilarity(batch, self._phrases(batch.settings), self.opt.relations)
        table = np.full((len(batch), 2 + len(KINDS)), np.nan)
        problems: dict[int, str] = {}
        for row in progress(range(len(batch)), what="spice-soft", total=len(batch), show=batch.settings.progress):
            if reason := said.why_not(row):
                problems[row] = reason
                continue
            own, theirs = said.sides(row)
            table[row] = match(said.similarity(row), own, theirs)
        scores = self._scores(batch, table[:, :2].mean(axis=1))
        scores[[row for row in problems if len(batch.references(row))]] = 0.0
        return Statistics(scores, problems, _columns(table))

    def _scores(self, batch: Batch, tuples: Floats) -> Floats:
        if not self.opt.whole:
            return tuples
        cosines, rows = reference_cosines(batch, batch[Sentences(batch.settings.lang, self.opt.encoder)])
        whole = row_means(cosines, rows, len(batch))
        return np.asarray((1 - self.opt.whole) * tuples + self.opt.whole * whole)

    def explain(
        self, batch: Batch, rows: Sequence[int], state: Any = None, *, full: bool = False
    ) -> list[Explanation | None]:
        """Each claim beside the nearest one of the references, least supported first, and what the caption lacks."""
        said = ClaimSimilarity(batch, self._phrases(batch.settings), self.opt.relations)
        found: list[Explanation | None] = []
        for row in rows:
            if said.why_not(row):
                found.append(None)
                continue
            graphs = drawn(batch, said.graphs, row) if full else ()
            found.append(shortened(self._reasons(batch, said, row, graphs), full=full))
        return found

    def _reasons(self, batch: Batch, said: ClaimSimilarity, row: int, graphs: tuple[Any, ...]) -> Explanation:
        text = int(batch.candidates[row])
        own, theirs = said.sides(row)
        similarity = said.similarity(row)
        nearest, grades = similarity.argmax(axis=1), similarity.max(axis=1)
        matches = [
            Match((phrase,), (theirs.phrases[other],), float(grade), KINDS[kind])
            for phrase, other, grade, kind in zip(own.phrases, nearest.tolist(), grades, own.kinds)
        ]
        lacking = {phrase: float(best) for phrase, best in zip(theirs.phrases, similarity.max(axis=0)) if best < SAID}
        precision, recall = covered(similarity, own.weights, theirs.weights)
        return Explanation(
            self.label,
            words=claim_evidence(batch.texts[text], zip(_words(said.graphs[text]), grades.tolist())),
            missing=tuple(
                MissingContent(phrase, 1.0 - max(best, 0.0), REFERENCES)
                for phrase, best in sorted(lacking.items(), key=lambda item: item[1])
            ),
            matches=tuple(sorted(matches, key=lambda item: item.grade)),
            graphs=graphs,
            facts={"precision": precision, "recall": recall},
        )


class ClaimSimilarity:
    """What the candidates and references of a batch claim, and how alike the claims are."""

    def __init__(self, batch: Batch, phrases: PhraseVectors, relations: float) -> None:
        self.graphs = batch[phrases.graphs]
        self._batch = batch
        self._vectors = batch[phrases]
        self._relations = relations
        self._claims: dict[int, GraphClaims] = {}
        self._merged: dict[bytes, tuple[GraphClaims, Floats32]] = {}  # several candidates share their references

    def claims(self, text: int) -> GraphClaims:
        if text not in self._claims:
            self._claims[text] = GraphClaims.of(self.graphs[text], self._relations)
        return self._claims[text]

    def references(self, row: int) -> tuple[GraphClaims, Floats32]:
        """All claims of a row's references, and their vectors."""
        references = self._batch.references(row)
        same = references.tobytes()
        if same not in self._merged:
            if len(self._merged) >= _KEPT:
                self._merged.clear()
            joined = GraphClaims.joined([self.claims(text) for text in references.tolist()])
            self._merged[same] = joined, self._vectors[joined.phrases]
        return self._merged[same]

    def sides(self, row: int) -> tuple[GraphClaims, GraphClaims]:
        return self.claims(int(self._batch.candidates[row])), self.references(row)[0]

    def similarity(self, row: int) -> Floats32:
        """Cosine of each claim of the candidate with each of the references."""
        own = self.claims(int(self._batch.candidates[row]))
        return np.asarray(self._vectors[own.phrases] @ self.references(row)[1].T)

    def why_not(self, row: int) -> str:
        """Why a row has no score, or 0 whatever it says."""
        own, theirs = self.sides(row)
        if len(own) and len(theirs):
            return ""
        texts = self._batch.references(row).tolist()
        return why_not([self.graphs[text] for text in texts], self.graphs[self._batch.candidates[row]])


def _words(graph: SceneGraph) -> list[str]:
    """What each claim of a graph adds, in the order of the claims."""
    attributes = [attribute for _, attribute in graph.attributes]
    return [*graph.objects, *attributes, *(relation for _, relation, _ in graph.relations)]


def _columns(table: Floats) -> dict[str, Any]:
    precision, recall = np.maximum(table[:, 0], 0), np.maximum(table[:, 1], 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        f = np.where(precision + recall > 0, 2 * precision * recall / (precision + recall), precision + recall)
    columns: dict[str, Any] = {"precision": table[:, 0], "recall": table[:, 1], "f": f}
    return {**columns, **{kind: table[:, 2 + place] for place, kind in enumerate(KINDS)}}

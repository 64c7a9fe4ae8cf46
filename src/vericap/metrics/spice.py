"""SPICE (Anderson et al. 2016): F1 over scene-graph tuples, synonyms counted as equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from vericap.core.analysis import Key
from vericap.core.batch import Batch
from vericap.core.explanation import Explanation, Match
from vericap.core.metric import Metric, Option
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.graphs.claims import KINDS
from vericap.graphs.concepts import meteor_synsets, no_synsets
from vericap.graphs.scene_graph import SceneGraph
from vericap.graphs.spice import CATEGORIES, ReferenceGraph, SpiceScore
from vericap.metrics.evidence import added, claim_evidence, drawn, missing_from, phrase, shortened
from vericap.metrics.toolbox import NO_REFERENCE
from vericap.run.analyses import Graphs
from vericap.run.progress import progress


class Spice(Metric):
    name, title = "spice", "SPICE"
    range = (0.0, 1.0)
    needs = ("references",)
    languages = ("en",)
    options: ClassVar[Mapping[str, Option]] = {
        "actions": Option(True, "the verb of a relation also counts alone: (man, sit) with (man, sit on, bench)"),
        "synonyms": Option(True, "words of one METEOR synset match; without it only equal words do"),
        "parser": Option("", "an installed spaCy English pipeline instead of the shipped one"),
        "talk": Option(False, "count talk about the picture too ('the image features'), as the original does"),
    }

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (self._graphs(settings),)

    def _graphs(self, settings: Settings) -> Graphs:
        return Graphs.of(settings, self.opt.parser, talk=self.opt.talk)

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        references = ReferenceSets(batch, batch[self._graphs(batch.settings)])
        merged: dict[bytes, ReferenceGraph] = {}  # several candidates share their references
        values = np.full((len(batch), len(CATEGORIES)), np.nan)
        precision, recall = np.full(len(batch), np.nan), np.full(len(batch), np.nan)
        problems: dict[int, str] = {}
        for row in progress(range(len(batch)), what="SPICE", total=len(batch), show=batch.settings.progress):
            candidate, theirs = references.graphs[batch.candidates[row]], references[row]
            if reason := why_not(theirs, candidate):
                problems[row] = reason
            if not theirs:
                continue
            same = batch.references(row).tobytes()
            if same not in merged:
                merged[same] = self._merged(theirs)
            score = merged[same].score(candidate.tuples(actions=self.opt.actions))
            for place, category in enumerate(CATEGORIES):
                counts = score.counts[category]
                if counts.defined or category == "all":
                    values[row, place] = counts.f
            precision[row], recall[row] = score.precision, score.recall
        columns: dict[str, Any] = {"precision": precision, "recall": recall}
        columns.update({name: values[:, place] for place, name in enumerate(CATEGORIES) if place})
        return Statistics(values[:, :1], problems, columns)

    def _merged(self, references: Sequence[SceneGraph]) -> ReferenceGraph:
        synonyms = meteor_synsets if self.opt.synonyms else no_synsets
        return ReferenceGraph((graph.tuples(actions=self.opt.actions) for graph in references), synonyms=synonyms)

    def explain(
        self, batch: Batch, rows: Sequence[int], state: Any = None, *, full: bool = False
    ) -> list[Explanation | None]:
        """Tuples of the candidate with what they matched, and what the references have beyond them."""
        references = ReferenceSets(batch, batch[self._graphs(batch.settings)])
        found: list[Explanation | None] = []
        for row in rows:
            if not references[row]:
                found.append(None)
                continue
            text = int(batch.candidates[row])
            score = self._merged(references[row]).score(references.graphs[text].tuples(actions=self.opt.actions))
            graphs = drawn(batch, references.graphs, row) if full else ()
            found.append(shortened(self._reasons(batch.texts[text], score, graphs), full=full))
        return found

    def _reasons(self, text: str, score: SpiceScore, graphs: tuple[Any, ...]) -> Explanation:
        matches, claims = [], []
        for item, partner in zip(score.candidate, score.partners):
            said = tuple(map(str, item))
            reference = () if partner is None else tuple(map(str, score.references[partner]))
            grade = float(partner is not None)
            matches.append(Match(said, reference, grade, KINDS[len(said) - 1]))
            claims += [(word, grade) for word in added([" ".join(concept.words) for concept in item]).split()]
        return Explanation(
            self.label,
            words=claim_evidence(text, claims),
            missing=missing_from(phrase([str(concept) for concept in item]) for item in score.missing),
            matches=tuple(sorted(matches, key=lambda match: match.grade)),
            graphs=graphs,
            facts={"precision": score.precision, "recall": score.recall},
        )


class ReferenceSets:
    """The graphs of each row's references, unpacked once for rows that share them one after the other."""

    def __init__(self, batch: Batch, graphs: Sequence[SceneGraph]) -> None:
        self.graphs = graphs
        self._batch = batch
        self._last: tuple[bytes, list[SceneGraph]] = b"", []

    def __getitem__(self, row: int) -> list[SceneGraph]:
        references = self._batch.references(row)
        same = references.tobytes()
        if same != self._last[0]:
            self._last = same, [self.graphs[place] for place in references]
        return self._last[1]


def why_not(references: Sequence[SceneGraph], candidate: SceneGraph) -> str:
    """Why a sample is undefined (no references) or 0 whatever it says (an empty graph)."""
    if not references:
        return NO_REFERENCE
    if not candidate:
        return f"the candidate has no scene graph and scores 0 ({candidate.reason})"
    if not any(references):
        return f"no reference has a scene graph, the score is 0 ({references[0].reason})"
    return ""

"""SPICE (Anderson et al. 2016): F1 over scene-graph tuples, synonyms counted as equal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from vericap.graphs import analysis
from vericap.graphs.concepts import meteor_synsets, no_synsets
from vericap.graphs.scene_graph import SceneGraph
from vericap.graphs.spice import CATEGORIES, ReferenceGraph, SpiceScore
from vericap.metrics.base import Metric, Option, Statistics
from vericap.run.batch import Batch
from vericap.run.progress import progress


class Spice(Metric):
    name, title = "spice", "SPICE"
    range = (0.0, 1.0)
    needs = ("references",)
    analyses = ("graphs",)
    languages = ("en",)
    options: ClassVar[Mapping[str, Option]] = {
        "actions": Option(True, "the verb of a relation also counts alone: (man, sit) with (man, sit on, bench)"),
        "synonyms": Option(True, "words of one METEOR synset match; without it only equal words do"),
        "parser": Option("", "an installed spaCy English pipeline instead of the shipped one"),
    }

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        graphs = analysis.of(batch, parser=self.opt.parser)
        actions = self.opt.actions
        synonyms = meteor_synsets if self.opt.synonyms else no_synsets
        values = np.full((len(batch), len(CATEGORIES)), np.nan)
        precision, recall = np.full(len(batch), np.nan), np.full(len(batch), np.nan)
        problems: dict[int, str] = {}
        explanations: list[dict[str, Any] | None] | None = [] if batch.settings.explain else None
        merged: dict[bytes, ReferenceGraph] = {}  # several candidates share their references
        rows = progress(range(len(batch)), what="SPICE", total=len(batch), show=batch.settings.progress)
        for row in rows:
            references = batch.references(row)
            candidate = graphs[batch.candidates[row]]
            reason = why_not([graphs[i] for i in references], candidate)
            if reason:
                problems[row] = reason
            if not len(references):
                if explanations is not None:
                    explanations.append(None)
                continue
            same = references.tobytes()
            if same not in merged:
                merged[same] = ReferenceGraph(
                    (graphs[i].tuples(actions=actions) for i in references), synonyms=synonyms
                )
            score = merged[same].score(candidate.tuples(actions=actions))
            for place, category in enumerate(CATEGORIES):
                counts = score.counts[category]
                if counts.defined or category == "all":
                    values[row, place] = counts.f
            precision[row], recall[row] = score.precision, score.recall
            if explanations is not None:
                explanations.append(explain(score))
        columns: dict[str, Any] = {"precision": precision, "recall": recall}
        columns.update({name: values[:, place] for place, name in enumerate(CATEGORIES) if place})
        return Statistics(values[:, :1], problems, columns, explanations)

    def signature_parts(self, batch: Batch) -> dict[str, str]:
        return {"graphs": analysis.parser_name(batch.settings, self.opt.parser)}


def why_not(references: list[SceneGraph], candidate: SceneGraph) -> str:
    """Why a sample is undefined (no references) or 0 whatever it says (an empty graph)."""
    if not references:
        return "no reference to compare with"
    if not candidate:
        return f"the candidate has no scene graph and scores 0 ({candidate.reason})"
    if not any(references):
        return f"no reference has a scene graph, the score is 0 ({references[0].reason})"
    return ""


def explain(score: SpiceScore) -> dict[str, Any]:
    """Tuples of the candidate with what they matched, and what the references have beyond them."""
    matched, extra = [], []
    for item, partner in zip(score.candidate, score.partners):
        said = [str(concept) for concept in item]
        if partner is None:
            extra.append(said)
        else:
            matched.append({"candidate": said, "reference": [str(c) for c in score.references[partner]]})
    return {
        "matched": matched,
        "extra": extra,
        "missing": [[str(concept) for concept in item] for item in score.missing],
        "precision": round(score.precision, 6),
        "recall": round(score.recall, 6),
    }

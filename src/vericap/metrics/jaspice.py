"""JaSPICE (Wada et al. 2023): F1 over scene-graph tuples of Japanese captions; JaSPICE+ grades near matches."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from vericap.graphs import analysis
from vericap.graphs import japanese as japanese_graphs
from vericap.graphs.ja.match import Rules, Score, score_tuples
from vericap.graphs.scene_graph import SceneGraph
from vericap.metrics.base import Metric, Option, Statistics
from vericap.metrics.spice import why_not
from vericap.run.batch import Batch
from vericap.run.progress import progress


class JaSpice(Metric):
    name, title = "jaspice", "JaSPICE"
    range = (0.0, 1.0)
    needs = ("references",)
    analyses = ("graphs",)
    languages = ("ja",)
    options: ClassVar = {
        "knp": Option("", "a file with KNP's output (knp -tab) for the captions, read instead of running GiNZA"),
        "synonyms": Option(True, "words of one synset of the Japanese WordNet match"),
        "spelling": Option(True, "さす and 差す, 二人 and 2人 are one word (representative forms)"),
        "hypernyms": Option(0.0, "grade of a word one step more general or special (0: no match)"),
        "compounds": Option(0.0, "grade of a part of a compound: テニスラケット, ラケット (0: no match)"),
        "encoder": Option(False, "grade tuples by the cosine of a multilingual sentence encoder as well"),
    }

    def rules(self) -> Rules:
        """The matching rules these options stand for."""
        from vericap.text import japanese

        return Rules(
            synonyms=self.opt.synonyms,
            hypernyms=self.opt.hypernyms,
            compounds=self.opt.compounds,
            spelling=japanese.representative if self.opt.spelling else None,
            encoder=japanese.encode if self.opt.encoder else None,
        )

    def graphs(self, batch: Batch) -> list[SceneGraph]:
        """Scene graphs of the batch's texts, by GiNZA or from KNP's output."""
        if self.opt.knp:
            return japanese_graphs.graphs_from_knp(Path(self.opt.knp), batch.texts)
        found: list[SceneGraph] = batch.analysis("graphs")
        return found

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        graphs = self.graphs(batch)
        rules = self.rules()
        values = np.full((len(batch), 3), np.nan)
        problems: dict[int, str] = {}
        explanations: list[dict[str, Any] | None] | None = [] if batch.settings.explain else None
        rows = progress(range(len(batch)), what=self.title, total=len(batch), show=batch.settings.progress)
        for row in rows:
            references = [graphs[place] for place in batch.references(row)]
            candidate = graphs[batch.candidates[row]]
            reason = why_not(references, candidate)
            if reason:
                problems[row] = reason
            score = None
            if references:
                score = score_tuples(candidate.tuples(), (graph.tuples() for graph in references), rules=rules)
                values[row] = score.f1, score.precision, score.recall
            if explanations is not None:
                explanations.append(None if score is None else explain(score))
        columns = {"precision": values[:, 1], "recall": values[:, 2]}
        return Statistics(values[:, :1], problems, columns, explanations)

    def signature_parts(self, batch: Batch) -> dict[str, str]:
        from vericap.text import japanese

        parser = f"knp+rules-{japanese_graphs.VERSION}" if self.opt.knp else analysis.parser_name(batch.settings)
        parts = {"graphs": parser, "wordnet": "ja-omw1.4"}
        if self.opt.encoder:
            parts["model"] = japanese.ENCODER
        return parts


class JaSpicePlus(JaSpice):
    name, title = "jaspice-plus", "JaSPICE+"
    options: ClassVar = {
        **JaSpice.options,
        "hypernyms": Option(0.7, JaSpice.options["hypernyms"].help),
        "compounds": Option(0.7, JaSpice.options["compounds"].help),
        "encoder": Option(True, JaSpice.options["encoder"].help),
    }


def explain(score: Score) -> dict[str, Any]:
    """Tuples of the candidate with what they matched, and what the references have beyond them."""
    matched = [
        {"candidate": list(one), "reference": list(other), "grade": round(grade, 4)}
        for one, other, grade in score.pairs
    ]
    mine = {one for one, _, _ in score.pairs}
    return {
        "matched": matched,
        "extra": [list(item) for item in score.candidate if item not in mine],
        "missing": [list(item) for item in score.missing],
        "precision": round(score.precision, 6),
        "recall": round(score.recall, 6),
    }

"""JaSPICE (Wada et al. 2023): F1 over scene-graph tuples of Japanese captions; JaSPICE+ grades near matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from vericap.core.analysis import Key
from vericap.core.batch import Batch
from vericap.core.explanation import Explanation, Match, WordEvidence
from vericap.core.metric import Metric, Option
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.graphs.claims import KINDS
from vericap.graphs.ja.match import MatchRules, TupleScore, phrase, score_tuples, spelled
from vericap.graphs.ja.options import RULES, STRUCTURES, GraphOptions
from vericap.graphs.scene_graph import SceneGraph
from vericap.metrics.evidence import REFERENCES, added, drawn, missing_from, places, shortened
from vericap.metrics.spice import ReferenceSets, why_not
from vericap.run.analyses import Graphs, KnpGraphs, Tokens, TuplePhrases
from vericap.run.progress import progress
from vericap.text.japanese_spelling import base_form


class JaSpice(Metric):
    name, title = "jaspice", "JaSPICE"
    range = (0.0, 1.0)
    needs = ("references",)
    languages = ("ja",)
    options: ClassVar[Mapping[str, Option]] = {
        "knp": Option("", "a file with KNP's output (knp -tab) for the captions, read instead of running GiNZA"),
        "structure": Option("pas", "predicate-argument structure, or the parser's dependencies alone", STRUCTURES),
        "rules": Option("vericap", "graph rules: this package's, or the paper's as published", RULES),
        "zero": Option(True, "fill subjects that are not said (the paper's Algorithm 1)"),
        "negation": Option(True, "a negated predicate is another word (入らない); no: negation is ignored"),
        "synonyms": Option(True, "words of one synset of the Japanese WordNet match"),
        "spelling": Option(True, "さす and 差す, 二人 and 2人 are one word (representative forms)"),
        "heads": Option(True, "a compound is what its last noun names: テニスラケット matches ラケット"),
        "hypernyms": Option(0.0, "grade of a word one step more general or special (0: no match)"),
        "compounds": Option(0.0, "grade of a part of a compound: テニスラケット, ラケット (0: no match)"),
        "encoder": Option(False, "grade tuples by the cosine of a multilingual sentence encoder as well"),
        "threshold": Option(0.9, "cosine from which explanations call two tuples a match, where the encoder is asked"),
    }

    def graphs(self, settings: Settings) -> Graphs | KnpGraphs:
        """Scene graphs by GiNZA, or from KNP's output."""
        opt = self.opt
        switches = str(GraphOptions(opt.structure, opt.rules, opt.zero, opt.negation))
        return KnpGraphs(opt.knp, switches) if opt.knp else Graphs("ja", switches)

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        graphs = self.graphs(settings)
        return (graphs, TuplePhrases(graphs, self.opt.spelling)) if self.opt.encoder else (graphs,)

    def explain_requires(self, settings: Settings) -> tuple[Key, ...]:
        return (Tokens(settings.tokenizer),)

    def rules(self, batch: Batch) -> MatchRules:
        """The matching rules these options stand for."""
        phrases = TuplePhrases(self.graphs(batch.settings), self.opt.spelling)
        return MatchRules(
            synonyms=self.opt.synonyms,
            heads=self.opt.heads,
            hypernyms=self.opt.hypernyms,
            compounds=self.opt.compounds,
            spelling=self.opt.spelling,
            threshold=self.opt.threshold,
            encoder=batch[phrases].__getitem__ if self.opt.encoder else None,
        )

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        references = ReferenceSets(batch, batch[self.graphs(batch.settings)])
        rules = self.rules(batch)
        values = np.full((len(batch), 3), np.nan)
        problems: dict[int, str] = {}
        for row in progress(range(len(batch)), what=self.title, total=len(batch), show=batch.settings.progress):
            candidate, theirs = references.graphs[batch.candidates[row]], references[row]
            if reason := why_not(theirs, candidate):
                problems[row] = reason
            if theirs:
                score = _scored(candidate, theirs, rules)
                values[row] = score.f1, score.precision, score.recall
        return Statistics(values[:, :1], problems, {"precision": values[:, 1], "recall": values[:, 2]})

    def explain(
        self, batch: Batch, rows: Sequence[int], state: Any = None, *, full: bool = False
    ) -> list[Explanation | None]:
        """Tuples of the candidate with what they matched, and what the references have beyond them."""
        references = ReferenceSets(batch, batch[self.graphs(batch.settings)])
        rules, tokens = self.rules(batch), batch[Tokens(batch.settings.tokenizer)]
        found: list[Explanation | None] = []
        for row in rows:
            if not references[row]:
                found.append(None)
                continue
            text = int(batch.candidates[row])
            score = _scored(references.graphs[text], references[row], rules)
            graphs = drawn(batch, references.graphs, row) if full else ()
            words = _words(batch.texts[text], tokens[text], score)
            found.append(shortened(self._reasons(score, words, graphs), full=full))
        return found

    def _reasons(self, score: TupleScore, words: tuple[WordEvidence, ...], graphs: tuple[Any, ...]) -> Explanation:
        mine = {one for one, _, _ in score.pairs}
        extra = [Match(item, (), 0.0, KINDS[len(item) - 1]) for item in score.candidate if item not in mine]
        matched = [Match(one, other, grade, KINDS[len(one) - 1]) for one, other, grade in score.pairs]
        return Explanation(
            self.label,
            words=words,
            missing=missing_from(map(phrase, score.missing)),
            matches=(*extra, *sorted(matched, key=lambda match: match.grade)),
            graphs=graphs,
            facts={"precision": score.precision, "recall": score.recall},
        )

    def signature_parts(self, batch: Batch) -> dict[str, str]:
        return {"wordnet": "ja-omw1.4"}


class JaSpicePlus(JaSpice):
    name, title = "jaspice-plus", "JaSPICE+"
    options: ClassVar[Mapping[str, Option]] = {
        **JaSpice.options,
        "hypernyms": Option(0.7, JaSpice.options["hypernyms"].help),
        "compounds": Option(0.7, JaSpice.options["compounds"].help),
        "encoder": Option(True, JaSpice.options["encoder"].help),
    }


def _scored(candidate: SceneGraph, references: Sequence[SceneGraph], rules: MatchRules) -> TupleScore:
    return score_tuples(candidate.tuples(), (graph.tuples() for graph in references), rules=rules)


def _words(text: str, tokens: Sequence[str], score: TupleScore) -> tuple[WordEvidence, ...]:
    """Morphemes of a caption with the mean grade of the tuples that add them; nothing where none is found.

    A morpheme is found where it is a tuple's word, in its representative form, or stands within one (テニスラケット).
    """
    graded = {one: grade for one, _, grade in score.pairs}
    grades: dict[str, list[float]] = {}
    for item in score.candidate:
        grades.setdefault(spelled(added(item)), []).append(graded.get(item, 0.0))
    said = {added(item) for item in score.candidate}
    inside = [(start, start + len(word), spelled(word)) for word in said if (start := text.find(word)) >= 0]
    found = []
    for token, span in zip(tokens, places(text, tokens)):
        if span is not None:
            names = {spelled(token), base_form(token)} | {w for s, e, w in inside if s <= span[0] and span[1] <= e}
            own = [grade for name in names for grade in grades.get(name, ())]
            support = sum(own) / len(own) if own else None
            found.append(WordEvidence(text[slice(*span)], *span, support, REFERENCES))
    return tuple(found) if any(word.support is not None for word in found) else ()

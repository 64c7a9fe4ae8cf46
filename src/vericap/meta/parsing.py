"""How well the scene-graph parser agrees with people: whole graphs, tuples, and tuples with synonyms.

English graphs are judged in both conventions: FACTUAL's own, and vericap's, which differs in habits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from vericap.core.settings import Settings
from vericap.core.table import Table
from vericap.graphs.factual import DIGITS
from vericap.graphs.scene_graph import FACTUAL, OWN, Tuple
from vericap.graphs.spice import score_tuples
from vericap.meta.agreement import MeanOverClusters
from vericap.meta.bootstrap import Estimate, cluster_weights, estimate
from vericap.meta.detection import Share
from vericap.meta.judgements import GoldGraphs, cluster_index
from vericap.meta.tables import share, span
from vericap.run.analyses.graphs import parse_texts, parser_name
from vericap.run.runtime import Runtime
from vericap.text.wordnet import base_forms

KINDS = {0: "all tuples", 1: "objects", 2: "attributes", 3: "relations"}


@dataclass
class Parsed:
    """Estimates by kind of tuple and name (precision, recall, f1); for whole graphs `match` and `spice`."""

    dataset: str
    parser: str
    captions: int
    images: int
    resamples: int
    match: Estimate
    spice: Estimate
    estimates: dict[str, dict[str, Estimate]] = field(default_factory=dict)
    others: list[Parsed] = field(default_factory=list)  # the same captions in other conventions

    def table(self, *, x100: bool = True) -> Table:
        """A line per kind of tuple."""
        columns = ["parser", "tuples", "precision", "recall", "f1", "95 % interval", "set match", "spice f"]
        table = Table(columns, title=f"{self.dataset}: parser against people", digits=3, x100=x100)
        for found in (self, *self.others):
            found._add_to(table)
        table.notes = [
            f"{self.captions} captions of {self.images} images; words are compared by their base forms, numbers "
            "as digits. set match: the graph is the same, tuple by tuple. spice f: mean over captions, synonyms count.",
        ]
        if self.resamples:
            match, spice = (table.shown(span(own.interval)) for own in (self.match, self.spice))
            table.notes.append(
                f"Intervals: {self.resamples} bootstrap draws of images; set match {match}, spice f {spice}."
            )
        return table

    def _add_to(self, table: Table) -> None:
        for kind, own in self.estimates.items():
            whole = kind == KINDS[0]
            table.add(
                self.parser,
                kind,
                *(share(own[name].value) for name in ("precision", "recall", "f1")),
                span(own["f1"].interval) if self.resamples else None,
                share(self.match.value) if whole else None,
                share(self.spice.value) if whole else None,
            )


def evaluate_parser(
    data: GoldGraphs,
    *,
    parser: str = "",
    conventions: Sequence[str] = (),
    settings: Settings | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> Parsed:
    """Parse all captions and compare the tuples with those of people; clusters are images.

    `conventions` are ways of writing graphs; the first one's figures are the result's own, those of the others are in
    its `others`. Without any, English graphs are compared in FACTUAL's convention and in vericap's.
    """
    settings = settings or Settings(lang=data.lang)
    chosen = conventions or ((FACTUAL, OWN) if data.lang == "en" and not parser else (OWN,))
    found = [_evaluate(data, parser, convention, settings, resamples, seed) for convention in chosen]
    found[0].others = found[1:]
    return found[0]


def _evaluate(data: GoldGraphs, parser: str, convention: str, settings: Settings, resamples: int, seed: int) -> Parsed:
    graphs = parse_texts(data.captions, Runtime.of(settings), lang=data.lang, parser=parser, convention=convention)
    proposed = [graph.tuples() for graph in graphs]
    cluster = cluster_index(data.images)
    clusters = int(cluster.max()) + 1
    weights = cluster_weights(clusters, resamples=resamples, seed=seed) if resamples else None
    pairs = [(normalised(one), normalised(two)) for one, two in zip(proposed, data.graphs)]
    same = np.array([float(one == two) for one, two in pairs])
    spice = np.array([score_tuples(one, [two]).f for one, two in zip(proposed, data.graphs)])
    found = Parsed(
        data.name,
        parser_name(data.lang, parser, convention=convention),
        len(data),
        clusters,
        resamples,
        estimate(MeanOverClusters(same, cluster, clusters=clusters), weights),
        estimate(MeanOverClusters(spice, cluster, clusters=clusters), weights),
    )
    for length, kind in KINDS.items():
        counts = np.array([_counts(one, two, length) for one, two in pairs], dtype=np.float64)
        hits, told, gold = counts.T
        shares = {"precision": (hits, told), "recall": (hits, gold), "f1": (2 * hits, told + gold)}
        found.estimates[kind] = {
            name: estimate(Share(*pair, cluster, clusters=clusters), weights) for name, pair in shares.items()
        }
    return found


def _counts(one: frozenset[Tuple], two: frozenset[Tuple], length: int) -> tuple[int, int, int]:
    """Common, proposed and gold tuples of one length (0: all)."""
    mine, theirs = ({item for item in graph if length in (0, len(item))} for graph in (one, two))
    return len(mine & theirs), len(mine), len(theirs)


def normalised(graph: Iterable[Tuple]) -> frozenset[Tuple]:
    """Tuples of base forms: people write `boats`, the parser `boat`."""
    return frozenset(tuple(_bases(part, speech) for part, speech in zip(item, _speech(len(item)))) for item in graph)


def _speech(length: int) -> tuple[str | None, ...]:
    """Parts of speech of a tuple's parts: nouns, for attributes any, for relations verbs."""
    return (("n",), ("n", None), ("n", "v", "n"))[length - 1]


def _bases(phrase: str, speech: str | None) -> str:
    return " ".join(_base(word, speech) for word in phrase.lower().split())


def _base(word: str, speech: str | None) -> str:
    if word in DIGITS:
        return DIGITS[word]
    forms = (base_forms(word, speech) if speech else []) or base_forms(word) or [word]
    return min(forms, key=lambda base: (len(base), base))

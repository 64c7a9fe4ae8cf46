"""How well the scene-graph parser agrees with people: whole graphs, tuples, and tuples with synonyms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from vericap.core.settings import Settings
from vericap.core.table import Table
from vericap.graphs.scene_graph import Tuple
from vericap.graphs.spice import score_tuples
from vericap.meta.agreement import MeanOverClusters
from vericap.meta.bootstrap import Estimate, cluster_weights, estimate
from vericap.meta.detection import Share
from vericap.meta.judgements import GoldGraphs, cluster_index
from vericap.meta.tables import percent, span
from vericap.run.analyses.graphs import parse_texts, parser_name
from vericap.run.runtime import Runtime
from vericap.text.wordnet import base_forms

KINDS = {0: "all tuples", 1: "objects", 2: "attributes", 3: "relations"}
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_DIGITS = {word: str(number) for number, word in enumerate(_NUMBERS)}


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

    def table(self) -> Table:
        """A line per kind of tuple; numbers are x100."""
        columns = ["parser", "tuples", "precision", "recall", "f1", "95 % interval", "set match", "spice f"]
        table = Table(columns, title=f"{self.dataset}: parser against people", digits=1)
        for kind, own in self.estimates.items():
            whole = kind == KINDS[0]
            table.add(
                self.parser,
                kind,
                *(percent(own[name].value) for name in ("precision", "recall", "f1")),
                span(own["f1"].interval) if self.resamples else None,
                percent(self.match.value) if whole else None,
                percent(self.spice.value) if whole else None,
            )
        table.notes = [
            f"x100; {self.captions} captions of {self.images} images; words are compared by their base forms, numbers "
            "as digits. set match: the graph is the same, tuple by tuple. spice f: mean over captions, synonyms count.",
        ]
        if self.resamples:
            table.notes.append(
                f"Intervals: {self.resamples} bootstrap draws of images; set match {span(self.match.interval)}, spice "
                f"f {span(self.spice.interval)}."
            )
        return table


def evaluate_parser(
    data: GoldGraphs, *, parser: str = "", settings: Settings | None = None, resamples: int = 1000, seed: int = 0
) -> Parsed:
    """Parse all captions and compare the tuples with those of people; clusters are images."""
    settings = settings or Settings(lang=data.lang)
    proposed = [
        graph.tuples() for graph in parse_texts(data.captions, Runtime.of(settings), lang=data.lang, parser=parser)
    ]
    cluster = cluster_index(data.images)
    clusters = int(cluster.max()) + 1
    weights = cluster_weights(clusters, resamples=resamples, seed=seed) if resamples else None
    pairs = [(normalised(one), normalised(two)) for one, two in zip(proposed, data.graphs)]
    same = np.array([float(one == two) for one, two in pairs])
    spice = np.array([score_tuples(one, [two]).f for one, two in zip(proposed, data.graphs)])
    found = Parsed(
        data.name,
        parser_name(data.lang, parser),
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
    return frozenset(tuple(" ".join(map(_base, part.lower().split())) for part in item) for item in graph)


def _base(word: str) -> str:
    if word in _DIGITS:
        return _DIGITS[word]
    return min(base_forms(word) or [word], key=lambda base: (len(base), base))

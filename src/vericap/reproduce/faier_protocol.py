"""Which protocol made FAIEr's Table 1? Every open choice is tried on the metrics that are the same computation here.

The paper says: one random reference, five runs, Pearson, Spearman and Kendall, 158 own captions of Flickr8k left out.
It does not say which tau, nor what becomes of three ratings per caption. Left open are 2 x 3 choices; keeping the own
captions is tried as well, so that the paper's word can be checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from vericap.core.table import Table
from vericap.meta.evaluation import Agreements, evaluate_each
from vericap.meta.judgements import Ratings
from vericap.meta.protocols import Protocol
from vericap.meta.published import Published, paper_values
from vericap.reproduce.experiment import Choices, Outcome, at_hand, cell, printed, share, sources

SAME = {
    "BLEU-1": "bleu-1",
    "BLEU-4": "bleu-4",
    "METEOR": "meteor",
    "ROUGE-L": "rouge-l",
    "CIDEr": "cider-d",
    "SPICE": "spice",
}
RATERS = {"flat": "ratings kept apart", "mean": "mean rating", "median": "median rating"}
OWN: dict[str, dict[str, object]] = {
    "left out": {"drop_own": True},
    "kept, other reference": {"remove": "candidate"},
    "kept": {},
}
TAUS = ("tau-b", "tau-c")


@dataclass(frozen=True)
class Way:
    """One way to read the paper: its statistics by the paper's name, and what was found."""

    name: str
    kendall: str
    values: dict[tuple[str, str], float]  # by row and column of the paper's table
    distance: float


def search(choices: Choices) -> Outcome:
    """All ways with their distance to the paper, nearest first."""
    loaded, _ = at_hand(("flickr8k-expert",), choices)
    data = loaded["flickr8k-expert"]
    assert isinstance(data, Ratings)
    published = [item for item in paper_values("faier", "Table 1") if item.dataset == data.name]
    metrics = choices.metrics or tuple(SAME.values())
    plan = list(product(RATERS, OWN))
    protocols = [_protocol(statistic, *way, choices) for way in plan for statistic in ("pearson", "spearman", *TAUS)]
    found = evaluate_each(
        data, metrics, protocols, settings=choices.settings, resamples=0, store=choices.store, keep_going=True
    )
    by_name = {table.protocol.name: table for table in found}
    ways = [_way(by_name, *way, tau, published) for way in plan for tau in TAUS]
    return Outcome([_table(sorted(ways, key=lambda way: way.distance), published, metrics, choices)])


def _protocol(statistic: str, raters: str, own: str, choices: Choices) -> Protocol:
    shared = {"raters": raters, "references": 1, "runs": choices.draws, **OWN[own]}
    return Protocol(f"try/{statistic}-{raters}-{own}", statistic, **shared)  # type: ignore[arg-type]


def _way(found: dict[str, Agreements], raters: str, own: str, tau: str, published: Sequence[Published]) -> Way:
    columns = {"pearson": "pearson", "spearman": "spearman", "kendall": tau}
    values = {}
    for column, statistic in columns.items():
        for line in found[f"try/{statistic}-{raters}-{own}"].lines:
            label = next((label for label, metric in SAME.items() if metric == line.metric), "")
            if line.value is not None and cell(published, label, column):
                values[label, column] = line.value
    gaps = [100 * value - cell(published, *place)[0].value for place, value in values.items()]
    return Way(f"{RATERS[raters]}, own captions {own}, {tau}", tau, values, float(np.sqrt(np.mean(np.square(gaps)))))


def _table(ways: list[Way], published: Sequence[Published], metrics: Sequence[str], choices: Choices) -> Table:
    labels = [label for label, metric in SAME.items() if metric in metrics]
    places = [(label, column) for column in ("pearson", "spearman", "kendall") for label in labels]
    shown = Table(
        ["protocol", *(f"{column[0].upper()} {label}" for label, column in places), "distance"],
        title="FAIEr, Table 1: whose protocol?",
        x100=True,
    )
    shown.add("the paper", *(printed(cell(published, *place)) for place in places), None)
    for way in ways:
        shown.add(way.name, *(share(way.values.get(place)) for place in places), f"{way.distance:.2f}")
    shown.notes = [
        f"{len(ways)} protocols, nearest first: root mean square distance to all numbers of the paper, in points; "
        f"{choices.draws} draws. P, S, K: Pearson, Spearman, Kendall.",
        *sources(published),
    ]
    return shown

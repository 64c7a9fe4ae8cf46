"""Several systems ranked by every metric, with intervals and paired significance: a table for a paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from vericap.core.errors import VericapError
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.table import Number, Table
from vericap.core.typing import Floats
from vericap.meta.judgements import Systems
from vericap.meta.scoring import KeptScores, fitting_settings, metrics_of, score
from vericap.metrics.registry import Wanted
from vericap.run.significance import aggregate, bootstrap, interval, paired_bootstrap


@dataclass(frozen=True)
class Place:
    """One system by one metric."""

    system: str
    value: float
    interval: tuple[float, float]
    rank: int
    worse_than: tuple[str, ...]  # systems that are better with p < .05
    p_next: float | None  # against the system one place below


@dataclass
class Ranking:
    """Places by metric; a metric that could not run has a reason instead."""

    dataset: str
    images: int
    resamples: int
    places: dict[str, list[Place]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    directions: dict[str, str] = field(default_factory=dict)

    def table(self) -> Table:
        """Systems x metrics: value and interval; the mark tells whom a system beats with p < .05."""
        systems = sorted({place.system for places in self.places.values() for place in places})
        table = Table(["metric", *systems, "order"], title=f"{self.dataset}: systems by metric", x100=True)
        for metric, places in self.places.items():
            by_name = {place.system: place for place in places}
            table.add(metric, *(_cell(by_name[name]) for name in systems), self.order(metric))
        table.notes = [
            f"Corpus scores with 95 % intervals, {self.images} images, {self.resamples} bootstrap draws. "
            "Order: > marks a difference with p < 0.05 (paired bootstrap, neighbours), ~ none."
        ]
        lower = [name for name, direction in self.directions.items() if direction == "lower"]
        if lower:
            table.notes.append(f"Lower is better for {', '.join(lower)}.")
        table.notes += [f"{metric}: {reason}" for metric, reason in self.reasons.items()]
        return table

    def order(self, metric: str) -> str:
        """Systems from best to worst with > or ~ between neighbours."""
        places = self.places[metric]
        text = places[0].system
        for above, below in pairwise(places):
            sure = above.p_next is not None and above.p_next < 0.05
            text += f" {'>' if sure else '~'} {below.system}"
        return text


def _cell(place: Place) -> Number:
    return Number(place.value, bounds=place.interval)


def rank_systems(
    data: Systems,
    metrics: str | Iterable[Wanted],
    *,
    settings: Settings | None = None,
    images: int | None = None,
    resamples: int = 1000,
    keep_going: bool = False,
    store: KeptScores | None = None,
) -> Ranking:
    """Score all systems on the images they share, in one run, and test the differences.

    Parameters
    ----------
    data : outputs of two or more systems.
    metrics : names, metrics or functions.
    settings : choices that all metrics share.
    images : take the first so many images.
    resamples : bootstrap draws; all systems get the same ones, so that differences are paired.
    keep_going : list a metric that fails by a mistake of its own with the reason instead of stopping.
    store : keep scores there and take them up again.
    """
    if len(data.outputs) < 2:
        raise VericapError(f"data set '{data.name}' has {len(data.outputs)} system; ranking needs two")
    shared = data.images()[:images]
    if not shared:
        raise VericapError(f"the systems of '{data.name}' have no image in common")
    settings = fitting_settings(settings or Settings(), data)
    found = Ranking(data.name, len(shared), resamples)
    chosen = metrics_of(metrics, reasons=found.reasons if keep_going else None)
    parts = {
        system: [Sample(image, captions[image], data.references[image], image) for image in shared]
        for system, captions in data.outputs.items()
    }
    scores = score(parts, chosen, settings, store=store, keep_going=keep_going)
    for metric in chosen:
        reason = scores.reason(metric.label, parts)
        if reason:
            found.reasons[metric.label] = reason
        else:
            _rank(found, metric, {system: scores.rows(metric.label, system) for system in parts}, settings.seed)
    return found


def _rank(found: Ranking, metric: Metric, rows: Mapping[str, Floats], seed: int) -> None:
    values = {system: aggregate(metric, each) for system, each in rows.items()}
    if any(value != value for value in values.values()):
        found.reasons[metric.label] = "undefined for at least one system"
        return
    # Every system gets the same draws of images: differences are paired.
    table = bootstrap([metric] * len(rows), list(rows.values()), resamples=found.resamples, seed=seed)
    draws = dict(zip(rows, table.T))
    better = -1.0 if metric.direction == "lower" else 1.0
    order = sorted(values, key=lambda system: -better * values[system])

    def p_of(one: str, two: str) -> float:
        return paired_bootstrap(draws[one] - draws[two], values[one] - values[two])

    found.directions[metric.label] = metric.direction
    found.places[metric.label] = [
        Place(
            system=system,
            value=values[system],
            interval=interval(draws[system]),
            rank=place + 1,
            worse_than=tuple(other for other in order[:place] if p_of(other, system) < 0.05),
            p_next=p_of(system, order[place + 1]) if place + 1 < len(order) else None,
        )
        for place, system in enumerate(order)
    ]

"""Several systems ranked by every metric, with intervals and paired significance: a table for a paper."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from vericap.errors import VericapError
from vericap.meta.judgements import Floats, Systems
from vericap.meta.scoring import Judge, Store, judges_of
from vericap.metrics.base import Metric
from vericap.report.tables import Table
from vericap.results import Result
from vericap.run.batch import Batch, Settings
from vericap.run.significance import aggregate, bootstrap, interval, paired_bootstrap
from vericap.samples import Sample


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
        table = Table(["metric", *systems, "order"], title=f"{self.dataset}: systems by metric", digits=4)
        for metric, places in self.places.items():
            by_name = {place.system: place for place in places}
            table.add(metric, *(self._cell(by_name[name]) for name in systems), self.order(metric))
        table.notes = [
            f"Corpus scores with 95 % intervals, {self.images} images, {self.resamples} bootstrap draws. "
            "Order: > marks a difference with p < 0.05 (paired bootstrap, neighbours), ~ none."
        ]
        lower = [name for name, direction in self.directions.items() if direction == "lower"]
        if lower:
            table.notes.append(f"Lower is better for {', '.join(lower)}.")
        table.notes += [f"{metric}: {reason}" for metric, reason in self.reasons.items()]
        return table

    @staticmethod
    def _cell(place: Place) -> str:
        low, high = place.interval
        return f"{place.value:.4f} [{low:.4f}, {high:.4f}]"

    def order(self, metric: str) -> str:
        """Systems from best to worst with > or ~ between neighbours."""
        places = self.places[metric]
        text = places[0].system
        for above, below in pairwise(places):
            sure = above.p_next is not None and above.p_next < 0.05
            text += f" {'>' if sure else '~'} {below.system}"
        return text


def rank_systems(
    data: Systems,
    metrics: str | Iterable[str | Judge],
    *,
    settings: Settings | None = None,
    images: int | None = None,
    resamples: int = 1000,
    keep_going: bool = False,
    store: Store | None = None,
) -> Ranking:
    """Score all systems on the images they share. `images` takes the first so many."""
    if len(data.outputs) < 2:
        raise VericapError(f"data set '{data.name}' has {len(data.outputs)} system; ranking needs two")
    settings = settings or Settings()
    shared = data.images()[:images]
    if not shared:
        raise VericapError(f"the systems of '{data.name}' have no image in common")
    found = Ranking(data.name, len(shared), resamples)
    judges = judges_of(metrics, reasons=found.reasons if keep_going else None)
    batches = {
        system: Batch.of([Sample(image, captions[image], data.references[image], image) for image in shared], settings)
        for system, captions in data.outputs.items()
    }
    for label, judge in judges.items():
        if not isinstance(judge, Metric):
            found.reasons[label] = "a function has no corpus score; make it a Metric to rank systems"
            continue
        try:
            _rank(found, label, judge, batches, resamples, settings.seed, store)
        except VericapError as error:
            found.reasons[label] = str(error)
        except Exception as error:
            if not keep_going:
                raise
            found.reasons[label] = f"{type(error).__name__}: {error}"
    return found


def _statistics(label: str, judge: Metric, batch: Batch, system: str, store: Store | None) -> Floats:
    from vericap.run.engine import score_batch

    path = None
    if store is not None:
        samples = [batch.sample(row) for row in range(len(batch))]
        path = store.path(f"{label}.{system}.rows", judge.signature(batch), samples, batch.settings)
        if path.is_file():
            return Store.read(path)
    result: Result = score_batch(batch, [judge])
    values = result.statistics[label].values
    if path is not None:
        Store.write(path, values)
    return values


def _rank(
    found: Ranking,
    label: str,
    judge: Metric,
    batches: dict[str, Batch],
    resamples: int,
    seed: int,
    store: Store | None,
) -> None:
    rows = {system: _statistics(label, judge, batch, system, store) for system, batch in batches.items()}
    values = {system: aggregate(judge, each) for system, each in rows.items()}
    if any(value != value for value in values.values()):
        raise VericapError("undefined for at least one system")
    # The same seed gives every system the same draws of images: differences are paired.
    draws = {system: bootstrap([judge], [each], resamples=resamples, seed=seed)[:, 0] for system, each in rows.items()}
    better = -1.0 if judge.direction == "lower" else 1.0
    order = sorted(values, key=lambda system: -better * values[system])

    def p_of(one: str, two: str) -> float:
        return paired_bootstrap(draws[one] - draws[two], values[one] - values[two])

    found.directions[label] = judge.direction
    found.places[label] = [
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

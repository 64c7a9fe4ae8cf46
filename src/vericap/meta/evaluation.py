"""How well metrics agree with people on one data set: values, intervals, significance, published numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.errors import VericapError
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.table import Table
from vericap.core.typing import Floats
from vericap.meta.bootstrap import (
    Estimate,
    cluster_weights,
    difference,
    estimate,
    holm,
    randomisation,
)
from vericap.meta.catalogue import load
from vericap.meta.judgements import Judgements, Pairs
from vericap.meta.protocols import Protocol, check_same, protocol_of
from vericap.meta.published import Published, published_for
from vericap.meta.scoring import GOLD, KeptScores, Scores, fitting_settings, metrics_of, score
from vericap.meta.task import Task, Undefined, make_task
from vericap.metrics.registry import Wanted

TESTS = ("bootstrap", "randomisation")


@dataclass
class Line:
    """One metric on one data set. `value` is None only with a `reason`."""

    metric: str
    value: float | None = None
    interval: tuple[float, float] | None = None
    deviation: float | None = None  # over runs with other random references
    groups: dict[str, tuple[float, float]] = field(default_factory=dict)  # value and deviation by group
    captions: int = 0
    unscored: int = 0
    gap: float | None = None  # to the best metric
    p: float | None = None  # of that gap, Holm-adjusted
    published: list[Published] = field(default_factory=list)
    signature: str = ""
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        found = {name: value for name, value in vars(self).items() if name != "published"}
        found["published"] = [item.as_dict() for item in self.published]
        return found


@dataclass
class Agreements:
    """What `evaluate` gives back: a line per metric, made under one named protocol."""

    dataset: str
    protocol: Protocol
    lines: list[Line]
    task: Task
    metrics: dict[str, Metric]
    settings: Settings
    resamples: int
    test: str = "bootstrap"
    notes: list[str] = field(default_factory=list)
    runs: dict[str, list[Floats]] = field(default_factory=dict)  # scores of every run, by metric
    estimates: dict[str, Estimate] = field(default_factory=dict)

    @property
    def images(self) -> int:
        return self.task.clusters

    @property
    def judgements(self) -> int:
        return len(self.task.judgement)

    @property
    def scores(self) -> dict[str, Floats]:
        """Scores of the first run, of metrics that have an agreement."""
        return {metric: self.runs[metric][0] for metric in self.estimates}

    def __getitem__(self, metric: str) -> Line:
        for line in self.lines:
            if line.metric == metric:
                return line
        raise KeyError(metric)

    def best(self) -> Line | None:
        usable = [line for line in self.lines if line.value is not None]
        return max(usable, key=lambda line: line.value or 0.0) if usable else None

    def table(self) -> Table:
        """The lines as a table: text, Markdown, LaTeX, CSV or JSON."""
        from vericap.meta.tables import agreement_table

        return agreement_table(self)

    def joined(self, other: Agreements) -> Agreements:
        """Lines of two runs in one table; refused where the protocols differ."""
        check_same(self.protocol, other.protocol)
        known = {line.metric for line in self.lines}
        return replace(self, lines=self.lines + [line for line in other.lines if line.metric not in known])


def evaluate(
    data: Judgements | str,
    metrics: str | Iterable[Wanted],
    *,
    protocol: Protocol | str | None = None,
    references: int | None = None,
    runs: int | None = None,
    settings: Settings | None = None,
    data_folder: str | Path | None = None,
    resamples: int = 1000,
    test: str = "bootstrap",
    seed: int = 0,
    store: KeptScores | None = None,
    keep_going: bool = False,
) -> Agreements:
    """Score a data set's captions with every metric and compare with its judgements.

    Parameters
    ----------
    data : a data set, its name, or the path of a file of one's own.
    metrics : names, metrics or functions `(candidates, references, images) -> scores`.
    protocol : how judgements are used; by default as published.
    references : draw so many references per caption at random.
    runs : how often they are drawn.
    settings : choices that all metrics share. Images that lie beside the data set are used where `images` names no
        other folder; `objects=gold` takes the objects that the data set brings.
    data_folder : where data sets lie; by default $VERICAP_DATA.
    resamples : bootstrap draws of images; 0 leaves intervals and tests out.
    test : of the gap to the best metric, "bootstrap" or "randomisation".
    seed : of the draws.
    store : keep scores there and take them up again.
    keep_going : list a metric that fails by a mistake of its own with the reason instead of stopping.

    Examples
    --------
    >>> from vericap.meta import evaluate
    >>> found = evaluate("flickr8k-expert", ["cider-d", my_function])  # doctest: +SKIP
    >>> print(found.table().text())  # doctest: +SKIP
    """
    if isinstance(data, str):
        data = load(data, data_folder)
    found = evaluate_each(
        data,
        metrics,
        [chosen_protocol(data, protocol, references=references, runs=runs)],
        settings=settings,
        resamples=resamples,
        test=test,
        seed=seed,
        store=store,
        keep_going=keep_going,
    )
    return found[0]


def chosen_protocol(
    data: Judgements, wanted: Protocol | str | None = None, *, references: int | None = None, runs: int | None = None
) -> Protocol:
    """A protocol of a data set by name, with another number of references or of draws."""
    if not isinstance(wanted, Protocol):
        wanted = protocol_of(data.name, wanted, pairs=isinstance(data, Pairs))
    return wanted.changed(references=references, runs=runs)


def evaluate_each(
    data: Judgements,
    metrics: str | Iterable[Wanted],
    protocols: Sequence[Protocol],
    *,
    settings: Settings | None = None,
    resamples: int = 1000,
    test: str = "bootstrap",
    seed: int = 0,
    store: KeptScores | None = None,
    keep_going: bool = False,
) -> list[Agreements]:
    """`evaluate` under several protocols: all draws of references of all of them are scored in one run."""
    if test not in TESTS:
        raise VericapError(f"`test={test}` is not one of {', '.join(TESTS)}")
    gold = settings is not None and settings.objects == GOLD
    settings = fitting_settings(settings or Settings(), data)
    reasons: dict[str, str] = {}
    chosen = metrics_of(metrics, reasons=reasons if keep_going else None)
    tasks = [make_task(data, protocol, seed=seed) for protocol in protocols]
    parts: dict[str, list[Sample]] = {}
    places = [
        [_place(parts, task.samples(run, gold_objects=gold)) for run in range(task.protocol.runs)] for task in tasks
    ]
    scores = score(parts, chosen, settings, store=store, keep_going=keep_going)
    tables = []
    for task, own in zip(tasks, places):
        table = Agreements(data.name, task.protocol, [], task, scores.metrics, settings, resamples, test)
        table.notes = [*task.notes, *scores.warnings(own)]
        if gold and not (isinstance(data, Pairs) and data.objects):
            table.notes.append("the data set brings no objects: those of the detector were used")
        _judge(table, scores, own, reasons, seed)
        tables.append(table)
    return tables


def _place(parts: dict[str, list[Sample]], samples: list[Sample]) -> str:
    """The name of the part with these samples: protocols that differ in their statistic alone share it."""
    for name, own in parts.items():
        if own == samples:
            return name
    name = f"run {len(parts)}"
    parts[name] = samples
    return name


def _judge(table: Agreements, scores: Scores, places: Sequence[str], reasons: dict[str, str], seed: int) -> None:
    """A line for every metric, from its scores in the parts that belong to the protocol."""
    task = table.task
    weights = cluster_weights(task.clusters, resamples=table.resamples, seed=seed) if table.resamples else None
    for label in scores.metrics:
        reason = scores.reason(label, places)
        if not reason:
            table.runs[label] = [task.scores(scores.captions(label, place)) for place in places]
        line = Line(label, reason=reason) if reason else _line(label, table, weights)
        line.signature = scores.signatures.get(label, "")
        table.lines.append(line)
    table.lines += [Line(label, reason=reason) for label, reason in reasons.items()]
    for line in table.lines:
        line.published = published_for(table.dataset, line.metric)
    _against_best(table, seed)


def _line(label: str, table: Agreements, weights: Floats | None) -> Line:
    task, runs = table.task, table.runs[label]
    unscored = int(np.isnan(runs[0]).reshape(len(task.rows), -1).any(axis=1).sum())
    line = Line(label, captions=len(task.rows) - unscored, unscored=unscored)
    try:
        whole = estimate(task.agreement(runs), weights)
    except Undefined as error:
        line.reason = str(error)
        return line
    table.estimates[label] = whole
    if np.isnan(whole.value):
        line.reason = "undefined on these judgements"
        return line
    line.value = whole.value
    line.interval = None if weights is None else whole.interval
    if len(runs) > 1:
        line.deviation = float(np.std([task.agreement([run]).value for run in runs], ddof=1))
    groups = task.groups()
    if len(groups) > 1:
        for group in groups:
            each = [task.group_agreement([run], group).value for run in runs]
            spread = float(np.std(each, ddof=1)) if len(each) > 1 else float("nan")
            line.groups[group] = (float(np.mean(each)), spread)
    return line


def _against_best(table: Agreements, seed: int) -> None:
    """The gap of every metric to the best one, with a p-value from the same draws."""
    best = table.best()
    if best is None or not table.resamples:
        return
    others = [line for line in table.lines if line.value is not None and line is not best]
    p_values = []
    for line in others:
        gap = difference(table.estimates[line.metric], table.estimates[best.metric])
        line.gap = gap.value
        p_values.append(gap.p if table.test == "bootstrap" else _swapped(table, line, best, seed))
    for line, p in zip(others, holm(p_values)):
        line.p = None if np.isnan(p) else p


def _swapped(table: Agreements, line: Line, best: Line, seed: int) -> float:
    """Approximate randomisation on the first run; correlations at caption level only."""
    task = table.task
    if isinstance(task.data, Pairs) or task.protocol.level != "caption":
        raise VericapError(
            "the randomisation test works on caption-level correlations; use `test=bootstrap` for pairs, "
            "images and systems"
        )
    one, two = (table.runs[name][0][task.entry] for name in (line.metric, best.metric))
    usable = ~(np.isnan(one) | np.isnan(two))
    return randomisation(
        task.protocol.statistic,
        one[usable],
        two[usable],
        task.judgement[usable],
        task.cluster[usable],
        trials=table.resamples,
        seed=seed,
    )

"""How well metrics agree with people on one data set: values, intervals, significance, published numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from vericap.errors import VericapError
from vericap.meta.bootstrap import (
    Estimate,
    cluster_weights,
    difference,
    estimate,
    holm,
    randomisation,
)
from vericap.meta.catalogue import load
from vericap.meta.judgements import Floats, Judgements, Pairs
from vericap.meta.protocols import Protocol, check_same, protocol_of
from vericap.meta.published import Published, published_for
from vericap.meta.scoring import Judge, Store, judges_of, score
from vericap.meta.task import Task, Undefined, make_task
from vericap.report.tables import Table
from vericap.run.batch import Settings

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
    images: int
    judgements: int
    resamples: int
    test: str = "bootstrap"
    notes: list[str] = field(default_factory=list)
    scores: dict[str, Floats] = field(default_factory=dict)  # of the first run, by metric
    estimates: dict[str, Estimate] = field(default_factory=dict)
    signatures: dict[str, str] = field(default_factory=dict)
    task: Task | None = None

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
        from vericap.report.agreement import agreement_table

        return agreement_table(self)

    def joined(self, other: Agreements) -> Agreements:
        """Lines of two runs in one table; refused where the protocols differ."""
        check_same(self.protocol, other.protocol)
        known = {line.metric for line in self.lines}
        return replace(self, lines=self.lines + [line for line in other.lines if line.metric not in known])


def evaluate(
    data: Judgements | str,
    metrics: str | Iterable[str | Judge],
    *,
    protocol: Protocol | str | None = None,
    references: int | None = None,
    runs: int | None = None,
    settings: Settings | None = None,
    data_folder: str | Path | None = None,
    resamples: int = 1000,
    test: str = "bootstrap",
    seed: int = 0,
    store: Store | None = None,
    keep_going: bool = False,
    gold_objects: bool = False,
) -> Agreements:
    """Score a data set's captions with every metric and compare with its judgements.

    `metrics` are names, metrics or functions `(candidates, references, images) -> scores`. The images of the
    data set are used where they lie beside it; `settings.images` names another folder.
    """
    if test not in TESTS:
        raise VericapError(f"test '{test}' is not one of {', '.join(TESTS)}")
    if isinstance(data, str):
        data = load(data, data_folder)
    task = make_task(data, _protocol(data, protocol, references, runs), seed=seed)
    settings = fitting_settings(settings or Settings(), data)
    reasons: dict[str, str] = {}
    judges = judges_of(metrics, reasons=reasons if keep_going else None)
    table = Agreements(
        dataset=data.name,
        protocol=task.protocol,
        lines=[],
        images=task.clusters,
        judgements=len(task.judgement),
        resamples=resamples,
        test=test,
        notes=list(task.notes),
        task=task,
    )
    by_metric = _scores(task, judges, settings, table, reasons, store, keep_going, gold_objects)
    weights = cluster_weights(task.clusters, resamples=resamples, seed=seed) if resamples else None
    labels = list(dict.fromkeys([*judges, *reasons]))
    for label in labels:
        table.lines.append(_line(label, task, by_metric.get(label), reasons.get(label, ""), weights, table))
    for line in table.lines:
        line.signature = table.signatures.get(line.metric, "")
        line.published = published_for(data.name, line.metric)
    _against_best(table, by_metric, seed)
    return table


def _protocol(data: Judgements, wanted: Protocol | str | None, references: int | None, runs: int | None) -> Protocol:
    if not isinstance(wanted, Protocol):
        wanted = protocol_of(data.name, wanted, pairs=isinstance(data, Pairs))
    return wanted.changed(references=references, runs=runs)


def fitting_settings(settings: Settings, data: Judgements) -> Settings:
    """The data set's language, and its image folder where the user named none."""
    changes: dict[str, Any] = {}
    if settings.images is None and data.image_folder is not None:
        changes["images"] = data.image_folder
    if data.lang != settings.lang:
        changes["lang"] = data.lang
        if settings.tokenizer == "ptb" and data.lang == "ja":
            changes["tokenizer"] = "sudachi"
    return replace(settings, **changes)


def _scores(
    task: Task,
    judges: dict[str, Judge],
    settings: Settings,
    table: Agreements,
    reasons: dict[str, str],
    store: Store | None,
    keep_going: bool,
    gold_objects: bool,
) -> dict[str, list[Floats]]:
    """Scores of every metric in every run; a metric that fails once is left out with its reason."""
    found: dict[str, list[Floats]] = {}
    for run in range(task.protocol.runs):
        todo = {label: judge for label, judge in judges.items() if label not in reasons}
        samples = task.samples(run, gold_objects=gold_objects)
        scores = score(samples, todo, settings, store=store, keep_going=keep_going)
        reasons.update(scores.reasons)
        table.signatures.update(scores.signatures)
        table.notes += [text for text in scores.warnings if text not in table.notes]
        for label, values in scores.values.items():
            found.setdefault(label, []).append(task.scores(values))
    return {label: runs for label, runs in found.items() if label not in reasons}


def _line(
    label: str,
    task: Task,
    runs: list[Floats] | None,
    reason: str,
    weights: Floats | None,
    table: Agreements,
) -> Line:
    if runs is None:
        return Line(label, reason=reason or "no score")
    unscored = int(np.isnan(runs[0]).reshape(len(task.rows), -1).any(axis=1).sum())
    line = Line(label, captions=len(task.rows) - unscored, unscored=unscored)
    try:
        whole = estimate(task.agreement(runs), weights)
    except Undefined as error:
        line.reason = str(error)
        return line
    table.scores[label], table.estimates[label] = runs[0], whole
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


def _against_best(table: Agreements, by_metric: dict[str, list[Floats]], seed: int) -> None:
    """The gap of every metric to the best one, with a p-value from the same draws."""
    best = table.best()
    if best is None or not table.resamples or table.task is None:
        return
    others = [line for line in table.lines if line.value is not None and line is not best]
    p_values = []
    for line in others:
        gap = difference(table.estimates[line.metric], table.estimates[best.metric])
        line.gap = gap.value
        p_values.append(gap.p if table.test == "bootstrap" else _swapped(table, by_metric, line, best, seed))
    for line, p in zip(others, holm(p_values)):
        line.p = None if np.isnan(p) else p


def _swapped(table: Agreements, by_metric: dict[str, list[Floats]], line: Line, best: Line, seed: int) -> float:
    """Approximate randomisation on the first run; correlations at caption level only."""
    task = table.task
    if task is None or isinstance(task.data, Pairs) or task.protocol.level != "caption":
        raise VericapError(
            "the randomisation test works on caption-level correlations; use --test bootstrap for pairs, "
            "images and systems"
        )
    one, two = (by_metric[name][0][task.entry] for name in (line.metric, best.metric))
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

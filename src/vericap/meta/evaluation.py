"""How well metrics agree with people on one data set: values, intervals, significance, published numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vericap.core.errors import VericapError
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.table import Table
from vericap.core.typing import Floats
from vericap.meta import policy
from vericap.meta.bootstrap import Estimate, cluster_weights, difference, estimate, randomisation
from vericap.meta.catalogue import load
from vericap.meta.given import Given, lay_out
from vericap.meta.judgements import Judgements, Pairs
from vericap.meta.protocols import Protocol, check_same, protocol_of
from vericap.meta.published import Published, published_for
from vericap.meta.scoring import GOLD, KeptScores, Scores, fitting_settings, metrics_of, score
from vericap.meta.task import Task, Undefined, make_task
from vericap.metrics.registry import Wanted
from vericap.run.significance import holm

if TYPE_CHECKING:
    from vericap.meta.gaps import Gap
    from vericap.meta.ties import Calibrated

TESTS = ("bootstrap", "randomisation")
METRIC, ELSEWHERE, BASELINE = "metric", "scores", "baseline"


@dataclass
class Line:
    """One metric on one data set. `value` is None only with a `reason`."""

    metric: str
    kind: str = METRIC  # or computed elsewhere, or a baseline
    value: float | None = None
    interval: tuple[float, float] | None = None
    deviation: float | None = None  # over runs with other random references
    groups: dict[str, tuple[float, float]] = field(default_factory=dict)  # value and deviation by group
    captions: int = 0
    unscored: int = 0  # captions (or pairs) without a score; `policy` says what becomes of them
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
    seed: int = 0
    unscored: str = policy.LEFT_OUT
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

    @cached_property
    def baselines(self) -> list[Line]:
        """Lines of what a metric must beat: length, chance, always the first."""
        from vericap.meta.baselines import baseline_lines

        return baseline_lines(self)

    @cached_property
    def gaps(self) -> dict[str, Gap]:
        """What a gap of each metric's scores means to people, where there are enough judgements."""
        from vericap.meta.gaps import gaps_of

        return gaps_of(self)

    @cached_property
    def ties(self) -> dict[str, Calibrated]:
        """Tie-calibrated pairwise accuracy of each metric on rated captions, from the first run."""
        from vericap.meta.ties import calibrated

        weights = self.weights()
        found = {metric: calibrated(self.task, scores, weights) for metric, scores in self.scores.items()}
        return {metric: own for metric, own in found.items() if own is not None}

    def weights(self) -> Floats | None:
        """How often each image was drawn, by draw; the same for every metric, None without a bootstrap."""
        if not self.resamples:
            return None
        return cluster_weights(self.task.clusters, resamples=self.resamples, seed=self.seed)

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
    metrics: str | Iterable[Wanted] = (),
    *,
    scores: Mapping[str, Given] | None = None,
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
    unscored: str = policy.LEFT_OUT,
) -> Agreements:
    """Score a data set's captions with every metric and compare with its judgements.

    Parameters
    ----------
    data : a data set, its name, or the path of a file of one's own.
    metrics : names, metrics or functions `(candidates, references, images) -> scores`; none where `scores` are given.
    scores : rows that were computed elsewhere, by name; higher is better. Each holds numbers by the ids of the captions
        (`Task.items`; a missing one has no score, an unknown one is named), or an array in their order, which for
        pairs is all first captions, then all second ones. An array for one draw of references serves every draw.
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
    unscored : of captions that a metric cannot judge: "left-out" of its own agreement, or "worst", its lowest score.

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
        scores=scores,
        settings=settings,
        resamples=resamples,
        test=test,
        seed=seed,
        store=store,
        keep_going=keep_going,
        unscored=unscored,
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
    scores: Mapping[str, Given] | None = None,
    settings: Settings | None = None,
    resamples: int = 1000,
    test: str = "bootstrap",
    seed: int = 0,
    store: KeptScores | None = None,
    keep_going: bool = False,
    unscored: str = policy.LEFT_OUT,
) -> list[Agreements]:
    """`evaluate` under several protocols: all draws of references of all of them are scored in one run."""
    if test not in TESTS:
        raise VericapError(f"`test={test}` is not one of {', '.join(TESTS)}")
    policy.check(unscored)
    gold = settings is not None and settings.objects == GOLD
    settings = fitting_settings(settings or Settings(), data)
    reasons: dict[str, str] = {}
    chosen = metrics_of(metrics, reasons=reasons if keep_going else None)
    given = _given(scores, chosen)
    tasks = [make_task(data, protocol, seed=seed) for protocol in protocols]
    parts: dict[str, list[Sample]] = {}
    places = [
        [_place(parts, task.samples(run, gold_objects=gold)) for run in range(task.protocol.runs)] for task in tasks
    ]
    found = score(parts, chosen, settings, store=store, keep_going=keep_going)
    tables = []
    for task, own in zip(tasks, places):
        table = Agreements(data.name, task.protocol, [], task, found.metrics, settings, resamples, test, seed, unscored)
        table.notes = [*task.notes, *found.warnings(own)]
        if gold and not (isinstance(data, Pairs) and data.objects):
            table.notes.append("the data set brings no objects: those of the detector were used")
        _judge(table, found, own, reasons, given)
        tables.append(table)
    return tables


def _given(scores: Mapping[str, Given] | None, metrics: Sequence[Metric]) -> Mapping[str, Given]:
    """Scores from elsewhere: some, where there is no metric, and none that is called like one."""
    given = scores or {}
    if not metrics and not given:
        raise VericapError("no metric was named and no scores were given; `vericap metrics` lists metrics")
    twice = [metric.label for metric in metrics if metric.label in given]
    if twice:
        raise VericapError(f"scores from elsewhere are called '{twice[0]}' like a metric; give them another name")
    return given


def _place(parts: dict[str, list[Sample]], samples: list[Sample]) -> str:
    """The name of the part with these samples: protocols that differ in their statistic alone share it."""
    for name, own in parts.items():
        if own == samples:
            return name
    name = f"run {len(parts)}"
    parts[name] = samples
    return name


def _judge(
    table: Agreements, scores: Scores, places: Sequence[str], reasons: dict[str, str], given: Mapping[str, Given]
) -> None:
    """A line for every metric, from its scores in the parts that belong to the protocol, and for every given row."""
    task = table.task
    weights = table.weights()
    for label, metric in scores.metrics.items():
        reason = scores.reason(label, places)
        if not reason:
            table.runs[label] = [task.scores(scores.captions(label, place)) for place in places]
        line = Line(label, reason=reason) if reason else _line(label, table, weights, metric)
        line.signature = scores.signatures.get(label, "")
        table.lines.append(line)
    table.lines += [Line(label, reason=reason) for label, reason in reasons.items()]
    for label, values in given.items():
        laid = lay_out(label, values, task)
        table.notes += laid.notes
        if not laid.reason:
            table.runs[label] = [task.scores(run) for run in laid.runs]
        line = Line(label, reason=laid.reason) if laid.reason else _line(label, table, weights, None)
        line.kind = ELSEWHERE
        table.lines.append(line)
    for line in table.lines:
        line.published = published_for(table.dataset, line.metric, table.protocol.name) if line.kind == METRIC else []
    _against_best(table, weights)


def _line(label: str, table: Agreements, weights: Floats | None, metric: Metric | None) -> Line:
    """A metric's line; its runs become what the policy makes of captions without a score."""
    unscored = policy.missing(table.runs[label][0])
    table.runs[label] = [policy.filled(run, table.unscored, metric) for run in table.runs[label]]
    left_out = policy.missing(table.runs[label][0])
    line = Line(label, captions=len(table.task.rows) - left_out, unscored=unscored)
    whole = judge_runs(line, table.task, table.runs[label], weights)
    if whole is not None:
        table.estimates[label] = whole
    return line


def judge_runs(line: Line, task: Task, runs: Sequence[Floats], weights: Floats | None) -> Estimate | None:
    """Write a metric's agreement into its line, or the reason why there is none."""
    try:
        whole = estimate(task.agreement(runs), weights)
    except Undefined as error:
        line.reason = str(error)
        return None
    if np.isnan(whole.value):
        line.reason = "undefined on these judgements"
        return whole
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
    return whole


def _against_best(table: Agreements, weights: Floats | None) -> None:
    """The gap of every metric to the best one, with a p-value from the same draws, on captions that both scored."""
    best = table.best()
    if best is None or weights is None:
        return
    others = [line for line in table.lines if line.value is not None and line is not best]
    p_values = []
    for line in others:
        gap = difference(*_paired(table, line.metric, best.metric, weights))
        line.gap = gap.value
        p_values.append(gap.p if table.test == "bootstrap" else _swapped(table, line, best, table.seed))
    for line, p in zip(others, holm(p_values)):
        line.p = None if np.isnan(p) else p


def _paired(table: Agreements, one: str, two: str, weights: Floats) -> tuple[Estimate, Estimate]:
    """Estimates of two metrics from the same captions."""
    shared = policy.both(table.runs[one], table.runs[two])
    if shared is None:
        return table.estimates[one], table.estimates[two]
    try:
        first, second = (estimate(table.task.agreement(runs), weights) for runs in shared)
    except Undefined:
        undefined = Estimate(float("nan"), (float("nan"), float("nan")), np.empty(0))
        return undefined, undefined
    return first, second


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

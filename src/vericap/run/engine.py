"""One run for everything: metrics and settings are planned once and executed over samples.

`score`, `compare`, `meta`, `verify` and the benchmarks all call `Run`. Several systems, or several draws of references,
are parts of one run: what they share (references, images) is analysed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from vericap.core.analysis import Key
from vericap.core.batch import Batch
from vericap.core.errors import Problem
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.score import Score
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.core.typing import Ints
from vericap.run import plan, processes
from vericap.run.fitting import check_language, check_needs, unfit
from vericap.run.parts import Joined
from vericap.run.plan import Plan, fill
from vericap.run.results import Result
from vericap.run.runtime import Runtime
from vericap.run.significance import aggregate, bootstrap, interval

if TYPE_CHECKING:
    from vericap.core.explanation import Explanation

ONE = ""  # the name of the only part of a run
Reasons = dict[str, "list[Explanation | None]"]


@dataclass
class Shard:
    """What one metric after the other made of some samples."""

    statistics: dict[str, Statistics] = field(default_factory=dict)
    explanations: Reasons = field(default_factory=dict)

    def update(self, other: Shard) -> None:
        """Add what other metrics made of the same samples."""
        self.statistics.update(other.statistics)
        self.explanations.update(other.explanations)


class Run:
    """Metrics and settings, planned once, executed as often as one likes.

    Parameters
    ----------
    metrics : ready metrics; `vericap.metrics.registry.resolve` makes them from names.
    settings : choices that all metrics share.
    runtime : resources to work with; by default those of the settings, which stay warm between runs.
    """

    def __init__(
        self, metrics: Sequence[Metric], settings: Settings | None = None, *, runtime: Runtime | None = None
    ) -> None:
        self.settings = settings or Settings()
        self.metrics = tuple({metric.label: metric for metric in metrics}.values())
        self.runtime = runtime or Runtime.of(self.settings)
        self.plan = Plan(self.metrics, self.settings)
        for metric in self.metrics:
            check_language(metric, self.settings)

    def fitted(self, samples: Sequence[Sample]) -> tuple[Run, list[str]]:
        """The run without metrics of sets that need what no sample has, and what there is to say of them."""
        left, said = unfit(self.metrics, samples, self.settings)
        if not left:
            return self, []
        return Run([one for one in self.metrics if one not in left], self.settings, runtime=self.runtime), [said]

    def name_images(self, samples: Sequence[Sample]) -> list[Sample]:
        """Where images are at hand and a sample names none, its id is the image's key (COCO ids)."""
        looks = any("image" in metric.needs or "objects" in metric.needs for metric in self.metrics)
        if not looks or not self.settings.shows_images:
            return list(samples)
        return [sample if sample.image is not None else replace(sample, image=sample.id) for sample in samples]

    # --- verbs --------------------------------------------------------------------------------------------------

    def score(
        self, samples: Sequence[Sample], *, confidence: bool = False, resamples: int = 1000, explain: bool = False
    ) -> Result:
        """Score samples. Rows that cannot be judged are reported, the rest is scored."""
        result = self.score_parts({ONE: samples}, explain=explain)[ONE]
        if confidence:
            add_intervals(result, resamples=resamples, seed=self.settings.seed)
        return result

    def score_parts(self, parts: Mapping[str, Sequence[Sample]], *, explain: bool = False) -> dict[str, Result]:
        """Score several systems (or draws of references); what they share is analysed once."""
        whole = Joined.of(parts, self.settings)
        for metric in self.metrics:
            check_needs(metric, whole.batch)
        shard, states = self._execute(whole.batch, explain)
        return {name: self._result(whole, name, shard, states) for name in parts}

    def explain(
        self, samples: Sequence[Sample], *, states: Mapping[str, Any] | None = None, full: bool = False
    ) -> Reasons:
        """Reasons for the scores of some samples by every metric that gives any.

        `states` are those of the run that scored them (`Result.states`): what a metric knows of the whole corpus.
        """
        chosen = [metric for metric in self.metrics if metric.explains]
        batch = Batch.of(list(samples), self.settings)
        work = Plan(tuple(chosen), self.settings, explain=True)
        fill(batch, work.keys(), self.runtime)
        found: Reasons = {}
        for metric in chosen:
            reader = self._reader(metric, batch, work)
            state = (states or {}).get(metric.label)
            if state is None and metric.prepares:
                state = metric.prepare(reader)
            found[metric.label] = metric.explain(reader, range(len(batch)), state, full=full)
        return found

    def signatures(self, samples: Sequence[Sample]) -> dict[str, str]:
        """The signature of every metric on some samples, without scoring them."""
        batch = Batch.of(list(samples), self.settings)
        return {metric.label: metric.signature(batch) for metric in self.metrics}

    # --- execution ----------------------------------------------------------------------------------------------

    def _execute(self, batch: Batch, explain: bool) -> tuple[Shard, dict[str, list[Any]]]:
        """All metrics over all samples; and the states of metrics that see the corpus first, one for each part."""
        work = replace(self.plan, explain=explain)
        first = [metric for metric in self.metrics if not metric.prepares]
        later = [metric for metric in self.metrics if metric.prepares]
        spans = work.shards(batch)
        if self._in_processes(first, spans):
            return self._apart(first, later, batch, spans, explain)
        if len(spans) == 1:
            return self._whole(batch, first, later, work)
        keep = work.keys(later) if work.cost(batch, later) <= plan.KEPT else ()
        done, held, states = [], [], []
        for span in spans:
            shard = fill(_compact(batch, span), work.keys(), self.runtime)
            done.append(self._shard(first, shard, {}, work))
            states.append(self._prepared(later, shard, batch, work))
            shard.drop(keep)
            held += [shard] if later else []
        merged = _merged(later, states)
        for one_done, shard in zip(done, held):
            fill(shard, work.keys(later), self.runtime)
            one_done.update(self._shard(later, shard, merged, work))
            shard.drop()
        return _joined(done, self.metrics), merged

    def _whole(
        self, batch: Batch, first: Sequence[Metric], later: Sequence[Metric], work: Plan
    ) -> tuple[Shard, dict[str, list[Any]]]:
        """All samples at once."""
        fill(batch, work.keys(), self.runtime)
        merged = _merged(later, [self._prepared(later, batch, batch, work)])
        return self._shard([*first, *later], batch, merged, work), merged

    def _in_processes(self, metrics: Sequence[Metric], spans: Sequence[range]) -> bool:
        workers = self.settings.workers
        return workers > 1 and len(spans) >= 2 * workers and bool(metrics) and processes.portable(list(metrics))

    def _apart(
        self, first: Sequence[Metric], later: Sequence[Metric], batch: Batch, spans: list[range], explain: bool
    ) -> tuple[Shard, dict[str, list[Any]]]:
        """Shards in other processes, each with a runtime of its own; what must see the corpus first stays here."""
        settings = replace(self.settings, workers=1, threads=1, progress=False)
        shards = ([batch.sample(row) for row in span] for span in spans)
        work = partial(_in_process, tuple(first), settings, explain)
        found = _joined(list(processes.in_order(work, shards, self.settings.workers)), first)
        if not later:
            return found, {}
        rest = Run(later, replace(self.settings, workers=1), runtime=self.runtime)
        own, states = rest._execute(batch, explain)
        found.update(own)
        return found, states

    def _prepared(self, metrics: Sequence[Metric], shard: Batch, whole: Batch, work: Plan) -> dict[str, list[Any]]:
        """States of metrics that see the corpus first: for each part what a shard has of it."""
        parts = self._by_part(shard, whole) if metrics else []
        states: dict[str, list[Any]] = {metric.label: [] for metric in metrics}
        for metric in metrics:
            known: dict[bytes, Any] = {}  # systems that are judged by the same references share what is known of these
            for number, (_, part) in enumerate(parts):
                shared = metric.prepares_from == "references"
                key = (
                    part.reference_offsets.tobytes() + part.reference_index.tobytes()
                    if shared
                    else str(number).encode()
                )
                if key not in known:
                    known[key] = metric.prepare(self._reader(metric, part, work))
                states[metric.label].append(known[key])
        return states

    def _shard(self, metrics: Sequence[Metric], batch: Batch, states: Mapping[str, list[Any]], work: Plan) -> Shard:
        found = Shard()
        for metric in metrics:
            own = states.get(metric.label, [None])
            own = own[:1] if all(state is own[0] for state in own) else own  # one state: all parts at once
            parts = [(np.arange(len(batch)), batch)] if len(own) == 1 else self._by_part(batch, batch, len(own))
            values, reasons = [], []
            for (_, part), state in zip(parts, own):
                reader = self._reader(metric, part, work)
                values.append(one(metric, reader, state))
                if work.explain and metric.explains:
                    reasons += metric.explain(reader, range(len(part)), state)
            order = np.argsort(np.concatenate([rows for rows, _ in parts]), kind="stable").tolist()
            whole = Statistics.concatenate(values)
            found.statistics[metric.label] = whole if len(parts) == 1 else whole.take(order)
            if work.explain and metric.explains:
                found.explanations[metric.label] = [reasons[place] for place in order]
        return found

    def _by_part(self, shard: Batch, whole: Batch, count: int = 0) -> list[tuple[Ints, Batch]]:
        """Rows of each part in a shard, and the batch of these rows."""
        count = count or int(whole.part.max()) + 1
        if count == 1:
            return [(np.arange(len(shard)), shard)]
        rows = [np.flatnonzero(shard.part == part) for part in range(count)]
        return [(own, fill(shard.select(own), self._own_keys, self.runtime)) for own in rows]

    @property
    def _own_keys(self) -> tuple[Key, ...]:
        """Keys by sample, of metrics that are asked part by part."""
        keys = self.plan.keys([metric for metric in self.metrics if metric.prepares])
        return tuple(key for key in keys if key.index == "sample")

    @staticmethod
    def _reader(metric: Metric, batch: Batch, work: Plan) -> Batch:
        """The batch as a metric sees it: with the analyses it declares and no other."""
        return batch.read_by(f"metric '{metric.label}'", work.keys_of(metric))

    # --- results ------------------------------------------------------------------------------------------------

    def _result(self, whole: Joined, name: str, shard: Shard, states: Mapping[str, list[Any]]) -> Result:
        part = whole.names.index(name)
        rows = whole.rows(part)
        samples, good = whole.samples[name], whole.good[name]
        problems = {row: sample.problem for row, sample in enumerate(samples) if sample.problem}
        batch = whole.batch.select(rows)
        result = Result(
            ids=[sample.id for sample in samples],
            metrics={metric.label: metric for metric in self.metrics},
            statistics={},
            candidates=[sample.candidate for sample in samples],
            states={label: own[part] for label, own in states.items() if own},
        )
        for label, statistics in shard.statistics.items():
            own = statistics if len(whole.names) == 1 else statistics.take(rows.tolist())
            own = own if not problems else own.spread(good, len(samples), problems)
            result.statistics[label] = own
            if label in shard.explanations:
                reasons: list[Explanation | None] = [None] * len(samples)
                for place, row in zip(good, rows.tolist()):
                    reasons[place] = shard.explanations[label][row]
                result.explanations[label] = reasons
        report(result, problems)
        result.corpus = corpus_scores(result, batch)
        return result


def _merged(metrics: Sequence[Metric], states: Sequence[Mapping[str, list[Any]]]) -> dict[str, list[Any]]:
    """The state of every metric for each part, from those of the shards; parts that share them share the outcome."""
    found: dict[str, list[Any]] = {}
    for metric in metrics:
        known: dict[tuple[int, ...], Any] = {}
        for part in zip(*(state[metric.label] for state in states)):
            same = tuple(map(id, part))
            if same not in known:
                known[same] = metric.merge(list(part))
            found.setdefault(metric.label, []).append(known[same])
    return found


def _compact(batch: Batch, span: range) -> Batch:
    """A batch of its own with some samples: texts and images that others have are left out."""
    return Batch.of([batch.sample(row) for row in span], batch.settings, batch.part[span.start : span.stop])


def _in_process(metrics: tuple[Metric, ...], settings: Settings, explain: bool, samples: list[Sample]) -> Shard:
    """One shard in another process, which keeps its runtime for the next one."""
    run = Run(metrics, settings)
    batch = Batch.of(samples, settings)
    work = replace(run.plan, explain=explain)
    fill(batch, work.keys(), run.runtime)
    return run._shard(metrics, batch, {}, work)


def _joined(shards: Sequence[Shard], metrics: Sequence[Metric]) -> Shard:
    found = Shard()
    for metric in metrics:
        found.statistics[metric.label] = Statistics.concatenate([shard.statistics[metric.label] for shard in shards])
        if all(metric.label in shard.explanations for shard in shards):
            found.explanations[metric.label] = [item for shard in shards for item in shard.explanations[metric.label]]
    return found


def one(metric: Metric, batch: Batch, state: Any) -> Statistics:
    """Statistics of one metric, with the promise checked that every undefined row has a reason."""
    found = metric.statistics(batch, state)
    if found.values.shape != (len(batch), metric.width):
        raise RuntimeError(
            f"metric '{metric.label}' gave {found.values.shape} values for {len(batch)} samples; "
            f"it declares width {metric.width}"
        )
    for row in np.flatnonzero(np.isnan(found.values[:, 0])):
        found.problems.setdefault(int(row), "undefined, and the metric gave no reason")
    return found


def report(result: Result, unread: Mapping[int, str]) -> None:
    """A row without a score is one problem, whatever its reasons; rows whose score has one are told in warnings."""
    problems: dict[int, dict[str, list[str]]] = {row: {reason: []} for row, reason in unread.items()}
    remarks: dict[tuple[str, str], list[str]] = {}
    for name, found in result.statistics.items():
        result.warnings += [text for text in found.warnings if text not in result.warnings]
        for row, why in found.problems.items():
            if row in unread:
                continue
            if found.undefined(row):
                problems.setdefault(row, {}).setdefault(why, []).append(name)
            else:
                remarks.setdefault((name, why), []).append(result.ids[row])
    for row, reasons in sorted(problems.items()):
        said = [f"{', '.join(names)}: {why}" if names else why for why, names in reasons.items()]
        result.problems.append(Problem(result.ids[row], "; ".join(said)))
    for (name, why), ids in remarks.items():
        some = ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")
        result.warnings.append(f"{name}: {why} (id {some})")


def corpus_scores(result: Result, batch: Batch) -> dict[str, Score]:
    """The corpus score of every metric with its signature."""
    scores = {}
    for name, metric in result.metrics.items():
        values = result.statistics[name].values
        usable = values[~np.isnan(values[:, 0])]
        value = aggregate(metric, values)
        undefined = value != value
        scores[name] = Score(
            name=name,
            value=None if undefined else value,
            signature=metric.signature(batch),
            count=len(usable),
            direction=metric.direction,
            reason=_why_undefined(result.statistics[name]) if undefined else "",
            beside={} if undefined else metric.beside(usable.sum(axis=0), len(usable)),
        )
        result.notes += filter(None, [scores[name].remark()])
    return scores


def _why_undefined(statistics: Statistics) -> str:
    reasons = list(dict.fromkeys(statistics.problems.values()))
    return reasons[0] if reasons else "not defined on this corpus"


def add_intervals(result: Result, *, resamples: int, seed: int) -> None:
    """95 % percentile intervals for every corpus score, from one set of draws."""
    names = list(result.metrics)
    draws = bootstrap(
        [result.metrics[name] for name in names],
        [result.statistics[name].values for name in names],
        resamples=resamples,
        seed=seed,
    )
    for place, name in enumerate(names):
        score = result.corpus[name]
        if score.value is not None:
            result.corpus[name] = replace(score, interval=interval(draws[:, place]))

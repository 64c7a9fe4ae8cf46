"""Score a batch with several metrics: shared analyses once, statistics, corpus scores, intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from vericap.errors import Problem, VericapError
from vericap.metrics.base import Metric, Statistics
from vericap.metrics.registry import resolve
from vericap.results import Result, Score
from vericap.run import processes
from vericap.run.batch import Batch, Settings
from vericap.run.significance import aggregate, bootstrap, interval
from vericap.samples import Sample

SHARD = 50_000  # samples analysed at once; bounds memory whatever the size of the corpus
IMAGES = 2_048  # the same where regions are read: images together (70 kB each), of twice as many samples at most


def score_batch(
    samples: Iterable[Sample] | Batch,
    metrics: str | Iterable[str | Metric] | Sequence[Metric],
    settings: Settings | None = None,
    *,
    confidence: bool = False,
    resamples: int = 1000,
) -> Result:
    """Run metrics over samples. Rows that cannot be judged are reported, the rest is scored."""
    batch = samples if isinstance(samples, Batch) else Batch.of(samples, settings)
    chosen = resolve(metrics)
    if not len(batch):
        raise VericapError("there is nothing to score: no usable record was found")
    for metric in chosen:
        check_needs(metric, batch)
    statistics = collect(chosen, batch)
    result = Result(
        ids=batch.ids,
        metrics={metric.label: metric for metric in chosen},
        statistics=statistics,
        candidates=batch.candidate_texts(),
    )
    for name, found in statistics.items():
        report(result, name, found)
    result.corpus = corpus_scores(result, batch)
    if confidence:
        add_intervals(result, resamples=resamples, seed=batch.settings.seed)
    return result


def report(result: Result, name: str, found: Statistics) -> None:
    """Rows without a score are problems; rows whose score has a reason are summed up in a warning."""
    result.warnings += [text for text in found.warnings if text not in result.warnings]
    remarks: dict[str, list[str]] = {}
    for row, why in sorted(found.problems.items()):
        if found.undefined(row):
            result.problems.append(Problem(result.ids[row], f"{name}: {why}"))
        else:
            remarks.setdefault(why, []).append(result.ids[row])
    for why, ids in remarks.items():
        some = ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")
        result.warnings.append(f"{name}: {why} (id {some})")


def check_needs(metric: Metric, batch: Batch) -> None:
    """Refuse a metric whose input is nowhere in the batch, before any work is done."""
    if metric.languages and batch.settings.lang not in metric.languages:
        raise VericapError(
            f"metric '{metric.label}' is for language {' or '.join(metric.languages)}, "
            f"not '{batch.settings.lang}'; choose it with --lang"
        )
    if "references" in metric.needs and not batch.reference_index.size:
        raise VericapError(f"metric '{metric.label}' needs references; give --references or put them in the records")
    if "image" in metric.needs and not batch.image_keys:
        raise VericapError(
            f"metric '{metric.label}' looks at images; name them in the records (`image`), with --images DIR"
        )


def collect(metrics: Sequence[Metric], batch: Batch) -> dict[str, Statistics]:
    """Statistics of every metric, shard by shard where the batch is large."""
    seeing = [metric for metric in metrics if "regions" in metric.analyses]
    others = [metric for metric in metrics if metric not in seeing]
    found = {**_collect(others, batch, SHARD), **_collect(seeing, batch, min(SHARD, 2 * IMAGES), IMAGES)}
    return {metric.label: found[metric.label] for metric in metrics}


def _spans(batch: Batch, size: int, images: int | None) -> Iterator[range]:
    """The samples in order, at most `size` together, of at most `images` images."""
    start, seen = 0, set[int]()
    for row, image in enumerate(batch.images.tolist()):
        crowded = images is not None and image not in seen and len(seen) >= images
        if row - start >= size or crowded:
            yield range(start, row)
            start, seen = row, set()
        seen.add(image)
    yield range(start, len(batch))


def _collect(metrics: Sequence[Metric], batch: Batch, size: int, images: int | None = None) -> dict[str, Statistics]:
    spans = list(_spans(batch, size, images))
    if len(spans) == 1 or not metrics:
        return {metric.label: one(metric, batch, metric.prepare(batch)) for metric in metrics}
    states: dict[str, list[Any]] = {metric.label: [] for metric in metrics}
    if any(type(metric).prepare is not Metric.prepare for metric in metrics):
        for span in spans:
            shard = batch.rows(span)
            for metric in metrics:
                states[metric.label].append(metric.prepare(shard))
    merged = {m.label: m.merge(states[m.label]) if states[m.label] else None for m in metrics}
    parts: dict[str, list[Statistics]] = {metric.label: [] for metric in metrics}
    workers = batch.settings.workers
    apart = images is not None and workers > 1 and len(spans) >= 2 * workers and processes.portable(metrics)
    shards = ([batch.sample(row) for row in span] for span in spans)
    settings = replace(batch.settings, workers=1, progress=False) if apart else batch.settings
    work = partial(_shard, metrics, merged, settings)
    for found in processes.in_order(work, shards, workers) if apart else map(work, shards):
        for name, statistics in found.items():
            parts[name].append(statistics)
    return {name: Statistics.concatenate(found) for name, found in parts.items()}


def _shard(
    metrics: Sequence[Metric], states: Mapping[str, Any], settings: Settings, samples: list[Sample]
) -> dict[str, Statistics]:
    batch = Batch.of(samples, settings)
    return {metric.label: one(metric, batch, states[metric.label]) for metric in metrics}


def one(metric: Metric, batch: Batch, state: Any) -> Statistics:
    """Statistics of one metric, with the promise checked that every undefined row has a reason."""
    found = metric.statistics(batch, state)
    if len(found.values) != len(batch):
        raise RuntimeError(f"metric '{metric.label}' gave {len(found.values)} rows for {len(batch)} samples")
    for row in np.flatnonzero(np.isnan(found.values[:, 0])):
        found.problems.setdefault(int(row), "undefined, and the metric gave no reason")
    return found


def corpus_scores(result: Result, batch: Batch) -> dict[str, Score]:
    scores = {}
    for name, metric in result.metrics.items():
        values = result.statistics[name].values
        count = int((~np.isnan(values[:, 0])).sum())
        value = aggregate(metric, values)
        undefined = value != value
        scores[name] = Score(
            name=name,
            value=None if undefined else value,
            signature=metric.signature(batch),
            count=count,
            direction=metric.direction,
            reason=_why_undefined(result.statistics[name]) if undefined else "",
        )
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
            result.corpus[name] = Score(**{**vars(score), "interval": interval(draws[:, place])})

"""Recompute published numbers and say which agree, which differ, and which cannot be compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vericap.errors import MissingPart, VericapError
from vericap.meta.catalogue import load
from vericap.meta.evaluation import Agreements, evaluate
from vericap.meta.judgements import Judgements
from vericap.meta.protocols import protocol_of
from vericap.meta.published import Published, published
from vericap.meta.scoring import Store
from vericap.metrics.registry import METRICS
from vericap.report.tables import Table
from vericap.run.batch import Settings

AGREES, DIFFERS, OTHER, NOT = "agrees", "DIFFERS", "other run", "not comparable"
FULL_SIZES = {"pascal50s": 4000}  # pairs that published tables use


@dataclass(frozen=True)
class Verdict:
    """One published number beside ours."""

    item: Published
    ours: float | None
    status: str
    why: str = ""


def verify(
    *,
    datasets: Sequence[str] | None = None,
    metrics: Iterable[str] | None = None,
    data_folder: str | Path | None = None,
    settings: Settings | None = None,
    store: Store | None = None,
) -> list[Verdict]:
    """Judge every published number of the chosen data sets and metrics."""
    chosen = [item for item in published() if datasets is None or item.dataset in datasets]
    wanted = None if metrics is None else set(metrics)
    if wanted is not None:
        chosen = [item for item in chosen if item.metric in wanted]
    if not chosen:
        raise VericapError("nothing published is known for that choice of data sets and metrics")
    loaded: dict[str, Judgements | str] = {}
    tables: dict[str, Agreements] = {}
    verdicts = []
    for item in chosen:
        why = _unavailable(item, loaded, data_folder)
        if why:
            verdicts.append(Verdict(item, None, NOT, why))
            continue
        if item.protocol not in tables:
            names = [i.metric for i in chosen if i.protocol == item.protocol and i.metric in METRICS]
            data = loaded[item.dataset]
            assert not isinstance(data, str)
            tables[item.protocol] = evaluate(
                data,
                list(dict.fromkeys(names)),
                protocol=protocol_of(item.dataset, item.protocol),
                settings=settings,
                resamples=0,
                store=store,
                keep_going=True,
            )
        verdicts.append(_judge(item, tables[item.protocol]))
    return verdicts


def _unavailable(item: Published, loaded: dict[str, Judgements | str], data_folder: str | Path | None) -> str:
    """Why a number cannot be recomputed here; empty where it can."""
    if not item.metric:
        return "not a metric of this product"
    if item.metric not in METRICS:
        return f"metric '{item.metric}' is not installed"
    if item.dataset not in loaded:
        try:
            loaded[item.dataset] = load(item.dataset, data_folder)
        except MissingPart as error:
            loaded[item.dataset] = str(error).splitlines()[0]
    data = loaded[item.dataset]
    if isinstance(data, str):
        return data
    size, here = FULL_SIZES.get(item.dataset), len(getattr(data, "ids", ()))
    if size and "4,000" in item.note and here != size:
        return f"published on {size:,} pairs, {here:,} are here"
    return ""


def _judge(item: Published, table: Agreements) -> Verdict:
    line = table[item.metric]
    value = line.groups.get(item.group, (None,))[0] if item.group else line.value
    if value is None:
        return Verdict(item, None, NOT, line.reason or "no value")
    ours = 100 * value
    if abs(ours - item.value) <= item.tolerance:
        return Verdict(item, ours, AGREES)
    if item.exact:
        return Verdict(item, ours, DIFFERS, f"by {ours - item.value:+.2f}")
    why = f"{item.note + ', ' if item.note else ''}gap {ours - item.value:+.2f}"
    return Verdict(item, ours, OTHER, why)


def verdict_table(verdicts: Sequence[Verdict]) -> Table:
    table = Table(
        ["protocol", "metric", "published", "ours", "verdict", "why", "source"],
        title="published numbers recomputed (x100)",
        digits=2,
    )
    for verdict in verdicts:
        item = verdict.item
        label = f"{item.label} {item.group}".strip()
        shown = f"{item.value:.{item.digits}f}"
        ours = None if verdict.ours is None else f"{verdict.ours:.{max(2, item.digits)}f}"
        table.add(item.protocol, label, shown, ours, verdict.status, verdict.why or None, item.source)
    counts = {s: sum(v.status == s for v in verdicts) for s in (AGREES, DIFFERS, OTHER, NOT)}
    table.notes = [
        ", ".join(f"{count} {status}" for status, count in counts.items() if count) + ".",
        "agrees: equal to the last printed digit; other run: published from another run, parser or model, "
        "the gap is shown; DIFFERS: the same computation gives another number here.",
    ]
    return table

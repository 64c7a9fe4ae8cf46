"""Recompute published numbers and say which agree, which differ, and which cannot be compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vericap.core.errors import MissingPart, VericapError
from vericap.core.settings import Settings
from vericap.core.table import Number, Table
from vericap.meta.catalogue import load
from vericap.meta.evaluation import Agreements, evaluate_each
from vericap.meta.judgements import Judgements
from vericap.meta.protocols import Protocol, protocol_of
from vericap.meta.published import RAW, Published, published
from vericap.meta.scoring import KeptScores
from vericap.metrics.registry import METRICS

AGREES, DIFFERS, OTHER, NOT = "agrees", "DIFFERS", "other run", "not comparable"
FULL_SIZES = {"pascal50s": 4000}  # pairs that published tables use


@dataclass(frozen=True)
class Verdict:
    """One published number beside ours."""

    item: Published
    ours: float | None
    status: str
    why: str = ""
    gap: float | None = None  # ours less the published one, where they differ


@dataclass
class Wanted:
    """Published numbers to recompute, the data sets they are of, and why some cannot be recomputed here."""

    items: list[Published]
    loaded: dict[str, Judgements | str]
    reasons: list[str]

    def metrics(self) -> list[str]:
        """Names of the metrics that will be run."""
        return list(dict.fromkeys(item.metric for item, reason in zip(self.items, self.reasons) if not reason))


def verify(
    *,
    datasets: Sequence[str] | None = None,
    metrics: Iterable[str] | None = None,
    data_folder: str | Path | None = None,
    settings: Settings | None = None,
    store: KeptScores | None = None,
) -> list[Verdict]:
    """Judge every published number of the chosen data sets and metrics.

    Parameters
    ----------
    datasets : names of data sets; by default all with known numbers.
    metrics : names of metrics, with options (that variant) or without (all of its variants); by default all.
    data_folder : where data sets lie; by default $VERICAP_DATA.
    settings : choices that all metrics share.
    store : keep scores there and take them up again.
    """
    return judge(wanted(datasets=datasets, metrics=metrics, data_folder=data_folder), settings=settings, store=store)


def wanted(
    *,
    datasets: Sequence[str] | None = None,
    metrics: Iterable[str] | None = None,
    data_folder: str | Path | None = None,
) -> Wanted:
    """What `verify` will recompute, before anything is computed."""
    chosen = [item for item in published() if datasets is None or item.dataset in datasets]
    named = None if metrics is None else set(metrics)
    if named is not None:
        chosen = [item for item in chosen if item.metric and {item.metric, item.metric.partition(":")[0]} & named]
    if not chosen:
        known = sorted({item.dataset for item in published()})
        raise VericapError(
            f"nothing published is known for that choice of data sets and metrics; data sets with numbers: "
            f"{', '.join(known)}; `vericap metrics` lists the metrics"
        )
    loaded: dict[str, Judgements | str] = {}
    return Wanted(chosen, loaded, [_unavailable(item, loaded, data_folder) for item in chosen])


def judge(work: Wanted, *, settings: Settings | None = None, store: KeptScores | None = None) -> list[Verdict]:
    """A verdict on every number."""
    runs: dict[tuple[str, str], list[Published]] = {}  # by data set and source of objects
    for item, reason in zip(work.items, work.reasons):
        if not reason:
            runs.setdefault((item.dataset, item.objects), []).append(item)
    tables: dict[tuple[str, str], Agreements] = {}
    for (name, objects), items in runs.items():
        given = replace(settings or Settings(), objects=objects) if objects else settings
        for protocol, found in _recomputed(work.loaded[name], items, given, store).items():
            tables[objects, protocol] = found
    return [
        Verdict(item, None, NOT, reason) if reason else _judge(item, tables[item.objects, _protocol(item).name])
        for item, reason in zip(work.items, work.reasons)
    ]


def _protocol(item: Published) -> Protocol:
    """The named protocol, with another number of references where the number has one."""
    return protocol_of(item.dataset, item.protocol).changed(references=item.references)


def _recomputed(
    data: Judgements | str, items: Sequence[Published], settings: Settings | None, store: KeptScores | None
) -> dict[str, Agreements]:
    """Our numbers by protocol, all from one run."""
    assert not isinstance(data, str)  # items of a data set that is not here have a reason
    protocols = list({_protocol(item).name: _protocol(item) for item in items}.values())
    found = evaluate_each(
        data,
        list(dict.fromkeys(item.metric for item in items)),
        protocols,
        settings=settings,
        resamples=0,
        store=store,
        keep_going=True,
    )
    return {protocol.name: table for protocol, table in zip(protocols, found)}


def _unavailable(item: Published, loaded: dict[str, Judgements | str], data_folder: str | Path | None) -> str:
    """Why a number cannot be recomputed here; empty where it can."""
    if item.unlike:
        return "; ".join(filter(None, [item.unlike, item.note])) + _command(item)
    if not item.metric:
        return "; ".join(filter(None, ["not a metric of this product", item.note])) + _command(item)
    if item.metric.partition(":")[0] not in METRICS:
        return f"metric '{item.metric}' is not installed"
    if not item.protocol:
        return f"no agreement with people{_command(item)}"
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


def _command(item: Published) -> str:
    """How the number is set beside ours all the same."""
    return f"; `vericap reproduce {item.experiment}`" if item.experiment else ""


def _judge(item: Published, table: Agreements) -> Verdict:
    line = table[item.metric]
    value = line.groups.get(item.group, (None,))[0] if item.group else line.value
    if value is None:
        return Verdict(item, None, NOT, line.reason or "no value")
    ours = 100 * value
    if abs(ours - item.value) <= item.tolerance:
        return Verdict(item, ours, AGREES)
    if item.exact:
        return Verdict(item, ours, DIFFERS, gap=(ours - item.value) / 100)
    return Verdict(item, ours, OTHER, item.note, gap=(ours - item.value) / 100)


def verdict_table(verdicts: Sequence[Verdict], *, x100: bool = True) -> Table:
    """A line per published number; ours beside it."""
    table = Table(
        ["protocol", "metric", "published", "ours", "gap", "verdict", "why", "source"],
        title="published numbers recomputed",
        x100=x100,
    )
    for verdict in verdicts:
        item = verdict.item
        label = f"{item.label} {item.group or ('' if item.protocol else item.column)}".strip()
        shown = f"{item.value:g}" if item.unit == RAW else Number(item.value / 100, digits=item.digits + 2)
        ours = None if verdict.ours is None else Number(verdict.ours / 100, digits=max(2, item.digits) + 2)
        made = _protocol(item).name if item.protocol else item.dataset
        gap = None if verdict.gap is None else Number(verdict.gap)
        table.add(made, label, shown, ours, gap, verdict.status, verdict.why or None, item.where)
    counts = {s: sum(v.status == s for v in verdicts) for s in (AGREES, DIFFERS, OTHER, NOT)}
    table.notes = [
        ", ".join(f"{count} {status}" for status, count in counts.items() if count) + ".",
        "agrees: equal to the last printed digit; other run: published from another run, parser or model, "
        "the gap is shown; DIFFERS: the same computation gives another number here.",
    ]
    return table


def sources_below(table: Table) -> Table:
    """The table for people: sources are numbers, each told once below; a column that says nothing is left out."""
    place = list(table.columns).index("source")
    sources = list(dict.fromkeys(row[place] for row in table.rows))
    rows = [[*row[:place], f"[{sources.index(row[place]) + 1}]", *row[place + 1 :]] for row in table.rows]
    used = [i for i, _ in enumerate(table.columns) if any(row[i] is not None for row in rows)]
    notes = [*table.notes, *(f"[{number}] {source}" for number, source in enumerate(sources, 1))]
    columns = [table.columns[i] for i in used]
    return replace(table, columns=columns, rows=[[row[i] for i in used] for row in rows], notes=notes)

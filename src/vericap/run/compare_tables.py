"""Tables of a comparison: systems x metrics, the tests in detail, and every caption with all systems' scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from vericap.core.table import Head, Number, Table
from vericap.run.results import plain, signature_notes
from vericap.run.significance import PValue

if TYPE_CHECKING:
    from vericap.core.metric import Metric
    from vericap.run.compare import Comparison

_EQUAL = 1e-12  # scores that differ by rounding alone
_TITLE = 16  # characters of a title that can head a column


def scores_table(found: Comparison, *, digits: int = 4, x100: bool = False, signatures: bool = False) -> Table:
    """Systems x metrics: the best in bold, arrows and stars against the first system."""
    judges = found.results[found.baseline].metrics
    titles = {name: title_of(metric) for name, metric in judges.items()}
    distinct = len(set(titles.values())) == len(titles)
    heads = {
        name: Head(titles[name] if distinct else name, metric.direction == "lower") for name, metric in judges.items()
    }
    table = Table(["system", *found.metrics], digits=digits, x100=x100, heads={"system": Head("System"), **heads})
    best = {metric: _best(found, metric) for metric in found.metrics}
    for system in found.results:
        table.add(system, *(_cell(found, system, metric, best[metric]) for metric in found.metrics))
    if found.p_values:
        # It says how differences were tested where none of them has a star too.
        table.legend = [f"* differs from {found.baseline} with adjusted p < {found.level:g} ({found.tested})"]
        table.arrows = found.baseline
    else:
        table.notes = [f"{found.captions} captions in common"]
    table.notes += [*_undefined(found), *found.remarks, *(signature_notes(found.signatures) if signatures else [])]
    return table


def details_table(found: Comparison, *, digits: int = 4, x100: bool = False, people: bool = False) -> Table:
    """One line per system and metric: value, interval, difference, p, adjusted p, what such a gap means, signature.

    For `people` the last two are lines below, where there is something to say: no terminal is wide enough for them.
    """
    meaning = None if people else found.meaning
    tested = ["difference", "p", "adjusted p", *(["such a gap"] if meaning else [])]
    columns = ["system", "metric", "value", "95 % low", "95 % high", *tested, *([] if people else ["signature"])]
    table = Table(columns, digits=digits, x100=x100, keys=2)
    for system, result in found.results.items():
        for metric in found.metrics:
            score, pair = result.corpus[metric], (system, metric)
            gap = None if system == found.baseline else found.difference(system, metric)
            tests = [PValue(own[pair]) if pair in own else None for own in (found.p_values, found.adjusted)]
            means = [meaning(metric, gap) if gap is not None else ""] if meaning else []
            bounds = [_number(bound) for bound in found.intervals[pair]]
            value = Number(score.value, instead="undefined")
            signature = [] if people else [score.signature]
            table.add(system, metric, value, *bounds, _number(gap), *tests, *means, *signature)
    means = _meanings(found) if people else []
    caveat = [f"such a gap: {found.caveat}"] if found.caveat and (means or not people) else []
    table.notes = [f"p against {found.baseline} ({found.tested})", *means, *caveat, *_undefined(found), *found.remarks]
    return table


def _meanings(found: Comparison) -> list[str]:
    """What the differences mean to people, where that is known."""
    said = []
    for system, metric in found.adjusted:
        gap = found.difference(system, metric)
        text = found.meaning(metric, gap) if found.meaning is not None and gap is not None else ""
        said += [f"{system}, {metric}: {text}"] if text else []
    return said


def caption_rows(found: Comparison) -> Iterator[dict[str, Any]]:
    """One row per caption that all systems have: id, then of each system its caption and every score."""
    places = {name: {key: row for row, key in enumerate(result.ids)} for name, result in found.results.items()}
    columns = {name: _columns(result) for name, result in found.results.items()}
    for key in found.results[found.baseline].ids:
        if all(key in own for own in places.values()):
            row: dict[str, Any] = {"id": key}
            for name, own in columns.items():
                place = places[name][key]
                row.update({f"{name}.{column}": plain(values[place]) for column, values in own.items()})
            yield row


def _columns(result: Any) -> dict[str, Any]:
    table = result.table
    return {name: table[name] for name in ("candidate", *result.metrics, "problem") if name in table}


def title_of(metric: Metric) -> str:
    """A metric's name in a paper: its title, and the options that were chosen; its label where it has no short one."""
    if not metric.title or len(metric.title) > _TITLE or not metric.label.startswith(metric.name):
        return metric.label
    chosen = metric.label[len(metric.name) :].lstrip(":").replace(":", ", ")
    return f"{metric.title} ({chosen})" if chosen else metric.title


def _best(found: Comparison, metric: str) -> float | None:
    """The best value; None where no system is ahead of another."""
    values = [result.corpus[metric].value for result in found.results.values()]
    known = [value for value in values if value is not None]
    if not known or max(known) - min(known) <= _EQUAL:
        return None
    return min(known) if found.results[found.baseline].metrics[metric].direction == "lower" else max(known)


def _cell(found: Comparison, system: str, metric: str, best: float | None) -> Number:
    value = found.results[system].corpus[metric].value
    gap = 0.0 if system == found.baseline else found.difference(system, metric) or 0.0
    lower = found.results[system].metrics[metric].direction == "lower"
    return Number(
        value,
        best=best is not None and value is not None and abs(value - best) <= _EQUAL,
        change=0 if abs(gap) <= _EQUAL else 1 if (gap > 0) != lower else -1,
        star=found.starred(system, metric),
        instead="undefined",
    )


def _number(value: float | None) -> Number | None:
    return None if value is None or value != value else Number(value)


def _undefined(found: Comparison) -> list[str]:
    """Why metrics gave no score, each reason once for all metrics and systems that have it."""
    lacking: dict[tuple[str, str], list[str]] = {}
    for system, result in found.results.items():
        for metric, score in result.corpus.items():
            if score.value is None:
                lacking.setdefault((score.reason, metric), []).append(system)
    said: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (reason, metric), systems in lacking.items():
        said.setdefault((reason, tuple(systems)), []).append(metric)
    return [
        f"{', '.join(metrics)}: undefined{'' if len(own) == len(found.results) else ' for ' + ', '.join(own)}, {reason}"
        for (reason, own), metrics in said.items()
    ]


def with_protocol(table: Table, protocol: Mapping[str, Any]) -> Table:
    """Columns that say how it was tested: a CSV file has no place for notes."""
    table.columns = [*table.columns, *protocol]
    table.rows = [[*row, *protocol.values()] for row in table.rows]
    return table

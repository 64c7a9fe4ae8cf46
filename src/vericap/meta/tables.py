"""Tables of agreement with people: metrics against a data set, reference-count curves, ablations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vericap.core.table import Cell, Table

if TYPE_CHECKING:
    from vericap.meta.evaluation import Agreements, Line

_NOTES = 6  # remarks about single captions can be many


def percent(value: float | None) -> float | None:
    return None if value is None else round(100 * value, 6)


def span(interval: tuple[float, float] | None) -> str | None:
    if interval is None or interval[0] != interval[0]:
        return None
    return f"{100 * interval[0]:.2f}-{100 * interval[1]:.2f}"


def shown_p(p: float | None) -> str | None:
    return None if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def agreement_table(found: Agreements, *, sources: bool = True) -> Table:
    """A line per metric, best first where that can be said; numbers are x100."""
    groups = list(dict.fromkeys(name for line in found.lines for name in line.groups))
    spread = any(line.deviation is not None for line in found.lines)
    columns = ["metric", found.protocol.statistic, "95 % interval"]
    columns += ["sd of runs"] if spread else []
    columns += [*groups, "to best", "p", "published"]
    table = Table(columns, title=f"{found.dataset}: {found.protocol.name}", digits=2)
    notes: dict[str, list[str]] = {}
    for line in found.lines:
        cells: list[Cell] = [line.metric, percent(line.value), span(line.interval)]
        cells += [percent(line.deviation)] if spread else []
        cells += [_group(line, name) for name in groups]
        cells += [percent(line.gap), shown_p(line.p), _published(found, line, notes)]
        table.add(*cells)
    best = found.best()
    table.notes = [
        f"x100; {found.protocol.describe()}.",
        f"{found.judgements} judgements on {found.images} images.",
    ]
    if found.resamples:
        table.notes.append(
            f"Intervals: {found.resamples} bootstrap draws of images. "
            + (
                f"p: gap to {best.metric}, paired {found.test} on the same draws, Holm-adjusted."
                if best and len(found.lines) > 1
                else ""
            )
        )
    if groups:
        table.notes.append("The overall value is the mean over the groups.")
    if sources:
        table.notes += [f"Published {', '.join(cells)}: {where}." for where, cells in notes.items()]
    table.notes += [f"{line.metric}: {line.reason}" for line in found.lines if line.value is None]
    table.notes += [
        f"{line.metric}: {line.unscored} captions could not be scored and are left out"
        for line in found.lines
        if line.unscored and line.value is not None
    ]
    table.notes += found.notes[:_NOTES]
    if len(found.notes) > _NOTES:
        table.notes.append(f"... and {len(found.notes) - _NOTES} more notes of this kind")
    return table


def _group(line: Line, name: str) -> str | None:
    if name not in line.groups:
        return None
    value, spread = line.groups[name]
    return f"{100 * value:.1f}" if spread != spread else f"{100 * value:.1f} ± {100 * spread:.1f}"


def _published(found: Agreements, line: Line, notes: dict[str, list[str]]) -> str | None:
    """Numbers of the same protocol; only where there is none, others, marked ‡ as not comparable."""
    items = [item for item in line.published if not item.group]
    same = [i for i in items if i.protocol == found.protocol.name and "4,000 pairs" not in i.note]
    cells = []
    for item in same or items:
        cells.append(f"{item.value:.{item.digits}f}{'' if same else '‡'}")
        remark = f"; {item.note}" if item.note else ""
        where = item.source + remark if same else f"{item.source}; {item.protocol}{remark}"
        notes.setdefault(where, []).append(f"{item.label} {cells[-1]}")
    return " / ".join(cells) or None


def curve_table(points: Sequence[Agreements]) -> Table:
    """Agreement by number of references: a column per count (FAIEr Fig. 4, VIFIDEL Fig. 4)."""
    names = list(dict.fromkeys(line.metric for found in points for line in found.lines))
    heads = [_count(found) for found in points]
    table = Table(
        ["metric", *heads], title=f"{points[0].dataset}: {points[0].protocol.statistic} by references", digits=2
    )
    for name in names:
        row = {line.metric: line for found in points for line in found.lines if line.metric == name}
        cells = [percent(next((line.value for line in found.lines if line.metric == name), None)) for found in points]
        if row:
            table.add(name, *cells)
    table.notes = [f"x100, mean over {max(found.protocol.runs for found in points)} runs; - : not defined"]
    reasons = {
        f"{line.metric}, {_count(found)}: {line.reason}"
        for found in points
        for line in found.lines
        if line.value is None
    }
    table.notes += sorted(reasons)
    return table


def _count(found: Agreements) -> str:
    count = found.protocol.references
    return "all refs" if count is None else f"{count} ref{'s' * (count != 1)}"


def ablation_table(tables: Sequence[Agreements], *, base: str) -> Table:
    """Variants of a metric (rows) on several data sets (columns), each with its gap to the base."""
    names = list(dict.fromkeys(line.metric for found in tables for line in found.lines))
    table = Table(["variant", *(found.protocol.name for found in tables)], title=f"ablation against {base}")
    for name in names:
        cells = []
        for found in tables:
            values = {line.metric: line.value for line in found.lines}
            value, zero = values.get(name), values.get(base)
            if value is None:
                cells.append("-")
            elif name == base or zero is None:
                cells.append(f"{100 * value:.2f}")
            else:
                cells.append(f"{100 * value:.2f} ({100 * (value - zero):+.2f})")
        table.add(name, *cells)
    return table

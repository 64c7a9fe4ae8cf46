"""Tables of agreement with people: metrics against a data set, reference-count curves, ablations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vericap.core.table import Cell, Table

if TYPE_CHECKING:
    from vericap.meta.evaluation import Agreements, Line

TIES, NEEDED = "acc-eq", "gap for 75 %"
_NOTES = 6  # remarks about single captions can be many
_FATE = {"left-out": "are left out", "worst": "count as its worst score"}


def percent(value: float | None) -> float | None:
    return None if value is None else round(100 * value, 6)


def span(interval: tuple[float, float] | None) -> str | None:
    if interval is None or interval[0] != interval[0]:
        return None
    sign = "-" if interval[0] >= 0 else " to "
    return f"{100 * interval[0]:.2f}{sign}{100 * interval[1]:.2f}"


def shown_p(p: float | None) -> str | None:
    return None if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def agreement_table(found: Agreements, *, sources: bool = True) -> Table:
    """A line per metric, best first where that can be said, then the baselines; numbers are x100."""
    groups = list(dict.fromkeys(name for line in found.lines for name in line.groups))
    spread = any(line.deviation is not None for line in found.lines)
    columns = ["metric", found.protocol.statistic, "95 % interval"]
    columns += ["sd of runs"] if spread else []
    columns += [*groups, "to best", "p"]
    columns += [TIES] if found.ties else []
    columns += [NEEDED] if found.gaps else []
    table = Table([*columns, "published"], title=f"{found.dataset}: {found.protocol.name}", digits=2)
    notes: dict[str, list[str]] = {}
    for line in [*found.lines, *found.baselines]:
        if line.kind == "baseline" and line.value is None:
            continue  # all captions equally long: nothing to beat
        cells: list[Cell] = [line.metric, percent(line.value), span(line.interval)]
        cells += [percent(line.deviation)] if spread else []
        cells += [_group(line, name) for name in groups]
        cells += [percent(line.gap), shown_p(line.p)]
        cells += [_tie(found, line.metric)] if found.ties else []
        cells += [_needed(found, line.metric)] if found.gaps else []
        table.add(*cells, _published(found, line, notes))
    table.notes = [f"x100; {found.protocol.describe()}.", f"{found.judgements} judgements on {found.images} images."]
    table.notes += _how(found)
    if groups:
        table.notes.append("The overall value is the mean over the groups.")
    table.notes += _meaning(found)
    if sources:
        table.notes += [f"Published {', '.join(cells)}: {where}." for where, cells in notes.items()]
    table.notes += [f"{line.metric}: {line.reason}" for line in found.lines if line.value is None]
    table.notes += [
        f"{line.metric}: {line.unscored} captions could not be scored and {_FATE[found.unscored]}"
        for line in found.lines
        if line.unscored and line.value is not None
    ]
    table.notes += found.notes[:_NOTES]
    if len(found.notes) > _NOTES:
        table.notes.append(f"... and {len(found.notes) - _NOTES} more notes of this kind")
    return table


def _how(found: Agreements) -> list[str]:
    """Where intervals and p come from, and what the baselines are."""
    notes = []
    best = found.best()
    if found.resamples:
        tested = best is not None and sum(line.value is not None for line in found.lines) > 1
        shared = ", captions that both scored" if any(line.unscored for line in found.lines) else ""
        p = f" p: gap to {best.metric}, paired {found.test} on the same draws{shared}, Holm-adjusted." if best else ""
        notes.append(f"Intervals: {found.resamples} bootstrap draws of images.{p if tested else ''}")
    if any(line.value is not None for line in found.baselines):
        from vericap.meta.baselines import NOTE, not_above

        notes += [NOTE, *filter(None, [not_above(found)])]
    return notes


def _tie(found: Agreements, metric: str) -> float | None:
    own = found.ties.get(metric)
    return None if own is None else 100 * own.accuracy


def _needed(found: Agreements, metric: str) -> str | None:
    own = found.gaps.get(metric)
    gap = None if own is None else own.needed()
    return None if gap is None else f"{gap:.3g}"


def _meaning(found: Agreements) -> list[str]:
    """What acc-eq and gaps are, and what a gap of a round size means with each metric."""
    from vericap.meta.gaps import SHOWN, WANTED

    notes = []
    if found.ties:
        first = next(iter(found.ties.values()))
        where = "of one image (mean over images)" if first.same_image else "of the set"
        each = ", ".join(f"{name} {own.epsilon:.3g}" for name, own in found.ties.items())
        notes.append(
            f"{TIES}: share of pairs of captions {where} that are in the order of people, or tied as by them "
            f"({100 * first.human_ties:.0f} %); scores within epsilon are tied, fitted here for each metric: {each}."
        )
    if found.gaps:
        ties = next(iter(found.gaps.values())).ties
        each = ", ".join(f"{100 * own.agree(SHOWN)[0]:.0f} % ({name})" for name, own in found.gaps.items())
        notes.append(
            f"A gap of {SHOWN:g} between two captions: people agree in {each} of the pairs that they tell "
            f"apart (they see no difference in {100 * ties:.0f} %). {NEEDED}: the gap from which they agree in "
            f"{100 * WANTED:.0f} %."
        )
    return notes


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
    table.notes += dict.fromkeys(note for found in points for note in found.task.notes)
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

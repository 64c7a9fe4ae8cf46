"""Tables of agreement with people: metrics against a data set, reference-count curves, ablations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vericap.core.table import Cell, Interval, Number, Table

if TYPE_CHECKING:
    from vericap.meta.evaluation import Agreements, Line

TIES, NEEDED = "acc-eq", "gap for 75 %"
LEVEL = 0.05  # adjusted p of a star
_NOTES = 6  # remarks about single captions can be many
_FATE = {"left-out": "are left out", "worst": "count as its worst score"}


def share(value: float | None) -> Number | None:
    """A figure that is printed x100."""
    return None if value is None or value != value else Number(value)


def span(interval: tuple[float, float] | None) -> Interval | None:
    return None if interval is None or interval[0] != interval[0] else Interval(*interval)


def shown_p(p: float | None) -> str | None:
    return None if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def agreement_table(
    found: Agreements, *, sources: bool = True, x100: bool = True, signatures: bool = False
) -> Table:  # fmt: skip
    """A line per metric, best first where that can be said, then the baselines."""
    groups = list(dict.fromkeys(name for line in found.lines for name in line.groups))
    spread = any(line.deviation is not None for line in found.lines)
    columns = ["metric", found.protocol.statistic, "95 % interval"]
    columns += ["sd of runs"] if spread else []
    columns += [*groups, "to best", "p"]
    columns += [TIES] if found.ties else []
    columns += [NEEDED] if found.gaps else []
    table = Table([*columns, "published"], title=f"{found.dataset}: {found.protocol.name}", x100=x100)
    best = found.best()
    notes: dict[str, list[str]] = {}
    for line in [*found.lines, *found.baselines]:
        if line.kind == "baseline" and line.value is None:
            continue  # all captions equally long: nothing to beat
        star = line.p is not None and line.p < LEVEL
        value = None if line.value is None else Number(line.value, best=line is best, star=star)
        cells: list[Cell] = [line.metric, value, span(line.interval)]
        cells += [share(line.deviation)] if spread else []
        cells += [_group(line, name) for name in groups]
        cells += [share(line.gap), shown_p(line.p)]
        cells += [_tie(found, line.metric)] if found.ties else []
        cells += [_needed(found, line.metric)] if found.gaps else []
        table.add(*cells, _published(found, line, notes, x100))
    if best is not None and any(line.p is not None and line.p < LEVEL for line in found.lines):
        table.legend = [f"* differs from {best.metric} with adjusted p < {LEVEL:g}"]
    table.notes = [f"{found.protocol.describe()}.", f"{found.judgements} judgements on {found.images} images."]
    table.notes += _how(found, x100)
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
    table.notes += [line.signature for line in found.lines if signatures and line.signature]
    return table


def _how(found: Agreements, x100: bool) -> list[str]:
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

        notes += [NOTE, *filter(None, [not_above(found, x100=x100)])]
    return notes


def _tie(found: Agreements, metric: str) -> Number | None:
    own = found.ties.get(metric)
    return None if own is None else Number(own.accuracy)


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


def _group(line: Line, name: str) -> Number | None:
    if name not in line.groups:
        return None
    value, spread = line.groups[name]
    return Number(value, digits=3, spread=None if spread != spread else spread)


def _published(found: Agreements, line: Line, notes: dict[str, list[str]], x100: bool) -> str | None:
    """Numbers of the same protocol; only where there is none, others, marked ‡ as not comparable."""
    items = [item for item in line.published if not item.group]
    same = [i for i in items if i.protocol == found.protocol.name and "4,000 pairs" not in i.note]
    cells = []
    for item in same or items:
        shown = f"{item.value:.{item.digits}f}" if x100 else f"{item.value / 100:.{item.digits + 2}f}"
        cells.append(f"{shown}{'' if same else '‡'}")
        remark = f"; {item.note}" if item.note else ""
        where = item.source + remark if same else f"{item.source}; {item.protocol}{remark}"
        notes.setdefault(where, []).append(f"{item.label} {cells[-1]}")
    return " / ".join(cells) or None


def curve_table(points: Sequence[Agreements]) -> Table:
    """Agreement by number of references: a column per count (FAIEr Fig. 4, VIFIDEL Fig. 4)."""
    names = list(dict.fromkeys(line.metric for found in points for line in found.lines))
    heads = [_count(found) for found in points]
    table = Table(
        ["metric", *heads], title=f"{points[0].dataset}: {points[0].protocol.statistic} by references", x100=True
    )
    for name in names:
        row = {line.metric: line for found in points for line in found.lines if line.metric == name}
        cells = [share(next((line.value for line in found.lines if line.metric == name), None)) for found in points]
        if row:
            table.add(name, *cells)
    table.notes = [f"mean over {max(found.protocol.runs for found in points)} runs; - : not defined"]
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
    table = Table(["variant", *(found.protocol.name for found in tables)], title=f"ablation against {base}", x100=True)
    for name in names:
        cells: list[Cell] = []
        for found in tables:
            values = {line.metric: line.value for line in found.lines}
            value, zero = values.get(name), values.get(base)
            gap = None if value is None or zero is None or name == base else value - zero
            cells.append(None if value is None else Number(value, gap=gap))
        table.add(name, *cells)
    return table

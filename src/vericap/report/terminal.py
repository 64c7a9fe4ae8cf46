"""Reasons as plain lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from vericap.core.explanation import Explanation, Match
from vericap.core.layout import wrapped
from vericap.core.samples import Sample
from vericap.report.doubts import unlikely, unsupported
from vericap.run.results import Result

_SHOWN = 6  # items of one kind on a line
_BOLD, _RED, _PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[0m"


def worst_captions(
    result: Result,
    samples: Sequence[Sample],
    rows: Sequence[int],
    reasons: Mapping[str, Sequence[Explanation | None]],
    *,
    width: int | None = None,
    colour: bool = False,
    x100: bool = False,
) -> str:
    """Captions with their scores and what every metric says of them, the worst first.

    `width` are the columns of the terminal, `colour` marks captions and unsupported words, `x100` is for scores.
    """
    first = next(iter(result.metrics))
    head = f"The {len(rows)} worst caption{'s' if len(rows) != 1 else ''} by {first}:"
    lines = ["", head] if rows else ["", f"No caption has a score of {first}."]
    for place, row in enumerate(rows):
        own = {name: found[place] for name, found in reasons.items()}
        caption = f"{samples[row].id}: {samples[row].candidate}"
        lines += ["", *(_painted(line, _BOLD, colour) for line in _folded(caption, width, 0))]
        lines += _folded("  ".join(_scores(result, row, x100)), width, 2)
        for name, found in own.items():
            for text in told(found) if found is not None else ():
                style = _RED if text.startswith((_WEAK, _UNSAID)) else ""
                lines += [_painted(line, style, colour) for line in _folded(f"{name}: {text}", width, 2)]
    silent = [name for name, metric in result.metrics.items() if not metric.explains]
    if silent and rows:
        lines += ["", f"No reasons: {', '.join(silent)}"]
    return "\n".join(lines) + "\n"


def _scores(result: Result, row: int, x100: bool) -> Iterator[str]:
    for name in result.metrics:
        value = float(result[name][row])
        shown = "-" if value != value else f"{100 * value:.2f}" if x100 else f"{value:.4f}"
        yield f"{name} {shown}"


def _folded(text: str, width: int | None, indent: int) -> list[str]:
    """Lines that fit, those after the first set in further."""
    if width is None:
        return [" " * indent + text]
    first, *rest = wrapped(text, max(20, width - indent - 2))
    return [" " * indent + first, *(" " * (indent + 2) + line for line in rest)]


def _painted(line: str, style: str, colour: bool) -> str:
    return f"{style}{line}{_PLAIN}" if colour and style else line


_WEAK, _UNSAID = "not supported:", "in no reference:"


def told(explanation: Explanation) -> Iterator[str]:
    """An explanation in a few short lines."""
    if weak := unsupported(explanation):
        looked = any(word.source == "image" for word in explanation.words)
        yield f"{_WEAK if looked else _UNSAID} {_some(weak)}"
    if odd := unlikely(explanation):
        yield f"reads oddly: {_some(odd)}"
    if explanation.missing:
        yield f"left out: {_some([item.text for item in explanation.missing])}"
    matched = [_pair(match) for match in explanation.matches if match.reference]
    if matched:
        yield f"matched: {_some(matched)}"
    alone = [" ".join(match.candidate) for match in explanation.matches if not match.reference and match.grade <= 0]
    if alone:
        yield f"only in the caption: {_some(alone)}"
    graded = sorted((match for match in explanation.matches if not match.reference and match.grade > 0), key=_grade)
    if graded:
        yield f"least seen: {_some([_graded(match) for match in graded])}"
    if explanation.transport:
        yield f"moved: {_some([f'{move.object} -> {move.word} ({move.cost:.2f})' for move in explanation.transport])}"
    yield from explanation.notes


def _grade(match: Match) -> float:
    return match.grade


def _graded(match: Match) -> str:
    return f"{' '.join(match.candidate)} ({match.grade:.2f})"


def _pair(match: Match) -> str:
    own, other = " ".join(match.candidate), " ".join(match.reference)
    return own if own == other else f"{own} = {other}"


def _some(items: Sequence[str]) -> str:
    more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return ", ".join(items[:_SHOWN]) + more

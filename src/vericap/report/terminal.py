"""Reasons as plain lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from vericap.core.explanation import Explanation, Match
from vericap.core.samples import Sample
from vericap.run.results import Result
from vericap.text.stopwords import ENGLISH

_SHOWN = 6  # items of one kind on a line
_UNSUPPORTED = 0.3  # support below which a word is named


def worst_captions(
    result: Result,
    samples: Sequence[Sample],
    rows: Sequence[int],
    reasons: Mapping[str, Sequence[Explanation | None]],
) -> str:
    """Captions with their scores and what every metric says of them, the worst first."""
    first = next(iter(result.metrics))
    lines = ["", f"The {len(rows)} worst caption{'s' if len(rows) != 1 else ''} by {first}:"]
    for place, row in enumerate(rows):
        scores = "  ".join(f"{name} {result[name][row]:.4f}" for name in result.metrics)
        lines += ["", f"{samples[row].id}: {samples[row].candidate}", f"  {scores}"]
        for name, found in reasons.items():
            explanation = found[place]
            lines += [f"  {name}: {line}" for line in told(explanation)] if explanation is not None else []
    silent = [name for name, metric in result.metrics.items() if not metric.explains]
    if silent:
        lines += ["", f"No reasons: {', '.join(silent)}"]
    return "\n".join(lines) + "\n"


def told(explanation: Explanation) -> Iterator[str]:
    """An explanation in a few short lines."""
    weak = [
        word.text
        for word in explanation.words
        if word.support is not None and word.support < _UNSUPPORTED and word.text.lower() not in ENGLISH
    ]
    if weak:
        yield f"not supported: {_some(weak)}"
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

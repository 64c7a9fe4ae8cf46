"""What a filter has done: counts, cuts, problems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from vericap.core.errors import Problem
from vericap.run.filter.judge import Judge
from vericap.run.filter.selection import Summary
from vericap.run.results import plain

HELD = 1000  # problems that are held to be told


@dataclass
class Outcome:
    """What was done: counts and histograms, problems of single records, and how many rows each file has."""

    summary: Summary
    judge: Judge
    problems: list[Problem] = field(default_factory=list)  # the first ones; the rejected file has them all
    problem_count: int = 0
    unwritten: int = 0  # met the condition, but have no photo for a tar, no uid for a list
    cleaned: int = 0
    notes: list[str] = field(default_factory=list)
    before: dict[str, Any] | None = None  # what came of it, where it was done before

    @property
    def kept(self) -> int:
        """Records that are in the output."""
        return self.summary.kept - self.unwritten

    def note(self, problems: Sequence[Problem]) -> None:
        """Count problems; of millions only the first are held."""
        self.problem_count += len(problems)
        self.problems += problems[: max(0, HELD - len(self.problems))]

    def as_dict(self) -> dict[str, Any]:
        """Counts, cuts and problems as plain data."""
        if self.before is not None:
            return self.before
        told = self.summary
        cuts = {name: {**vars(cut), "value": plain(cut.value)} for name, cut in told.cuts.items()}
        counts = {"records": told.read, "kept": self.kept, "rejected": told.rejected, "not best": told.not_best}
        beside = {
            "unwritten": self.unwritten,
            "unjudged": told.unjudged,
            "cleaned": self.cleaned,
            "scored": told.scored,
            "cuts": cuts,
        }
        scored = {"scored": told.scored, "cuts": cuts}
        problems = {"problems": [str(one) for one in self.problems], "problem_count": self.problem_count}
        return {**counts, **beside, **scored, **problems}


def outcome_lines(outcome: Outcome) -> Iterator[str]:
    """What was kept and why the rest was not, in words."""
    told = outcome.summary
    share = f" ({100 * outcome.kept / told.read:.1f} %)" if told.read else ""
    yield f"{outcome.kept} of {told.read} records kept{share}"
    if outcome.unwritten:
        yield f"  {outcome.unwritten} meet the condition and could not be written"
    for condition, count in told.rejected.items():
        if count:
            yield f"  {count} fail {condition}"
    if told.not_best:
        yield f"  {told.not_best} are not the best caption of their image"
    if told.unjudged:
        yield f"  {told.unjudged} of the rejected could not be judged by every metric"
    for share_text, cut in told.cuts.items():
        tied = f"; {cut.tied} records outside have the same value (earlier records come first)" if cut.tied else ""
        yield f"  {share_text}: {cut.kept} of {cut.records}, down to {cut.value:.4g}{tied}"
    if outcome.cleaned:
        yield f"{outcome.cleaned} captions were cleaned"

"""Which records of an input are kept: passes over its pieces, as many as share conditions ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from vericap.core.typing import Floats
from vericap.run.filter import truth
from vericap.run.filter.histogram import Histogram
from vericap.run.filter.judge import Judge
from vericap.run.filter.state import KEPT, NOT_BEST, UNREADABLE, Rows, State
from vericap.run.filter.stored import Stored
from vericap.run.filter.tree import Comparison, Share, leaves
from vericap.run.filter.truth import Cut

LAST = 99  # the number of the pass in which only what is kept is scored
Piece = TypeVar("Piece")  # some records of the input, as a reader gives them


@dataclass
class Summary:
    """How many records each condition rejected, and where shares cut."""

    read: int = 0
    kept: int = 0
    unreadable: int = 0
    not_best: int = 0
    unjudged: int = 0  # rejected because a metric could not judge them
    rejected: dict[str, int] = field(default_factory=dict)
    cuts: dict[str, Cut] = field(default_factory=dict)
    scored: dict[str, int] = field(default_factory=dict)  # metric -> records it has seen
    first_problem: dict[str, str] = field(
        default_factory=dict
    )  # metric -> the first record it could not judge, and why
    histograms: dict[str, Histogram] = field(default_factory=dict)


class Selection(Generic[Piece]):
    """Judged pieces of an input in its order; `summary` is complete when all were seen.

    Parameters
    ----------
    judge : the expression with its metrics.
    source : the input, some records at a time; it is gone through once per pass.
    rows : the records of a piece.
    best : a column: of several captions of one image only the one with its best value is kept.
    extra : columns that no condition reads, scored for what is kept: to sort by, or to be written.
    stored : where decisions are kept, so that a run that is cut short can go on.
    """

    def __init__(
        self,
        judge: Judge,
        source: Iterable[Piece],
        rows: Callable[[Piece], Rows],
        *,
        best: str = "",
        extra: Sequence[str] = (),
        stored: Stored | None = None,
    ) -> None:
        self.judge, self.source, self.rows, self.stored = judge, source, rows, stored
        self.best, self.extra = best, tuple(dict.fromkeys([*extra, *([best] if best else [])]))
        self.summary = Summary(rejected={str(condition): 0 for condition in judge.conditions})
        self._images: dict[str, tuple[float, int, int]] = {}  # image -> value, piece, row of its best caption

    @property
    def passes(self) -> int:
        """How often the input is read."""
        shares = sum(bool(stage.shares) for stage in self.judge.stages)
        return 1 if not shares and not self.best else len(segments(self.judge)) + 1 + bool(self.extra)

    def __iter__(self) -> Iterator[tuple[Piece, Rows, State]]:
        for piece, rows, state in self._once() if self.passes == 1 else self._often():
            self._count(rows, state)
            yield piece, rows, state

    def _once(self) -> Iterator[tuple[Piece, Rows, State]]:
        """Nothing hangs on other records: a piece is done when it was seen."""
        (stages,) = segments(self.judge)
        for place, piece in enumerate(self.source):
            rows = self.rows(piece)
            state = self._known(0, place)
            if state is None:
                state = State.of(rows)
                self.judge.work(rows, state, stages)
                self._score_extra(rows, state)
                self._keep(0, place, state)
            yield piece, rows, state

    def _often(self) -> Iterator[tuple[Piece, Rows, State]]:
        states: list[State] = []
        for number, stages in enumerate(segments(self.judge)):
            for place, piece in enumerate(self.source):
                known = self._known(number, place)
                rows = self.rows(piece)
                if place == len(states):
                    states.append(State.of(rows))
                if known is None:
                    self.judge.work(rows, states[place], stages)
                    self._keep(number, place, states[place])
                else:
                    states[place] = known
            cuts = self.judge.cut(states, stages[-1]) if self.judge.stages[stages[-1]].shares else {}
            self.summary.cuts.update({str(share): cut for share, cut in cuts.items()})
        if self.extra:
            self._last_look(states)
        for piece, state in zip(self.source, states):
            yield piece, self.rows(piece), state

    def _known(self, number: int, place: int) -> State | None:
        return None if self.stored is None else self.stored.load(number, place)

    def _keep(self, number: int, place: int, state: State) -> None:
        if self.stored is not None:
            self.stored.save(number, place, state)

    def _last_look(self, states: list[State]) -> None:
        """Scores that only what is kept needs, and the best caption of every image."""
        for place, piece in enumerate(self.source):
            rows = self.rows(piece)
            known = self._known(LAST, place)
            if known is None:
                self._score_extra(rows, states[place])
                self._keep(LAST, place, states[place])
            else:
                states[place] = known
            if self.best:
                self._note_best(rows, states[place], place)
        if self.best:
            winners: dict[int, list[int]] = {}
            for _, place, row in self._images.values():
                winners.setdefault(place, []).append(row)
            for place, state in enumerate(states):
                alive = state.alive
                state.failed[alive[~np.isin(alive, winners.get(place, []))]] = NOT_BEST

    def _score_extra(self, rows: Rows, state: State) -> None:
        sources = (self.judge.sources.of[name] for name in self.extra)
        labels = [source.key for source in sources if source.kind == "metric"]
        self.judge.score(rows, state, labels, state.alive)

    def _note_best(self, rows: Rows, state: State, place: int) -> None:
        values = oriented(self.judge, rows, state, self.best)
        for row in state.alive.tolist():
            sample, value = rows.samples[row], float(values[row])
            key = sample.id if sample.image is None else sample.image
            if key not in self._images or value > self._images[key][0]:
                self._images[key] = (value, place, row)

    # --- what is told afterwards --------------------------------------------------------------------------------

    def _count(self, rows: Rows, state: State) -> None:
        told = self.summary
        told.read += len(rows)
        told.kept += int((state.failed == KEPT).sum())
        told.unreadable += int((state.failed == UNREADABLE).sum())
        told.not_best += int((state.failed == NOT_BEST).sum())
        names = [str(condition) for condition in self.judge.conditions]
        for number, count in zip(*np.unique(state.failed[state.failed >= 0], return_counts=True)):
            told.rejected[names[number]] += int(count)
        for label, seen in state.scored.items():
            told.scored[label] = told.scored.get(label, 0) + int(seen.sum())
        for label, own in state.problems.items():
            for row, reason in sorted(own.items())[:1]:
                told.first_problem.setdefault(label, f"{rows.samples[row].id}: {reason}")
        for row in np.flatnonzero(state.failed >= 0).tolist():
            told.unjudged += bool(state.unjudged(row, self.judge.labels))
        for name, source in self.judge.sources.of.items():
            if source.kind == "metric" and name in state.columns and state.columns[name].dtype != object:
                seen = state.scored[source.key]
                told.histograms.setdefault(name, Histogram(name)).add(state.columns[name][seen])


def oriented(judge: Judge, rows: Rows, state: State, name: str) -> Floats:
    """A column with the best values highest, and what has none below all others."""
    source = judge.sources.of[name]
    values = truth.numbers(judge.values(rows, state, name, np.arange(len(rows))))
    return np.where(np.isnan(values), -np.inf, -values if source.lower else values)


def segments(judge: Judge) -> list[list[int]]:
    """Stages that one pass can judge: it ends with a stage that has a share."""
    found: list[list[int]] = [[]]
    for number, stage in enumerate(judge.stages):
        found[-1].append(number)
        if stage.shares and number + 1 < len(judge.stages):
            found.append([])
    return found


def cuts_of(judge: Judge, summary: Summary, name: str) -> list[float]:
    """Values that conditions compare a column with, and those at which shares cut it."""
    every = [leaf for stage in judge.sources.expression.stages for leaf in leaves(stage) if leaf.column.name == name]
    compared = [leaf.value for leaf in every if isinstance(leaf, Comparison) and isinstance(leaf.value, float)]
    shared = [summary.cuts[str(leaf)].value for leaf in every if isinstance(leaf, Share) and str(leaf) in summary.cuts]
    return [*compared, *(value for value in shared if value == value)]

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
from vericap.run.filter.state import KEPT, NOT_BEST, UNREADABLE, Records, State
from vericap.run.filter.tree import Comparison, Share, leaves
from vericap.run.filter.truth import Cut

Piece = TypeVar("Piece")  # of the input: it can be read again


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
    histograms: dict[str, Histogram] = field(default_factory=dict)


class Selection(Generic[Piece]):
    """Judged pieces in the order of the input; `summary` is complete when all were seen.

    Parameters
    ----------
    judge : the expression with its metrics.
    pieces : what the input consists of.
    read : the records of a piece; called once per pass.
    best : a column: of several captions of one image only the one with its best value is kept.
    extra : metrics that no condition reads, scored for what is kept: to sort by, or to be written.
    """

    def __init__(
        self,
        judge: Judge,
        pieces: Iterable[Piece],
        read: Callable[[Piece], Records],
        *,
        best: str = "",
        extra: Sequence[str] = (),
    ) -> None:
        self.judge, self.pieces, self.read = judge, pieces, read
        self.best, self.extra = best, tuple(dict.fromkeys([*extra, *([best] if best else [])]))
        self.summary = Summary(rejected={str(condition): 0 for condition in judge.conditions})
        self._images: dict[str, tuple[float, int, int]] = {}  # image -> value, piece, row of its best caption

    def __iter__(self) -> Iterator[tuple[Piece, Records, State]]:
        for piece, records, state in self._decided():
            self._count(records, state)
            yield piece, records, state
        self.summary.scored = dict(self.judge.scored)

    def _decided(self) -> Iterator[tuple[Piece, Records, State]]:
        *before, last = segments(self.judge)
        if not before and not self.judge.stages[last[-1]].shares and not self.best:
            for piece in self.pieces:  # nothing hangs on other records: one pass
                records = self.read(piece)
                state = State.of(records)
                self._work(records, state, last, final=True)
                yield piece, records, state
            return
        pieces = list(self.pieces)
        states = self._all_passes(pieces, [*before, last])
        for piece, state in zip(pieces, states):
            yield piece, self.read(piece), state

    def _all_passes(self, pieces: Sequence[Piece], passes: Sequence[Sequence[int]]) -> list[State]:
        states: list[State] = []
        for number, stages in enumerate(passes):
            for place, piece in enumerate(pieces):
                records = self.read(piece)
                if number == 0:
                    states.append(State.of(records))
                self._work(records, states[place], stages, final=False)
            cuts = self.judge.cut(states, stages[-1]) if self.judge.stages[stages[-1]].shares else {}
            self.summary.cuts.update({str(share): cut for share, cut in cuts.items()})
        if self.extra or self.best:
            self._last_look(pieces, states)
        return states

    def _last_look(self, pieces: Sequence[Piece], states: Sequence[State]) -> None:
        """Scores that only what is kept needs, and the best caption of every image."""
        for place, (piece, state) in enumerate(zip(pieces, states)):
            records = self.read(piece)
            self._score_extra(records, state)
            if self.best:
                self._note_best(records, state, place)
        if self.best:
            for place, state in enumerate(states):
                winners = [row for _, where, row in self._images.values() if where == place]
                alive = state.alive
                state.failed[alive[~np.isin(alive, winners)]] = NOT_BEST

    def _work(self, records: Records, state: State, stages: Sequence[int], *, final: bool) -> None:
        self.judge.work(records, state, stages)
        if final:
            self._score_extra(records, state)

    def _score_extra(self, records: Records, state: State) -> None:
        sources = (self.judge.sources.of[name] for name in self.extra)
        labels = [source.key for source in sources if source.kind == "metric"]
        self.judge.score(records, state, labels, state.alive)

    def _note_best(self, records: Records, state: State, place: int) -> None:
        rows = state.alive
        values = oriented(self.judge, records, state, self.best)[rows]
        for row, value in zip(rows.tolist(), values.tolist()):
            image = records.samples[row].image
            key = records.samples[row].id if image is None else image
            if key not in self._images or value > self._images[key][0]:
                self._images[key] = (value, place, row)

    # --- what is told afterwards --------------------------------------------------------------------------------

    def _count(self, records: Records, state: State) -> None:
        told = self.summary
        told.read += len(records)
        told.kept += int((state.failed == KEPT).sum())
        told.unreadable += int((state.failed == UNREADABLE).sum())
        told.not_best += int((state.failed == NOT_BEST).sum())
        names = [str(condition) for condition in self.judge.conditions]
        for number, count in zip(*np.unique(state.failed[state.failed >= 0], return_counts=True)):
            told.rejected[names[number]] += int(count)
        for row in np.flatnonzero(state.failed >= 0).tolist():
            told.unjudged += bool(state.unjudged(row, self.judge.labels))
        for name, source in self.judge.sources.of.items():
            if source.kind == "metric" and name in state.columns and state.columns[name].dtype != object:
                seen = state.scored[source.key]
                told.histograms.setdefault(name, Histogram(name)).add(state.columns[name][seen])


def oriented(judge: Judge, records: Records, state: State, name: str) -> Floats:
    """A column with the best values highest, and what has none below all others."""
    source = judge.sources.of[name]
    values = truth.numbers(judge.values(records, state, name, np.arange(len(records))))
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

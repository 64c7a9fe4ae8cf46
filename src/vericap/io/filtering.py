"""From a file of captions to what is kept of it; the rejected ones go to a file of their own, with reasons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vericap.core.errors import InputError, Problem, VericapError
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.typing import Array, Ints
from vericap.io.filter_outcome import Outcome
from vericap.io.filter_state import FilterState
from vericap.io.filter_tables import PROBLEM, REJECTED, best_first, is_list, unread, with_column
from vericap.io.records import PLAIN, Fields, known_fields
from vericap.io.stream import Input, Records
from vericap.io.subsets import COUNTED, TarWriter, UidWriter, is_shard, plain_columns
from vericap.io.write import WRITERS, Writer, check_not_input, check_output, open_writer
from vericap.metrics import registry
from vericap.run.engine import Run
from vericap.run.filter import grammar
from vericap.run.filter.columns import Sources
from vericap.run.filter.judge import Judge
from vericap.run.filter.selection import Selection, Summary, oriented
from vericap.run.filter.state import KEPT, NOT_BEST, Rows, State
from vericap.run.filter.stored import Stored
from vericap.run.progress import progress
from vericap.text.clean import clean

if TYPE_CHECKING:
    import pyarrow

TABLES = tuple(WRITERS)
KINDS = (*TABLES, ".tar", ".npy")
PIECE = 4096  # records judged together: what a run that is cut short may lose, and what memory holds of photos
ORIGINAL = "original"


@dataclass(frozen=True)
class Wish:
    """What to keep and how to write it."""

    keep: str
    cascade: bool = False
    clean: bool = False
    best_per_image: str | None = None  # a column; "" for the first metric of the condition
    sort: str | None = None
    metrics: tuple[str, ...] = ()  # further scores to write
    shard: int = 10_000


def rejected_name(output: str | Path) -> Path:
    """The file of what is not kept: kept.csv -> kept.rejected.csv; beside a tar or a uid list it is JSONL.

    Examples
    --------
    >>> str(rejected_name("kept.csv")), str(rejected_name("kept-%06d.tar"))
    ('kept.rejected.csv', 'kept.rejected.jsonl')
    """
    file = Path(output)
    stem = file.stem.split("%")[0].rstrip("-_.") or "kept"
    return file.with_name(f"{stem}.rejected{file.suffix if file.suffix.lower() in TABLES else '.jsonl'}")


def check_outputs(output: str | Path, rejected: str | Path | None, inputs: Iterable[str | Path]) -> None:
    """Refuse outputs that cannot be written, or that are inputs, before any work is done."""
    inputs = list(inputs)
    if COUNTED.search(Path(output).name) is None:
        check_output(output, inputs, kinds=KINDS, what="kept captions")
    else:
        for source in inputs:
            if is_shard(source, output):
                raise InputError(f"{output}: {source} is one of the inputs, and would be lost; choose another output")
    if rejected is not None:
        check_output(rejected, inputs, kinds=TABLES, what="rejected captions")
        check_not_input(Path(rejected), [output])


@dataclass(frozen=True)
class _Watched:
    """An input that shows how far one is, in every pass."""

    source: Input
    show: bool

    def __iter__(self) -> Iterator[Records]:
        what, total = "filtering", len(self.source.units)
        yield from progress(self.source, what=what, total=total, show=self.show, unit="piece")


class Filtering:
    """One filter over one input.

    Parameters
    ----------
    source : an opened input; it is read once per pass.
    wish : what to keep.
    settings : choices that all metrics share.
    """

    def __init__(self, source: Input, wish: Wish, settings: Settings | None = None) -> None:
        self.source, self.wish, self.settings = source, wish, settings or Settings()
        if not source.units:
            raise InputError(f"{source.name}: no caption was found")
        self.names = names = list(source.read(source.units[0]).columns.column_names)
        expression = grammar.parse(wish.keep)
        self.sources = Sources(expression, _make, registry.names(), names)
        self.best = self._ranked("best_per_image", wish.best_per_image)
        self.order = self._ranked("sort", wish.sort)
        for name in wish.metrics:
            self.sources.add(name)
        self.judge = Judge(self.sources, self.settings, cascade=wish.cascade)
        self.outcome = Outcome(Summary(), self.judge)
        self._note_hidden(names)

    def _ranked(self, option: str, name: str | None) -> str:
        """The column to rank by: the one named, or the first metric of the condition."""
        if name is None:
            return ""
        if name:
            return self.sources.add(name).name
        metric = next((one.name for one in self.sources.of.values() if one.kind == "metric"), None)
        if metric is None:
            raise VericapError(f"`{option}=`: the condition names no metric to rank by; say which one: `{option}=vse`")
        return metric

    def _note_hidden(self, names: Sequence[str]) -> None:
        hidden = [one.name for one in self.sources.of.values() if one.kind == "metric" and one.name in names]
        if hidden:
            self.outcome.notes.append(
                f"the input has a column {', '.join(hidden)} too, which the new scores replace; "
                f"`input.{hidden[0]}` in a condition reads the old ones"
            )

    # --- reading ------------------------------------------------------------------------------------------------

    def run(
        self, output: str | Path | None, rejected: str | Path | None = None, *, resume: str | None = None
    ) -> Outcome:
        """Judge all records and write them; without an output nothing is written.

        `resume` takes up a run that was cut short: "" with the state beside the output, else with that folder.
        """
        with self.judge:
            return self._run(output, rejected, resume)

    def _run(self, output: str | Path | None, rejected: str | Path | None, resume: str | None) -> Outcome:
        self.outcome.note(self.source.problems)
        self.outcome.notes += self.source.notes
        if output is not None and Path(output).suffix.lower() == ".npy" and "uid" not in self.names:
            raise InputError(
                f"{output}: a DataComp list needs a column 'uid'; {self.source.name} has {_listed(self.names)}"
            )
        if output is None:
            for records, rows, _ in self._selection(None):
                self._note(records, rows)
            self._check_judged()
            return self.outcome
        kept, lost = Path(output), None if rejected is None else Path(rejected)
        plan = self._plan(kept, lost)
        state = FilterState(kept, resume, self.source.digest, plan, self._signatures())
        with state.locked():
            self.outcome.before = state.begin()
            if self.outcome.before is None:
                files = self._write(self._selection(state.stored), kept, lost)
                state.finish(self.outcome.as_dict(), files)
        return self.outcome

    def _selection(self, stored: Stored | None) -> Selection[Records]:
        extra = [name for name in (self.order, *self.wish.metrics) if name]
        source = _Watched(self.source, self.settings.progress)
        found = Selection(self.judge, source, self._rows, best=self.best, extra=extra, stored=stored)
        self.outcome.summary = found.summary
        return found

    def _plan(self, output: Path, rejected: Path | None) -> dict[str, Any]:
        """Everything that moves a byte of what is written, as plain data."""
        written = {"output": output.suffix, "rejected": None if rejected is None else rejected.suffix}
        told = {**asdict(self.wish), "metrics": list(self.wish.metrics)}
        return {**told, **written, "settings": self.settings.choices(), "units": len(self.source.units)}

    def _signatures(self) -> dict[str, str]:
        """Signatures on the first records: they name models and tables with their digests."""
        if not self.sources.metrics:
            return {}
        run = Run(list(self.sources.metrics.values()), self.settings)
        return run.signatures(run.name_images(self.source.read(self.source.units[0]).samples[:64]))

    def _rows(self, records: Records) -> Rows:
        samples: Sequence[Sample] = records.samples
        if self.wish.clean:
            samples = [replace(sample, candidate=clean(sample.candidate)) for sample in samples]
        table = records.columns

        def cells(name: str) -> Array:
            found = np.full(len(samples), None, dtype=object)
            if name in table.column_names:
                found[:] = table.column(name).to_pylist()
            return found

        return Rows(samples, cells)

    def _check_judged(self) -> None:
        """A metric that could judge nothing at all tells of a mistake (a wrong folder), not of bad records."""
        for name, histogram in self.outcome.summary.histograms.items():
            reason = self.outcome.summary.first_problem.get(self.sources.of[name].key)
            if histogram.missing and not histogram.seen and reason:
                raise InputError(f"{name} could judge none of {histogram.missing} records; the first: {reason}")

    def _note(self, records: Records, rows: Rows) -> None:
        self.outcome.note(records.problems)
        if self.wish.clean:
            pairs = zip(rows.samples, records.samples)
            self.outcome.cleaned += sum(one.candidate != other.candidate for one, other in pairs)

    # --- writing ------------------------------------------------------------------------------------------------

    def _write(self, selection: Selection[Records], output: Path, rejected: Path | None) -> list[Path]:
        """Write what is kept and what is not; the files."""
        kind = output.suffix.lower()
        if self.order and kind not in TABLES:
            raise VericapError(f"{output}: a {kind} file has an order of its own; `sort=` needs {', '.join(TABLES)}")
        with ExitStack() as stack:
            lost = None if rejected is None else stack.enter_context(open_writer(rejected))
            sink = self._sink(output, kind)
            stack.enter_context(sink)
            held: list[tuple[Array, pyarrow.Table]] = []
            for records, rows, state in selection:
                self._note(records, rows)
                table = self._table(records, rows, state)
                kept = np.flatnonzero(state.failed == KEPT)
                if self.order:
                    held.append((oriented(self.judge, rows, state, self.order)[kept], table.take(kept)))
                unwritten: dict[int, str] = {}
                if isinstance(sink, TarWriter | UidWriter):
                    unwritten = self._add(sink, rows, table, kept)
                elif not self.order:
                    sink.write(table.take(kept))
                if lost is not None:
                    self._reject(lost, table, rows, state, records.problems, unwritten)
            if held and isinstance(sink, Writer):
                sink.write(best_first(held))
            self._check_judged()
        files = sink.names if isinstance(sink, TarWriter) else [output]
        more = sink.others() if isinstance(sink, TarWriter) else []
        if more:
            self.outcome.notes.append(
                f"{more[0]}{' and others' if len(more) > 1 else ''} of the same name are not of this run; remove them, "
                "or a pattern reads them too"
            )
        return files if rejected is None else [*files, rejected]

    def _sink(self, output: Path, kind: str) -> Writer | TarWriter | UidWriter:
        if kind == ".npy":
            return UidWriter(output)
        if kind == ".tar":
            return TarWriter(output, self._photo, shard=self.wish.shard)
        return open_writer(output)

    def _add(self, sink: TarWriter | UidWriter, rows: Rows, table: pyarrow.Table, kept: Ints) -> dict[int, str]:
        """Write samples; rows that cannot be written (no photo, no uid), with the reason."""
        found = {}
        for row, columns in zip(kept.tolist(), plain_columns(table.take(kept))):
            try:
                sink.add(rows.samples[row], columns)
            except InputError as error:
                found[row] = f"is not written: {error}"
                self.outcome.note([Problem(f"id {rows.samples[row].id}", found[row], self.source.name)])
        self.outcome.unwritten += len(found)
        return found

    def _photo(self, sample: Sample) -> bytes:
        from vericap.vision import images

        if isinstance(sample.photo, bytes):
            return sample.photo
        if sample.photo is not None:
            return images.read(sample.photo)
        if self.settings.images is None:
            raise InputError("has no photo; name their folder with `images=DIR`")
        return images.read(images.find(sample.image or sample.id, self.settings.images))

    def _table(self, records: Records, rows: Rows, state: State) -> pyarrow.Table:
        """The input's columns, the cleaned caption with the original, and the scores."""
        table = records.columns
        name = caption_column(table.column_names, self.source.fields)
        if not table.column_names:
            table = with_column(table, "id", [sample.id for sample in records.samples])
        if not name or records.spread or is_list(table.schema.field(name).type):
            name = name or "caption"  # of a list of captions the one that this row is about
            table = with_column(table, name, [sample.candidate for sample in records.samples])
        if self.wish.clean:
            table = with_column(table, f"{name}.{ORIGINAL}", [sample.candidate for sample in records.samples])
            table = with_column(table, name, [sample.candidate for sample in rows.samples])
        for score in self.columns:
            values = state.columns.get(score, np.full(len(rows), np.nan))
            table = with_column(table, score, values)
        return table

    @property
    def columns(self) -> list[str]:
        """Columns of scores that are written."""
        return list(dict.fromkeys(one.name for one in self.sources.of.values() if one.kind == "metric"))

    def _reject(
        self,
        sink: Writer,
        table: pyarrow.Table,
        rows: Rows,
        state: State,
        problems: Sequence[Problem],
        unwritten: Mapping[int, str],
    ) -> None:
        """What is not kept, each with the condition it failed; then records that could not be read."""
        lost = np.array(sorted({*np.flatnonzero(state.failed != KEPT).tolist(), *unwritten}), dtype=np.int64)
        labels = self.judge.labels
        reasons = ["writable" if row in unwritten else self._condition(int(state.failed[row])) for row in lost.tolist()]
        why = [
            unwritten.get(row) or rows.samples[row].problem or state.unjudged(row, labels) or None
            for row in lost.tolist()
        ]
        found = with_column(with_column(table.take(lost), REJECTED, reasons), PROBLEM, why)
        sink.write(found)
        if problems:
            sink.write(unread(found, problems))

    def _condition(self, code: int) -> str:
        if code == NOT_BEST:
            return f"best caption of the image by {self.best}"
        return str(self.judge.conditions[code]) if code >= 0 else "readable"


def caption_column(names: Sequence[str], fields: Fields = PLAIN) -> str:
    """The input's column that holds the caption; empty where it has none (lines of text)."""
    known = dict(known_fields(tuple(names), fields)[0])
    return str(known.get("candidate") or ("txt" if "txt" in names else ""))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "no columns"


def _make(text: str) -> Any:
    return registry.make(text, code=True)

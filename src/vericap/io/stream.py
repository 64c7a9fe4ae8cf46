"""Any input as batches of records: planned once, read piece by piece, in any process.

    with open_input("shards/{000..099}.tar") as source:
        for records in source:                    # about 16,000 records at a time, memory stays flat
            for sample in records.samples:        # id, candidate, references, image (key), photo (bytes | Path | None)
                ...
            records.columns                       # the input's own columns of the same rows, as an Arrow table
            records.problems                      # records that cannot be used, with reasons

`source.units` are the pieces: small, picklable, readable in any order with `source.read(unit)`. Writers by a file's
ending are in `vericap.io.write`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from vericap.core.errors import InputError, Problem
from vericap.core.samples import Sample
from vericap.core.typing import Array
from vericap.io import archives, documents, units
from vericap.io.columns import as_table
from vericap.io.files import expand, open_file
from vericap.io.identity import Identity, make_sample, mode_of, photos_lie
from vericap.io.planning import How, plan_files, units_of
from vericap.io.records import PLAIN, Fields, Record, each_caption
from vericap.io.references import Gathered, References
from vericap.io.units import RECORDS, Content, Unit
from vericap.run.shards import Settled

if TYPE_CHECKING:
    import pyarrow

Paths = Sequence[str | Path]


@dataclass
class Records:
    """Records of one unit that can be used, in the input's order, and what is wrong with the others."""

    samples: list[Sample] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    names: list[str] = field(default_factory=list)  # ids of the samples as they were given
    judged: Array = field(default_factory=lambda: np.zeros(0, np.uint64))  # of ids that a references file knows
    count: int = 0  # records of the unit, usable or not
    _content: Content | None = field(default=None, repr=False)
    _rows: list[int] = field(default_factory=list, repr=False)

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def keys(self) -> Array:
        """Numbers that stand for the ids, to tell repeated ones; only the first look asks for them."""
        return np.array(list(map(_key, self.names)), dtype=np.uint64)

    @property
    def spread(self) -> bool:
        """Whether a record had several captions: it stands in `columns` once for each."""
        return len(set(self._rows)) < len(self._rows)

    @property
    def columns(self) -> pyarrow.Table:
        """The input's own columns, a row per sample."""
        return as_table(self._content or Content(), self._rows)


@dataclass
class Input:
    """An input, planned: what to read, and how ids and references are found. It can be pickled."""

    name: str
    units: list[Unit]
    digest: str  # of all bytes of the input and of its references
    fields: Fields = PLAIN
    mode: str = "id"  # where ids come from: "id", "image", "number"
    references: References | None = None
    beside: bool = True  # whether images may lie beside the input, or anywhere by an absolute name
    lying: bool = False  # whether photos do lie there: one that does not is missing, and a problem of its record
    problems: list[Problem] = field(default_factory=list)  # met while planning
    notes: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)  # every file that is read
    parallel: bool = False  # captions are lines, numbered
    spool: Path | None = None
    _temporary: Any = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_temporary": None, "problems": []}

    def __enter__(self) -> Input:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove what was unpacked for reading."""
        if self._temporary is not None:
            self._temporary.cleanup()

    def read(self, unit: Unit, *, start: int = 0, repeats: dict[int, int] | None = None) -> Records:
        """The records of a unit.

        Parameters
        ----------
        unit : one of `units`.
        start : number of records in the units before, where records are numbered.
        repeats : place of a sample -> how often its id occurs in the units before.
        """
        content = content_of(unit, self.fields)
        found = Records(problems=content.problems, count=len(content.records), _content=content)
        identity = Identity(self.mode, start, repeats or {}, unit.name)
        known = identity.join(content.records, self.references)
        for row, record in _captions(content.records):
            identifier = identity.of(record, row)
            try:
                sample = make_sample(
                    record, identifier, self.references, known, unit, beside=self.beside, lying=self.lying
                )
                found.samples.append(identity.settle(sample, record))
                found._rows.append(row)
            except InputError as error:
                where = record["where"] if identifier is None else f"{record['where']} (id {identifier})"
                found.problems.append(Problem(where, str(error), unit.name))
        found.names = identity.names
        found.judged = np.unique(np.array([_key(key) for key in known], dtype=np.uint64))
        return found

    def settle(self, surveys: Sequence[Mapping[str, Any]], matched: int) -> Settled:
        """What only the whole input tells, from a first look at every unit."""
        from vericap.io.load import Summary

        summary, starts = Summary(matched=matched), []
        for record in surveys:
            starts.append(summary.records)
            summary.count(
                record["records"], record["samples"], record["first_id"], record["empty"], record["empty_count"]
            )
        first = [Problem("record", text) for record in surveys for text in record["first"]][:1]
        summary.check(self, [*self.problems, *first])
        return Settled(starts, summary.notes(self), summary.warnings())

    def light(self) -> Input:
        """The same without its units, for tasks that bring their own."""
        return replace(self, units=[], _temporary=None)

    def __iter__(self) -> Iterator[Records]:
        """All records in order, ids made sure of across units."""
        seen, start = Seen(), 0
        for unit in self.units:
            found = self.read(unit, start=start)
            repeats = seen.add(found.keys)
            if repeats:
                found = self.read(unit, start=start, repeats=repeats)
            start += found.count
            yield found


def _captions(records: Sequence[Record]) -> Iterator[tuple[int, Record]]:
    """Records with their row; one with several captions comes once for each."""
    for row, record in enumerate(records):
        if isinstance(record.get("candidate"), list):
            yield from ((row, one) for one in each_caption(record))
        else:
            yield row, record


def _key(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


class Seen:
    """Keys met so far: sorted arrays whose sizes grow like those of a binary counter, 8 bytes a key."""

    def __init__(self) -> None:
        self.runs: list[Array] = []

    def add(self, keys: Array) -> dict[int, int]:
        """Add the keys of a unit; place of a key -> how often it was met in units before."""
        earlier = np.zeros(len(keys), dtype=np.int64)
        for run in self.runs:
            earlier += np.searchsorted(run, keys, "right") - np.searchsorted(run, keys, "left")
        self.runs.append(np.sort(keys))
        while len(self.runs) > 1 and len(self.runs[-1]) >= len(self.runs[-2]):
            last = self.runs.pop()
            self.runs[-1] = np.sort(np.concatenate([self.runs[-1], last]), kind="stable")
        return {int(place): int(earlier[place]) for place in np.flatnonzero(earlier)}


def content_of(unit: Unit, fields: Fields = PLAIN) -> Content:
    """What a unit holds, as it was given."""
    if unit.kind in ("parquet", "arrow"):
        from vericap.io import tables  # pyarrow is loaded where a table is read

        reader = tables.read_parquet if unit.kind == "parquet" else tables.read_arrow
        try:
            return reader(unit, fields)
        except InputError:
            raise
        except tables.BROKEN as error:
            raise InputError(f"{unit.name}: damaged near row {unit.first} ({error})") from None
    return {
        "jsonl": units.read_jsonl,
        "csv": units.read_csv,
        "tsv": units.read_csv,
        "text": units.read_text,
        "tar": archives.read_tar,
        "folder": archives.read_folder,
        "spooled": documents.read_spooled,
    }[unit.kind](unit, fields)


def open_input(
    paths: str | Path | Paths,
    references: Paths = (),
    *,
    format: str | None = None,
    reference_format: str | None = None,
    fields: Fields = PLAIN,
    encoding: str = "",
    beside: bool = True,
    records: int = RECORDS,
    spool: Path | None = None,
    workers: int = 1,
    known: Path | None = None,
) -> Input:
    """Plan the reading of an input.

    Parameters
    ----------
    paths : file, folder, pattern (`shards/{000..099}.tar`, `*.parquet`), `-` for standard input; or several of them.
    references : files of references, joined by id.
    format, reference_format : where content and ending do not tell.
    fields : names of the columns, where they are not the usual ones.
    encoding : of text files; by default UTF-8, or what a byte order mark says.
    beside : whether relative names of images are looked for beside the input, and absolute ones taken.
    records : in a unit, at the most.
    spool : folder for what must be unpacked first; by default a temporary one, which `close` removes.
    workers : processes that look through many large files.
    known : a file that keeps what was found, for others who read the same input; files whose size or time of change
        is another one are looked at again.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "mine.csv"
    >>> _ = file.write_text("id;caption\\n7;a dog\\n")
    >>> with open_input(file) as source:
    ...     [(sample.id, sample.candidate) for records in source for sample in records.samples]
    [('7', 'a dog')]
    """
    temporary = None
    if spool is None:
        temporary = TemporaryDirectory(prefix="vericap-")
        spool = Path(temporary.name)
    names = [name for path in ([paths] if isinstance(paths, str | Path) else paths) for name in expand(path)]
    found = Input(", ".join(map(str, names[:3])) + (" ..." if len(names) > 3 else ""), [], "", fields)
    found.beside, found._temporary, found.spool = beside, temporary, spool
    digests = _add(found, names, How(spool, format, encoding, fields, records), workers, known)
    found.parallel = all(unit.kind == "text" for unit in found.units) and bool(found.units)
    first = content_of(found.units[0], fields).records if found.units else []
    found.mode = mode_of(first)
    found.lying = beside and bool(first) and photos_lie(first, found.units[0])
    if references:
        files = [name for path in references for name in expand(path)]
        found.references, more = read_references(
            files, reference_format or format, found.problems, fields=fields, encoding=encoding, spool=spool
        )
        digests += more
        found.paths += files
    found.digest = "+".join(digests) if len(digests) < 3 else _joined(digests)
    return found


def _joined(digests: list[str]) -> str:
    return blake2b("\n".join(digests).encode(), digest_size=32).hexdigest()


def _add(found: Input, names: Sequence[str], how: How, workers: int, known: Path | None) -> list[str]:
    """Add the units of files and folders; their digests."""
    files = [file for name in names for file in _files_of(name)]
    plain = [file for file in files if not _is_folder(file)]
    planned = plan_files(plain, how, workers=workers, known=known)
    digests = []
    for file in files:
        if _is_folder(file):
            digests.append(_add_folder(found, Path(file), how.records))
            continue
        one = next(planned)
        found.paths.append(file)
        found.units += one.units
        found.problems += one.problems
        digests.append(one.digest)
    return digests


def _is_folder(name: str) -> bool:
    return name != "-" and os.path.isdir(name)


def _files_of(name: str) -> list[str]:
    """A file, a folder of samples, or the metadata files of an ImageFolder."""
    return [str(file) for file in archives.metadata_of(Path(name))] or [name] if _is_folder(name) else [name]


def _add_folder(found: Input, folder: Path, records: int) -> str:
    """Add the samples of a folder; a digest of their names, sizes and times of change."""
    if not archives.is_sample_folder(folder):
        raise InputError(
            f"{folder}: is a folder, not a file, and holds neither photos with a .txt or .json beside them nor a "
            "metadata.csv, .jsonl or .parquet; name a file, or a pattern: 'folder/*.parquet'"
        )
    new = list(archives.folder_units(folder, records=records))
    found.notes += archives.lonely_texts(folder)
    found.units += new
    found.paths.append(str(folder))
    stamp = blake2b(digest_size=32)
    for unit in new:
        for line in unit.names:
            stem, *endings = line.split("\0")
            for ending in endings:
                state = Path(unit.path, stem + ending).stat()
                stamp.update(
                    f"{stem}{ending}\0{state.st_size}\0{state.st_mtime_ns}\n".encode("utf-8", "surrogateescape")
                )
    return stamp.hexdigest()


def read_references(
    names: Paths,
    format: str | None,
    problems: list[Problem],
    *,
    fields: Fields = PLAIN,
    encoding: str = "",
    spool: Path,
) -> tuple[References, list[str]]:
    """References from one or more files, and the digests of these; text files are parallel, line by line."""
    gathered = Gathered(", ".join(map(str, names)), spool)
    sizes, digests = {}, []
    # The names of candidates' columns say nothing about those of references.
    own = Fields(id=fields.id, references=fields.references) if len(names) else PLAIN
    for name in names:
        file = open_file(str(name), spool, format=format, encoding=encoding)
        digests.append(file.digest)
        try:
            pieces = units_of(file, own, problems, spool, references=True)
        except InputError:
            if own == PLAIN:
                raise
            own = PLAIN
            pieces = units_of(file, own, problems, spool, references=True)
        start = 0
        for unit in pieces:
            content = content_of(unit, own)
            problems += content.problems
            gathered.add(content.records, file.kind, start)
            start += len(content.records)
        if file.kind == "text":
            gathered.found.lines = sizes[file.name] = start
    if len(set(sizes.values())) > 1:
        detail = ", ".join(f"{name}: {size}" for name, size in sizes.items())
        raise InputError(f"parallel text files differ in their number of lines ({detail})")
    return gathered.finish(problems), digests

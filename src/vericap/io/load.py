"""Candidates and references, joined by id into samples; bad records are reported, good ones kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from vericap.core.errors import InputError, Problem
from vericap.core.samples import Photo, Sample
from vericap.io import stream
from vericap.io.identity import mode_of
from vericap.io.records import PLAIN, Fields
from vericap.io.references import References
from vericap.io.stream import Input, Records, Seen, content_of, open_input

Paths = Sequence[str | Path]


@dataclass
class Loaded:
    """Samples that can be scored, records that cannot, and what a user should know: what `vericap.load` gives back.

    Attributes
    ----------
    samples : list of Sample
        Each with `id`, `candidate`, `references`, `image`, `objects`.
    problems : list of Problem
        Records that cannot be read, with the reason.
    notes, warnings : list of str
        What to know of the input.
    batches : list of Records
        The same samples, with the columns of the input.
    """

    samples: list[Sample] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    batches: list[Records] = field(default_factory=list)  # the same samples, with the columns of the input

    def columns(self, wanted: Sequence[str], taken: Sequence[str]) -> dict[str, list[Any]]:
        """Columns of the input to pass on, as plain values; `taken` are names that the result uses."""
        from vericap.io.parts import cells_of, passed_on

        if not wanted:
            return {}
        each = [passed_on(records, wanted, taken) for records in self.batches if records.samples]
        names = dict.fromkeys(name for part in each for name in part)
        counts = [len(records.samples) for records in self.batches if records.samples]
        return {
            name: [c for part, n in zip(each, counts) for c in (cells_of(part[name]) if name in part else [None] * n)]
            for name in names
        }


def load(
    candidates: str | Path,
    references: Paths = (),
    *,
    format: str | None = None,
    reference_format: str | None = None,
    fields: Fields = PLAIN,
    encoding: str = "",
    beside: bool = True,
) -> Loaded:
    """Read a system's captions and what they are judged against; arguments as for `open_input`."""
    (found,) = load_systems(
        [candidates],
        references,
        format=format,
        reference_format=reference_format,
        fields=fields,
        encoding=encoding,
        beside=beside,
    )
    return found


def load_systems(
    systems: Paths,
    references: Paths = (),
    *,
    format: str | None = None,
    reference_format: str | None = None,
    fields: Fields = PLAIN,
    encoding: str = "",
    beside: bool = True,
) -> list[Loaded]:
    """Read several systems' captions; the references are read once."""
    problems: list[Problem] = []
    judge: References | None = None
    found: list[Loaded] = []
    with TemporaryDirectory(prefix="vericap-") as spool:
        for candidates in systems:
            with open_input(
                candidates, format=format, fields=fields, encoding=encoding, beside=beside, spool=Path(spool)
            ) as source:
                if references and judge is None:
                    judge, _ = stream.read_references(
                        references, reference_format or format, problems, fields=fields, encoding=encoding,
                        spool=Path(spool),
                    )  # fmt: skip
                source.references = judge
                found.append(read_all(source, problems))
    return found


def read_references(paths: Paths, format: str | None, problems: list[Problem]) -> References:
    """References from one or more files; text files are parallel, line by line."""
    with TemporaryDirectory(prefix="vericap-") as spool:
        found, _ = stream.read_references(paths, format, problems, spool=Path(spool))
        if found.file is not None:
            raise InputError(f"{found.name}: too many references to be held at once")
        return found


def read_all(source: Input, problems: Sequence[Problem] = ()) -> Loaded:
    """All records of an input at once."""
    found = Loaded(problems=[*source.problems, *problems])
    if len(source.units) > 1:
        source.mode = mode_of([record for unit in source.units for record in content_of(unit, source.fields).records])
    summary = Summary()
    photos: dict[str, Photo] = {}
    for records in source:
        summary.add(records)
        records.samples = [_distinct_photo(sample, photos) for sample in records.samples]
        found.samples += records.samples
        found.problems += records.problems
        found.batches.append(records)
    summary.check(source, found.problems)
    found.notes += summary.notes(source)
    found.warnings += summary.warnings()
    return found


def _distinct_photo(sample: Sample, photos: dict[str, Photo]) -> Sample:
    """Two photos of one name, in different pieces of an input, are two images."""
    if sample.photo is None or sample.image is None or photos.setdefault(sample.image, sample.photo) == sample.photo:
        return sample
    return replace(sample, image=f"{sample.image}#{sample.id}")


@dataclass
class Summary:
    """What is known of an input when all of it was read; batches may be added one by one, or as figures."""

    records: int = 0
    samples: int = 0
    first_id: str = ""
    empty: int = 0
    empty_ids: list[str] = field(default_factory=list)
    matched: int = 0  # different ids that a references file knows
    _judged: Seen = field(default_factory=Seen, repr=False)

    def add(self, found: Records) -> None:
        """Count a batch."""
        empty = [sample.id for sample in found.samples if not sample.candidate.strip()]
        first = found.samples[0].id if found.samples else ""
        self.count(found.count, len(found.samples), first, empty[:3], len(empty))
        self.matched += len(found.judged) - len(self._judged.add(found.judged))

    def count(self, records: int, samples: int, first_id: str, empty_ids: Sequence[str], empty: int) -> None:
        """Count a batch by its figures."""
        self.records += records
        self.samples += samples
        self.first_id = self.first_id or first_id
        self.empty += empty
        self.empty_ids += empty_ids

    def check(self, source: Input, problems: Sequence[Problem]) -> None:
        """Refuse an input of which nothing can be scored, or whose references are those of other captions."""
        judge = source.references
        if source.parallel and judge is not None and judge.lines not in (0, self.records):
            raise InputError(
                f"{source.name} has {self.records} lines but {judge.name} has {judge.lines}; they must be parallel"
            )
        if judge is not None and self.records and not self.matched:
            like = self.first_id or next(_ids(source), "")
            raise InputError(
                f"no id in common: candidates in {source.name} have ids like {like!r}, "
                f"references in {judge.name} like {judge.example()!r}; `id_field=NAME` chooses another field"
            )
        if self.samples:
            return
        if not self.records:
            first = f" (first problem: {problems[0]})" if problems else ""
            raise InputError(f"{source.name}: no caption was found{first}")
        raise InputError(f"{source.name}: none of {self.records} records can be scored; the first: {problems[0]}")

    def notes(self, source: Input) -> list[str]:
        """What a user should know."""
        found = list(source.notes)
        if source.mode == "number":
            found.append(f"{source.name}: no ids; records are numbered from 1")
        if source.references is not None:
            unused = source.references.count - self.matched
            if unused > 0:
                found.append(
                    f"{unused} of {source.references.count} referenced ids have no candidate; "
                    f"the {self.samples} captions at hand are scored"
                )
        return found

    def warnings(self) -> list[str]:
        if not self.empty:
            return []
        some = ", ".join(self.empty_ids[:3]) + (f" and {self.empty - 3} more" if self.empty > 3 else "")
        return [f"{self.empty} candidate caption(s) are empty and are scored as such: id {some}"]


def _ids(source: Input) -> Iterator[str]:
    for unit in source.units:
        for record in content_of(unit, source.fields).records:
            if record.get("id") is not None:
                yield str(record["id"])

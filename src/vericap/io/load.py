"""Candidates and references, joined by id into samples; bad records are reported, good ones kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vericap.core.errors import InputError, Problem
from vericap.core.samples import Sample, caption, make, reference_list
from vericap.io.records import Record, parse
from vericap.io.source import read

Paths = Sequence[str | Path]


@dataclass
class Loaded:
    """Samples that can be scored, records that cannot, and what a user should know."""

    samples: list[Sample] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass
class References:
    """References by id, with the image's file name where the file gives one."""

    texts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    images: dict[str, str] = field(default_factory=dict)
    bad: dict[str, str] = field(default_factory=dict)  # id -> why its references cannot be used
    name: str = ""
    lines: int = 0  # of parallel text files


def load(
    candidates: str | Path,
    references: Paths = (),
    *,
    format: str | None = None,
    reference_format: str | None = None,
) -> Loaded:
    """Read a system's captions and what they are judged against."""
    (found,) = load_systems([candidates], references, format=format, reference_format=reference_format)
    return found


def load_systems(
    systems: Paths, references: Paths = (), *, format: str | None = None, reference_format: str | None = None
) -> list[Loaded]:
    """Read several systems' captions; the references are read once."""
    problems: list[Problem] = []
    judge: References | None = None
    found: list[Loaded] = []
    for candidates in systems:
        loaded = Loaded()
        source = read(candidates)
        _, records = parse(source, format, loaded.problems)
        if references and judge is None:
            judge = read_references(references, reference_format or format, problems)
        loaded.problems += problems
        found.append(_join(loaded, records, judge, source.name))
    return found


def _join(found: Loaded, records: list[Record], judge: References | None, name: str) -> Loaded:
    """Samples of one system's records."""
    _identify(records, found, name, judge)
    seen: set[str] = set()
    for record in records:
        try:
            sample = _sample(record, judge)
        except InputError as error:
            where = record["where"] if record.get("id") is None else f"{record['where']} (id {record['id']})"
            found.problems.append(Problem(where, str(error), name))
            continue
        if sample.id in seen:
            where = f"{record['where']} (id {sample.id})"
            found.problems.append(Problem(where, "the id occurs before; the first record is used", name))
            continue
        seen.add(sample.id)
        found.samples.append(sample)
    if not found.samples:
        raise InputError(_nothing(found, name, records, judge))
    _remark(found, judge, seen)
    return found


def read_references(paths: Paths, format: str | None, problems: list[Problem]) -> References:
    """References from one or more files; text files are parallel, line by line."""
    found = References(name=", ".join(map(str, paths)))
    rows: dict[str, list[str]] = {}
    sizes = {}
    for path in paths:
        source = read(path)
        kind, records = parse(source, format, problems)
        if kind == "text":
            found.lines = sizes[source.name] = len(records)
        for number, record in enumerate(records, 1):
            # A references file may call its texts `caption`, one per row; rows of one id belong together.
            value = record.get("references", record.get("candidate"))
            if kind == "text" and value == "":
                continue
            key = record.get("id")
            identifier = str(number) if key is None else str(key)
            try:
                rows.setdefault(identifier, []).extend(reference_list(value))
            except InputError as error:
                found.bad[identifier] = str(error)
            if record.get("image"):
                found.images.setdefault(identifier, str(record["image"]))
    if len(set(sizes.values())) > 1:
        detail = ", ".join(f"{name}: {size}" for name, size in sizes.items())
        raise InputError(f"parallel text files differ in their number of lines ({detail})")
    found.texts = {key: tuple(texts) for key, texts in rows.items() if texts}
    for key, reason in found.bad.items():
        problems.append(Problem(f"id {key}", reason, found.name))
    if not found.texts:
        raise InputError(f"{found.name}: no reference was found")
    return found


def _identify(records: list[Record], found: Loaded, name: str, judge: References | None) -> None:
    """Records without any id are numbered; one image per record may serve as its id."""
    if any(record.get("id") is not None for record in records):
        if records[0].get("numbered") and judge is not None and judge.lines not in (0, len(records)):
            raise InputError(
                f"{name} has {len(records)} lines but {judge.name} has {judge.lines}; they must be parallel"
            )
        return
    images = [record.get("image") for record in records]
    if all(isinstance(image, str) and image for image in images) and len(set(images)) == len(images):
        for record in records:
            record["id"] = record["image"]
        return
    for number, record in enumerate(records, 1):
        record["id"] = str(number)
    found.notes.append(f"{name}: no ids; records are numbered from 1")


def _sample(record: Record, judge: References | None) -> Sample:
    """One sample; references from the references file win over those in the record."""
    identifier = record.get("id")
    references = record.get("references", ())
    image = record.get("image")
    if identifier is None or identifier != identifier:
        raise InputError("the id is missing, while other records have one")
    if "candidate" not in record:
        raise InputError("has no candidate caption")
    caption(record["candidate"], "the candidate")
    if judge is not None:
        key = str(identifier)
        if key not in judge.texts and not references:
            reason = judge.bad.get(key)
            raise InputError(f"no usable references in {judge.name}" + (f": {reason}" if reason else ""))
        image = image or judge.images.get(key)
        if key in judge.texts:  # checked when they were read, once for all systems
            return make(identifier, record["candidate"], judge.texts[key], image, record.get("objects"), checked=True)
    return make(identifier, record["candidate"], references, image, record.get("objects"))


def _nothing(found: Loaded, name: str, records: list[Record], judge: References | None) -> str:
    """Why not one sample could be made."""
    if not records:
        first = f" (first problem: {found.problems[0]})" if found.problems else ""
        return f"{name}: no caption was found{first}"
    ids = [str(record["id"]) for record in records if record.get("id") is not None]
    if judge is not None and ids and not set(ids) & set(judge.texts):
        return (
            f"no id in common: candidates in {name} have ids like {ids[0]!r}, "
            f"references in {judge.name} like {next(iter(judge.texts))!r}"
        )
    return f"{name}: none of {len(records)} records can be scored; the first: {found.problems[0]}"


def _remark(found: Loaded, judge: References | None, seen: set[str]) -> None:
    if judge is not None:
        unused = len(set(judge.texts) - seen)
        if unused:
            found.notes.append(
                f"{unused} of {len(judge.texts)} referenced ids have no candidate; "
                f"the {len(found.samples)} captions at hand are scored"
            )
    empty = [sample.id for sample in found.samples if not sample.candidate.strip()]
    if empty:
        some = ", ".join(empty[:3]) + (f" and {len(empty) - 3} more" if len(empty) > 3 else "")
        found.warnings.append(f"{len(empty)} candidate caption(s) are empty and are scored as such: id {some}")

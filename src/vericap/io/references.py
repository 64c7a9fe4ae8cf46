"""References by id: in memory where there are few, in a small database where there are many."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from vericap.core.errors import InputError, Problem
from vericap.core.samples import reference_list
from vericap.io.records import Record

FEW = 100_000  # images whose references are held in memory
Known = tuple[tuple[str, ...], str | None]  # references of an id, and its image where the file names one


@dataclass
class References:
    """References by id, with the image's file name where the file gives one.

    With `file` they are in a database that every process opens for itself; else in `texts`.
    """

    texts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    images: dict[str, str] = field(default_factory=dict)
    bad: dict[str, str] = field(default_factory=dict)  # id -> why its references cannot be used
    name: str = ""
    lines: int = 0  # of parallel text files
    by_image: bool = False  # whether ids are those of images
    file: Path | None = None
    count: int = 0

    def find(self, keys: Iterable[str]) -> dict[str, Known]:
        """What is known of some ids."""
        if self.file is None:
            return {key: (self.texts[key], self.images.get(key)) for key in keys if key in self.texts}
        found: dict[str, Known] = {}
        wanted = {_stored_key(key): key for key in keys}
        names = list(wanted)
        with _open(self.file) as base:
            for start in range(0, len(names), 500):
                part = names[start : start + 500]
                marks = ",".join("?" * len(part))
                rows = base.execute(f"SELECT id, texts, image FROM refs WHERE id IN ({marks})", part)
                found.update({wanted[name]: (tuple(json.loads(t)), json.loads(image)) for name, t, image in rows})
        return found

    def laid_down(self, spool: Path) -> References:
        """The same in a database, which other processes can open."""
        if self.file is not None:
            return self
        gathered = Gathered(self.name, spool, few=0)
        gathered.found = replace(self, texts={}, images=dict(self.images), bad=dict(self.bad))
        gathered.rows = {key: list(texts) for key, texts in self.texts.items()}
        gathered._lay_down()
        return gathered.finish([])

    def example(self) -> str:
        """One of the ids."""
        if self.file is None:
            return next(iter(self.texts))
        with _open(self.file) as base:
            return str(json.loads(base.execute("SELECT id FROM refs LIMIT 1").fetchone()[0]))


def _stored_key(key: str) -> str:
    """An id as the database holds it: ASCII alone, which knows no half characters, and no two ids alike."""
    return json.dumps(key)


class _open:
    """A connection that is closed, not only committed."""

    def __init__(self, file: Path) -> None:
        self.base = sqlite3.connect(file)

    def __enter__(self) -> sqlite3.Connection:
        return self.base

    def __exit__(self, *_: object) -> None:
        self.base.commit()
        self.base.close()


class Gathered:
    """References being read: rows of one id belong together, wherever they stand."""

    def __init__(self, name: str, spool: Path | None, few: int = FEW) -> None:
        self.found = References(name=name)
        self.spool, self.few = spool, few
        self.rows: dict[str, list[str]] = {}
        self.base: sqlite3.Connection | None = None

    def add(self, records: Sequence[Record], kind: str, start: int) -> None:
        """Records of a file of references, the first of which is number `start` + 1."""
        for number, record in enumerate(records, start + 1):
            # A references file may call its texts `caption`, one per row; rows of one id belong together.
            value = record.get("references", record.get("candidate"))
            if kind == "text" and value == "":
                continue
            key = record.get("id")
            identifier = str(number) if key is None else str(key)
            if key is not None and record.get("image_id") is key:
                self.found.by_image = True
            try:
                self.rows.setdefault(identifier, []).extend(reference_list(value))
            except InputError as error:
                self.found.bad[identifier] = str(error)
            if record.get("image") and isinstance(record["image"], str):
                self.found.images.setdefault(identifier, record["image"])
        if len(self.rows) > self.few and self.spool is not None:
            self._lay_down()

    def _lay_down(self) -> None:
        """Move what is held in memory to the database."""
        if self.base is None:
            self.found.file = Path(self.spool or ".") / "references.db"
            self.found.file.unlink(missing_ok=True)
            self.base = sqlite3.connect(self.found.file)
            self.base.execute("PRAGMA synchronous=OFF")
            self.base.execute("PRAGMA journal_mode=OFF")
            self.base.execute("CREATE TABLE refs (id TEXT PRIMARY KEY, texts TEXT, image TEXT) WITHOUT ROWID")
        self.base.executemany(
            "INSERT INTO refs VALUES (?, ?, ?) ON CONFLICT(id) DO UPDATE SET "
            "texts = substr(texts, 1, length(texts) - 1) || ', ' || substr(excluded.texts, 2), "
            "image = CASE image WHEN 'null' THEN excluded.image ELSE image END",
            self._storable(),
        )
        self.base.commit()
        self.rows, self.found.images = {}, {}

    def _storable(self) -> Iterator[tuple[str, str, str]]:
        for key, texts in self.rows.items():
            if texts:
                yield _stored_key(key), json.dumps(texts), json.dumps(self.found.images.get(key))

    def finish(self, problems: list[Problem]) -> References:
        """The references; an InputError where there is none."""
        found = self.found
        if self.base is not None:
            self._lay_down()
            found.count = int(self.base.execute("SELECT count(*) FROM refs").fetchone()[0])
            self.base.close()
        else:
            found.texts = {key: tuple(texts) for key, texts in self.rows.items() if texts}
            found.count = len(found.texts)
        for key, reason in found.bad.items():
            problems.append(Problem(f"id {key}", reason, found.name))
        if not found.count:
            raise InputError(f"{found.name}: no reference was found")
        return found

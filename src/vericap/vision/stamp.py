"""Whether a file has changed since it was read, told without reading it."""

from __future__ import annotations

from pathlib import Path

Stamp = tuple[int, int, int]


def stamp(path: Path, pattern: str = "*") -> Stamp:
    """Number, size and time of a file, or of the files below a folder; zeros where there is none."""
    files = sorted(path.rglob(pattern)) if path.is_dir() else [path]
    facts = [file.stat() for file in files if file.is_file()]
    return len(facts), sum(fact.st_size for fact in facts), max((fact.st_mtime_ns for fact in facts), default=0)

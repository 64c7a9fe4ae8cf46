"""A user's own judgements: JSON lines or CSV, one line per rated caption or per pair of captions.

Ratings: `image`, `candidate`, `references`, and `rating` or `ratings` (a list; in CSV `rating_1`, ...);
optional `id`, `system`, `rater`, `seconds`. Pairs: `first`, `second`, `preference` (first, second, tie).
Marked errors: `candidate` and `wrong`, a list of [start, end] (JSON lines alone).
Lines of the same image and candidate are joined: each is one more rater.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.errors import InputError
from vericap.meta.datasets.common import json_lines, listed, need, number, table
from vericap.meta.judgements import Pairs, Ratings, Spans, ragged

PREFERENCES = {"first": 0.0, "second": 1.0, "tie": 0.5, "neither": 0.5, "0": 0.0, "1": 1.0, "0.5": 0.5}
_NUMBERED = re.compile(r"^(rating|reference)_?(\d+)$")

Record = dict[str, Any]


def read(path: Path, *, scale: tuple[float, float] | None = None) -> Ratings | Pairs | Spans:
    """The kind of data is told by its fields; `scale` defaults to the range of the ratings."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; give the name of a known data set or a file of judgements")
    records = list(_records(path))
    if not records:
        raise InputError(f"{path}: no record was found")
    if "second" in records[0][1]:
        return _pairs(path, records)
    if "wrong" in records[0][1]:
        return _spans(path, records)
    return _ratings(path, records, scale)


def _records(path: Path) -> Any:
    plain = path.name.removesuffix(".gz")
    if plain.endswith((".csv", ".tsv")):
        return table(path, delimiter="\t" if plain.endswith(".tsv") else ",")
    return json_lines(path)


def _references(record: Record, path: Path, line: int) -> tuple[str, ...]:
    if record.get("references") not in (None, ""):
        return listed(record["references"], path, line)
    numbered = sorted((int(m.group(2)), key) for key in record if (m := _NUMBERED.match(key)) and "ref" in key)
    return tuple(record[key] for _, key in numbered if record[key])


def _values(record: Record, path: Path, line: int) -> list[float]:
    found = record.get("ratings")
    if isinstance(found, str) and found:
        found = found.strip("[] ").replace(";", ",").split(",")
    if not found:
        found = [record[key] for key in record if key == "rating" or key.startswith("rating")]
        found = [value for value in found if value not in ("", None)]
    if not isinstance(found, list):
        raise InputError(f"{path}, line {line}: ratings are a {type(found).__name__}, not a list")
    return [number(value, path, line, "rating") for value in found if value is not None]


def _ratings(path: Path, records: list[tuple[int, Record]], scale: tuple[float, float] | None) -> Ratings:
    rows: dict[tuple[str, str], Record] = {}
    for line, record in records:
        candidate = str(need(record, ["candidate", "caption"], path, line))
        image = str(record.get("image") or record.get("id") or line)
        values = _values(record, path, line)
        row = rows.setdefault((image, candidate), {"values": [], "raters": [], "seconds": []})
        row.setdefault("references", _references(record, path, line))
        row.setdefault("system", str(record.get("system") or ""))
        row.setdefault("id", str(record.get("id") or f"{path.name}:{line}"))
        row["values"] += values
        row["raters"] += [str(record.get("rater") or "")] * len(values)
        spent = record.get("seconds")
        taken = float("nan") if spent in (None, "") else number(spent, path, line, "seconds")
        row["seconds"] += [taken] * len(values)
    ratings = ragged(row["values"] for row in rows.values())
    if not ratings.size:
        raise InputError(f"{path}: no line has a rating (fields `rating` or `ratings`)")
    width = ratings.shape[1]
    raters = [row["raters"] + [""] * (width - len(row["raters"])) for row in rows.values()]
    systems = [row["system"] for row in rows.values()]
    return Ratings(
        name=path.name,
        candidates=[candidate for _, candidate in rows],
        references=[row["references"] for row in rows.values()],
        ratings=ratings,
        scale=scale or (float(np.nanmin(ratings)), float(np.nanmax(ratings))),
        images=[image for image, _ in rows],
        ids=[row["id"] for row in rows.values()],
        systems=systems if any(systems) else None,
        raters=raters if any(any(row) for row in raters) else None,
        seconds=ragged(row["seconds"] for row in rows.values()),
    )


def _preference(record: Record, path: Path, line: int) -> float:
    value = record.get("preference")
    if value in (None, ""):
        return float("nan")
    text = f"{value:g}" if isinstance(value, int | float) else str(value).strip().lower()
    if text not in PREFERENCES:
        allowed = ", ".join(PREFERENCES)
        raise InputError(f"{path}, line {line}: preference {value!r} is not one of {allowed}")
    return PREFERENCES[text]


def _pairs(path: Path, records: list[tuple[int, Record]]) -> Pairs:
    groups = [str(record.get("group") or "all") for _, record in records]
    return Pairs(
        name=path.name,
        images=[str(record.get("image") or line) for line, record in records],
        first=[str(need(record, ["first"], path, line)) for line, record in records],
        second=[str(need(record, ["second"], path, line)) for line, record in records],
        references=[_references(record, path, line) for line, record in records],
        preferences={"preference": np.array([_preference(record, path, line) for line, record in records])},
        ids=[str(record.get("id") or f"{path.name}:{line}") for line, record in records],
        groups=groups if len(set(groups)) > 1 else None,
    )


def _spans(path: Path, records: list[tuple[int, Record]]) -> Spans:
    return Spans(
        name=path.name,
        captions=[str(need(record, ["candidate", "caption"], path, line)) for line, record in records],
        wrong=[_passages(record.get("wrong"), path, line) for line, record in records],
        references=[_references(record, path, line) for line, record in records],
        images=[str(record.get("image") or record.get("id") or line) for line, record in records],
        ids=[str(record.get("id") or f"{path.name}:{line}") for line, record in records],
    )


def _passages(value: Any, path: Path, line: int) -> tuple[tuple[int, int], ...]:
    try:
        return tuple((int(start), int(end)) for start, end in value)
    except (TypeError, ValueError):
        raise InputError(f"{path}, line {line}: `wrong` is not a list of [start, end]") from None

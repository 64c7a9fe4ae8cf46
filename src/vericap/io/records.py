"""From what a file holds to plain records, whatever its format.

A record is a dict with some of `id`, `image_id`, `candidate`, `references`, `image`, `objects`, and `where`
("line 7"), which messages use.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from vericap.core.errors import InputError, Problem

Record = dict[str, Any]

# Names that people give to the same thing, the first one present counts.
_ALIASES = {
    "id": ("id", "image_id", "img_id", "sample_id", "__key__", "uid"),
    "image_id": ("image_id", "img_id"),
    "candidate": ("candidate", "caption", "prediction", "hypothesis", "text", "txt"),
    "references": ("references", "refs", "captions", "reference"),
    "image": ("image", "file_name", "image_path", "filename", "jpg", "png", "webp"),
    "objects": ("objects", "labels"),
}
_NUMBERED = re.compile(r"^ref(?:erence)?[-_ ]?\d+$")
_QUOTED = re.compile(r"""\s*(?:[bu]?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"))\s*,?""", re.DOTALL)
_LONGEST = 1 << 20  # characters of a list that is written as text


@dataclass(frozen=True)
class Fields:
    """Names of the fields that hold the caption, image, id and references, where they are not the usual ones.

    Examples
    --------
    >>> rename({"path": "a.jpg", "alt": "a dog"}, Fields(caption="alt", image="path"))
    {'candidate': 'a dog', 'image': 'a.jpg'}
    """

    caption: str = ""
    image: str = ""
    id: str = ""
    references: str = ""

    def named(self) -> dict[str, str]:
        """Known name -> the field a user named for it."""
        given = {"candidate": self.caption, "image": self.image, "id": self.id, "references": self.references}
        return {name: field for name, field in given.items() if field}


PLAIN = Fields()


def rename(item: dict[str, Any], fields: Fields = PLAIN) -> Record:
    """Known names for the fields; several reference columns become one list."""
    return _renamed(item, *known_fields(tuple(item), fields))


def _renamed(item: dict[str, Any], known: tuple[tuple[str, Any], ...], numbered: tuple[Any, ...]) -> Record:
    record: Record = {name: item[field] for name, field in known}
    if numbered and "references" not in record:
        # Tables pad shorter rows with empty cells: those are absent references, not bad ones.
        cells = [item[field] for field in numbered]
        record["references"] = [cell for cell in cells if cell is not None and cell == cell and cell != ""]
    references = record.get("references")
    if isinstance(references, str) and references.lstrip()[:1] in ("[", "("):
        record["references"] = listed(references)
    return record


@lru_cache(maxsize=256)
def known_fields(given: tuple[Any, ...], fields: Fields) -> tuple[tuple[tuple[str, Any], ...], tuple[Any, ...]]:
    """Which field of a record has which known name, and its reference columns in order: the same for most records."""
    named = fields.named()
    taken = set(named.values())
    aliases = {name: (named[name],) if name in named else names for name, names in _ALIASES.items()}
    found = []
    for name, names in aliases.items():
        free = (alias for alias in names if alias in given and (name in named or alias not in taken))
        field = next(free, None)
        if field is not None:
            found.append((name, field))
    numbered = [field for field in given if _NUMBERED.match(str(field))]
    ordered = sorted(numbered, key=lambda field: int(re.sub(r"\D", "", str(field))))
    return tuple(found), tuple(ordered)


def listed(text: str) -> Any:
    """References that were written as a list in one cell, as JSON or as Python prints them; else the text itself.

    Examples
    --------
    >>> listed("['a dog', \\"the dog's ball\\"]"), listed('["a dog"]'), listed("[sic] a dog")
    (['a dog', "the dog's ball"], ['a dog'], '[sic] a dog')
    """
    try:
        found = json.loads(text)
        return found if isinstance(found, list) else text
    except (ValueError, RecursionError):
        pass
    inner = text.strip()
    if len(inner) > _LONGEST or inner[-1:] not in ("]", ")"):
        return text
    inner, place, found = inner[1:-1], 0, []
    while place < len(inner.rstrip()):
        piece = _QUOTED.match(inner, place)
        if piece is None:
            return text
        try:
            found.append(ast.literal_eval(piece[1]))  # a single quoted text: nothing else matches above
        except (ValueError, SyntaxError):
            return text
        place = piece.end()
    return found or text


def each_caption(record: Record) -> list[Record]:
    """A record for each of its captions: beams, samples, or the five of a photo in one list.

    Examples
    --------
    >>> [one["candidate"] for one in each_caption({"id": 7, "candidate": ["a dog", "the dog"]})]
    ['a dog', 'the dog']
    """
    captions = record.get("candidate")
    if not isinstance(captions, list) or len(captions) < 2:
        return [record]
    return [{**record, "candidate": caption, "several": True} for caption in captions]


def check_columns(names: Iterable[str], name: str, fields: Fields = PLAIN) -> None:
    """Refuse a table without a column of captions, naming those there are."""
    names = list(map(str, names))
    _check_named(names, name, fields, "column")
    known, numbered = known_fields(tuple(names), fields)
    if not {"candidate", "references"} & {found for found, _ in known} and not numbered:
        raise InputError(
            f"{name}: no column for captions; found {', '.join(names) or 'none'}, "
            "expected `candidate` and/or `references` (or reference_1, reference_2, ...), and `id`"
        )


def check_fields(items: Iterable[dict[str, Any]], name: str, fields: Fields) -> None:
    """Refuse records of which none has a field that the user named."""
    names = {str(field): None for item in items for field in item} if fields != PLAIN else {}
    if names:
        _check_named(list(names), name, fields, "field")


def _check_named(names: list[str], name: str, fields: Fields, what: str) -> None:
    for option, field in (("caption", fields.caption), ("image", fields.image), ("id", fields.id),
                          ("references", fields.references)):  # fmt: skip
        if field and field not in names:
            raise InputError(f"{name}: no {what} '{field}' (`{option}_field={field}`); found {', '.join(names)}")


def of_objects(items: Iterable[tuple[str, Any]], name: str, problems: list[Problem], fields: Fields) -> list[Record]:
    """Records of JSON values: objects, or captions alone."""
    records = []
    names: tuple[Any, ...] = ()
    known, numbered = known_fields(names, fields)
    for where, item in items:
        if isinstance(item, dict):
            own = tuple(item)
            if own != names:  # most records have the names of the one before
                names = own
                known, numbered = known_fields(names, fields)
            record = _renamed(item, known, numbered)
            record["where"] = where
            records.append(record)
        elif isinstance(item, str):
            records.append({"candidate": item, "where": where})
        else:
            problems.append(Problem(where, f"is a {type(item).__name__}, not an object", name))
    return records


def by_id(key: str, value: Any, fields: Fields, *, references: bool) -> list[Record]:
    """`{"42": "a dog"}` is a candidate, `{"42": ["a dog", "the dog"]}` are references, or several candidates."""
    where = f"id {key}"
    if isinstance(value, dict):
        return [{"id": key, **rename(value, fields), "where": where}]
    if isinstance(value, list) and not references:
        return [{"id": key, "image_id": key, "candidate": item, "where": where, "several": True} for item in value]
    return [{"id": key, ("references" if isinstance(value, list) else "candidate"): value, "where": where}]


def coco_annotations(data: dict[str, Any], name: str, problems: list[Problem], *, references: bool) -> list[Record]:
    """COCO annotation JSON: references by image, or every caption a candidate of its own."""
    images = data.get("images") if isinstance(data.get("images"), list) else []
    files = {str(i["id"]): i.get("file_name") for i in images or [] if isinstance(i, dict) and "id" in i}
    grouped: dict[str, Record] = {}
    single: list[Record] = []
    for number, item in enumerate(data["annotations"], 1):
        where = f"annotation {number}"
        if not isinstance(item, dict) or "image_id" not in item:
            problems.append(Problem(where, "has no image_id", name))
        elif not isinstance(item.get("caption"), str):
            problems.append(Problem(f"{where} (image {item['image_id']})", "has no caption text", name))
        elif references:
            key = str(item["image_id"])
            new: Record = {
                "id": key,
                "image_id": key,
                "references": [],
                "image": files.get(key),
                "where": f"image {key}",
            }
            grouped.setdefault(key, new)["references"].append(item["caption"])
        else:
            key = str(item["image_id"])
            record = {"id": key, "image_id": key, "candidate": item["caption"], "image": files.get(key)}
            single.append({**record, "where": where, "several": True})
    return list(grouped.values()) if references else single

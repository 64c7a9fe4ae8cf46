"""One caption to judge, and the one place that checks it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vericap.core.errors import InputError

_WORD = re.compile(r"[^\W_]")


Photo = bytes | Path  # an encoded image, or the file that holds one


@dataclass(frozen=True, slots=True)
class Sample:
    """A candidate caption with what it is judged against.

    `image` is the key of its image: a file name, a COCO id. Where the image is not looked up in a folder, `photo`
    holds its bytes or its path.
    """

    id: str
    candidate: str
    references: tuple[str, ...] = ()
    image: str | None = None
    objects: Mapping[str, int] | None = None
    problem: str = ""  # why the record cannot be judged; it is kept, and scored by nobody
    photo: Photo | None = None


def has_word(text: str) -> bool:
    """Whether a text holds a letter or a digit. "???", an emoji and blanks say nothing."""
    return _WORD.search(text) is not None


def caption(value: Any, what: str) -> str:
    """A caption as text, or an InputError that says what it is instead."""
    if isinstance(value, str):
        return storable(value, what)
    if value is None or (isinstance(value, float) and value != value):
        raise InputError(f"{what} is missing (empty cell or null)")
    raise InputError(f"{what} is a {type(value).__name__}, not text: {str(value)[:60]!r}")


def storable(text: str, what: str) -> str:
    """A text that files can hold: half of a character pair (`\\ud800` in JSON) is none."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise InputError(f"{what} holds half a character (\\u{code:04x} alone), which no file can store") from None
    return text


def reference_list(value: Any) -> tuple[str, ...]:
    """References as a tuple of texts; a single string is one reference."""
    if type(value) is list or type(value) is tuple:
        try:  # most lists: texts of plain letters, told by one look at all of them
            if "".join(value).isascii():
                return tuple(value)
        except TypeError:
            pass
    if isinstance(value, str):
        return (caption(value, "the reference"),)
    if value is None or (isinstance(value, float) and value != value):
        raise InputError("references are missing (empty cell or null)")
    if not isinstance(value, Iterable) or isinstance(value, Mapping | bytes):
        raise InputError(f"references are a {type(value).__name__}, not a list of texts")
    return tuple(caption(item, f"reference {number}") for number, item in enumerate(value, 1))


def make(
    identifier: Any,
    candidate: Any,
    references: Any = (),
    image: Any = None,
    objects: Any = None,
    *,
    photo: Photo | None = None,
    checked: bool = False,
) -> Sample:
    """Check one record and make a Sample of it; raises InputError with the reason. `checked`: the references are."""
    if identifier is None or identifier == "" or (isinstance(identifier, float) and identifier != identifier):
        raise InputError("the id is missing")
    return Sample(
        storable(str(identifier), "the id"),
        caption(candidate, "the candidate"),
        references if checked else reference_list(references),
        None if image is None or image != image else storable(str(image), "the image's name"),
        objects,
        "",
        photo,
    )

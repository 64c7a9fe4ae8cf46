"""Undo what web pages do to captions: entities, tags, addresses, file names, repeated blanks, capitals.

Whoever cleans keeps the original beside it; what a caption says in words stays as it is.
"""

from __future__ import annotations

import html
import re

from vericap.text.rules import CAMERA, ENTITY, FILE_NAME, TAG, URL, shouting

# Zero-width signs, the soft hyphen and the byte-order mark show nothing; joiners of emoji and of Indic scripts stay.
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_EMPTY_BRACKETS = re.compile(r"\(\s*\)|\[\s*\]|\{\s*\}")
_EDGES = " |-–—_:;,/\\·•»«"  # what is left over where an address stood at an end
_SEPARATORS = re.compile(r"[_+~-]|%20|\s|(?<=[a-z])(?=[A-Z])")
_CAMERA = re.compile(CAMERA, re.IGNORECASE)
_SPOKEN = re.compile(r"[^\W\d_]{2,}|[aAI]")
TIMES = 20  # entities may stand inside entities (&amp;amp;nbsp;)


def clean(text: str) -> str:
    """A caption without the traces of the page it came from; a clean one is given back as it is.

    Examples
    --------
    >>> clean("A&nbsp;dog &amp;amp; a <b>cat</b>   on grass")
    'A dog & a cat on grass'
    >>> clean("TWO DOGS ON A BEACH - www.example.com")
    'two dogs on a beach'
    >>> clean("brown-dog_on_grass.jpg"), clean("IMG_20190304_1123.jpg")
    ('brown dog on grass', '')
    """
    for _ in range(TIMES):
        found = _pass(text)
        if found == text:
            break
        text = found
    return text


def _pass(text: str) -> str:
    """All steps once; what one leaves may be work for an earlier one, so passes follow until nothing moves."""
    found = ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    found = _CONTROL.sub(" ", _INVISIBLE.sub("", TAG.sub(" ", found)))
    shorter = FILE_NAME.sub(_words_of_file, URL.sub(" ", found))
    if shorter != found:
        found = _EMPTY_BRACKETS.sub(" ", shorter).strip(_EDGES)
    found = " ".join(found.split())
    return found.lower() if shouting(found) else found


def _words_of_file(found: re.Match[str]) -> str:
    """Words that a file's name spells out (dog_on_grass.jpg); none of what a camera or a database numbered."""
    stem, dot, _ = found[0].rpartition(".")
    numbered = not dot or _CAMERA.search(stem) is not None
    parts = (
        [] if numbered else [part for part in _SEPARATORS.split(stem.rpartition("/")[2]) if part.strip("0123456789")]
    )
    return f" {' '.join(parts)} " if parts and all(map(_SPOKEN.fullmatch, parts)) else " "

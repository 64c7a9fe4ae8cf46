"""Judged captions in another language by their translations: SPICE over translations, the paper's Tables 2 and 4.

A file of translations has one JSON record a line: {"text": "犬が走る", "translation": "A dog runs."}.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from vericap.core.errors import InputError
from vericap.meta.datasets.common import json_lines, need
from vericap.meta.judgements import Ratings


def read_translations(file: Path) -> dict[str, str]:
    """Text -> translation."""
    return {
        str(need(record, ["text"], file, line)): str(need(record, ["translation"], file, line))
        for line, record in json_lines(file)
    }


def translated(data: Ratings, file: Path, *, lang: str = "en") -> Ratings:
    """The same judgements on the translations of candidates and references.

    Parameters
    ----------
    data : captions with ratings.
    file : translations of all candidates and references, one JSON record a line.
    lang : the language translated into.
    """
    known = read_translations(file)
    texts = dict.fromkeys([*data.candidates, *(text for own in data.references for text in own)])
    missing = [text for text in texts if text not in known]
    if missing:
        raise InputError(
            f"{file}: {len(missing)} of {len(texts)} captions of {data.name} have no translation, the first is "
            f"{missing[0]!r}; add records with 'text' and 'translation'"
        )
    return replace(
        data,
        candidates=[known[text] for text in data.candidates],
        references=[tuple(known[text] for text in own) for own in data.references],
        lang=lang,
    )

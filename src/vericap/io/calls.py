"""What a call from Python brings: lists, dicts keyed by id, records, tables, files; the same names as in files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vericap.core.errors import InputError, Problem
from vericap.core.samples import Sample, make
from vericap.io.given import NUMBERS, SHARED, captions_of, given_table, photo_of
from vericap.io.load import Loaded, load, read_references
from vericap.io.records import PLAIN, Fields

_FIELDS = {f"{name}_field": name for name in ("caption", "image", "id", "references")}
_READING = ("format", "reference_format", "encoding")
READING = (*_FIELDS, *_READING)  # arguments that say how files and tables are read, as the options of the command line


@dataclass
class Given:
    """Samples of a call, what could not be read, and whether the caller named them: then ids may name images."""

    samples: list[Sample]
    named: bool
    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def reading(options: dict[str, Any]) -> dict[str, Any]:
    """Take out of a call's options what says how files and tables are read.

    Examples
    --------
    >>> options = {"caption_field": "alt", "lang": "en"}
    >>> reading(options), options
    ({'fields': Fields(caption='alt', image='', id='', references='')}, {'lang': 'en'})
    """
    named = {name: options.pop(option) for option, name in _FIELDS.items() if option in options}
    found = {name: options.pop(name) for name in _READING if name in options}
    return {**found, **({"fields": Fields(**named)} if named else {})}


def one_of(candidates: Any, predictions: Any) -> Any:
    """The captions, under whichever of their two names they came."""
    if predictions is None:
        if candidates is None:
            raise InputError("no captions: give `candidates` (or `predictions`, another name for them)")
        return candidates
    if candidates is not None:
        raise InputError("`predictions` is another name for `candidates`: give one of them")
    return predictions


def given(candidates: Any, references: Any = None, *, how: Mapping[str, Any], beside: bool, **columns: Any) -> Given:
    """Samples of a call; `how` as `reading` found it, `columns` are image_names, objects and ids."""
    if isinstance(candidates, Loaded):
        return Given(candidates.samples, True, candidates.problems, [*candidates.warnings])
    if isinstance(candidates, str | Path):
        found = load(_file(candidates), _files(references), beside=beside, **how)
        return Given(found.samples, True, found.problems, found.warnings)
    samples, named = samples_of(candidates, references, fields=how.get("fields", PLAIN), **columns)
    return Given(samples, named)


def _file(given: str | Path) -> str | Path:
    """A file of captions; a text that names none is likelier a caption."""
    if (
        isinstance(given, str)
        and not os.path.exists(given)
        and not any(mark in given for mark in "*{")
        and given != "-"
    ):
        raise InputError(
            f"candidates is a single text, and no file of that name exists: {given[:60]!r}; give a list of captions, "
            "or the path of a file"
        )
    return given


def _files(references: Any) -> list[str | Path]:
    if references is None:
        return []
    listed = [references] if isinstance(references, str | Path) else list(references)
    if not all(isinstance(one, str | Path) for one in listed):
        raise InputError("candidates are a file, so references must be files too")
    return listed


def _is_file(references: Any) -> bool:
    return isinstance(references, Path) or (isinstance(references, str) and os.path.exists(references))


def samples_of(
    candidates: Any,
    references: Any = None,
    *,
    image_names: Any = None,
    objects: Any = None,
    ids: Sequence[Any] | None = None,
    fields: Fields = PLAIN,
) -> tuple[list[Sample], bool]:
    """Samples from lists, dicts or tables, and whether the caller named them by ids.

    A record that cannot be read is kept with its reason; what makes all of them unreadable is an InputError.

    Examples
    --------
    >>> samples, named = samples_of([{"id": 7, "caption": "a dog", "refs": ["the dog"]}])
    >>> samples[0].id, samples[0].candidate, samples[0].references, named
    ('7', 'a dog', ('the dog',), True)
    """
    table = given_table(candidates, fields)
    shared: list[bool] = []
    named = ids is not None or isinstance(candidates, Mapping) or (table is not None and "id" in table)
    if table is not None:
        candidates, shared, numbers = table.pop("candidate"), table.pop(SHARED), table.pop(NUMBERS)
        references = table.get("references") if references is None else references
        image_names = table.get("image") if image_names is None else image_names
        objects = table.get("objects") if objects is None else objects
        ids = table.get("id", numbers) if ids is None else ids
    if isinstance(candidates, Mapping):
        pairs = [(key, caption) for key, value in candidates.items() for caption in captions_of(value)]
        keys, captions = [key for key, _ in pairs], [caption for _, caption in pairs]
        shared = [True] * len(keys)
        lookup: Callable[[Any], Callable[[int, Any], Any]] = _by_key
    elif isinstance(candidates, str):
        raise InputError("candidates is a single text; give a list of captions")
    else:
        captions = list(candidates)
        keys = [str(i) for i in range(len(captions))] if ids is None else list(ids)
        lookup = _by_place(len(captions))
    names = _names(keys, shared or [False] * len(keys), len(captions))
    if _is_file(references):
        references = _read(references, keys, named)
    columns = [lookup(values) for values in (references, image_names, objects)]
    each = enumerate(zip(names, keys, captions))
    return [_sample(name, text, *(look(place, key) for look in columns)) for place, (name, key, text) in each], named


def _read(references: str | Path, keys: Sequence[Any], named: bool) -> dict[Any, tuple[str, ...]]:
    """References of a file, by the ids of the captions."""
    if not named:
        raise InputError("references are a file, so captions need ids: give a dict keyed by id, or `ids`")
    problems: list[Problem] = []
    known = read_references([references], None, problems).find(map(str, keys))
    if not known:
        raise InputError(f"no id in common: captions have ids like {str(keys[0])!r}, {references} has others")
    return {key: known[str(key)][0] for key in keys if str(key) in known}


def _names(keys: list[Any], shared: Sequence[bool], count: int) -> list[Any]:
    """A name for each caption: ids of images may repeat (42, 42#2), those of captions must differ."""
    if len(keys) != count:
        raise InputError(f"{count} candidates but {len(keys)} ids; they must be parallel")
    if len(set(keys)) == len(keys):
        return keys
    found, met = [], Counter[Any]()
    for key, image in zip(keys, shared):
        met[key] += 1
        if met[key] > 1 and not image:
            raise InputError(f"id {str(key)!r} occurs more than once; ids must differ")
        found.append(key if met[key] == 1 else f"{key}#{met[key]}")
    return found


def _sample(key: Any, candidate: Any, references: Any, image: Any, objects: Any) -> Sample:
    if isinstance(candidate, list | tuple) and len(candidate) == 1:
        candidate = candidate[0]
    try:
        name, photo = photo_of(image, key)
        return make(key, candidate, () if references is None else references, name, objects, photo=photo)
    except InputError as error:
        return Sample(str(key), candidate if isinstance(candidate, str) else "", problem=str(error))


def _by_key(values: Any) -> Callable[[int, Any], Any]:
    if values is None:
        return lambda place, key: None
    if not isinstance(values, Mapping):
        raise InputError("candidates are keyed by id, so references and images must be dicts keyed by id too")
    return lambda place, key: values.get(key)


def _by_place(length: int) -> Callable[[Any], Callable[[int, Any], Any]]:
    def look(values: Any) -> Callable[[int, Any], Any]:
        if values is None:
            return lambda place, key: None
        if isinstance(values, Mapping):
            return lambda place, key: values.get(key)
        found = list(values)
        if len(found) != length:
            raise InputError(f"{length} candidates but {len(found)} entries beside them; they must be parallel")
        return lambda place, key: found[place]

    return look

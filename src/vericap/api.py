"""The Python API: score lists, dicts keyed by id, or tables; compare systems."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vericap.errors import InputError, VericapError
from vericap.metrics.base import Metric
from vericap.results import Result
from vericap.run.batch import Settings
from vericap.run.compare import Comparison, compare_samples
from vericap.samples import Sample, make

Captions = Sequence[str] | Mapping[Any, Any] | Any


def settings_of(options: Mapping[str, Any]) -> Settings:
    """Settings from keyword arguments; paths may be given as text."""
    known = set(Settings.__dataclass_fields__)
    unknown = sorted(set(options) - known)
    if unknown:
        raise VericapError(f"unknown option {', '.join(unknown)}; there are: {', '.join(sorted(known))}")
    values = dict(options)
    if values.get("lang") == "ja":
        values.setdefault("tokenizer", "sudachi")  # Japanese has no blanks between words
    for name in ("images", "features", "cache"):
        if values.get(name) is not None:
            values[name] = Path(values[name])
    return Settings(**values)


def score(
    candidates: Captions,
    references: Captions = None,
    metrics: str | Iterable[str | Metric] = "coco",
    *,
    image_names: Sequence[str | None] | Mapping[Any, str] | None = None,
    objects: Sequence[Any] | Mapping[Any, Any] | str | None = None,
    ids: Sequence[Any] | None = None,
    confidence: bool = False,
    resamples: int = 1000,
    **options: Any,
) -> Result:
    """Score captions.

    `candidates` and `references` are lists of the same length, dicts keyed by id (a subset of the
    referenced ids is scored), or a pandas / pyarrow table with columns `candidate`, `references` and
    optionally `id` and `image`. `image_names` names each caption's image (a file under `images=DIR`),
    `objects` its objects (label lists or counts) or, as text, where objects come from.
    Further keywords are those of `Settings`: lang, tokenizer, df, images, workers, seed, explain, ...
    """
    from vericap.run.engine import score_batch

    if isinstance(objects, str):
        options["objects"] = objects
        objects = None
    samples = samples_of(candidates, references, image_names=image_names, objects=objects, ids=ids)
    return score_batch(samples, metrics, settings_of(options), confidence=confidence, resamples=resamples)


def compare(
    systems: Mapping[str, Captions],
    references: Captions = None,
    metrics: str | Iterable[str | Metric] = "coco",
    *,
    image_names: Sequence[str | None] | Mapping[Any, str] | None = None,
    test: str = "bootstrap",
    resamples: int = 1000,
    **options: Any,
) -> Comparison:
    """Score several systems on the same references, with p-values against the first."""
    samples = {
        name: samples_of(found, references, image_names=image_names) for name, found in systems.items()
    }
    return compare_samples(samples, metrics, settings_of(options), test=test, resamples=resamples)


def samples_of(
    candidates: Captions,
    references: Captions = None,
    *,
    image_names: Any = None,
    objects: Any = None,
    ids: Sequence[Any] | None = None,
) -> list[Sample]:
    """Samples from lists, dicts or tables; an InputError names the record that is wrong."""
    if hasattr(candidates, "columns") and (
        hasattr(candidates, "to_pydict") or hasattr(candidates, "to_dict")
    ):
        candidates, references, image_names, ids = _from_table(candidates, references, image_names)
    if isinstance(candidates, Mapping):
        keys = list(candidates)
        lookup: Callable[[Any], Callable[[int, Any], Any]] = _by_key
    elif isinstance(candidates, str):
        raise InputError("candidates is a single text; give a list of captions")
    else:
        candidates = list(candidates)
        keys = [str(i) for i in range(len(candidates))] if ids is None else list(ids)
        lookup = _by_place(len(candidates))
        if len(keys) != len(candidates):
            raise InputError(f"{len(candidates)} candidates but {len(keys)} ids; they must be parallel")
        repeated = {key for key in keys if keys.count(key) > 1} if len(set(keys)) < len(keys) else None
        if repeated:
            raise InputError(f"id {sorted(map(str, repeated))[0]!r} occurs more than once; ids must differ")
    get_candidate, get_reference = lookup(candidates), lookup(references)
    get_image, get_objects = lookup(image_names), lookup(objects)
    samples = []
    for place, key in enumerate(keys):
        try:
            candidate = get_candidate(place, key)
            if isinstance(candidate, list | tuple) and len(candidate) == 1:
                candidate = candidate[0]
            found = get_reference(place, key)
            samples.append(
                make(
                    key,
                    candidate,
                    () if found is None else found,
                    get_image(place, key),
                    get_objects(place, key),
                )
            )
        except InputError as error:
            raise InputError(f"record {key!r}: {error}") from None
    return samples


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
            raise InputError(
                f"{length} candidates but {len(found)} entries beside them; they must be parallel"
            )
        return lambda place, key: found[place]

    return look


def _from_table(table: Any, references: Any, image_names: Any) -> tuple[Any, Any, Any, Any]:
    """Columns of a pandas or pyarrow table as plain lists."""
    columns = table.to_pydict() if hasattr(table, "to_pydict") else table.to_dict(orient="list")
    if "candidate" not in columns:
        raise InputError(f"the table has no column 'candidate'; its columns: {', '.join(map(str, columns))}")
    if references is None:
        references = columns.get("references")
    if references is not None and not isinstance(references, Mapping):
        references = [r.tolist() if isinstance(r, np.ndarray) else r for r in references]
    ids = columns.get("id")
    return columns["candidate"], references, columns.get("image") if image_names is None else image_names, ids

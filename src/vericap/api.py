"""The Python API: score lists, dicts keyed by id, or tables; compare systems; keep a scorer warm."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from vericap.core.errors import InputError, VericapWarning
from vericap.core.explanation import Explanation
from vericap.core.samples import Sample, make
from vericap.core.settings import Settings
from vericap.io.given import given_table, photo_of
from vericap.metrics.registry import Wanted, resolve
from vericap.run.compare import LEVEL, Comparison, compare_samples
from vericap.run.engine import Run
from vericap.run.other_languages import foreign
from vericap.run.results import Result

Captions = Sequence[Any] | Mapping[Any, Any] | Any
Images = Sequence[str | None] | Mapping[Any, str] | None


class Scorer:
    """Metrics and settings that stay warm: models, tables and networks are opened once and used call after call.

    For a training loop, a reward, a server: anything that scores batch after batch.

    Parameters
    ----------
    metrics : names separated by commas, or a list of names, metrics and plain functions.
    **settings : those of `vericap.Settings`: lang, tokenizer, df, images, objects, features, workers, cache, ...

    Examples
    --------
    >>> scorer = Scorer("bleu-4,rouge-l")
    >>> float(scorer.score(["a dog runs"], [["a dog runs", "a dog is running"]]).corpus["rouge-l"])
    1.0
    """

    def __init__(self, metrics: str | Iterable[Wanted] = "coco", **settings: Any) -> None:
        self.settings = Settings.of(settings)
        self.run = Run(resolve(metrics, code=True), self.settings)

    def score(
        self,
        candidates: Captions,
        references: Captions = None,
        *,
        image_names: Images = None,
        objects: Sequence[Any] | Mapping[Any, Any] | None = None,
        ids: Sequence[Any] | None = None,
        confidence: bool = False,
        resamples: int = 1000,
        explain: bool = False,
    ) -> Result:
        """Score captions; arguments as for `vericap.score`."""
        samples = self.samples(candidates, references, image_names=image_names, objects=objects, ids=ids)
        result = self.run.score(samples, confidence=confidence, resamples=resamples, explain=explain)
        result.reporter = partial(_report, self.run, samples)
        return _told(result)

    def explain(
        self,
        candidates: Captions,
        references: Captions = None,
        *,
        image_names: Images = None,
        objects: Sequence[Any] | Mapping[Any, Any] | None = None,
        ids: Sequence[Any] | None = None,
        full: bool = False,
    ) -> dict[str, list[Explanation | None]]:
        """Reasons by metric, one entry per caption; `full` adds matrices and graphs to draw."""
        samples = self.samples(candidates, references, image_names=image_names, objects=objects, ids=ids)
        return self.run.explain(samples, full=full)

    def samples(self, candidates: Captions, references: Captions = None, **beside: Any) -> list[Sample]:
        """Samples of a call, images named by ids where the caller gave ids."""
        found, identified = samples_of(candidates, references, **beside)
        return self.run.name_images(found) if identified else found


def score(
    candidates: Captions,
    references: Captions = None,
    metrics: str | Iterable[Wanted] = "coco",
    *,
    image_names: Images = None,
    objects: Sequence[Any] | Mapping[Any, Any] | str | None = None,
    ids: Sequence[Any] | None = None,
    confidence: bool = False,
    resamples: int = 1000,
    explain: bool = False,
    **options: Any,
) -> Result:
    """Score captions.

    Parameters
    ----------
    candidates, references : lists of the same length, dicts keyed by id (a subset of the referenced ids is scored), a
        list of records (dicts), or a table (pandas, pyarrow, a `datasets.Dataset`) with columns `candidate` (or
        `caption`), `references` and optionally `id`, `image` and `objects`.
    metrics : names separated by commas, or a list of names, metrics and plain functions.
    image_names : each caption's image: the name of a file under `images=DIR`, a path, bytes, a PIL image or an array;
        without it an id names the image.
    objects : each caption's objects (label lists or counts) or, as text, where objects come from.
    ids : names of the captions, where they are lists.
    confidence, resamples : bootstrap intervals of the corpus scores.
    explain : reasons for every caption, in `result.explanations`.
    **options : those of `vericap.Settings`: lang, tokenizer, df, images, features, workers, threads, cache, seed, ...

    Returns
    -------
    Result : corpus scores with signatures (`result.corpus`), scores per caption (`result["meteor"]`). A record that
        cannot be read keeps its place, without a score and with the reason in `result.problems`.

    Examples
    --------
    >>> result = score(["a dog runs on grass"], [["a dog is running", "the dog runs on the lawn"]], metrics="rouge-l")
    >>> round(float(result.corpus["rouge-l"]), 4)
    0.5367
    """
    if isinstance(objects, str):
        options["objects"] = objects
        objects = None
    scorer = Scorer(metrics, **options)
    samples = scorer.samples(candidates, references, image_names=image_names, objects=objects, ids=ids)
    result = scorer.run.score(samples, confidence=confidence, resamples=resamples, explain=explain)
    result.reporter = partial(_report, scorer.run, samples)
    result.warnings += foreign(samples, scorer.run.settings.lang)
    return _told(result)


def compare(
    systems: Mapping[str, Captions],
    references: Captions = None,
    metrics: str | Iterable[Wanted] = "coco",
    *,
    image_names: Images = None,
    test: str = "bootstrap",
    resamples: int | None = None,
    level: float = LEVEL,
    **options: Any,
) -> Comparison:
    """Score several systems on the same references, with p-values against the first.

    Parameters
    ----------
    systems : captions by system, in any form `score` takes.
    references, metrics, image_names, **options : as for `score`. What systems share is analysed once.
    test, resamples : "bootstrap" or "randomisation", and how many draws; by default 20,000, and 100,000 where a star
        would otherwise hang on the seed.
    level : Holm-adjusted p below which a star is set.

    Returns
    -------
    Comparison : scores, intervals, p-values alone and adjusted (`found.adjusted`), and what is suspicious about the
        captions (`found.diagnosis`); `found.render("markdown")` is the table.

    Examples
    --------
    >>> found = compare({"a": ["a dog", "a cat"], "b": ["a cow", "a cat"]}, [["a dog"], ["a cat"]], "rouge-l")
    >>> found.baseline, found.captions
    ('a', 2)
    """
    scorer = Scorer(metrics, **options)
    samples = {name: scorer.samples(found, references, image_names=image_names) for name, found in systems.items()}
    found = compare_samples(samples, scorer.run, test=test, resamples=resamples, level=level)
    found.reporter = partial(_report, scorer.run, None)
    for result in found.results.values():
        _told(result)
    return found


def _report(
    run: Run, samples: Sequence[Sample] | None, found: Result | Comparison, folder: str | Path, **options: Any
) -> Path:
    """Write the report of a result or a comparison; the page to open."""
    from vericap.report.site import of_comparison, of_result, write_site

    if isinstance(found, Comparison):
        return write_site(of_comparison(found, run), folder, **options).page
    return write_site(of_result(found, samples or [], run), folder, **options).page


def _told(result: Result) -> Result:
    """The result, its warnings shown to who called the function that calls this one."""
    for text in result.warnings:
        warnings.warn(text, VericapWarning, stacklevel=3)
    return result


def samples_of(
    candidates: Captions,
    references: Captions = None,
    *,
    image_names: Any = None,
    objects: Any = None,
    ids: Sequence[Any] | None = None,
) -> tuple[list[Sample], bool]:
    """Samples from lists, dicts or tables, and whether the caller named them by ids.

    A record that cannot be read is kept with its reason; what makes all of them unreadable is an InputError.
    """
    table = given_table(candidates)
    if table is not None:
        candidates = table.pop("candidate")
        references = table.get("references") if references is None else references
        image_names = table.get("image") if image_names is None else image_names
        objects = table.get("objects") if objects is None else objects
        ids = table.get("id") if ids is None else ids
    identified = ids is not None or isinstance(candidates, Mapping)
    if isinstance(candidates, Mapping):
        keys = list(candidates)
        lookup: Callable[[Any], Callable[[int, Any], Any]] = _by_key
    elif isinstance(candidates, str):
        raise InputError("candidates is a single text; give a list of captions")
    else:
        candidates = list(candidates)
        keys = [str(i) for i in range(len(candidates))] if ids is None else list(ids)
        lookup = _by_place(len(candidates))
        _check_ids(keys, len(candidates))
    columns = [lookup(values) for values in (candidates, references, image_names, objects)]
    return [_sample(key, *(look(place, key) for look in columns)) for place, key in enumerate(keys)], identified


def _check_ids(keys: list[Any], count: int) -> None:
    if len(keys) != count:
        raise InputError(f"{count} candidates but {len(keys)} ids; they must be parallel")
    if len(set(keys)) < len(keys):
        repeated = {str(key) for key in keys if keys.count(key) > 1}
        raise InputError(f"id {sorted(repeated)[0]!r} occurs more than once; ids must differ")


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

"""The Python API: score lists, dicts keyed by id, tables or files; compare systems; check one caption."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from vericap.checking import ASPECTS, Check, check_asked, checked
from vericap.core.errors import InputError, VericapWarning
from vericap.core.explanation import Explanation
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.io import calls
from vericap.io.calls import Given
from vericap.io.load import Loaded
from vericap.io.load import load as _load
from vericap.metrics.registry import Wanted, canonical, resolve
from vericap.run.compare import LEVEL, Comparison, compare_samples
from vericap.run.engine import Run
from vericap.run.other_languages import foreign, other_language
from vericap.run.results import Result

Captions = Any  # sequence, mapping, table, path of a file, or what `load` gave
Images = Sequence[str | None] | Mapping[Any, str] | None


class Scorer:
    """Metrics and settings that stay warm: models, tables and networks are opened once and used call after call.

    For a training loop, a reward, a server: anything that scores batch after batch.

    Parameters
    ----------
    metrics : str or iterable
        Names separated by commas, or a list of names, metrics and plain functions.
    **settings : Any
        Those of `vericap.Settings`: lang, tokenizer, df, images, objects, features, workers, cache, ...; and how
        files and tables are read: caption_field, image_field, id_field, references_field, format, encoding.

    Examples
    --------
    >>> import vericap
    >>> scorer = vericap.Scorer("bleu-4,rouge-l")
    >>> float(scorer.score(["a dog runs"], [["a dog runs", "a dog is running"]]).corpus["rouge-l"])
    1.0
    """

    def __init__(self, metrics: str | Iterable[Wanted] = "coco", **settings: Any) -> None:
        self._how = calls.reading(settings)
        self.settings = Settings.of(settings)
        if self.settings.images is not None and not self.settings.images.is_dir():
            raise InputError(f"`images={self.settings.images}`: no such folder; check the path")
        self.run = Run(resolve(metrics, code=True, lang=self.settings.lang), self.settings)

    def score(
        self,
        candidates: Captions = None,
        references: Captions = None,
        *,
        predictions: Captions = None,
        image_names: Images = None,
        objects: Sequence[Any] | Mapping[Any, Any] | None = None,
        ids: Sequence[Any] | None = None,
        confidence: bool = False,
        resamples: int = 1000,
        explain: bool = False,
    ) -> Result:
        """Score captions with the metrics and settings of this scorer.

        Parameters
        ----------
        candidates, references, predictions, image_names, objects, ids, confidence, resamples, explain : Any
            As for `vericap.score`.

        Returns
        -------
        Result
            Corpus scores, and a score per caption.

        Examples
        --------
        >>> import vericap
        >>> vericap.Scorer("rouge-l").score(predictions=["a dog"], references=[["a dog"]])["rouge-l"].tolist()
        [1.0]
        """
        found = self._given(candidates, references, predictions, image_names=image_names, objects=objects, ids=ids)
        return _told(self._scored(found, confidence=confidence, resamples=resamples, explain=explain))

    def explain(
        self,
        candidates: Captions = None,
        references: Captions = None,
        *,
        predictions: Captions = None,
        image_names: Images = None,
        objects: Sequence[Any] | Mapping[Any, Any] | None = None,
        ids: Sequence[Any] | None = None,
        full: bool = False,
    ) -> dict[str, list[Explanation | None]]:
        """Reasons for captions, without their scores.

        Parameters
        ----------
        candidates, references, predictions, image_names, objects, ids : Any
            As for `vericap.score`.
        full : bool
            Whether matrices and graphs are made too, which a picture needs.

        Returns
        -------
        dict
            By metric a list with an `Explanation` for each caption, None where there is nothing to say.

        Examples
        --------
        >>> import vericap
        >>> (reason,) = vericap.Scorer("rouge-l").explain(["a red dog"], [["a dog runs"]])["rouge-l"]
        >>> [word.text for word in reason.words if not word.support]
        ['red']
        """
        found = self._given(candidates, references, predictions, image_names=image_names, objects=objects, ids=ids)
        return self.run.explain(found.samples, full=full)

    def samples(self, candidates: Captions, references: Captions = None, **beside: Any) -> list[Sample]:
        """Samples of a call, as `score` would judge them: for programs that score them in a way of their own.

        Parameters
        ----------
        candidates, references : Any
            As for `vericap.score`.
        **beside : Any
            image_names, objects, ids, as for `vericap.score`.

        Returns
        -------
        list of Sample

        Examples
        --------
        >>> import vericap
        >>> vericap.Scorer("rouge-l").samples(["a dog"], ids=["7"])[0].id
        '7'
        """
        return self._given(candidates, references, **beside).samples

    def _given(self, candidates: Captions, references: Captions, predictions: Captions = None, **beside: Any) -> Given:
        """Samples of a call, images named by ids where the caller gave ids."""
        captions = calls.one_of(candidates, predictions)
        looked_for = self.settings.images is None and self.settings.features is None
        found = calls.given(captions, references, how=self._how, beside=looked_for, **beside)
        if found.named:
            found.samples = self.run.name_images(found.samples)
        return found

    def _scored(self, found: Given, **how: Any) -> Result:
        run, left = self.run.fitted(found.samples)
        result = run.score(found.samples, **how)
        result.problems[:0] = found.problems
        result.warnings[:0] = [*found.warnings, *left]
        result.reporter = partial(_report, run, found.samples)
        result._spelled = canonical
        return result


def score(
    candidates: Captions = None,
    references: Captions = None,
    metrics: str | Iterable[Wanted] = "coco",
    *,
    predictions: Captions = None,
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
    candidates, references : list, dict, table or path
        Lists of the same length; dicts keyed by id (a subset of the referenced ids is scored); a list of records
        (dicts) or a table (pandas, pyarrow, a `datasets.Dataset`) with columns `candidate` (or `caption`,
        `prediction`, ...), `references` and optionally `id`, `image` and `objects`; files of any format that
        `vericap score` reads; or what `vericap.load` gave.
    metrics : str or iterable
        Names separated by commas, or a list of names, metrics, functions. Of a set what the input allows is taken.
    predictions : list, dict, table or path
        Another name for `candidates`.
    image_names : list or dict
        Each caption's image: the name of a file under `images=DIR`, a path, bytes, a PIL image or an array; without
        it an id names the image.
    objects : list, dict or str
        Each caption's objects (label lists or counts) or, as text, where objects come from.
    ids : list
        Names of the captions, where they are lists.
    confidence : bool
        Whether to compute bootstrap intervals of the corpus scores.
    resamples : int
        Draws of these intervals.
    explain : bool
        Whether to give reasons for every caption, in `result.explanations`.
    **options : Any
        Those of `vericap.Settings` (lang, tokenizer, df, images, features, workers, threads, cache, seed, ...), and how
        files and tables are read: caption_field, image_field, id_field, references_field, format, encoding.

    Returns
    -------
    Result
        Corpus scores with signatures (`result.corpus`), scores per caption (`result["meteor"]`). A record that cannot
        be read keeps its place, without a score and with the reason in `result.problems`.

    Examples
    --------
    >>> import vericap
    >>> references = [["a dog is running", "the dog runs on the lawn"]]
    >>> result = vericap.score(["a dog runs on grass"], references, metrics="rouge-l")
    >>> round(float(result.corpus["rouge-l"]), 4)
    0.5367
    """
    if isinstance(objects, str):
        options["objects"] = objects
        objects = None
    scorer = Scorer(metrics, **options)
    found = scorer._given(candidates, references, predictions, image_names=image_names, objects=objects, ids=ids)
    result = scorer._scored(found, confidence=confidence, resamples=resamples, explain=explain)
    result.warnings += foreign(found.samples, scorer.settings.lang)
    return _told(result)


def check(
    image: Any, caption: str, *, references: str | Sequence[str] | None = None, lang: str = "en", **settings: Any
) -> Check:
    """Judge one caption of one image: is it true, does it say what matters, does it read well, and why.

    Parameters
    ----------
    image : path, bytes, PIL image or array
        The image.
    caption : str
        The caption.
    references : list of str
        What others say of the image, where that is known.
    lang : str
        Language of the caption; only English ("en", "en-US", ...) is judged.
    **settings : Any
        Those of `vericap.Settings`.

    Returns
    -------
    Check
        `fidelity`, `adequacy`, `fluency` and `verdict` between 0 and 1, words with their support and regions, what was
        left out; prints as a few lines, `to_dict()` is plain data.

    Examples
    --------
    >>> from vericap.core.shipped import ROOT
    >>> import vericap
    >>> found = vericap.check(ROOT / "demo/photos/chelsea.jpg", "A dog with green eyes", cache="off")
    >>> 0 <= found.fidelity <= 1
    True
    """
    check_asked(image, caption, lang)
    given = [references] if isinstance(references, str) else list(references or ())
    scorer = Scorer(ASPECTS, lang="en", **settings)
    beside: dict[str, Any] = {"image_names": [Path(image) if isinstance(image, str) else image], "ids": ["caption"]}
    samples, _ = calls.samples_of([caption], [given] if given else None, **beside)
    if samples[0].problem:
        raise InputError(samples[0].problem)
    result = scorer.run.score(samples, explain=True)
    reasons = [reason for name in ASPECTS for reason in result.statistics[name].problems.values()]
    if result.problems:
        where = f"{image}: " if isinstance(image, str | Path) else ""
        raise InputError(f"{where}{reasons[0] if reasons else result.problems[0].reason}")
    if code := other_language(caption, "en"):
        result.warnings.append(f"the caption looks like another language ({code}); the verdict reads English alone")
    _told(result)
    told = [(n, other_language(text, "en")) for n, text in enumerate(given, 1)]
    notes = [f"reference {n} looks like another language ({code})" for n, code in told if code]
    values = {name: float(result[name][0]) for name in ASPECTS}
    return checked(caption, values, {name: found[0] for name, found in result.explanations.items()}, notes)


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
    systems : dict
        Captions by system, in any form `vericap.score` takes.
    references : list, dict, table or path
        As for `vericap.score`. What systems share is analysed once.
    metrics : str or iterable
        Names separated by commas, or a list of names, metrics and plain functions.
    image_names : list or dict
        As for `vericap.score`.
    test : str
        "bootstrap" or "randomisation".
    resamples : int
        Draws of the test; by default 20,000, and 100,000 where a star would otherwise hang on the seed.
    level : float
        Holm-adjusted p below which a star is set.
    **options : Any
        As for `vericap.score`.

    Returns
    -------
    Comparison
        Scores, intervals, p-values alone and adjusted (`found.adjusted`), and what is suspicious about the captions
        (`found.diagnosis`); `found.to_markdown()` is the table.

    Examples
    --------
    >>> import vericap
    >>> found = vericap.compare({"a": ["a dog", "a cat"], "b": ["a cow", "a cat"]}, [["a dog"], ["a cat"]], "rouge-l")
    >>> found.baseline, found.captions
    ('a', 2)
    """
    scorer = Scorer(metrics, **options)
    read = {name: scorer._given(captions, references, image_names=image_names) for name, captions in systems.items()}
    samples = {name: system.samples for name, system in read.items()}
    run, left = scorer.run.fitted([sample for own in samples.values() for sample in own])
    found = compare_samples(samples, run, test=test, resamples=resamples, level=level)
    found.reporter = partial(_report, run, None)
    for name, result in found.results.items():
        result.problems[:0] = read[name].problems
        result.warnings[:0] = [*read[name].warnings, *left]
        left = []  # told once
        _told(result)
    return found


def load(candidates: str | Path, references: str | Path | Sequence[str | Path] = (), **how: Any) -> Loaded:
    """Read captions, and what they are judged against, from files of any format that the command line reads.

    Parameters
    ----------
    candidates : str or Path
        File, folder or pattern: COCO results, JSONL, CSV, TSV, Parquet, Arrow, tars, folders of photos and texts, text.
    references : str, Path or list of them
        Files of references, joined by id; not needed where the records carry their own.
    **how : Any
        caption_field, image_field, id_field, references_field: names of columns where they are not the usual ones;
        format, reference_format, encoding: where content and ending do not tell.

    Returns
    -------
    Loaded
        `samples` to look at, `problems` of records that cannot be read, `warnings` and `notes`. `vericap.score` and
        `vericap.compare` take it in place of captions.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import vericap
    >>> file = pathlib.Path(tempfile.mkdtemp(), "mine.csv")
    >>> _ = file.write_text("id,alt,references\\n7,a dog,the dog\\n")
    >>> found = vericap.load(file, caption_field="alt")
    >>> found.samples[0].candidate
    'a dog'
    >>> float(vericap.score(found, metrics="rouge-l")["rouge-l"][0])
    0.5
    """
    given = calls.reading(how)
    if how:
        raise InputError(f"unknown option {', '.join(sorted(how))}; the options are: {', '.join(calls.READING)}")
    return _load(candidates, [references] if isinstance(references, str | Path) else references, **given)


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

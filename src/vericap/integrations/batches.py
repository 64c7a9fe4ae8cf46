"""Scores and conditions batch by batch, in the shape that Ray Data's `map_batches` (and any loop of yours) calls.

    kept = dataset.map_batches(BatchFilter, fn_constructor_kwargs={"keep": "words>=3 & vse>=0.3"}, concurrency=2)

One object per worker keeps networks and models open from batch to batch. A batch is a dict of columns, a pandas or an
Arrow table, and comes back as the same.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.errors import InputError, VericapError
from vericap.core.samples import Photo, Sample, make
from vericap.core.settings import Settings
from vericap.core.typing import Array, Bools
from vericap.metrics import registry
from vericap.run.filter import grammar
from vericap.run.filter.columns import Sources
from vericap.run.filter.judge import Judge
from vericap.run.filter.state import KEPT, UNREADABLE, Rows, State
from vericap.text.clean import clean

EVERYTHING = "characters>=0"  # a condition that every caption meets
Batch = Any  # a mapping of columns, a pandas.DataFrame or a pyarrow.Table


class BatchScorer:
    """Adds a column of scores per metric.

    Parameters
    ----------
    metrics : str
        Names separated by commas.
    caption, image, references : str
        Columns that hold them. An image is a file's name under `images=DIR`, the bytes of a file, a dict with `bytes`
        or `path` (as Hugging Face keeps images), a PIL image or an array of pixels.
    problem : str
        A column to write reasons into, for captions that no metric could judge; none by default.
    **settings : Any
        Those of `vericap.Settings`. Document frequencies are those of COCO (`df=coco-val`) for English.

    Examples
    --------
    >>> scorer = BatchScorer("rouge-l")
    >>> scorer({"caption": ["a dog", "a cat"], "references": [["a dog"], ["a dog"]]})["rouge-l"].round(3).tolist()
    [1.0, 0.5]
    """

    def __init__(
        self,
        metrics: str,
        *,
        caption: str = "caption",
        image: str = "image",
        references: str = "references",
        problem: str = "",
        **settings: Any,
    ) -> None:
        self._set_up(EVERYTHING, (caption, image, references), settings, registry.split(metrics))
        self.problem = problem

    def _set_up(
        self,
        keep: str,
        columns: tuple[str, str, str],
        settings: Mapping[str, Any],
        metrics: Sequence[str] = (),
        **judging: Any,
    ) -> None:
        given = dict(settings)
        if given.get("lang", "en") == "en":
            given.setdefault("df", "coco-val")  # frequencies of a batch would make a score depend on its neighbours
        self.caption, self.image, self.references = columns
        self.settings = Settings.of(given)
        self._keep, self._judging = grammar.parse(keep), judging
        self.metrics = list(metrics)
        self._judge: Judge | None = None
        if self._keep.shares:
            raise VericapError(
                f"`keep=`: {self._keep.shares[0]} needs all records, and a batch is not all; "
                "add scores with BatchScorer and sort, or run `vericap filter`"
            )

    def judge(self, names: Sequence[str]) -> Judge:
        """The judge of batches with such columns; made when the first one is seen, so that it need not travel.

        Parameters
        ----------
        names : list of str
            Columns of a batch.

        Returns
        -------
        Judge
        """
        if self._judge is None:
            sources = Sources(self._keep, registry.make, registry.names(), names)
            for name in self.metrics:
                sources.add(name)
            self._judge = Judge(sources, self.settings, **self._judging)
        return self._judge

    def __call__(self, batch: Batch) -> Batch:
        """Score a batch.

        Parameters
        ----------
        batch : dict, pandas.DataFrame or pyarrow.Table
            Columns of captions, and of references and images where metrics read them.

        Returns
        -------
        dict, pandas.DataFrame or pyarrow.Table
            The batch with a column for each metric.
        """
        columns = _columns(batch)
        rows = self.rows(columns)
        judge, state = self.judge(list(columns)), State.of(rows)
        judge.score(rows, state, tuple(judge.sources.metrics), np.flatnonzero(state.failed != UNREADABLE))
        return _with(batch, self._scores(judge, rows, state))

    def rows(self, columns: Mapping[str, Sequence[Any]]) -> Rows:
        """The records of a batch; one without a usable caption is kept with the reason.

        Parameters
        ----------
        columns : dict
            Lists by name of the column.

        Returns
        -------
        Rows
        """
        if self.caption not in columns:
            raise InputError(f"the batch has no column '{self.caption}'; it has: {', '.join(columns)}")
        captions = columns[self.caption]
        images = columns.get(self.image, [None] * len(captions))
        references = columns.get(self.references, [()] * len(captions))
        samples = [_sample(row, *cells) for row, cells in enumerate(zip(captions, references, images))]
        return Rows(samples, lambda name: _objects(columns[name]))

    def _scores(self, judge: Judge, rows: Rows, state: State) -> dict[str, Array]:
        """New columns; a metric that saw no record has one too."""
        labels = tuple(judge.sources.metrics)
        names = dict.fromkeys(
            [*labels, *(column.name for column in judge.sources.of.values() if column.kind == "metric")]
        )
        found = {name: state.columns.get(name, np.full(len(rows), np.nan)) for name in names}
        if self.problem:
            why = [sample.problem or state.unjudged(row, labels) for row, sample in enumerate(rows.samples)]
            found[self.problem] = _objects(why)
        return found


class BatchFilter(BatchScorer):
    """Keeps the rows of a batch that meet a condition, and adds the scores that it reads.

    Parameters
    ----------
    keep : str
        A condition as `vericap filter` reads it; shares (top:0.3:...) need all records and are refused.
    cascade : bool
        Whether expensive metrics see only what cheaper conditions left.
    clean : bool
        Whether to undo HTML, addresses, file names, repeated blanks and capitals in the captions first; the originals
        are kept in the column `CAPTION.original`.
    caption, image, references, **settings : Any
        As for `BatchScorer`.

    Examples
    --------
    >>> keep = BatchFilter("words>=2 & lang==en & !url")
    >>> keep({"caption": np.array(["a dog on grass", "www.a.com", "ein Hund auf Gras"]), "n": np.array([1, 2, 3])})["n"]
    array([1])
    """

    def __init__(
        self,
        keep: str,
        *,
        caption: str = "caption",
        image: str = "image",
        references: str = "references",
        cascade: bool = True,
        clean: bool = False,
        **settings: Any,
    ) -> None:
        self._set_up(keep, (caption, image, references), settings, cascade=cascade)
        self.clean, self.problem = clean, ""

    def __call__(self, batch: Batch) -> Batch:
        """Filter a batch.

        Parameters
        ----------
        batch : dict, pandas.DataFrame or pyarrow.Table
            Columns of captions, and of what the condition reads.

        Returns
        -------
        dict, pandas.DataFrame or pyarrow.Table
            The rows that are kept, with the scores that the condition reads.
        """
        batch = self.cleaned(batch)
        kept, scores = self.decide(_columns(batch))
        return _taken(_with(batch, scores), kept)

    def cleaned(self, batch: Batch) -> Batch:
        """The batch with clean captions and the originals beside them, where that is asked for.

        Parameters
        ----------
        batch : dict, pandas.DataFrame or pyarrow.Table
            With a column of captions.

        Returns
        -------
        dict, pandas.DataFrame or pyarrow.Table
        """
        if not self.clean:
            return batch
        captions = list(_columns(batch)[self.caption])
        fresh = _objects([clean(text) if isinstance(text, str) else text for text in captions])
        return _with(batch, {f"{self.caption}.original": _objects(captions), self.caption: fresh})

    def decide(self, columns: Mapping[str, Sequence[Any]]) -> tuple[Bools, dict[str, Array]]:
        """Which rows are kept, and their scores.

        Parameters
        ----------
        columns : dict
            Lists by name of the column.

        Returns
        -------
        tuple
            An array of bool, and arrays of scores by metric.
        """
        rows = self.rows(columns)
        judge, state = self.judge(list(columns)), State.of(rows)
        judge.work(rows, state, range(len(judge.stages)))
        return state.failed == KEPT, self._scores(judge, rows, state)


def _sample(row: int, caption: Any, references: Any, image: Any) -> Sample:
    try:
        name, photo = _photo(row, image)
        given = references.tolist() if isinstance(references, np.ndarray) else references
        return make(str(row), caption, () if given is None else given, name, photo=photo)
    except InputError as error:
        return Sample(str(row), caption if isinstance(caption, str) else "", problem=str(error))


def _photo(row: int, image: Any) -> tuple[str | None, Photo | None]:
    """The name of an image and, where it is not a name, its bytes."""
    if image is None or isinstance(image, str):
        return image, None
    if isinstance(image, Path):
        return str(image), image
    if isinstance(image, Mapping):
        data, path = image.get("bytes"), image.get("path")
        return (f"{row}", data) if data is not None else (path, None)
    if isinstance(image, bytes | bytearray | memoryview):
        return f"{row}", bytes(image)
    return f"{row}", _encoded(image)


def _encoded(image: Any) -> bytes:
    """A PIL image, upright, or pixels (height, width, 3), as the bytes of a file without loss."""
    from PIL import Image, ImageOps

    if isinstance(image, np.ndarray):
        if image.ndim not in (2, 3) or image.dtype != np.uint8:
            raise InputError(f"the image is an array of {image.dtype} {image.shape}; give uint8 (height, width, 3)")
        image = Image.fromarray(image)
    if not isinstance(image, Image.Image):
        raise InputError(f"the image is a {type(image).__name__}; give a name, bytes, a PIL image or an array")
    stream = io.BytesIO()
    ImageOps.exif_transpose(image).save(stream, "PNG", compress_level=1)
    return stream.getvalue()


# --- the three kinds of batches -----------------------------------------------------------------------------------


def _columns(batch: Batch) -> dict[str, Sequence[Any]]:
    """Columns of a batch as lists."""
    if hasattr(batch, "to_pydict"):
        found: dict[str, Sequence[Any]] = batch.to_pydict()
        return found
    names: Iterable[Any] = batch.columns if hasattr(batch, "columns") else batch
    return {str(name): list(batch[name]) for name in names}


def _with(batch: Batch, columns: Mapping[str, Array]) -> Batch:
    """A batch with further columns."""
    if hasattr(batch, "to_pydict"):
        import pyarrow as pa

        for name, values in columns.items():
            cells = pa.array(values, from_pandas=True)
            known = name in batch.column_names
            batch = (
                batch.set_column(batch.column_names.index(name), name, cells)
                if known
                else batch.append_column(name, cells)
            )
        return batch
    if hasattr(batch, "assign"):
        return batch.assign(**columns)
    return {**batch, **columns}


def _taken(batch: Batch, rows: Bools) -> Batch:
    """Some rows of a batch."""
    if hasattr(batch, "to_pydict"):
        return batch.filter(_mask(rows))
    if hasattr(batch, "assign"):
        return batch[rows]
    return {name: _some(values, rows) for name, values in batch.items()}


def _mask(rows: Bools) -> Any:
    import pyarrow as pa

    return pa.array(rows)


def _some(values: Any, rows: Bools) -> Any:
    if isinstance(values, np.ndarray):
        return values[rows]
    return [value for value, keep in zip(values, rows.tolist()) if keep]


def _objects(values: Sequence[Any]) -> Array:
    found = np.empty(len(values), dtype=object)
    found[:] = values if not isinstance(values, np.ndarray) else values.tolist()
    return found

"""A plain function as a metric: (candidates, references, images) -> one score per caption."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from vericap.core.batch import Batch
from vericap.core.errors import InputError, VericapError
from vericap.core.metric import Metric
from vericap.core.statistics import Statistics

Function = Callable[[list[str], list[list[str]], list[str | None]], Sequence[float]]
PREFIX = "py:"


class FunctionMetric(Metric):
    """Scores of a function of the user's; higher is better, the corpus score is the mean.

    Parameters
    ----------
    function : called with the candidates, the references of each and the image of each (a key or None); it gives one
        number per caption, NaN for a caption it cannot judge.

    Examples
    --------
    >>> def words(candidates, references, images):
    ...     return [len(candidate.split()) for candidate in candidates]
    >>> FunctionMetric(words).label
    'words'
    """

    name, title = "function", "A function of yours"
    range = (float("-inf"), float("inf"))
    needs: ClassVar[tuple[str, ...]] = ()

    def __init__(self, function: Function, *, label: str | None = None) -> None:
        super().__init__(label=label or getattr(function, "__name__", type(function).__name__))
        self.function = function

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        references = [batch.reference_texts(row) for row in range(len(batch))]
        images = [batch.image_keys[image] if image >= 0 else None for image in batch.images]
        try:
            values = np.asarray(self.function(batch.candidate_texts(), references, images), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise VericapError(f"the function '{self.label}' failed: {error}") from error
        if values.shape != (len(batch),):
            raise VericapError(
                f"the function '{self.label}' gave {values.shape} values for {len(batch)} captions; "
                "it must give one number each"
            )
        problems = dict.fromkeys(np.flatnonzero(np.isnan(values)).tolist(), "the function gave no number")
        return Statistics(values, problems)


def load(text: str) -> FunctionMetric:
    """A function written as `py:FILE.py:function`; the file's code is run, so it never comes from a network."""
    path, sign, name = text.removeprefix(PREFIX).rpartition(":")
    file = Path(path)
    if not sign or file.suffix != ".py" or not file.is_file():
        raise InputError(f"'{text}' names no function; write py:FILE.py:function with a file that exists")
    spec = importlib.util.spec_from_file_location(f"vericap_user_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the user's own code
        raise InputError(f"{file} cannot be run ({type(error).__name__}: {error})") from error
    function = getattr(module, name, None)
    if not callable(function):
        raise InputError(f"{file} has no function '{name}'")
    return FunctionMetric(function, label=text)

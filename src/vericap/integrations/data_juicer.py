"""A filter in the shape of Data-Juicer's: scores are computed into a sample's stats, conditions decide on them.

    from vericap.integrations.data_juicer import register
    register()                                       # makes the operator known as `vericap_filter`

    process:                                         # then, in a recipe of Data-Juicer
      - vericap_filter:
          keep: 'words>=3 & lang==en & vse>=0.3'
          images: /data/photos

The class follows the interface of Data-Juicer's `Filter` (batched): `compute_stats_batched` writes the scores under
`__dj__stats__`, `process_batched` gives one bool per sample. It works without Data-Juicer too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from vericap.core.errors import MissingPart
from vericap.integrations.batches import BatchFilter

STATS = "__dj__stats__"  # Data-Juicer's name for the column of statistics
KEPT = "vericap_kept"


class VericapFilter:
    """Keeps samples whose caption meets a condition.

    Parameters
    ----------
    keep : str
        A condition as `vericap filter` reads it, without shares.
    text_key, image_key : str
        Columns of the captions and of the lists of images; the first image of a sample counts.
    **options : Any
        Those of `vericap.integrations.BatchFilter`: images (a folder), cascade, references, ...

    Examples
    --------
    >>> operator = VericapFilter("words>=2 & !url")
    >>> samples = {"text": ["a dog on grass", "www.a.com"], "images": [[], []], STATS: [{}, {}]}
    >>> list(operator.process_batched(operator.compute_stats_batched(samples)))
    [True, False]
    """

    _batched_op = True

    def __init__(self, keep: str, *, text_key: str = "text", image_key: str = "images", **options: Any) -> None:
        self.text_key, self.image_key = text_key, image_key
        self.filter = BatchFilter(keep, caption=text_key, image="image", **options)

    def compute_stats_batched(self, samples: dict[str, Any], **beside: Any) -> dict[str, Any]:
        """Write scores and the decision into the stats of every sample; one that has them is not scored again.

        Parameters
        ----------
        samples : dict
            Lists by column, as Data-Juicer hands them over.
        **beside : Any
            Taken and not used.

        Returns
        -------
        dict
            The same samples.
        """
        stats = samples[STATS] = [own or {} for own in samples[STATS]]
        todo = [row for row, own in enumerate(stats) if KEPT not in own]
        if todo:
            columns = {name: [values[row] for row in todo] for name, values in samples.items() if name != STATS}
            images = columns.pop(self.image_key, [None] * len(todo))
            columns["image"] = [_first(image) for image in images]
            kept, scores = self.filter.decide(columns)
            for place, row in enumerate(todo):
                own = {name: _plain(values[place]) for name, values in scores.items()}
                stats[row] = {**stats[row], **own, KEPT: bool(kept[place])}
        return samples

    def process_batched(self, samples: dict[str, Any]) -> Iterator[bool]:
        """One decision per sample.

        Parameters
        ----------
        samples : dict
            What `compute_stats_batched` gave.

        Returns
        -------
        iterator of bool
            Whether each is kept.
        """
        return (own[KEPT] for own in samples[STATS])

    def compute_stats_single(self, sample: dict[str, Any], **beside: Any) -> dict[str, Any]:
        """Write scores and the decision into the stats of one sample.

        Parameters
        ----------
        sample : dict
            Values by column.
        **beside : Any
            Taken and not used.

        Returns
        -------
        dict
            The same sample.
        """
        found = self.compute_stats_batched({name: [value] for name, value in sample.items()})
        return {name: values[0] for name, values in found.items()}

    def process_single(self, sample: dict[str, Any]) -> bool:
        """The decision on one sample.

        Parameters
        ----------
        sample : dict
            What `compute_stats_single` gave.

        Returns
        -------
        bool
            Whether it is kept.
        """
        return bool(sample[STATS][KEPT])


def register(name: str = "vericap_filter") -> type:
    """Make the filter known to Data-Juicer, whose recipes then name it.

    Parameters
    ----------
    name : str
        Name of the operator in recipes.

    Returns
    -------
    type
        The operator, a filter of ours and of Data-Juicer's.

    Examples
    --------
    >>> register()  # doctest: +SKIP
    <class 'vericap.integrations.data_juicer.VericapFilter'>
    """
    try:
        from data_juicer.ops import base_op as ops
    except ImportError as error:
        raise MissingPart(f"a Data-Juicer operator needs py-data-juicer; install it ({error})") from error

    class Operator(VericapFilter, ops.Filter):  # type: ignore[misc]
        def __init__(self, keep: str = "", **options: Any) -> None:
            own = {key: options.pop(key) for key in list(options) if key in _JUICER}
            ops.Filter.__init__(self, **own, **{k: options[k] for k in ("text_key", "image_key") if k in options})
            VericapFilter.__init__(self, keep, **options)

    Operator.__name__ = Operator.__qualname__ = "VericapFilter"
    found: type = ops.OPERATORS.register_module(name)(Operator)
    return found


# Options of Data-Juicer's own operators, which are not ours.
_JUICER = ("accelerator", "num_proc", "cpu_required", "mem_required", "batch_size", "index_key", "stats_export_path")


def _first(images: Any) -> Any:
    return images[0] if isinstance(images, list | tuple | np.ndarray) and len(images) else None


def _plain(value: Any) -> Any:
    return None if value != value else (value.item() if isinstance(value, np.generic) else value)

"""Caption metrics as a torchmetrics metric: update, compute, reset, plot, and what distributed training needs.

    from vericap.integrations.torchmetrics import CaptionMetric

    metric = CaptionMetric("cider-d", df="coco-val")
    for batch in loader:
        metric.update(model.captions(batch), batch["references"])
    metric.compute()

This module alone imports torch; `import vericap.integrations` does not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from vericap.api import Scorer
from vericap.core.errors import InputError, require
from vericap.core.settings import Settings
from vericap.metrics.registry import Wanted, resolve

if TYPE_CHECKING:
    import torch
    import torchmetrics
else:
    torchmetrics = require("torchmetrics", "torchmetrics", "a metric for torchmetrics")
    import torch

__all__ = ["CaptionMetric"]

# Arguments that torchmetrics itself takes; all others are settings of vericap.
_OF_TORCHMETRICS = (
    "compute_on_cpu",
    "dist_sync_on_step",
    "process_group",
    "dist_sync_fn",
    "distributed_available_fn",
    "sync_on_compute",
    "compute_with_cache",
)


class Warm:
    """A scorer that is opened when it is first used; copies and pickles of a metric open their own."""

    def __init__(self, metrics: Any, settings: dict[str, Any]) -> None:
        self.metrics, self.settings = metrics, settings
        self._scorer: Scorer | None = None

    @property
    def scorer(self) -> Scorer:
        if self._scorer is None:
            self._scorer = Scorer(self.metrics, **self.settings)
        return self._scorer

    def __reduce__(self) -> tuple[Any, ...]:
        return Warm, (self.metrics, self.settings)


class CaptionMetric(torchmetrics.Metric):
    """Any metrics of vericap, gathered over batches and processes.

    Parameters
    ----------
    metrics : str or iterable
        Names separated by commas, or a list of names, metrics and plain functions.
    **options : Any
        Settings of `vericap.Settings` (df, lang, images, ...), and arguments of `torchmetrics.Metric`.

    Captions are kept until `compute`, so that metrics over a whole corpus (BLEU, CIDEr-D with `df="corpus"`) are those
    of `vericap.score` on all of it, in any number of processes. `forward` gives the scores of the batch alone.

    Examples
    --------
    >>> metric = CaptionMetric("rouge-l")
    >>> metric.update(["a dog runs"], [["a dog runs", "the dog"]])
    >>> metric.compute()
    tensor(1.)
    """

    is_differentiable = False
    full_state_update = False
    records: list[torch.Tensor]

    def __init__(self, metrics: str | Iterable[Wanted] = "coco", **options: Any) -> None:
        super().__init__(**{name: options.pop(name) for name in _OF_TORCHMETRICS if name in options})
        Settings.of(options)  # a mistake is told here, not after an epoch
        found = resolve(metrics, code=True)
        self.labels = [metric.label for metric in found]
        self.directions = {metric.direction for metric in found}
        self.warm = Warm(found, options)
        # Texts as bytes: tensors are what torchmetrics gathers from other processes, and keeps in checkpoints.
        self.add_state("records", default=[], dist_reduce_fx="cat")

    @property
    def higher_is_better(self) -> bool | None:  # type: ignore[override,unused-ignore]
        """Whether higher scores are better; None where that differs between the metrics."""
        return None if len(self.directions) > 1 else self.directions == {"higher"}

    def update(
        self, preds: str | Sequence[str], target: Sequence[Any] | None = None, images: Sequence[str] | None = None
    ) -> None:
        """Take the captions of a batch.

        Parameters
        ----------
        preds : str or list of str
            Captions, or a single one.
        target : list
            References of each caption: a list of texts, or one text.
        images : list of str
            The image file of each caption, for metrics that look at photos.

        Returns
        -------
        None

        Examples
        --------
        >>> metric = CaptionMetric("rouge-l")
        >>> metric.update(["a dog"], [["a dog"]])
        """
        captions = [preds] if isinstance(preds, str) else list(preds)
        beside = {"target": _listed(target, preds), "images": _listed(images, preds)}
        for name, values in beside.items():
            if values is not None and len(values) != len(captions):
                raise InputError(f"{len(captions)} entries in `preds` but {len(values)} in `{name}`")
        rows = zip(captions, beside["target"] or [()] * len(captions), beside["images"] or [None] * len(captions))
        lines = [
            json.dumps([caption, [references] if isinstance(references, str) else list(references), image])
            for caption, references, image in rows
        ]
        data = "".join(f"{line}\n" for line in lines).encode()
        self.records.append(torch.frombuffer(bytearray(data or b"\n"), dtype=torch.uint8).to(self.device))

    def compute(self) -> torch.Tensor | dict[str, torch.Tensor]:
        """The corpus scores of all captions so far.

        Returns
        -------
        Tensor or dict of Tensor
            The score of a single metric, or scores by name; NaN where no caption could be judged.
        """
        rows = [json.loads(line) for line in self._lines()]
        if not rows:
            raise InputError("there are no captions to score; call update(preds, target) before compute()")
        captions, references, images = map(list, zip(*rows))
        beside: dict[str, Any] = {"image_names": images} if any(image is not None for image in images) else {}
        result = self.warm.scorer.score(captions, references, **beside)
        found = {name: self._tensor(result.corpus[name].value) for name in self.labels}
        return found if len(found) > 1 else found[self.labels[0]]

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Draw the scores (needs matplotlib).

        Parameters
        ----------
        val : Any
            What `compute` gave, or a list of it, one entry for each step; without it, `compute` is called.
        ax : Axes
            Where to draw; without it, in a new figure.

        Returns
        -------
        tuple
            The figure and its axes.
        """
        return self._plot(val, ax)

    def _lines(self) -> list[str]:
        states = self.records if isinstance(self.records, list) else [self.records]
        text = b"".join(state.cpu().numpy().tobytes() for state in states).decode()
        return [line for line in text.split("\n") if line]

    def _tensor(self, value: float | None) -> torch.Tensor:
        return torch.tensor(float("nan") if value is None else value, device=self.device)


def _listed(values: Any, preds: Any) -> list[Any] | None:
    """One entry per caption; what stands beside a single caption belongs to it."""
    if values is None:
        return None
    return [values] if isinstance(preds, str) else list(values)

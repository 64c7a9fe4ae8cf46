"""Caption metrics as a module of Hugging Face `evaluate`: add, add_batch, compute.

    from vericap.integrations.evaluate import CaptionMetric

    CaptionMetric("cider-d").compute(predictions=captions, references=references)

or by name, as other modules are loaded:

    module = evaluate.load(vericap.integrations.evaluate.__file__, "coco")

This module alone imports `evaluate` and `datasets`; `import vericap.integrations` does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from vericap.api import Scorer
from vericap.core.errors import require
from vericap.metrics.registry import resolve

if TYPE_CHECKING:
    import datasets
    import evaluate
else:
    evaluate = require("evaluate", "evaluate", "a module for Hugging Face evaluate")
    import datasets

_CITATION = "Cite the paper of each metric; `vericap metrics NAME` prints it."
_TEXT = datasets.Value("string")


class CaptionMetric(evaluate.Metric):
    """Any metrics of vericap in the shape of `evaluate`.

    Parameters
    ----------
    config_name : str
        The metrics, names separated by commas; "coco" without one.
    **options : Any
        Those of `evaluate.Metric` (process_id, num_process, experiment_id, cache_dir, ...).

    `compute(predictions=, references=, **settings)` gives a dict name -> corpus score (None where nothing could be
    judged); settings are those of `vericap.Settings`, and `image_names=` names each caption's file under `images=DIR`.

    Examples
    --------
    >>> CaptionMetric("rouge-l").compute(predictions=["a dog"], references=[["a dog", "dogs"]])
    {'rouge-l': 1.0}
    """

    def __init__(self, config_name: str | None = None, **options: Any) -> None:
        wanted = "coco" if config_name in (None, "default") else str(config_name)
        self.wanted = wanted
        # The name is part of files that `evaluate` writes: without what a file's name must not hold.
        labels = [metric.label for metric in resolve(wanted)]
        super().__init__(config_name="+".join(labels).replace(":", ".").replace("/", "."), **options)

    def _info(self) -> evaluate.MetricInfo:
        several = datasets.Features({"predictions": _TEXT, "references": datasets.Sequence(_TEXT)})
        single = datasets.Features({"predictions": _TEXT, "references": _TEXT})
        return evaluate.MetricInfo(
            description="Image caption metrics of vericap, with the COCO tool's numbers and without Java.",
            citation=_CITATION,
            features=[several, single],
            inputs_description="predictions: captions; references: a list of references of each, or one each",
        )

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[Any],
        image_names: Sequence[str] | None = None,
        **settings: Any,
    ) -> dict[str, float | None]:
        listed = [[found] if isinstance(found, str) else list(found) for found in references]
        beside: dict[str, Any] = {} if image_names is None else {"image_names": list(image_names)}
        result = Scorer(self.wanted, **settings).score(list(predictions), listed, **beside)
        return {name: score.value for name, score in result.corpus.items()}

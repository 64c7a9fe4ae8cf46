"""What the tests of BLEU, ROUGE-L and CIDEr share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from vericap.core.batch import Batch
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.metrics import registry
from vericap.run.plan import analysed

GOLDEN = json.loads((Path(__file__).parent / "golden_coco.json").read_text())
Pair = tuple[str, Sequence[str]]

words = st.sampled_from(["a", "man", "dog", "on", "the", "red", "1 1/2", "it's", "."])
caption = st.lists(words, max_size=9).map(" ".join)
pairs = st.lists(st.tuples(caption, st.lists(caption, min_size=1, max_size=4)), min_size=1, max_size=6)


def batch_of(samples: Sequence[Pair], **options: str) -> Batch:
    made = [Sample(str(i), candidate, tuple(references)) for i, (candidate, references) in enumerate(samples)]
    return Batch.of(made, Settings(**options))  # type: ignore[arg-type]


def ready(metric: Metric, batch: Batch) -> Batch:
    """The batch with what the metric declares, and nothing else to be read."""
    keys = metric.requires(batch.settings)
    return analysed(batch, *keys).read_by(metric.label, keys)


def statistics(metric: Metric, samples: Sequence[Pair], **options: str) -> Statistics:
    batch = ready(metric, batch_of(samples, **options))
    return metric.statistics(batch, metric.prepare(batch))


def scores(name: str, samples: Sequence[Pair], **options: str) -> tuple[float, np.ndarray]:
    metric = registry.make(name)
    values = statistics(metric, samples, **options).values
    return float(metric.corpus(values.sum(axis=0), np.array(float(len(samples))))), metric.captions(values)

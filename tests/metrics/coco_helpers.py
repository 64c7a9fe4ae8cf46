"""What the tests of BLEU, ROUGE-L and CIDEr share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from vericap.metrics import registry
from vericap.run.batch import Batch, Settings
from vericap.samples import Sample

GOLDEN = json.loads((Path(__file__).parent / "golden_coco.json").read_text())
Pair = tuple[str, Sequence[str]]

words = st.sampled_from(["a", "man", "dog", "on", "the", "red", "1 1/2", "it's", "."])
caption = st.lists(words, max_size=9).map(" ".join)
pairs = st.lists(st.tuples(caption, st.lists(caption, min_size=1, max_size=4)), min_size=1, max_size=6)


def batch_of(samples: Sequence[Pair], **options: str) -> Batch:
    made = [Sample(str(i), candidate, tuple(references)) for i, (candidate, references) in enumerate(samples)]
    return Batch.of(made, Settings(**options))  # type: ignore[arg-type]


def scores(name: str, samples: Sequence[Pair], **options: str) -> tuple[float, np.ndarray]:
    batch = batch_of(samples, **options)
    metric = registry.make(name)
    values = metric.statistics(batch, metric.prepare(batch)).values
    return float(metric.corpus(values.sum(axis=0), np.array(float(len(batch))))), metric.captions(values)

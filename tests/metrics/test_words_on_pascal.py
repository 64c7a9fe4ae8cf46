"""Word and sentence metrics against people: a sample of PASCAL-50S pairs with their gold objects."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vericap.core.samples import Sample
from vericap.meta.datasets import pascal50s
from vericap.metrics.registry import resolve
from vericap.run.engine import Run


@pytest.mark.parametrize(
    ("metric", "group", "least"),
    [("sentence", "HI", 0.95), ("wmd", "HI", 0.93), ("vifidel", "HI", 0.9), ("lm", "HM", 0.65)],
)
def test_preferred_captions_score_higher(data_dir: Path, metric: str, group: str, least: float) -> None:
    pairs = pascal50s.read(data_dir / "pascal50s")
    wanted = pairs.preference("consensus48")
    rows = [i for i in range(len(pairs)) if (pairs.groups or [])[i] == group and wanted[i] in (0.0, 1.0)][:80]
    samples = [
        Sample(f"{i}-{side}", text, pairs.references[i][:2], objects=dict(pairs.objects[pairs.images[i]]))
        for i in rows
        for side, text in enumerate((pairs.first[i], pairs.second[i]))
    ]
    scores = Run(resolve(metric)).score(samples)[metric]
    right = np.where(scores[0::2] == scores[1::2], 0.5, (scores[1::2] > scores[0::2]) == (wanted[rows] > 0.5))
    assert right.mean() >= least

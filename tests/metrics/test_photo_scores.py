"""Scores of photos do not depend on what computes them: kernels or their twins, one photo alone or many together."""

from __future__ import annotations

import numpy as np
import pytest

from vericap.core import shipped
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics.registry import resolve
from vericap.run.engine import Run

FOLDER = shipped.ROOT / "demo" / "photos"
METRICS = "vse,reo,tiger,faier-plus"
TEXTS = ("a dog runs over green grass", "two people walk along a beach at sunset", "a cup of coffee on a wooden table")


def samples() -> list[Sample]:
    names = sorted(file.name for file in FOLDER.glob("*.jpg"))[:6]
    return [
        Sample(name, TEXTS[row % 3], (TEXTS[(row + 1) % 3], f"a photo of {name.split('.')[0]}"), name)
        for row, name in enumerate(names)
    ]


def scores(given: list[Sample]) -> dict[str, np.ndarray]:
    found = Run(resolve(METRICS), Settings(images=FOLDER, cache="off")).score(given)
    return {label: own.values[:, 0] for label, own in found.statistics.items()}


def test_kernels_and_twins_give_the_same_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    made = scores(samples())
    monkeypatch.setenv("VERICAP_PURE_PYTHON", "1")
    for label, values in scores(samples()).items():
        # TIGEr ranks regions: two that are nearly alike change places by the last digit.
        tolerance = 1e-4 if label == "tiger" else 1e-5
        np.testing.assert_allclose(made[label], values, atol=tolerance, err_msg=label)


def test_a_photo_has_the_same_scores_alone_and_among_others() -> None:
    together = scores(samples())
    for row, sample in enumerate(samples()):
        for label, values in scores([sample]).items():
            np.testing.assert_allclose(values[0], together[label][row], atol=1e-6, err_msg=label)

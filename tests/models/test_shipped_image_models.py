"""The shipped image models tell right captions from wrong ones on the bundled photos."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vericap.core import shipped
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics.registry import resolve
from vericap.run.engine import Run

PHOTOS = {
    "chelsea": "a close up of a cat with green eyes",
    "coffee": "a cup of coffee with a spoon on a wooden table",
    "flower": "a pink flower in bloom",
}


def photo_folder() -> Path:
    found = next((file.parent for file in (shipped.ROOT / "demo").rglob("chelsea*")), None)
    if found is None:
        pytest.skip("no bundled photo of the cat")
    return found


@pytest.mark.parametrize("metric", ["vse", "reo-relevance", "faier", "faier-plus"])
def test_own_caption_scores_highest(metric: str) -> None:
    folder = photo_folder()
    there = [name for name in PHOTOS if any(folder.glob(f"{name}.*"))]
    samples = [Sample(f"{image} {text}", PHOTOS[text], (), image) for image in there for text in there]
    result = Run(resolve(metric), Settings(images=folder)).score(samples)
    scores = np.asarray(result[metric]).reshape(len(there), len(there))
    assert (scores.argmax(axis=1) == np.arange(len(there))).all()


def test_parts_belong_together() -> None:
    from vericap.models import faier, faier_plus, scan, vse
    from vericap.vision.regions import Extractor

    expected = Extractor().fingerprint
    assert vse.load("default").fingerprint == expected
    assert scan.load("default").fingerprint == expected
    assert faier_plus.load("default").fingerprint == expected
    assert faier.load("default").fingerprint == expected

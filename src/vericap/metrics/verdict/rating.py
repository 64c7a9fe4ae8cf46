"""What the expected human rating of a caption is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vericap.core.typing import Floats
from vericap.metrics.verdict.parts import NEAR, SAID, CaptionParts

if TYPE_CHECKING:
    from vericap.metrics.verdict.judge import Judged

PHOTO = ("fit", "worst fit", "right", "support", "least support", "content")
OTHERS = ("likeness", "best likeness", "said", "near", "recall")
RATING = {"image": PHOTO, "both": (*PHOTO, *OTHERS)}


def rating_features(parts: CaptionParts, judged: Judged, way: str) -> Floats:
    """Numbers that the weights of the rating belong to, in the order of RATING."""
    support = judged.support if len(judged.support) else np.array([0.5])
    right = np.clip(judged.fidelity, 1e-3, 1 - 1e-3)
    found = [float(parts.fit.mean()), float(parts.fit.min()), float(np.log(right / (1 - right)))]
    found += [float(support.mean()), float(support.min()), float(np.log1p(judged.content))]
    if way == "both":
        said, near = (
            (parts.numbers[:, SAID], parts.numbers[:, NEAR]) if len(parts.numbers) else (np.zeros(1), np.zeros(1))
        )
        found += [*parts.nearest.mean(axis=0).tolist(), float(said.mean()), float(near.mean()), parts.recall]
    return np.array(found, dtype=np.float64)

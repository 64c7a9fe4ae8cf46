"""What the expected human rating of a caption is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vericap.core.typing import Floats
from vericap.metrics.verdict.matched import MATCHED
from vericap.metrics.verdict.parts import CaptionParts

if TYPE_CHECKING:
    from vericap.metrics.verdict.judge import Judged

# Each number with its share, from which the fitted weights go little away. Three views count alike without references:
# how the sentences fit the photo as wholes (`vse`), how their words and claims match it (`faier-plus`), and the claims
# one by one (their mean support, and the log odds that nothing is wrong). With references the match is the one they
# guide; how near the sentences come to them, and how much is said, join in.
RATING = {
    "image": {"fit": 1.0, "match": 1.0, "support": 0.5, "right": 0.5},
    "both": {"match": 1.5, "support": 0.5, "right": 0.5, "likeness": 0.5, "best likeness": 0.5, "content": 0.25},
}
_SUPPORT = 0.5  # of a caption that claims nothing


def rating_features(parts: CaptionParts, judged: Judged, way: str) -> Floats:
    """Numbers that the weights of the rating belong to, in the order of RATING."""
    right = float(np.clip(judged.fidelity, 1e-4, 1 - 1e-4))
    mean, best = parts.nearest.mean(axis=0).tolist()
    found = {
        "fit": float(parts.fit.mean()),
        "match": float(parts.match[:, MATCHED.index("photo" if way == "image" else "guided")].mean()),
        "support": float(judged.support.mean()) if len(judged.support) else _SUPPORT,
        "right": float(np.log(right / (1 - right))),
        "likeness": mean,
        "best likeness": best,
        "content": float(np.log1p(judged.content)),
    }
    return np.array([found[name] for name in RATING[way]], dtype=np.float64)

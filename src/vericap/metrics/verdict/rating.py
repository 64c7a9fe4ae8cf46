"""What the expected human rating of a caption is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vericap.core.typing import Floats
from vericap.metrics.verdict.matched import MATCHED
from vericap.metrics.verdict.parts import CaptionParts

if TYPE_CHECKING:
    from vericap.metrics.verdict.judge import Judged

# How the sentences fit the photo as wholes (`vse`), how their words and claims match it (`faier-plus`), the mean support
# of all claims, the log odds that nothing is wrong; with references the match is the one they guide, and how near the
# sentences come to them and how much is said join in.
RATING = {
    "image": ("fit", "match", "support", "right"),
    "both": ("fit", "match", "support", "right", "likeness", "best likeness", "content"),
}
_SUPPORT = 0.5  # of a caption that claims nothing


def rating_features(parts: CaptionParts, judged: Judged, way: str) -> Floats:
    """Numbers that the weights of the rating belong to, in the order of RATING."""
    right = np.clip(judged.fidelity, 1e-3, 1 - 1e-3)
    match = parts.match[:, MATCHED.index("photo" if way == "image" else "guided")]
    support = float(judged.support.mean()) if len(judged.support) else _SUPPORT
    found = [float(parts.fit.mean()), float(match.mean()), support, float(np.log(right / (1 - right)))]
    if way == "both":
        found += [*parts.nearest.mean(axis=0).tolist(), float(np.log1p(judged.content))]
    return np.array(found, dtype=np.float64)

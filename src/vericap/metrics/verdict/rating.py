"""What the expected human rating of a caption is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vericap.core.typing import Floats, Floats32
from vericap.metrics.verdict.matched import MATCHED
from vericap.metrics.verdict.parts import CaptionParts

if TYPE_CHECKING:
    from vericap.metrics.verdict.judge import Judged

# Each number with its share, from which the fitted weights go little away. Three views count alike without references:
# how the sentences fit the photo as wholes (`vse`), how their words and claims match it (`faier-plus`), and the claims
# one by one (their mean support, and the log odds that nothing is wrong). With references the match is the one they
# guide, and how near the sentences come to them takes the place of the fit and half of that of the claims: of captions
# from other photos it tells more than these.
RATING = {
    "image": {"fit": 1.0, "match": 1.0, "support": 0.5, "right": 0.5},
    "both": {"match": 1.0, "support": 0.25, "right": 0.25, "likeness": 0.75, "best likeness": 0.75},
}
_SUPPORT = 0.5  # of a caption that claims nothing


def rating_features(captions: Sequence[CaptionParts], judged: Sequence[Judged], way: str) -> Floats:
    """(captions, features): numbers that the weights of the rating belong to, in the order of RATING."""
    right = np.clip([one.fidelity for one in judged], 1e-4, 1 - 1e-4)
    counts = np.array([len(parts.sentences) for parts in captions])
    first = np.cumsum(counts) - counts

    def mean(values: Sequence[Floats32]) -> Floats:
        """Over the sentences of each caption."""
        return np.asarray(np.add.reduceat(np.concatenate(values).astype(np.float64), first) / counts)

    seen = MATCHED.index("photo" if way == "image" else "guided")
    found = {
        "fit": mean([parts.fit for parts in captions]),
        "match": mean([parts.match[:, seen] for parts in captions]),
        "support": np.array(
            [sum(one.support.tolist()) / len(one.support) if len(one.support) else _SUPPORT for one in judged]
        ),
        "right": np.log(right / (1 - right)),
        "likeness": mean([parts.nearest[:, 0] for parts in captions]),
        "best likeness": mean([parts.nearest[:, 1] for parts in captions]),
    }
    return np.stack([found[name] for name in RATING[way]], axis=1)

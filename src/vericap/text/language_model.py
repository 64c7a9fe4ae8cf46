"""What a language model says of a text, token by token."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vericap.core.typing import Floats


@dataclass(frozen=True)
class TokenScores:
    """One text: tokens (the end included) with log p(token | before) and log p(token) alone."""

    tokens: list[str]
    inside: Floats
    alone: Floats

    @classmethod
    def nothing(cls) -> TokenScores:
        """For a text without a token."""
        return cls([], np.zeros(0), np.zeros(0))

    @property
    def gain(self) -> Floats:
        """How much likelier each token is where it stands than anywhere, as a log."""
        return np.asarray(self.inside - self.alone)

    def mean(self) -> tuple[float, float]:
        """Both log-probabilities per token; NaN without any."""
        if not len(self.tokens):
            return float("nan"), float("nan")
        return float(self.inside.mean(dtype=np.float64)), float(self.alone.mean(dtype=np.float64))

"""What features look like, channel by channel: tells two extractors apart that go by one name.

A channel of an extractor has its own mean over images, whatever the images are; another extractor's channels have other
ones. So the means of two sets of images agree over the channels where one extractor made both, and do not otherwise.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vericap.core.errors import InputError
from vericap.core.typing import Array, Floats

_AGREE = 0.5  # least correlation of the channels' means, as a share of what their noise allows
_CERTAIN = 0.6  # correlation that noise must allow before a profile may refuse anything
_SCALE = 3.0  # largest factor between the features' sizes


@dataclass(frozen=True)
class FeatureProfile:
    """Mean of every channel over images, and the variance of that mean.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.random.default_rng(0).normal(np.arange(8), 1.0, (20, 3, 8))
    >>> FeatureProfile.of(list(values[:10])).fits(FeatureProfile.of(list(values[10:])))
    True
    >>> FeatureProfile.of(list(values)).fits(FeatureProfile.of(list(values[..., ::-1])))
    False
    """

    mean: Floats  # (width,)
    noise: float  # mean over the channels of the variance of `mean`

    @classmethod
    def of(cls, images: Sequence[Array]) -> FeatureProfile:
        """The profile of images, (regions, width) features each."""
        rows = np.stack([np.asarray(one, dtype=np.float64).mean(axis=0) for one in images])
        # One image alone says nothing of how much images differ: its noise is unknown, so it may refuse nothing.
        noise = float((rows.var(axis=0, ddof=1) / len(rows)).mean()) if len(rows) > 1 else np.inf
        return cls(rows.mean(axis=0), noise)

    @property
    def reliable(self) -> float:
        """Share of the variance over the channels that is not noise."""
        spread = float(self.mean.var())
        return max(0.0, 1.0 - self.noise / spread) if spread > 0 else 0.0

    def fits(self, other: FeatureProfile) -> bool:
        """May one extractor have made both? Too few images, or channels all alike, refuse nothing."""
        if len(self.mean) != len(other.mean):
            return False
        possible = float(np.sqrt(self.reliable * other.reliable))
        if possible < _CERTAIN:
            return True
        sizes = [float(np.sqrt((one.mean**2).mean())) for one in (self, other)]
        return self.agreement(other) >= _AGREE * possible and max(sizes) <= _SCALE * min(sizes)

    def agreement(self, other: FeatureProfile) -> float:
        """Correlation of the two means over the channels."""
        return float(np.corrcoef(self.mean, other.mean)[0, 1])

    def packed(self) -> dict[str, object]:
        """As JSON: the means in base64 of float16."""
        values = np.clip(self.mean, -6e4, 6e4).astype(np.float16)
        return {"mean": base64.b64encode(values.tobytes()).decode(), "noise": self.noise}

    @classmethod
    def unpacked(cls, stored: object) -> FeatureProfile:
        try:
            values = np.frombuffer(base64.b64decode(stored["mean"], validate=True), np.float16)  # type: ignore[index]
            return cls(values.astype(np.float64), float(stored["noise"]))  # type: ignore[index]
        except (TypeError, KeyError, ValueError) as error:
            raise InputError(f"the features' profile cannot be read ({error}); the meta file is damaged") from error

"""What every metric that reads references does with samples that have none."""

from __future__ import annotations

from typing import Any

import numpy as np

from vericap.metrics.base import Statistics
from vericap.run.batch import Batch


def without_references(batch: Batch, values: Any) -> Statistics:
    """Statistics in which samples without a reference are NaN, with the reason."""
    values = np.array(values, dtype=np.float64)
    missing = np.flatnonzero(batch.reference_counts() == 0)
    values[missing] = np.nan
    return Statistics(values, {int(row): "no reference to compare with" for row in missing})

"""Two trained SCAN models in one folder: metrics take the mean of what they say. Nothing is trained."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vericap.core import shipped
from vericap.models.scan import described, joined


def join(models: Sequence[str], shares: Sequence[float], output: Path, *, name: str) -> Path:
    """Write `scan/` below the output folder."""
    weights, meta = joined([described(model) for model in models], shares)
    folder = output / "scan"
    shipped.save_weights(weights, folder, "scan")
    shipped.write_meta(
        folder, {key: value for key, value in meta.items() if key not in ("files", "pointing")} | {"name": name}
    )
    return folder

"""Figures of one result: how its scores are distributed, and heat maps of regions and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from vericap.core.explanation import Explanation
from vericap.core.samples import Sample
from vericap.report import figures, heatmaps
from vericap.run.results import Result

_REGIONS = 12  # of a heat map


def draw(
    result: Result,
    samples: Sequence[Sample],
    reasons: Mapping[str, Sequence[Explanation | None]],
    folder: Path,
    ending: str = "png",
) -> list[Path]:
    """Write `distributions.ENDING`, and `ID-METRIC-N.ENDING` for the heat maps of some captions.

    Parameters
    ----------
    result : scores of all captions.
    samples : the captions whose heat maps are drawn.
    reasons : by metric, their explanations, made with `full=True`.
    folder, ending : where to, and as what: png, svg or pdf.
    """
    panels = {name: result[name] for name in result.metrics}
    paths = [figures.histograms(panels, folder / f"distributions.{ending}", y_label="captions")]
    for place, sample in enumerate(samples):
        for name, found in reasons.items():
            explanation = found[place]
            maps = [] if explanation is None else [item for item in explanation.heatmaps if heatmaps.drawable(item)]
            for number, item in enumerate(maps, 1):
                path = folder / f"{_named(sample.id)}-{_named(name)}-{number}.{ending}"
                paths.append(heatmaps.save(item, path, title=f"{name}: {item.title}", most=_REGIONS))
    return paths


def _named(text: str) -> str:
    """A text as a part of a file's name."""
    return "".join(c if c.isalnum() or c in "-." else "_" for c in text)[:80]

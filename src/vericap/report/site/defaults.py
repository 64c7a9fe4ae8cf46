"""Metrics of a report when nobody names any."""

from __future__ import annotations

from collections.abc import Iterable

from vericap.core.samples import Sample
from vericap.metrics.registry import metric_class, sets
from vericap.run.fitting import fits

RECOMMENDED = "recommended"  # the set that is taken


def default_metrics(samples: Iterable[Sample], *, lang: str, images: bool) -> tuple[str, str]:
    """Names of metrics that an input allows, separated by commas, and a sentence that says what was taken.

    Parameters
    ----------
    samples : the captions: metrics that need references are left out where no caption has any.
    lang : their language.
    images : whether photos or features are at hand.
    """
    have = {"references"} if any(sample.references for sample in samples) else set()
    have |= {"image", "objects"} if images else set()
    chosen = [name for name in sets()[RECOMMENDED] if fits(metric_class(name), lang, have)]
    lacking = sorted({"references", "image"} - have)
    left = f"; without {', '.join(lacking)}" if lacking else ""
    return ",".join(chosen), f"metrics: {', '.join(chosen)} (the set {RECOMMENDED}, as far as the input allows{left})"

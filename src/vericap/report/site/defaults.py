"""Metrics of a report when nobody names any."""

from __future__ import annotations

from collections.abc import Iterable

from vericap.core.samples import Sample
from vericap.metrics.registry import metric_class, resolve, sets

RECOMMENDED = "recommended"  # the set that is taken where it is registered
# fmt: off
USUAL = (
    "chair", "vifidel", "reo-relevance", "reo-omission", "faier-plus", "lm", "cider-d", "meteor", "spice", "jaspice",
    "rouge-l", "bleu-4",
)
# fmt: on


def default_metrics(samples: Iterable[Sample], *, lang: str, images: bool) -> tuple[str, str]:
    """Names of metrics that an input allows, separated by commas, and a sentence that says what was taken.

    Parameters
    ----------
    samples : the captions: metrics that need references are left out where no caption has any.
    lang : their language.
    images : whether photos or features are at hand.
    """
    known = sets()
    wanted = [metric.label for metric in resolve(RECOMMENDED)] if RECOMMENDED in known else list(USUAL)
    have = {"references"} if any(sample.references for sample in samples) else set()
    have |= {"image", "objects"} if images else set()
    chosen = [name for name in wanted if _fits(name, lang, have)]
    source = f"the set {RECOMMENDED}" if RECOMMENDED in known else "the report's own choice"
    left = f"; without {', '.join(sorted({'references', 'image'} - have))}" if {"references", "image"} - have else ""
    return ",".join(chosen), f"metrics: {', '.join(chosen)} ({source}, as far as the input allows{left})"


def _fits(name: str, lang: str, have: set[str]) -> bool:
    found = metric_class(name.partition(":")[0])
    return (not found.languages or lang in found.languages) and set(found.needs) <= have

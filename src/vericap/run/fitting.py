"""What metrics need of an input: refused where it lacks that, or left out where a set of metrics brought them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from vericap.core.batch import Batch
from vericap.core.errors import VericapError
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.settings import Settings

_LACKING = {"references": "no references", "image": "no images", "objects": "no images"}


def at_hand(samples: Sequence[Sample], settings: Settings) -> frozenset[str]:
    """Of "references", "image" and "objects" what some sample has.

    >>> sorted(at_hand([Sample("1", "a dog", ("a dog",)), Sample("2", "a cat", (), "cat.jpg")], Settings()))
    ['image', 'objects', 'references']
    """
    images = settings.shows_images or any(one.image is not None or one.photo is not None for one in samples)
    objects = images or settings.objects != Settings.objects or any(one.objects is not None for one in samples)
    found = {"references": any(one.references for one in samples), "image": images, "objects": objects}
    return frozenset(name for name, there in found.items() if there)


def fits(metric: Metric | type[Metric], lang: str, have: Collection[str]) -> bool:
    """Whether a metric reads a language and needs nothing that is not at hand."""
    return (not metric.languages or lang in metric.languages) and set(metric.needs) <= set(have)


def unfit(metrics: Sequence[Metric], samples: Sequence[Sample], settings: Settings) -> tuple[list[Metric], str]:
    """Metrics that only a set brought and that the input does not allow, and a sentence that names them.

    None where it allows no metric at all: what is missing is an error then.
    """
    have = at_hand(samples, settings)
    left = [metric for metric in metrics if metric.of_set and not fits(metric, settings.lang, have)]
    if not left or len(left) == len(metrics):
        return [], ""
    why: dict[str, list[str]] = {}
    for metric in left:
        lacking = dict.fromkeys(_LACKING[need] for need in metric.needs if need not in have)
        why.setdefault(" and ".join(lacking), []).append(metric.label)
    told = "; ".join(f"{', '.join(labels)} ({reason})" for reason, labels in why.items())
    names = " and ".join(dict.fromkeys(metric.of_set for metric in left))
    return left, f"left out of the set {names}: {told}"


def check_language(metric: Metric, settings: Settings) -> None:
    """Refuse a language the metric does not know."""
    if metric.languages and settings.lang not in metric.languages:
        raise VericapError(
            f"metric '{metric.label}' is for language {' or '.join(metric.languages)}, not '{settings.lang}'; "
            f"say `lang={metric.languages[0]}` if the captions are, "
            + (metric.other_languages or "or choose another metric")
        )


def check_needs(metric: Metric, batch: Batch) -> None:
    """Refuse a metric whose input is nowhere in the batch, before any work is done."""
    if "references" in metric.needs and not batch.reference_index.size:
        raise VericapError(
            f"metric '{metric.label}' needs references; give `references=...` or put them in the records"
        )
    if "image" in metric.needs and not batch.image_keys:
        raise VericapError(
            f"metric '{metric.label}' looks at images; name them in the records (`image`), with `images=DIR`"
        )

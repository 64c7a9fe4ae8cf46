"""Image-text retrieval: how often the right caption or image is among the first k (FAIEr, Table 6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from vericap.core.errors import VericapError
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.table import Number, Table
from vericap.core.typing import Floats, Ints
from vericap.meta.judgements import Retrieval
from vericap.meta.scoring import KeptScores, fitting_settings, metrics_of, score
from vericap.metrics.registry import Wanted

KS = (1, 5, 10)
CHUNK = 50_000  # image-caption pairs that are scored at once


@dataclass(frozen=True)
class Recalls:
    """Recall at k both ways, and the median rank of the right answer."""

    captions: dict[int, float]  # image -> captions
    images: dict[int, float]  # caption -> images
    caption_rank: float
    image_rank: float


def recalls(scores: Floats, owner: Ints, *, ks: Sequence[int] = KS) -> Recalls:
    """From scores (images, captions); a tie counts against the right answer, so constants gain nothing."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape[1] != len(owner):
        raise VericapError(f"{scores.shape[1]} columns of scores for {len(owner)} captions")
    if np.isnan(scores).any():
        raise VericapError(f"{int(np.isnan(scores).sum())} image-caption scores are undefined")
    right = owner[None, :] == np.arange(len(scores))[:, None]
    if not right.any(axis=1).all():
        raise VericapError("an image has no caption of its own; retrieval is undefined for it")
    own = scores[owner, np.arange(len(owner))]
    image_rank = (scores >= own[None, :]).sum(axis=0)  # the right one is counted: ranks start at 1
    best = np.where(right, scores, -np.inf).max(axis=1)
    caption_rank = ((scores >= best[:, None]) & ~right).sum(axis=1) + 1
    return Recalls(
        captions={k: float((caption_rank <= k).mean()) for k in ks},
        images={k: float((image_rank <= k).mean()) for k in ks},
        caption_rank=float(np.median(caption_rank)),
        image_rank=float(np.median(image_rank)),
    )


@dataclass
class Retrieved:
    """Recalls by metric; a metric that could not be used has a reason instead."""

    dataset: str
    recalls: dict[str, Recalls] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def table(self) -> Table:
        table = retrieval_table(self.recalls, title=f"{self.dataset}: retrieval")
        table.notes += [f"{metric}: {reason}" for metric, reason in self.reasons.items()]
        return table


def retrieve(
    data: Retrieval,
    metrics: str | Iterable[Wanted],
    *,
    settings: Settings | None = None,
    images: int | None = None,
    references: int = 0,
    store: KeptScores | None = None,
) -> Retrieved:
    """How well metrics find captions for images and images for captions.

    Parameters
    ----------
    data : images, captions and whose caption is whose.
    metrics : names, metrics or functions; without `references` those that can do without.
    settings : choices that all metrics share; images that lie beside the data set are used by default.
    images : take the first so many images.
    references : so many captions of each image stay with it as its references, the others are to be found.
    store : keep scores there and take them up again.
    """
    found = Retrieved(data.name)
    data, said = with_references(data, references)
    options = {"images": images, "said": said, "store": store}
    matrices, owner = score_matrices(data, metrics_of(metrics), found.reasons, settings, **options)  # type: ignore[arg-type]
    for label, matrix in matrices.items():
        try:
            found.recalls[label] = recalls(matrix, owner)
        except VericapError as error:
            found.reasons[label] = str(error)
    return found


def with_references(data: Retrieval, count: int, *, seed: int = 0) -> tuple[Retrieval, list[tuple[str, ...]]]:
    """`count` captions of every image, drawn, become its references and are not to be found any more."""
    said: list[tuple[str, ...]] = [()] * len(data.images)
    if not count:
        return data, said
    generator, kept = np.random.default_rng(seed), []
    for image in range(len(data.images)):
        own = np.flatnonzero(data.owner == image)
        if len(own) <= count:
            raise VericapError(
                f"data set '{data.name}': image '{data.images[image]}' has {len(own)} captions; with "
                f"`references={count}` one more is needed, which can be found"
            )
        order = generator.permutation(own)
        said[image] = tuple(data.captions[place] for place in order[:count])
        kept += sorted(order[count:].tolist())
    return replace(data, captions=[data.captions[place] for place in kept], owner=data.owner[kept]), said


def score_matrices(
    data: Retrieval,
    metrics: Sequence[Metric],
    reasons: dict[str, str],
    settings: Settings | None = None,
    *,
    images: int | None = None,
    said: Sequence[tuple[str, ...]] = (),
    chunk: int = CHUNK,
    store: KeptScores | None = None,
) -> tuple[dict[str, Floats], Ints]:
    """Every caption against every image: scores (images, captions) by metric, and the image of each caption.

    `said` are the references of each image; none by default.
    A metric that fails is left out and noted in `reasons`. `chunk` pairs are scored at once, which bounds memory.
    """
    settings = fitting_settings(settings or Settings(), data)
    count = min(images or len(data.images), len(data.images))
    kept = np.flatnonzero(data.owner < count)
    captions = [data.captions[place] for place in kept]
    step = max(1, chunk // max(1, len(captions)))
    blocks: dict[str, list[Floats]] = {metric.label: [] for metric in metrics}
    for start in range(0, count, step):
        names = data.images[start : min(start + step, count)]
        known = said[start : start + len(names)] or [()] * len(names)
        samples = [
            Sample(f"{name}~{place}", text, own, name)
            for name, own in zip(names, known)
            for place, text in enumerate(captions)
        ]
        scores = score({"": samples}, [metric for metric in metrics if metric.label in blocks], settings, store=store)
        for (label, _), reason in scores.reasons.items():
            reasons[label] = reason
            del blocks[label]
        for label, own in blocks.items():
            own.append(scores.captions(label, "").reshape(len(names), -1))
    return {label: np.concatenate(own) for label, own in blocks.items()}, data.owner[kept]


def retrieval_table(found: Mapping[str, Recalls], *, title: str = "retrieval") -> Table:
    ks = next((tuple(each.captions) for each in found.values()), KS)
    columns = ["metric", *(f"text R@{k}" for k in ks), *(f"image R@{k}" for k in ks), "text rank", "image rank"]
    table = Table(columns, title=title, digits=1, x100=True)
    for name, each in found.items():
        values = [Number(value, digits=3) for value in (*each.captions.values(), *each.images.values())]
        table.add(name, *values, each.caption_rank, each.image_rank)
    table.notes = ["Recall; text: captions found for an image, image: images found for a caption."]
    return table

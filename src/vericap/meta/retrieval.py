"""Image-text retrieval: how often the right caption or image is among the first k (FAIEr, Table 6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vericap.errors import VericapError
from vericap.meta.judgements import Floats, Retrieval
from vericap.report.tables import Table

KS = (1, 5, 10)


@dataclass(frozen=True)
class Recalls:
    """Recall at k both ways, and the median rank of the right answer."""

    captions: dict[int, float]  # image -> captions
    images: dict[int, float]  # caption -> images
    caption_rank: float
    image_rank: float


def recalls(scores: Floats, owner: NDArray[np.int64], *, ks: Sequence[int] = KS) -> Recalls:
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


def score_matrix(
    data: Retrieval,
    judge: Callable[[list[str], list[list[str]], list[str | None]], Sequence[float]],
    *,
    images: int | None = None,
    chunk: int = 50_000,
) -> tuple[Floats, NDArray[np.int64]]:
    """Every caption against every image by a reference-free metric; `images` takes the first so many.

    `chunk` image-caption pairs are asked for at once, which bounds memory.
    """
    count = min(images or len(data.images), len(data.images))
    kept = np.flatnonzero(data.owner < count)
    captions = [data.captions[place] for place in kept]
    matrix = np.empty((count, len(captions)))
    step = max(1, chunk // max(1, len(captions)))
    for start in range(0, count, step):
        names = data.images[start : min(start + step, count)]
        flat = judge(
            captions * len(names),
            [[] for _ in range(len(captions) * len(names))],
            [name for name in names for _ in captions],
        )
        matrix[start : start + len(names)] = np.asarray(flat, dtype=np.float64).reshape(len(names), -1)
    return matrix, data.owner[kept]


def retrieval_table(found: dict[str, Recalls], *, title: str = "retrieval") -> Table:
    first = next(iter(found.values()))
    columns = ["metric", *(f"text R@{k}" for k in first.captions), *(f"image R@{k}" for k in first.images)]
    table = Table([*columns, "text rank", "image rank"], title=title, digits=1)
    for name, each in found.items():
        values = [100 * value for value in (*each.captions.values(), *each.images.values())]
        table.add(name, *values, each.caption_rank, each.image_rank)
    table.notes = ["Recall x100; text: captions found for an image, image: images found for a caption."]
    return table

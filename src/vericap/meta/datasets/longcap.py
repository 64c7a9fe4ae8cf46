"""LongCap-Arena (Matsuda et al. 2025): long captions rated for descriptiveness, relevance and fluency.

The parts `test.desc`, `test.rel` and `test.flu` have the columns file_name, image, refs, cand and score (0 to 1), in
Parquet files named `data/test.desc-*.parquet` (data card at https://huggingface.co/datasets/Ka2ukiMatsuda/LongCap-Arena).
JSON lines of the same columns (`test.desc.jsonl`) are read as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.errors import InputError
from vericap.meta.datasets.common import json_lines, listed, need, number, present
from vericap.meta.judgements import Ratings

ASPECTS = {"descriptiveness": "desc", "relevance": "rel", "fluency": "flu"}
COLUMNS = ("file_name", "refs", "cand", "score")

Key = tuple[str, str]


def read(folder: Path) -> Ratings:
    """The three test parts; a caption that is in several of them has several aspects."""
    references: dict[Key, tuple[str, ...]] = {}
    scores: dict[str, dict[Key, list[float]]] = {aspect: {} for aspect in ASPECTS}
    for aspect, short in ASPECTS.items():
        for path, line, record in _records(folder, f"test.{short}"):
            image, caption = (str(need(record, [name], path, line)) for name in ("file_name", "cand"))
            references.setdefault((image, caption), listed(record.get("refs") or (), path, line))
            score = number(need(record, ["score"], path, line), path, line, "score")
            scores[aspect].setdefault((image, caption), []).append(score)
    if not references:
        raise InputError(f"{folder}: no part test.desc, test.rel or test.flu was found")
    keys = list(references)
    aspects = {
        aspect: np.array([np.mean(own[key]) if key in own else np.nan for key in keys])
        for aspect, own in scores.items()
    }
    return Ratings(
        name="longcap-arena",
        candidates=[caption for _, caption in keys],
        references=[references[key] for key in keys],
        ratings=np.nanmean(np.stack(list(aspects.values())), axis=0),
        aspects=aspects,
        scale=(0.0, 1.0),
        images=[image for image, _ in keys],
        ids=[f"{image}/{place}" for place, (image, _) in enumerate(keys)],
        image_folder=present(folder, "images"),
    )


def _records(folder: Path, part: str) -> Iterator[tuple[Path, int, dict[str, Any]]]:
    for base in (folder, folder / "data"):
        for path in sorted(base.glob(f"{part}-*.parquet")):
            yield from ((path, row, record) for row, record in _parquet(path))
        for path in sorted(base.glob(f"{part}.jsonl*")):
            yield from ((path, line, record) for line, record in json_lines(path))


def _parquet(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows without the photos, which lie in the same file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, columns=list(COLUMNS))
    except (pa.ArrowInvalid, OSError, KeyError) as error:
        raise InputError(f"{path}: not a Parquet file with {', '.join(COLUMNS)} ({error})") from None
    yield from enumerate(table.to_pylist(), 1)

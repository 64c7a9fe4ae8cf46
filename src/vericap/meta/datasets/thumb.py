"""THumB 1.0 (Kasai et al. 2022): precision, recall and fluency of captions for 500 COCO images."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vericap.core.errors import Problem
from vericap.meta.datasets.common import first_of, json_lines, need, number
from vericap.meta.judgements import Ratings

# Penalties (fluency, conciseness, inclusive language) are negative or zero in the file.
ASPECTS = {"precision": "P", "recall": "R", "fluency": "Fl", "conciseness": "Con", "inclusive": "Inc"}


def read(folder: Path) -> Ratings:
    """`mscoco_THumB-1.0.jsonl` (hyp, SYS, P, R, Fl, ..., human_score) and `mscoco_references.json`."""
    base = folder / "mscoco" if (folder / "mscoco").is_dir() else folder
    path, reference_path = first_of(base, "mscoco_THumB-1.0.jsonl"), first_of(base, "mscoco_references.json")
    references = {
        str(need(record, ["seg_id"], reference_path, line)): tuple(record.get("refs", ()))
        for line, record in json_lines(reference_path)
    }
    rows, problems = [], []
    for line, record in json_lines(path):
        segment = str(need(record, ["seg_id"], path, line))
        if segment not in references:
            reason = f"seg_id {segment} has no references; left out"
            problems.append(Problem(f"line {line}", reason, str(path)))
            continue
        total = number(need(record, ["human_score"], path, line), path, line, "human_score")
        values = {
            name: number(record.get(key, "nan"), path, line, name) for name, key in ASPECTS.items() if key in record
        }
        rows.append((record, segment, total, values))
    names = [name for name in ASPECTS if rows and name in rows[0][3]]
    return Ratings(
        name="thumb",
        candidates=[record["hyp"] for record, _, _, _ in rows],
        references=[references[segment] for _, segment, _, _ in rows],
        ratings=np.array([total for _, _, total, _ in rows]),
        aspects={name: np.array([v.get(name, np.nan) for _, _, _, v in rows]) for name in names},
        scale=(-5.0, 5.0),
        images=[str(record.get("image", segment)) for record, segment, _, _ in rows],
        ids=[f"{segment}/{record.get('SYS', place)}" for place, (record, segment, _, _) in enumerate(rows)],
        systems=[str(record.get("SYS", "")) for record, _, _, _ in rows],
        problems=problems,
    )

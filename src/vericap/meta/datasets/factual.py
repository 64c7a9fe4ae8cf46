"""FACTUAL (Li et al. 2023): descriptions of image regions with the scene graph that people drew."""

from __future__ import annotations

from pathlib import Path

from vericap.core.errors import Problem
from vericap.graphs import factual as notation
from vericap.meta.datasets.common import first_of, need, table
from vericap.meta.judgements import GoldGraphs


def read(folder: Path) -> GoldGraphs:
    """`dev.csv[.gz]` (or `test.csv`): image_id, region_id, caption, scene_graph `( a , relation , b ) , ( c )`."""
    path = first_of(folder, "dev.csv", "test.csv")
    rows, problems = [], []
    for line, record in table(path):
        caption = str(need(record, ["caption"], path, line)).strip()
        graph = notation.read(record.get("scene_graph", ""))
        if not graph:
            problems.append(Problem(f"line {line}", "its scene graph cannot be read; left out", str(path)))
            continue
        image = record.get("image_id") or str(line)
        rows.append((f"{image}/{record.get('region_id') or line}", image, caption, graph))
    return GoldGraphs(
        name="factual",
        ids=[identifier for identifier, *_ in rows],
        images=[image for _, image, _, _ in rows],
        captions=[caption for _, _, caption, _ in rows],
        graphs=[graph for *_, graph in rows],
        problems=problems,
    )

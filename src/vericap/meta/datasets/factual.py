"""FACTUAL (Li et al. 2023): descriptions of image regions with the scene graph that people drew."""

from __future__ import annotations

import re
from pathlib import Path

from vericap.core.errors import Problem
from vericap.meta.datasets.common import first_of, need, table
from vericap.meta.judgements import GoldGraphs

ATTRIBUTE = "is"  # `( stove , is , white )` says what an object is like
_TUPLE = re.compile(r"\(([^()]*)\)")


def read(folder: Path) -> GoldGraphs:
    """`dev.csv[.gz]` (or `test.csv`): image_id, region_id, caption, scene_graph `( a , relation , b ) , ( c )`."""
    path = first_of(folder, "dev.csv", "test.csv")
    rows, problems = [], []
    for line, record in table(path):
        caption = str(need(record, ["caption"], path, line)).strip()
        graph = gold_tuples(record.get("scene_graph", ""))
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


def gold_tuples(text: str) -> tuple[tuple[str, ...], ...]:
    """Objects, (object, attribute) and (subject, relation, object) of a graph as FACTUAL writes it."""
    found: dict[tuple[str, ...], None] = {}
    for inside in _TUPLE.findall(text):
        parts = tuple(part.strip() for part in inside.split(" , "))
        if len(parts) not in (1, 3) or not all(parts):
            continue
        found[parts[0],] = None
        if len(parts) == 3 and parts[1] == ATTRIBUTE:
            found[parts[0], parts[2]] = None
        elif len(parts) == 3:
            found[parts[2],] = None
            found[parts] = None
    return tuple(found)

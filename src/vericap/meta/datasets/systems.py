"""Captions of people against captions of machines, and the outputs of several systems side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vericap.core.errors import InputError, Problem
from vericap.meta.datasets.common import coco_captions, first_of, json_file, json_lines, need
from vericap.meta.judgements import Pairs, Systems

PREFIX = "karpathy_test_"


def read_karpathy(folder: Path) -> Systems:
    """`karpathy_test_references.json` and one `karpathy_test_<system>.json` in COCO results format each."""
    references = coco_captions(first_of(folder, f"{PREFIX}references.json"))
    outputs = {
        path.stem.removeprefix(PREFIX): _results(path)
        for path in sorted(folder.glob(f"{PREFIX}*.json"))
        if path.stem != f"{PREFIX}references"
    }
    if not outputs:
        raise InputError(f"{folder}: no {PREFIX}<system>.json with captions was found")
    return Systems(name="karpathy-test", references=references, outputs=outputs)


def read_human_machine(folder: Path) -> Pairs:
    """`hm_pairs.jsonl` (image, human, machine, references), or the Karpathy-test files.

    From the Karpathy files the human caption is the first reference of an image, held out; the other
    references stay (four, as in FAIEr's Table 2), and every system gives one pair per image.
    """
    path = folder / "hm_pairs.jsonl"
    if not path.is_file():
        return _held_out(read_karpathy(folder))
    rows = []
    for line, record in json_lines(path):
        fields = {key: need(record, [key], path, line) for key in ("image", "human", "machine")}
        rows.append((fields, tuple(record.get("references", ())), str(record.get("system", "HM"))))
    return Pairs(
        name="human-machine",
        images=[str(fields["image"]) for fields, _, _ in rows],
        first=[fields["human"] for fields, _, _ in rows],
        second=[fields["machine"] for fields, _, _ in rows],
        references=[references for _, references, _ in rows],
        preferences={"human": np.zeros(len(rows))},
        groups=[system for _, _, system in rows],
    )


def _held_out(systems: Systems) -> Pairs:
    images, problems = systems.images(), []
    rows = []
    for system, captions in systems.outputs.items():
        for image in images:
            human, *others = systems.references[image]
            if not others:
                problems.append(Problem(image, "only one human caption; left out", systems.name))
                continue
            rows.append((image, system, human.strip(), captions[image], tuple(others)))
    return Pairs(
        name="human-machine",
        ids=[f"{image}/{system}" for image, system, *_ in rows],
        images=[image for image, *_ in rows],
        first=[human for _, _, human, _, _ in rows],
        second=[machine for _, _, _, machine, _ in rows],
        references=[others for *_, others in rows],
        preferences={"human": np.zeros(len(rows))},
        groups=[system for _, system, *_ in rows],
        problems=problems,
    )


def _results(path: Path) -> dict[str, str]:
    data = json_file(path)
    if not isinstance(data, list) or not all(isinstance(e, dict) and "caption" in e for e in data):
        raise InputError(f"{path}: expected COCO results, a list of {{image_id, caption}}")
    return {str(entry["image_id"]): entry["caption"] for entry in data}

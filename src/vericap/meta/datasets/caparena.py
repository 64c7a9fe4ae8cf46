"""CapArena (Cheng et al. 2025): battles between the long captions of two models, decided by people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.errors import InputError
from vericap.meta.datasets.common import first_of, json_file, listed, need, present
from vericap.meta.judgements import Pairs

HUMAN = "human"


def read(folder: Path) -> Pairs:
    """`caparena_annots_eval.json`: img, caption1, caption2, source1, source2, winner, cluster, ref.

    `winner` names the model that won, anything else is a tie; `cluster` is the level of the battle (`level 1` is the
    easiest), `ref` the human caption (README and issue 2 of https://github.com/njucckevin/CapArena, and its scripts).
    Battles with a person are left out as in the authors' figures: the human caption is the reference.
    """
    path = first_of(folder, "caparena_annots_eval.json", "eval/caparena_annots_eval.json")
    data = json_file(path)
    if not isinstance(data, list):
        raise InputError(f"{path}: expected a list of battles")
    battles = [
        (number, own)
        for number, own in enumerate(data, 1)
        if HUMAN not in (own.get("source1"), own.get("source2")) and own.get("winner") is not None
    ]
    return Pairs(
        name="caparena",
        images=[str(need(own, ["img"], path, number)) for number, own in battles],
        first=[str(need(own, ["caption1"], path, number)) for number, own in battles],
        second=[str(need(own, ["caption2"], path, number)) for number, own in battles],
        references=[listed(own.get("ref") or (), path, number) for number, own in battles],
        preferences={"winner": np.array([_winner(own) for _, own in battles])},
        ids=[f"{own['img']}/{number}" for number, own in battles],
        groups=[str(own.get("cluster", "all")) for _, own in battles],
        systems=[(str(own["source1"]), str(own["source2"])) for _, own in battles],
        image_folder=present(folder, "images", "eval/images", "all_images"),
    )


def _winner(battle: dict[str, Any]) -> float:
    return {battle["source1"]: 0.0, battle["source2"]: 1.0}.get(battle["winner"], 0.5)

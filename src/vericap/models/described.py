"""What a model's meta file says it was trained on, checked when the model is opened."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from vericap.core.errors import InputError, VericapError
from vericap.text.encoders import encoder_name

Arrays = dict[str, Any]


def checked(weights: Arrays, meta: dict[str, Any]) -> tuple[Arrays, dict[str, Any]]:
    """Weights and meta file, after a look at whether the meta file is true to itself and to the encoder at hand."""
    features = meta.get("features", {})
    if features and features.get("fingerprint") != meta.get("fingerprint"):
        raise InputError(
            f"the model {meta.get('name')} names features {meta.get('fingerprint')} but was trained on "
            f"{features.get('fingerprint')}; its meta.json was changed by hand: train it again"
        )
    trained, reader = meta.get("text_encoder_version"), meta.get("text_encoder")
    if trained and reader and encoder_name(reader) != trained:
        raise InputError(
            f"the model {meta.get('name')} was trained over the sentence encoder {trained}, but '{reader}' is "
            f"{encoder_name(reader)} now; train it again"
        )
    return weights, meta


def text_side(encoder: str) -> dict[str, str]:
    """What a meta file says of the sentence encoder a model was trained over: how to open it, and its version."""
    return {"text_encoder": encoder, "text_encoder_version": encoder_name(encoder)}


NO_MAP = "no heat map: the model's regions were not found to point better than chance"


def points(meta: Mapping[str, Any], kind: str) -> bool:
    """Whether a model's regions x words of a kind point at what words name better than chance does.

    `vericap reproduce grounding --record` plays the pointing game and writes what it found into the meta file: for each
    kind the shares of right cases of the model and of the better baseline, and their number. Two standard errors count
    as chance, and so does a game that was never played.
    """
    found = meta.get("pointing", {}).get(kind)
    if not found or not found["cases"]:
        return False
    error = math.sqrt(found["right"] * (1 - found["right"]) / found["cases"])
    return bool(found["right"] - 2 * error > found["chance"])


def check_width(found: int, wanted: int, name: str) -> None:
    """Refuse features of another width than the model reads."""
    if found != wanted:
        raise VericapError(
            f"region features have width {found}, the model {name} reads {wanted}; use the features it was trained on"
        )

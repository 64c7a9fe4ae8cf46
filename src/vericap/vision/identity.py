"""Which extractor made features: its fingerprint, and what refuses the features of another one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from vericap.core.errors import VericapError
from vericap.core.typing import Array
from vericap.vision.profile import FeatureProfile

CHOICE = ("boxes",)  # parts of a description that choose regions and leave the values of each alone


def declared(name: str, width: int) -> dict[str, Any]:
    """The description of an extractor that is known by the name its user gives it."""
    return {"declared": name, "width": width}


def undeclared(name: str, features: Array) -> dict[str, Any]:
    """The description of an extractor without a name: what it makes of one image."""
    values = np.ascontiguousarray(features, dtype=np.float32)
    return {"image": name, "values": hashlib.sha256(values.tobytes()).hexdigest(), "width": int(values.shape[1])}


def fingerprint(extractor: Mapping[str, Any]) -> str:
    """A short name of everything that decides the value of a region, whichever regions are chosen."""
    space = {name: "none" if name in CHOICE else value for name, value in extractor.items()}
    text = json.dumps(space, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def described(extractor: Mapping[str, Any]) -> str:
    """An extractor in a few words: its name, and its fingerprint."""
    name = extractor.get("declared") or extractor.get("backbone") or "without a name"
    return f"{name}, fingerprint {fingerprint(extractor)}"


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """What tells two descriptions apart, each with both values: "whole: none against True"."""
    names = [name for name in {**one, **other} if one.get(name) != other.get(name)]
    return ", ".join(f"{name}: {_short(one.get(name))} against {_short(other.get(name))}" for name in names)


def _short(value: Any) -> str:
    return "none" if value is None else str(value)[:40]


def check_profile(profile: FeatureProfile | None, where: str, meta: Mapping[str, Any]) -> None:
    """Refuse features of another extractor that goes by the name of the model's."""
    stored = meta.get("features", {}).get("profile")
    if profile is not None and stored is not None and not profile.fits(FeatureProfile.unpacked(stored)):
        raise VericapError(
            f"the features of {where} go by the name of those that the model {meta['name']} was trained on, but their "
            "values are of another kind; declare another name with `extractor=NAME`, and train on them"
        )


def check_same(
    store: str,
    store_name: str,
    model: str,
    model_name: str,
    extractors: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {}),
) -> None:
    """Refuse features a model was not trained on, naming both, and what differs where both are described."""
    if store == model:
        return
    apart = f"; {differences(*extractors)}" if all(extractors) else ""
    raise VericapError(
        f"the features of {store_name} (fingerprint {store}) are not those the model {model_name} "
        f"was trained on (fingerprint {model}){apart}; {_advice(*extractors)}, or train on them"
    )


def _advice(store: Mapping[str, Any], model: Mapping[str, Any]) -> str:
    """Features of one declared extractor differ in how they were brought into the store."""
    if "declared" in store and store["declared"] == model.get("declared"):
        return "make the store as that of the training was made"
    return "extract them with `vericap features`, give files of one extractor one name (`extractor=NAME`)"

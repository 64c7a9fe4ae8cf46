"""Is attention alive? Agreement with people when it is replaced by a uniform one.

FAIEr: W_a and W_delta are zero, so that every region attends to all words of a reference alike and to all other regions
alike. SCAN (under REO and TIGEr): lambda is 0, so that every region's context is the mean of the words.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from vericap.core import shipped
from vericap.core.table import Number, Table
from vericap.meta.judgements import Ratings
from vericap.models.scan import described
from vericap.reproduce.agreement import agreements
from vericap.reproduce.experiment import Choices, at_hand, share
from vericap.reproduce.models import SHIPPED

METRICS = {
    "faier": "faier",
    "reo-relevance:truth=image": "scan",
    "reo-relevance:truth=reference": "scan",
    "tiger": "scan",
}
DATA = "flickr8k-expert"


def uniform_faier(model: str, folder: Path) -> Path:
    """The model with attention to words and offsets of boxes switched off; all else as it is."""
    from vericap.models.faier import load

    found = load(model)
    for name, weight in found.weights.items():
        if name.startswith("attention.") or name == "offset.weight":
            found.weights[name] = np.zeros_like(weight)
    found.name = f"{found.name}-uniform"
    found.save(folder, storage="float32")
    return folder


def sharpened(model: str, folder: Path, sharpness: float = 0.0) -> Path:
    """A SCAN model with another sharpness of attention; 0 makes it uniform."""
    arrays, meta = described(model)
    shipped.save_weights(arrays, folder, "scan", "float32")
    about = {name: value for name, value in meta.items() if name != "files"}
    attention = {**about.get("attention", {}), "sharpness": sharpness}
    shipped.write_meta(folder, {**about, "name": f"{about['name']}-{sharpness:g}", "attention": attention})
    return folder


def uniform_table(choices: Choices) -> Table:
    """Expert tau-c with all references, as it is and with uniform attention."""
    choices = replace(choices, limit=None)  # which is one of photos that are pointed at
    loaded, _ = at_hand((DATA,), choices)
    data = loaded[DATA]
    assert isinstance(data, Ratings)
    given = {"faier": choices.model(SHIPPED), "scan": choices.model("scan")}
    shown = Table(
        ["metric", "as it is", "uniform attention", "what attention gives"],
        title=f"Attention replaced by a uniform one: {DATA}, tau-c",
        x100=True,
    )
    with TemporaryDirectory() as scratch:
        makers = {"faier": uniform_faier, "scan": sharpened}
        flat = {kind: str(make(given[kind], Path(scratch) / kind)) for kind, make in makers.items()}
        pairs = {name: [f"{name}:model={where[kind]}" for where in (given, flat)] for name, kind in METRICS.items()}
        found = agreements(data, [metric for pair in pairs.values() for metric in pair], ["published"], choices)
        for name, (own, other) in pairs.items():
            values = [found.value(label, "published") for label in (own, other)]
            gap = None if None in values else Number(values[0] - values[1], digits=3)  # type: ignore[operator]
            shown.add(name, *map(share, values), gap)
        shown.notes = ["All five references; against the image (truth=image) none is looked at.", *found.notes()]
    return shown

"""Models of a user's own in an experiment: the names they may have, and the metrics that read them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from vericap.core.errors import InputError
from vericap.metrics.registry import canonical, split

TRAINED = {  # rows of FAIEr's tables
    "FIEr": "fier",
    "AIEr-4 ref": "aier-4",
    "FIEr+AIEr-4 ref": "fier+aier-4",
    "FAIEr\\rel-4 ref": "norel-4",
    "FAIEr-4 ref": "faier-4",
    "FAIEr\\rel-1 ref": "norel-1",
    "FAIEr-1 ref": "faier-1",
    "FAIEr\\rel-r ref": "norel-r",
    "FAIEr-r ref": "faier-r",
    "FAIEr-r ref (ref-free)": "faier-r",
}
SHIPPED = "faier-r"  # the model that ships draws 0 to 4 references in training
READ = {  # metric -> the model it reads
    "faier": SHIPPED,
    "faier-plus": "faier-plus",
    "vse": "vse",
    "tiger": "scan",
    "reo-relevance": "scan",
    "reo-extraness": "scan",
    "reo-omission": "scan",
}
NAMES = tuple(dict.fromkeys([*TRAINED.values(), "scan", "vse", "faier-plus", "visual-words"]))
_MEAN = "mean("


def check_models(models: Mapping[str, str]) -> None:
    """Refuse a model that stands for nothing."""
    unknown = [name for name in models if name not in NAMES]
    if unknown:
        known = ", ".join(NAMES)
        raise InputError(f"`model={unknown[0]}={models[unknown[0]]}`: no row of the paper; there are: {known}")


def over(metric: str, models: Mapping[str, str]) -> str:
    """A metric over the model that was named for it; as it is where none was, or where it names one itself."""
    metric = canonical(metric)
    if metric.startswith(_MEAN):
        return f"{_MEAN}{','.join(over(part, models) for part in split(metric.removeprefix(_MEAN)[:-1]))})"
    folder = models.get(READ.get(metric.partition(":")[0], ""))
    return metric if folder is None or ":model=" in metric else f"{metric}:model={folder}"


def called(metric: str, models: Mapping[str, str]) -> str:
    """A metric as a table names it: over a model of the user's by that model's name, whatever folder it lies in."""
    for name, folder in models.items():
        metric = re.sub(rf":model={re.escape(folder)}(?=[,):]|$)", f":model={name}", metric)
    return metric

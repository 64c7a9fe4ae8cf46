"""Names -> metrics. A metric is one line here, its class is imported when first asked for."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from importlib import import_module

from vericap.errors import UnknownName, VericapError
from vericap.metrics.base import Metric

METRICS: dict[str, str] = {
    "bleu-1": "vericap.metrics.bleu:Bleu1",
    "bleu-2": "vericap.metrics.bleu:Bleu2",
    "bleu-3": "vericap.metrics.bleu:Bleu3",
    "bleu-4": "vericap.metrics.bleu:Bleu4",
    "rouge-l": "vericap.metrics.rouge:RougeL",
    "meteor": "vericap.metrics.meteor:Meteor",
    "cider-d": "vericap.metrics.cider:CiderD",
    "cider": "vericap.metrics.cider:Cider",
    "spice": "vericap.metrics.spice:Spice",
    "spice-soft": "vericap.metrics.spice_soft:SpiceSoft",
    "jaspice": "vericap.metrics.jaspice:JaSpice",
    "jaspice-plus": "vericap.metrics.jaspice:JaSpicePlus",
    "chair": "vericap.metrics.chair:Chair",
    "chair-s": "vericap.metrics.chair:ChairS",
    "sentence": "vericap.metrics.sentence:Sentence",
    "wmd": "vericap.metrics.wmd:Wmd",
    "vifidel": "vericap.metrics.vifidel:Vifidel",
    "lm": "vericap.metrics.lm:Lm",
    "vse": "vericap.metrics.vse:Vse",
    "clipscore": "vericap.metrics.vse:ClipScore",
    "refclipscore": "vericap.metrics.vse:RefClipScore",
    "reo-relevance": "vericap.metrics.reo:Relevance",
    "reo-extraness": "vericap.metrics.reo:Extraness",
    "reo-omission": "vericap.metrics.reo:Omission",
    "tiger": "vericap.metrics.tiger:Tiger",
    "faier-plus": "vericap.metrics.faier_plus:FaierPlus",
    "faier": "vericap.metrics.faier:Faier",
}

SETS: dict[str, tuple[str, ...]] = {
    "reo": ("reo-relevance", "reo-extraness", "reo-omission"),
    "ja": ("bleu-1", "bleu-4", "rouge-l", "cider-d", "jaspice", "jaspice-plus", "sentence"),
    "coco": ("bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l", "meteor", "cider-d"),
    "bleu": ("bleu-1", "bleu-2", "bleu-3", "bleu-4"),
    "meaning": ("spice", "spice-soft", "sentence", "wmd"),
    "image": ("vifidel", "chair", "vse", "reo-relevance", "reo-extraness", "reo-omission", "faier-plus"),
}

_MEAN = re.compile(r"^mean\((.+)\)$")


def names() -> list[str]:
    return list(METRICS)


def metric_class(name: str) -> type[Metric]:
    """The class behind a plain metric name; the nearest names are suggested for an unknown one."""
    if name not in METRICS:
        near = difflib.get_close_matches(name, [*METRICS, *SETS], n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise UnknownName(f"unknown metric '{name}'{hint} (`vericap metrics` lists all)")
    module, attribute = METRICS[name].split(":")
    found: type[Metric] = getattr(import_module(module), attribute)
    return found


def make(text: str) -> Metric:
    """A metric from its written form: name, name:option=value:..., mean(a,b)."""
    mean = _MEAN.match(text)
    if mean:
        from vericap.metrics.mean import Mean

        return Mean(split(mean.group(1)), label=text)
    name, *pairs = text.split(":")
    found = metric_class(name)
    options = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign:
            raise VericapError(f"metric '{text}': '{pair}' is not option=value")
        if key not in found.options:
            allowed = ", ".join(found.options) or "none"
            raise UnknownName(f"metric '{name}' has no option '{key}'; its options: {allowed}")
        options[key] = found.options[key].parse(value, metric=name, name=key)
    return found(label=text, **options)


def split(text: str) -> list[str]:
    """Split at commas outside parentheses."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def resolve(wanted: str | Iterable[str | Metric]) -> list[Metric]:
    """Metrics from names, sets and ready metrics, each once, in the order given."""
    items: Sequence[str | Metric] = split(wanted) if isinstance(wanted, str) else list(wanted)
    metrics: dict[str, Metric] = {}
    for item in items:
        if isinstance(item, Metric):
            metrics.setdefault(item.label, item)
            continue
        for name in SETS.get(item, (item,)):
            metrics.setdefault(name, make(name))
    if not metrics:
        raise VericapError("no metric was named; `vericap metrics` lists them")
    return list(metrics.values())

"""Metrics that a request may name: registered ones, with options that are no paths, models or programs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from vericap.core.errors import VericapError
from vericap.core.metric import Metric, Option
from vericap.metrics.registry import make, metric_class, names, sets, split
from vericap.serve.limits import Limits, Refused

_LONGEST = 400  # letters of a written metric
_MEAN = re.compile(r"^mean\((.+)\)$")
_NAME = re.compile(r"^[a-z0-9][a-z0-9-]*$")
_NUMBER = 1e6  # largest value of a numeric option


def settable(option: Option) -> bool:
    """Whether an option may be set from outside.

    Numbers, yes or no, and names out of a list are harmless. A free text may be a file, a model or a folder, now or in
    a later version, so it never is.
    """
    return bool(option.choices) or isinstance(option.default, bool | int | float)


def open_options(found: type[Metric]) -> dict[str, Option]:
    """The options of a metric that may be set from outside."""
    return {name: option for name, option in found.options.items() if settable(option)}


def chosen(wanted: Iterable[str], limits: Limits) -> list[Metric]:
    """The metrics of a request, each once; names may be separated by commas.

    >>> [str(metric) for metric in chosen(["rouge-l,bleu-4", "rouge-l:beta=1"], Limits())]
    ['rouge-l', 'bleu-4', 'rouge-l:beta=1.0']
    """
    found: dict[str, Metric] = {}
    for text in wanted:
        if len(text) > _LONGEST * limits.metrics:
            raise Refused(422, "The list of metrics is too long.")
        for part in split(text):
            for name in sets().get(part, (part,)):
                metric = allowed(name)
                found.setdefault(metric.label, metric)
                if len(found) > limits.metrics:
                    raise Refused(422, f"At most {limits.metrics} metrics can be asked for at once.")
    return list(found.values())


def allowed(text: str) -> Metric:
    """One metric by its written form, or a refusal that says what is wrong with it."""
    if len(text) > _LONGEST:
        raise Refused(422, f"The name of a metric has {len(text)} letters; GET /metrics lists the names.")
    mean = _MEAN.match(text)
    for part in split(mean[1]) if mean else [text]:
        _checked(part)
    try:
        return make(text, code=False)
    except VericapError as error:
        raise Refused(422, f"{error}.".replace("..", ".")) from None


def _checked(text: str) -> None:
    name, *pairs = text.split(":")
    if not _NAME.match(name) or name not in names():
        raise Refused(422, f"{name[:60]!r} is no metric of this server; GET /metrics lists their names.")
    known = metric_class(name).options
    for pair in pairs:
        key, _, value = pair.partition("=")
        if key in known and not settable(known[key]):
            raise Refused(422, f"The option {key} of {name} cannot be set from outside; it may name a file or a model.")
        if key in known and isinstance(known[key].default, float | int):
            _number(name, key, value)


def _number(metric: str, option: str, text: str) -> None:
    """Numbers that are none (nan, inf) or huge would only make a run fail in odd ways."""
    try:
        value = float(text)
    except ValueError:
        return  # yes, no, true: the option itself says what is wrong
    if not math.isfinite(value) or abs(value) > _NUMBER:
        raise Refused(422, f"The option {option} of {metric} is out of range: {text[:40]}.")


def offered() -> list[str]:
    """Metrics that a request can use: not those that work only with a model that their options name."""
    found = {name: metric_class(name).options.get("model") for name in names()}
    return [name for name, model in found.items() if model is None or model.default]


def described(name: str) -> dict[str, Any]:
    """A metric as GET /metrics tells it."""
    found = metric_class(name)
    return {
        "name": name,
        "title": found.title or name,
        "about": ((found.__doc__ or "").strip().splitlines() or [""])[0],
        "direction": found.direction,
        "range": [bound if math.isfinite(bound) else None for bound in found.range],
        "needs": list(found.needs),
        "languages": list(found.languages),
        "explains": found.explain is not Metric.explain,
        "options": {
            key: {"default": option.default, "choices": list(option.choices), "help": option.help}
            for key, option in open_options(found).items()
        },
    }

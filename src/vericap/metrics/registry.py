"""Names -> metrics. A metric is one line here, or an entry point of another package; it is imported when asked for."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from vericap.core.errors import MissingPart, UnknownName, VericapError
from vericap.core.metric import Metric
from vericap.metrics import function

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "vericap.metrics"  # entry points of other packages: name = "package.module:Class"

METRICS: dict[str, str] = {
    "verdict": "vericap.metrics.verdict.metric:VerdictMetric",
    "fidelity": "vericap.metrics.verdict.metric:Fidelity",
    "adequacy": "vericap.metrics.verdict.metric:Adequacy",
    "fluency": "vericap.metrics.verdict.fluency:Fluency",
    "bleu-1": "vericap.metrics.bleu:Bleu1",
    "bleu-2": "vericap.metrics.bleu:Bleu2",
    "bleu-3": "vericap.metrics.bleu:Bleu3",
    "bleu-4": "vericap.metrics.bleu:Bleu4",
    "rouge-l": "vericap.metrics.rouge:RougeL",
    "meteor": "vericap.metrics.meteor:Meteor",
    "cider-d": "vericap.metrics.cider:CiderD",
    "cider": "vericap.metrics.cider:Cider",
    "spider": "vericap.metrics.spider:Spider",
    "spice": "vericap.metrics.spice:Spice",
    "spice-soft": "vericap.metrics.spice_soft:SpiceSoft",
    "jaspice": "vericap.metrics.jaspice:JaSpice",
    "jaspice-plus": "vericap.metrics.jaspice:JaSpicePlus",
    "chair": "vericap.metrics.chair:Chair",
    "chair-s": "vericap.metrics.chair:ChairS",
    "chair-recall": "vericap.metrics.chair:ChairRecall",
    "sentence": "vericap.metrics.sentence:Sentence",
    "wmd": "vericap.metrics.wmd:Wmd",
    "vifidel": "vericap.metrics.vifidel:Vifidel",
    "lm": "vericap.metrics.lm:Lm",
    "vse": "vericap.metrics.vse:Vse",
    "learn-to-eval": "vericap.metrics.learn_to_eval:LearnToEval",
    "clipscore": "vericap.metrics.clipscore:ClipScore",
    "refclipscore": "vericap.metrics.clipscore:RefClipScore",
    "reo-relevance": "vericap.metrics.reo:Relevance",
    "reo-extraness": "vericap.metrics.reo:Extraness",
    "reo-omission": "vericap.metrics.reo:Omission",
    "tiger": "vericap.metrics.tiger:Tiger",
    "faier-plus": "vericap.metrics.faier_plus:FaierPlus",
    "faier": "vericap.metrics.faier:Faier",
}

SETS: dict[str, tuple[str, ...]] = {
    "recommended": ("fidelity", "adequacy", "fluency", "verdict", "chair", "cider-d", "spice", "jaspice"),
    "reo": ("reo-relevance", "reo-extraness", "reo-omission"),
    "ja": ("bleu-1", "bleu-4", "rouge-l", "meteor", "cider-d", "jaspice", "jaspice-plus", "sentence"),
    "coco": ("bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l", "meteor", "cider-d"),
    "bleu": ("bleu-1", "bleu-2", "bleu-3", "bleu-4"),
    "meaning": ("spice", "spice-soft", "sentence", "wmd"),
    "image": ("vifidel", "chair", "vse", "reo-relevance", "reo-extraness", "reo-omission", "faier-plus"),
}

# Other spellings, as `_plain` leaves them. The COCO tool calls `cider-d` CIDEr; `cider`, exactly so, is the paper's.
ALIASES: dict[str, str] = {
    "cider": "cider-d",
    "rouge": "rouge-l",
    "chairi": "chair",
    "clips": "clipscore",
    "refclips": "refclipscore",
    "faier+": "faier-plus",
    "jaspice+": "jaspice-plus",
}

Wanted = str | Metric | Callable[..., Any]
_MEAN = re.compile(r"^mean\s*\((.+)\)$", re.IGNORECASE)


def names() -> list[str]:
    """All metrics: ours, then those of other packages."""
    return [*METRICS, *(name for name in plugins() if name not in METRICS)]


def sets() -> dict[str, tuple[str, ...]]:
    """Named sets of metrics: ours, which mean the same everywhere, and those that metrics of other packages name."""
    found: dict[str, tuple[str, ...]] = {}
    for name in plugins():
        for own in metric_class(name).sets:
            found[own] = (*found.get(own, ()), name)
    return {**found, **SETS}


def known(text: str) -> bool:
    """Whether a text begins with the name of one of our own metrics; other packages are not looked at."""
    return _own(text.partition(":")[0]) in METRICS or "(" in text or text.startswith(function.PREFIX)


def _plain(name: str) -> str:
    """A name without what people write in different ways: case, blanks, `_`, `-` and `@` (BLEU@4)."""
    return re.sub(r"[\s_@-]+", "", name).lower()


@cache
def _spellings() -> dict[str, str]:
    return {**{_plain(name): name for name in [*METRICS, *SETS]}, **ALIASES}


def _own(name: str) -> str:
    """The name of our own metric or set that a text means; the text itself where it means none."""
    return name if name in METRICS or name in SETS else _spellings().get(_plain(name), name)


def canonical(name: str) -> str:
    """The name of a metric or set as vericap writes it, whatever way it was spelled; an unknown one as it is.

    Options stay as they are. A name that is written exactly as in `vericap metrics` means that metric: `cider` is the
    CIDEr of the paper, while `CIDEr` is what the COCO tool prints under this name, which is `cider-d`.

    Examples
    --------
    >>> [canonical(name) for name in ("Bleu_4", "ROUGE_L", "METEOR", "CIDEr", "REO", "rouge_l:beta=1")]
    ['bleu-4', 'rouge-l', 'meteor', 'cider-d', 'reo', 'rouge-l:beta=1']
    """
    mean = _MEAN.match(name)
    if mean:
        return f"mean({','.join(canonical(part) for part in split(mean[1]))})"
    if name.startswith(function.PREFIX):
        return name
    stem, sign, options = name.strip().partition(":")
    found = _own(stem.strip())
    if found not in METRICS and found not in SETS and found not in plugins():
        found = {_plain(other): other for other in plugins()}.get(_plain(found), found)
    return f"{found}{sign}{options}"


@cache
def plugins() -> dict[str, EntryPoint]:
    """Metrics that other installed packages bring."""
    from importlib.metadata import entry_points  # looks at every installed package: not before it is needed

    return {point.name: point for point in entry_points(group=GROUP)}


def metric_class(name: str) -> type[Metric]:
    """The class behind a plain metric name, in any spelling; the nearest names are suggested for an unknown one."""
    name = canonical(name)
    if name in METRICS:
        module, attribute = METRICS[name].split(":")
        found: type[Metric] = getattr(import_module(module), attribute)
        return found
    if name in plugins():
        return _plugin(plugins()[name])
    if name in SETS:
        raise UnknownName(f"'{name}' is a set of metrics, not one metric; name one of: {', '.join(SETS[name])}")
    raise UnknownName(f"unknown metric '{name}'{_suggestion(name)} (`vericap metrics` lists all)")


def _suggestion(name: str) -> str:
    """What somebody may have meant: names that are near, or several names without a comma between them."""
    words = [canonical(word) for word in name.split()]
    if len(words) > 1 and all(known(word) or word in SETS for word in words):
        return f"; names are separated by commas: {','.join(words)}"
    spellings = {_plain(other): other for other in [*names(), *SETS]} | {name: name for name in ALIASES.values()}
    near = difflib.get_close_matches(_plain(name), spellings, n=3, cutoff=0.5)
    meant = dict.fromkeys(spellings[spelling] for spelling in near)
    return f"; did you mean {' or '.join(meant)}?" if near else ""


def _plugin(point: EntryPoint) -> type[Metric]:
    try:
        found = point.load()
    except Exception as error:  # another package's code
        raise MissingPart(f"metric '{point.name}' of {point.value} cannot be loaded ({error})") from error
    if not isinstance(found, type) or not issubclass(found, Metric):
        raise MissingPart(f"metric '{point.name}': {point.value} is not a subclass of vericap.Metric")
    return found


def make(text: str, *, code: bool = False) -> Metric:
    """A metric from its written form: name, name:option=value:..., mean(a,b); with `code` also py:FILE.py:function."""
    if text.startswith(function.PREFIX):
        if not code:
            raise VericapError(f"'{text}': functions in files are not accepted here; name a metric")
        return function.load(text)
    mean = _MEAN.match(text)
    if mean:
        from vericap.metrics.mean import Mean

        return Mean([make(part, code=code) for part in split(mean.group(1))], label=canonical(text))
    # The column of a metric has one name, however the metric was asked for.
    text = canonical(text)
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


def resolve(wanted: str | Iterable[Wanted], *, code: bool = False, lang: str = "") -> list[Metric]:
    """Metrics from names, sets, metric classes, ready metrics and functions, each once, in the order given.

    Parameters
    ----------
    wanted : a text of names separated by commas, or a list of names, metrics and plain functions.
    code : whether a name may be `py:FILE.py:function`. Never where names come from a network.
    lang : language of the captions: of a set, metrics that do not read it are left out. Empty: all are taken.
    """
    items: Sequence[Wanted] = split(wanted) if isinstance(wanted, str) else list(wanted)
    metrics: dict[str, Metric] = {}
    for item in items:
        for metric in _resolved(item, code, lang):
            known = metrics.setdefault(metric.label, metric)
            if known.of_set and not metric.of_set:
                metrics[metric.label] = metric
    if not metrics:
        raise VericapError("no metric was named; `vericap metrics` lists them")
    return list(metrics.values())


def _resolved(item: Wanted, code: bool, lang: str) -> list[Metric]:
    if isinstance(item, Metric):
        return [item]
    if isinstance(item, str):
        item = canonical(item)
        members = SETS.get(item) or ((item,) if known(item) else sets().get(item, (item,)))
        found = [make(name, code=code) for name in members]
        if len(found) == 1:
            return found
        for metric in found:
            metric.of_set = item
        return [metric for metric in found if not lang or not metric.languages or lang in metric.languages]
    if isinstance(item, type):
        if not issubclass(item, Metric):
            raise VericapError(f"the class {item.__name__} is no metric; derive it from vericap.Metric")
        return [item()]
    if callable(item):
        return [function.FunctionMetric(item)]
    raise VericapError(f"a {type(item).__name__} is no metric; give a name, a metric or a function")

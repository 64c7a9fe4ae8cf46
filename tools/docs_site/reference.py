"""The page of the Python API, made from signatures and docstrings: the same text as web page and as plain Markdown."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import griffe

import vericap
from vericap.checking import Check
from vericap.io.load import Loaded
from vericap.run.compare import Comparison
from vericap.testing import check_metric

# Modules of their own: what they are for, and the names that others use.
_BESIDE = {
    "vericap.integrations": (
        "Adapters",
        "For trainers, batches and harnesses; how they are used: [integrations.md](integrations.md).",
    ),
    "vericap.compat.coco": ("The COCO tool's shapes", "Scorers and `COCOEvalCap` as in `pycocoevalcap`, without Java."),
}
_GIVEN_BACK = {"Check": Check, "Comparison": Comparison, "Loaded": Loaded}


def page() -> str:
    """Every public name, what functions give back, then adapters and what else others import."""
    lines = ["# Python", "", "Made from the docstrings. `import vericap` shows these names:", ""]
    lines += [f"[`{name}`](#vericap{name.lower()})" for name in vericap._LAZY if name in vericap.__all__]
    lines += ["", "Importing it is light: parts load when they are used. Scoring never imports torch.", ""]
    for name in vericap._LAZY:
        if name in vericap.__all__:
            lines += entry(f"vericap.{name}", getattr(vericap, name), 2)
    lines += ["## What functions give back", ""]
    for name, value in _GIVEN_BACK.items():
        lines += entry(name, value, 3)
    for name, (title, about) in _BESIDE.items():
        module = import_module(name)
        lines += [f"## {title}", "", f"`{name}`. {about}", ""]
        for own in module.__all__:
            lines += entry(own, getattr(module, own), 3)
    lines += ["## A metric of yours", "", *entry("vericap.testing.check_metric", check_metric, 3)]
    return "\n".join(lines)


def entry(name: str, value: Any, level: int) -> list[str]:
    """A function or class with its public methods."""
    lines = [f"{'#' * level} {name}", "", "```python", _signature(name, value), "```", "", *_docstring(value)]
    if not inspect.isclass(value) or issubclass(value, BaseException):
        return lines
    for own in sorted({n for kind in value.__mro__ if kind.__module__.startswith("vericap") for n in vars(kind)}):
        member = inspect.getattr_static(value, own)
        if own.startswith("_") or not (callable(member) or isinstance(member, property | staticmethod | classmethod)):
            continue
        function = member.fget if isinstance(member, property) else getattr(value, own)
        if inspect.getdoc(function):
            kind = "property" if isinstance(member, property) else ""
            lines += [f"{'#' * (level + 1)} {name.removeprefix('vericap.')}.{own}", ""]
            lines += ["```python", f"{own}  # property" if kind else _signature(own, function), "```", ""]
            lines += _docstring(function)
    return lines


def _signature(name: str, value: Any) -> str:
    """How it is called; one argument a line where they are many."""
    if inspect.isclass(value) and issubclass(value, BaseException):
        return f"class {name}({value.__base__.__name__})"
    signature = inspect.signature(value)
    given = [item for item in signature.parameters.values() if item.name not in ("self", "cls")]
    written = [_parameter(item) for item in given]
    first = next((place for place, item in enumerate(given) if item.kind is item.KEYWORD_ONLY), None)
    if first is not None and not any(item.kind is item.VAR_POSITIONAL for item in given):
        written.insert(first, "*")
    given_back = signature.empty if inspect.isclass(value) else signature.return_annotation
    back = "" if given_back is signature.empty else f" -> {_annotation(given_back)}"
    line = f"{name}({', '.join(written)}){back}"
    return line if len(line) < 100 else "\n".join([f"{name}(", *(f"    {text}," for text in written), f"){back}"])


def _parameter(item: inspect.Parameter) -> str:
    stars = {item.VAR_KEYWORD: "**", item.VAR_POSITIONAL: "*"}.get(item.kind, "")
    kind = "" if item.annotation is item.empty else f": {_annotation(item.annotation)}"
    default = (
        "" if item.default is item.empty else f" = {_default(item.default)}" if kind else f"={_default(item.default)}"
    )
    return f"{stars}{item.name}{kind}{default}"


def _default(value: Any) -> str:
    """A default as one would type it; the factory of a dataclass field is left to the words."""
    text = repr(value)
    return "..." if text.startswith("<") else text


def _annotation(kind: Any) -> str:
    return kind if isinstance(kind, str) else inspect.formatannotation(kind)


def _docstring(value: Any) -> list[str]:
    """A NumPy-style docstring as Markdown."""
    text = inspect.getdoc(value) or ""
    lines: list[str] = []
    for section in griffe.Docstring(text).parse("numpy", warnings=False):
        lines += _section(section)
    return lines


def _section(section: Any) -> list[str]:
    kind, value = section.kind.value, section.value
    if kind == "text":
        return [value, ""]
    if kind in ("parameters", "attributes"):
        return [f"**{kind.capitalize()}**", "", *_items(value), ""]
    if kind in ("returns", "yields"):
        return [f"**{kind.capitalize()}**", "", *(_item("", item) for item in value), ""]
    if kind == "examples":
        shown = "\n".join(text for _, text in value)
        return ["**Examples**", "", "```pycon", shown, "```", ""]
    raise ValueError(f"a section {kind!r} in a docstring: teach tools/docs_site/reference.py how to show it")


def _items(value: Any) -> list[str]:
    """Parameters; those that were described together stand together."""
    groups: list[list[Any]] = []
    for item in value:
        if groups and (groups[-1][0].description, str(groups[-1][0].annotation)) == (
            item.description,
            str(item.annotation),
        ):
            groups[-1].append(item)
        else:
            groups.append([item])
    return [_item("`, `".join(item.name for item in group), group[0]) for group in groups]


def _item(name: str, item: Any) -> str:
    told = " ".join((item.description or "").split())
    kind = f"*{item.annotation}*" if item.annotation else ""
    head = " ".join(part for part in (f"`{name}`" if name else "", kind) if part)
    return f"- {head}" + (f": {told}" if told else "")

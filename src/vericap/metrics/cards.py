"""Metric cards: what a metric computes, its options, limits and sources."""

from __future__ import annotations

import re

from vericap.errors import MissingPart
from vericap.metrics.registry import metric_class
from vericap.models.store import ROOT

# Metrics that share a card.
_SHARED = (
    (re.compile(r"^bleu-\d$"), "bleu"),
    (re.compile(r"^reo-\w+$"), "reo"),
    (re.compile(r"^chair-s$"), "chair"),
    (re.compile(r"^(ref)?clipscore$"), "clipscore"),
)


def card(name: str) -> str:
    """The card's Markdown text, followed by the options as they are in the code."""
    name = name.partition(":")[0]
    found = metric_class(name)
    stem = next((shared for pattern, shared in _SHARED if pattern.match(name)), name)
    for candidate in (name, stem):
        file = ROOT / "cards" / f"{candidate}.md"
        if file.is_file():
            text = file.read_text("utf-8").rstrip()
            break
    else:
        raise MissingPart(f"metric '{name}' has no card in this installation; reinstall vericap")
    if not found.options:
        return text
    lines = [
        f"- `{key}={option.default}`: {option.help}{_choices(option.choices)}" for key, option in found.options.items()
    ]
    return "\n".join([text, "", "## Options", "", *lines])


def _choices(choices: tuple[object, ...]) -> str:
    return f" (one of {', '.join(map(str, choices))})" if choices else ""

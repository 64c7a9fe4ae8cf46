"""Metric cards: what a metric computes, its options, limits and sources."""

from __future__ import annotations

import re

from vericap.core.errors import MissingPart
from vericap.core.shipped import ROOT
from vericap.metrics.registry import metric_class

# Metrics that share a card.
_SHARED = (
    (re.compile(r"^bleu-\d$"), "bleu"),
    (re.compile(r"^reo-\w+$"), "reo"),
    (re.compile(r"^chair-(s|recall)$"), "chair"),
    (re.compile(r"^(ref)?clipscore$"), "clipscore"),
)


def card(name: str) -> str:
    """The card's Markdown text, followed by the options as they are in the code."""
    name = name.partition(":")[0]
    found = metric_class(name)
    text = found.card.strip() or _shipped(name)
    if not found.options:
        return text
    lines = [
        f"- `{key}={option.default}`: {option.help}{_choices(option.choices)}" for key, option in found.options.items()
    ]
    return "\n".join([text, "", "## Options", "", *lines])


def _shipped(name: str) -> str:
    """The card that ships with vericap, of the metric alone or of its family."""
    stem = next((shared for pattern, shared in _SHARED if pattern.match(name)), name)
    files = [ROOT / "cards" / f"{candidate}.md" for candidate in (name, stem)]
    file = next((file for file in files if file.is_file()), None)
    if file is None:
        raise MissingPart(f"metric '{name}' has no card in this installation; reinstall vericap")
    return file.read_text("utf-8").rstrip()


def _choices(choices: tuple[object, ...]) -> str:
    return f" (one of {', '.join(map(str, choices))})" if choices else ""

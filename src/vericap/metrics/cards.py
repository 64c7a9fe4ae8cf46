"""Metric cards: what a metric computes, its options, limits and sources."""

from __future__ import annotations

import re
from pathlib import Path

from vericap.core.errors import MissingPart
from vericap.core.shipped import ROOT
from vericap.metrics.registry import SETS, canonical, metric_class, sets

# Metrics that share a card.
_SHARED = (
    (re.compile(r"^bleu-\d$"), "bleu"),
    (re.compile(r"^reo-\w+$"), "reo"),
    (re.compile(r"^chair-(s|recall)$"), "chair"),
    (re.compile(r"^(ref)?clipscore$"), "clipscore"),
    (re.compile(r"^(fidelity|adequacy)$"), "verdict"),
)

# What each set is for.
_PURPOSES = {
    "coco": "What papers report with the COCO caption tool, equal to its numbers, without SPICE: words shared with "
    "references.",
    "bleu": "The four BLEU scores of the COCO caption tool.",
    "reo": "What a caption gets right, what it adds, what it leaves out, grounded in the image's regions.",
    "meaning": "Nearness of meaning to references: by scene graphs, sentences and words. No image is needed.",
    "image": "Whether a caption is true to its image. References are read where there are some, and not needed.",
    "ja": "Japanese captions against references: give `--lang ja` too.",
}
# Sets whose members are explained by one card.
_FAMILIES = ("bleu", "reo")


def card(name: str) -> str:
    """The Markdown text of a metric's card, followed by the options as they are in the code; or the card of a set."""
    name = canonical(name).partition(":")[0]
    if name in SETS or _set_of_others(name):
        return set_card(name)
    found = metric_class(name)
    text = found.card.strip() or _shipped(name)
    if not found.options:
        return text
    lines = [
        f"- `{key}={option.default}`: {option.help}{_choices(option.choices)}" for key, option in found.options.items()
    ]
    return "\n".join([text, "", "## Options", "", *lines])


def _set_of_others(name: str) -> bool:
    """Whether a name is a set that metrics of other packages name."""
    from vericap.metrics.registry import METRICS, plugins

    return name not in METRICS and name not in plugins() and name in sets()


def set_card(name: str) -> str:
    """What a set is for and which metrics it holds.

    Examples
    --------
    >>> print(set_card("bleu").splitlines()[0])
    # bleu: a set of 4 metrics
    """
    members = sets()[name]
    lines = [f"# {name}: a set of {len(members)} metrics", ""]
    lines += [_PURPOSES[name], ""] if name in _PURPOSES else []
    lines += ["| metric | what | better | needs |", "|---|---|---|---|"]
    for member in members:
        found = metric_class(member)
        lines.append(
            f"| `{member}` | {found.title} | {found.direction} | {', '.join(found.needs) or 'candidate only'} |"
        )
    lines += ["", f"`--metrics {name}` asks for all of them; `vericap metrics {members[0]}` prints the card of one."]
    if name in _FAMILIES:
        lines += ["", _shipped(name)]
    return "\n".join(lines)


def card_file(name: str) -> Path:
    """The file of the card that ships with vericap, of the metric alone or of its family.

    Examples
    --------
    >>> card_file("bleu-4").name
    'bleu.md'
    """
    stem = next((shared for pattern, shared in _SHARED if pattern.match(name)), name)
    files = [ROOT / "cards" / f"{candidate}.md" for candidate in (name, stem)]
    file = next((file for file in files if file.is_file()), None)
    if file is None:
        raise MissingPart(f"metric '{name}' has no card in this installation; reinstall vericap")
    return file


def _shipped(name: str) -> str:
    """The text of a card, without the comments between which its tables are made (tools/build_figures.py)."""
    return re.sub(r"^<!--.*?-->\n", "", card_file(name).read_text("utf-8"), flags=re.MULTILINE).rstrip()


def _choices(choices: tuple[object, ...]) -> str:
    return f" (one of {', '.join(map(str, choices))})" if choices else ""

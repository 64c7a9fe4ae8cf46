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

# What each metric tells, in a line: lists of metrics show it.
_TELLS = {
    "verdict": "is the caption good, all in all?",
    "fidelity": "is it true to the image?",
    "adequacy": "does it say what matters?",
    "fluency": "does it read well?",
    "bleu-1": "words shared with references",
    "bleu-2": "words and word pairs shared with references",
    "bleu-3": "runs of up to 3 words shared with references",
    "bleu-4": "runs of up to 4 words shared with references",
    "rouge-l": "longest sequence of words shared with a reference",
    "meteor": "words, stems, synonyms and paraphrases shared",
    "cider-d": "rare words count more; the COCO tool's CIDEr",
    "cider": "plain CIDEr of the paper; papers report cider-d",
    "spider": "mean of CIDEr-D and SPICE",
    "spice": "claims shared with references, by scene graph",
    "spice-soft": "claims near in meaning to those of references",
    "jaspice": "claims shared with references, by scene graph",
    "jaspice-plus": "claims near in meaning to those of references",
    "chair": "share of mentioned objects that are not in the image",
    "chair-s": "does it mention an object that is not in the image?",
    "chair-recall": "share of the image's objects that are mentioned",
    "sentence": "is the sentence near in meaning to references?",
    "wmd": "are the words near in meaning to those of references?",
    "vifidel": "are the words near the objects of the image?",
    "lm": "how likely is it to a language model of captions?",
    "vse": "do caption and image fit?",
    "learn-to-eval": "does it look written by a person, given the image?",
    "clipscore": "do caption and image fit, by a CLIP model of yours?",
    "refclipscore": "the same, with references",
    "reo-relevance": "what it gets right, region by region",
    "reo-extraness": "what it adds that the image does not show",
    "reo-omission": "what it leaves out of the image",
    "tiger": "does it look at the regions that references look at?",
    "faier-plus": "do its claims fit the image, guided by references?",
    "faier": "FAIEr, the published architecture: image and text as graphs",
}

# What each set is for.
_PURPOSES = {
    "recommended": "What to begin with: the verdict with its three parts, invented objects, and what papers report. "
    "Metrics that do not read the language of the captions are left out.",
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


def tells(name: str) -> str:
    """What a metric tells, in a line, with the languages it reads where it does not read all.

    Examples
    --------
    >>> tells("fluency")
    'does it read well? (en)'
    """
    found = metric_class(name)
    documented = (vars(found).get("__doc__") or "").strip().splitlines() if name not in _TELLS else []
    line = _TELLS.get(name) or (documented[0].rstrip(".") if documented else found.title)
    return f"{line} ({', '.join(found.languages)})" if found.languages else line


def needed(name: str) -> str:
    """What a metric needs beside the caption.

    Examples
    --------
    >>> needed("refclipscore"), needed("fluency")
    ('image, references', 'nothing else')
    """
    return ", ".join(metric_class(name).needs) or "nothing else"


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
    lines += ["| metric | what it tells | better | needs |", "|---|---|---|---|"]
    for member in members:
        lines.append(f"| `{member}` | {tells(member)} | {metric_class(member).direction} | {needed(member)} |")
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

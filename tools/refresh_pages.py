"""Fill the tables of README.md and docs/ that repeat measured figures: `python tools/refresh_pages.py [--check]`.

Agreement and cost come from docs/human-agreement.md (made by `vericap meta all --page`), figures of others from
vericap/meta/published with their sources, speed beside the COCO tool from docs/speed.md. A table stands between
`<!-- table: NAME -->` and `<!-- end of table -->`; `--check` changes nothing and fails where one is not up to date.
`--outputs` also runs the commands of the pages that show what is printed, and puts it there.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from vericap.core.errors import MissingPart
from vericap.core.shipped import ROOT
from vericap.meta.published import published
from vericap.metrics.cards import card_file
from vericap.metrics.registry import metric_class

TOP = Path(__file__).resolve().parent.parent
PRINTED = ("docs/start.md", "docs/tour.md", "docs/compare.md", "docs/verdict.md")
PAGES = ("README.md", "docs/which-metric.md", *PRINTED)
EXPERT, CROWD, PASCAL = "flickr8k-expert/published", "flickr8k-cf/published", "pascal50s/consensus48"
SEEN = "†"
_CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
_TABLE = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)

# What somebody wants to know -> the metric to begin with, and why.
QUESTIONS = (
    ("Is this caption good? One number with reasons, no references needed", "verdict"),
    ("Is it true to the image?", "fidelity"),
    ("Does it say what matters?", "adequacy"),
    ("Does it read well?", "fluency"),
    ("The numbers every paper reports", "cider-d"),
    ("The same, by what is claimed instead of by words", "spice"),
    ("Near in meaning to the references, no image at hand", "spice-soft"),
    ("The same, far cheaper", "wmd"),
    ("Agreement with people above all, photos and references at hand", "faier-plus"),
    ("What is right, what is extra, what is missing, by region", "reo-relevance"),
    ("Which objects are invented?", "chair"),
    ("Do caption and photo fit at all (millions of pairs)?", "vse"),
    ("Do the words fit the objects of the image?", "vifidel"),
    ("Japanese, by claims", "jaspice"),
    ("Japanese, by meaning", "jaspice-plus"),
)
OURS = ("verdict", "faier-plus", "spice-soft", "spice", "cider-d")
OTHERS = {  # label in the published data -> name, what it needs
    "CIDEr": ("CIDEr-D, COCO tool (time: with BLEU, ROUGE-L)", "references; Java"),
    "SPICE": ("SPICE, original", "references; Java, models to download"),
    "CLIPScore": ("CLIPScore", "image; torch, weights to download"),
    "RefCLIPScore": ("RefCLIPScore", "image, references; torch, weights to download"),
    "RefPAC-S": ("RefPAC-S", "image, references; torch, weights to download"),
    "Polos": ("Polos", "image, references; torch, weights to download"),
    "FLEUR": ("FLEUR", "image; torch, a large vision-language model"),
}


def agreement() -> dict[str, dict[str, str]]:
    """Metric -> column -> cell of the first table of docs/human-agreement.md."""
    text = (TOP / "docs" / "human-agreement.md").read_text("utf-8").split("## All data sets")[1]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    heads = [re.sub(r" \([\w-]+\)$", "", head.strip()) for head in rows[0]]
    found: dict[str, dict[str, str]] = {}
    for row in rows[2:]:
        if len(row) != len(heads) or row[0] in found:
            break
        found[row[0].strip()] = dict(zip(heads, (cell.strip() for cell in row)))
    return found


def value(measured: dict[str, dict[str, str]], metric: str, column: str, *, mark: bool = True) -> str:
    """A figure without its interval, marked where the metric's models may have seen the photos."""
    row = measured.get(metric, {})
    cell = row.get(column, "-").split(" [")[0]
    seen = column.split("/")[0] in row.get("may have seen", "").split(", ")
    return f"{cell}{SEEN}" if mark and seen and cell != "-" else cell


def needs(metric: str) -> str:
    found = metric_class(metric)
    wanted = [*found.needs]
    if found.reads_references and "references" not in wanted:
        wanted.append("references if any")
    return ", ".join(wanted) or "nothing else"


def linked(metric: str) -> str:
    """The name, leading to its card."""
    try:
        return f"[`{metric}`](../src/vericap/data/cards/{card_file(metric).name})"
    except MissingPart:
        return f"`{metric}`"


def which() -> list[str]:
    """The decision table."""
    measured = agreement()
    lines = ["| you want to know | begin with | it needs | Expert τc | CF τb | PASCAL-50S | JSTS r | s / 1,000 |"]
    lines.append("|---|---|---|---:|---:|---:|---:|---:|")
    for question, metric in QUESTIONS:
        figures = [value(measured, metric, column) for column in (EXPERT, CROWD, PASCAL, "jsts/pearson")]
        cost = value(measured, metric, "s / 1,000", mark=False)
        lines.append(f"| {question} | {linked(metric)} | {needs(metric)} | {' | '.join(figures)} | {cost} |")
    return lines


def alternatives() -> list[str]:
    """Ours beside the figures that others published."""
    measured = agreement()
    theirs = {
        (known.label, known.protocol): f"{known.value:.{known.digits}f}" for known in published() if not known.group
    }
    lines = ["| | Flickr8k-Expert τc | Flickr8k-CF τb | s / 1,000 captions | needs |", "|---|---:|---:|---:|---|"]
    for metric in OURS:
        figures = [value(measured, metric, column) for column in (EXPERT, CROWD)]
        cost = value(measured, metric, "s / 1,000", mark=False)
        lines.append(f"| **vericap** `{metric}` | {' | '.join(figures)} | {cost} | {needs(metric)} |")
    for label, (name, wanted) in OTHERS.items():
        figures = [theirs.get((label, column), "-") for column in (EXPERT, CROWD)]
        lines.append(f"| {name} | {' | '.join(figures)} | {tool_seconds(label)} | {wanted} |")
    return lines


def tool_seconds(label: str) -> str:
    """The COCO tool's seconds per 1,000 captions, by docs/speed.md; it is measured for CIDEr with BLEU and ROUGE-L."""
    if label != "CIDEr":
        return "-"
    text = (TOP / "docs" / "speed.md").read_text("utf-8")
    row = r"^\| tokenise \+ BLEU \+ ROUGE-L \+ CIDEr-D, ([\d,]+) captions \| ([\d.]+)"
    found = re.search(row, text, re.MULTILINE)
    return f"{1000 * float(found[2]) / int(found[1].replace(',', '')):.2g}" if found else "-"


TABLES = {"which": which, "alternatives": alternatives}


def filled(text: str) -> str:
    """A page with its tables made anew."""
    return _TABLE.sub(lambda found: f"{found[1]}{chr(10).join(TABLES[found[2]]())}\n{found[3]}", text)


def printed(text: str, folder: Path) -> str:
    """A page whose console blocks show what its commands print on standard output; those that install are not run."""
    return _CONSOLE.sub(lambda found: f"```console\n{_run(found[1], folder)}```", text)


def _run(block: str, folder: Path) -> str:
    lines = []
    for line in block.splitlines():
        if not line.startswith("$ "):
            continue  # what was printed before
        lines.append(line)
        words = shlex.split(line.removeprefix("$ "))
        if words[0] == "vericap":
            command = [sys.executable, "-m", *words]
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, env={**os.environ, "COLUMNS": "110"}
            )
            if done.returncode == 2:
                raise SystemExit(f"{line}\n{done.stderr}")
            lines += [told.rstrip() for told in done.stdout.strip("\n").splitlines()]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; fail where a table is not up to date")
    parser.add_argument("--outputs", action="store_true", help="also run commands and show what they print")
    args = parser.parse_args()
    stale = []
    for name in PAGES:
        file = TOP / name
        before = file.read_text("utf-8")
        after = filled(before)
        if args.outputs and name in PRINTED:
            with tempfile.TemporaryDirectory() as folder:
                shutil.copytree(ROOT / "demo", Path(folder, "try"))
                after = printed(after, Path(folder))
        if before != after:
            stale.append(name)
            if not args.check:
                file.write_text(after, encoding="utf-8")
    if stale:
        print(f"{'not up to date' if args.check else 'made anew'}: {', '.join(stale)}", file=sys.stderr)
    return 1 if args.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())

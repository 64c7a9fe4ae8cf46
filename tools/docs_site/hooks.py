"""What mkdocs asks for while it builds: pages that are made, not written, and Markdown as GitHub reads it.

`mkdocs.yml` names this file. Every page is also kept as plain Markdown; `llms.txt` lists them.
"""

from __future__ import annotations

import logging
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

TOP = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tools"))

from docs_site import commands, examples, figures, reference  # noqa: E402
from vericap.core.shipped import ROOT  # noqa: E402
from vericap.metrics.cards import card, card_file, needed, tells  # noqa: E402
from vericap.metrics.registry import METRICS, SETS, metric_class  # noqa: E402

log = logging.getLogger("mkdocs.hooks")  # a warning stops a strict build

# Files at the top of the repository that are pages too.
TOP_PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "CITATION.cff": "CITATION.cff",
}
_CARD = re.compile(r"\]\(\.\./src/vericap/data/cards/([\w-]+)\.md\)")
_NAMED = re.compile(r"\[([\w-]+\.md)\]\(((?:\.\./)?\1(?:#[\w-]+)?)\)")
METRIC_PAGES = "Metrics"  # the part of the navigation that lists the cards
_LIST = re.compile(r"^(?:[-*]|\d+\.) ")


def on_config(config: Any) -> Any:
    """The cards, which no file of docs/ is, in the navigation."""
    (entries,) = (section[METRIC_PAGES] for section in config.nav if METRIC_PAGES in section)
    entries += [{name: f"cards/{name}.md"} for name in METRICS]
    entries += [{f"{name} (a set)": f"cards/set-{name}.md"} for name in SETS]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made."""
    made = top_pages()
    made |= {"cli.md": commands.page(), "api.md": reference.page(), **cards()}
    written = {file.src_uri: file.content_string for file in files.documentation_pages()}
    named = {
        f"cards/{card_page(file.stem)}.md": file.read_text("utf-8") for file in sorted((ROOT / "cards").glob("*.md"))
    }
    made["figures.md"] = figures.page({"index.md": made["index.md"], **dict(sorted(written.items())), **named}, TOP)
    for name, content in made.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Keep the page as it is, and give the site what its dialect needs."""
    markdown = linked(markdown)
    plain = Path(config.site_dir) / page.file.src_uri
    plain.parent.mkdir(parents=True, exist_ok=True)
    plain.write_text(markdown.rstrip() + "\n", encoding="utf-8")
    return spaced(barred(titled(markdown, dict(_addresses(config.nav)))))


def _addresses(nav: Any) -> list[tuple[str, str]]:
    """Addresses of the pages in the navigation and their titles."""
    return [(address, title) for title, address in listed(nav)]


def titled(markdown: str, titles: Mapping[str, str]) -> str:
    """Links that show the name of a file, with the title of its page instead.

    >>> titled("[start.md](start.md#install) and [more](start.md)", {"start.md": "Start in five minutes"})
    '[Start in five minutes](start.md#install) and [more](start.md)'
    """
    return _NAMED.sub(lambda found: f"[{titles.get(found[1], found[1])}]({found[2]})", markdown)


def on_post_build(config: Any) -> None:
    """The list of all pages for programs that read."""
    lines = ["# vericap", "", f"> {config.site_description}", ""]
    for section in config.nav:
        ((title, entries),) = section.items()
        lines += [f"## {title}", ""]
        lines += [_line(Path(config.site_dir), name, address) for name, address in listed(entries)]
        lines.append("")
    lines += ["Every page is also a web page of the same name (`start.html`).", ""]
    (Path(config.site_dir) / "llms.txt").write_text("\n".join(lines), encoding="utf-8")


def _line(site: Path, name: str, address: str) -> str:
    """A page and its first sentence; of a metric what it tells."""
    if name in METRICS:
        return f"- [{name}]({address}): {tells(name)}"
    text = (site / address).read_text("utf-8") if (site / address).is_file() else ""
    said = first_sentence(text)
    return f"- [{name}]({address})" + (f": {said}" if said else "")


def first_sentence(text: str) -> str:
    """The first sentence of a page's first paragraph; code is none.

    >>> first_sentence("# Start\\n\\n```console\\n$ pip list\\n```\\n\\nNothing else is\\ndownloaded. It runs here.")
    'Nothing else is downloaded.'
    """
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    paragraphs = [part for part in re.split(r"\n\s*\n", prose) if re.match(r"[A-Z*`]", part)]
    return re.split(r"(?<=[.?!])\s", " ".join(paragraphs[0].split()))[0].rstrip(":") if paragraphs else ""


def listed(entries: Any) -> list[tuple[str, str]]:
    """Titles and addresses of a part of the navigation."""
    if isinstance(entries, str):
        return [(entries, entries)]
    found = []
    for entry in entries:
        for name, value in entry.items():
            found += [(name, value)] if isinstance(value, str) else listed(value)
    return found


def top_pages() -> dict[str, str]:
    """README and its like, their links as seen from the site."""
    found = {}
    for name, address in TOP_PAGES.items():
        text = (TOP / name).read_text("utf-8")
        text = re.sub(r"\]\((?!\w+:|#)", "](../", text)  # as seen from docs/
        # A list's parts are set in by three blanks there and by four here.
        found[address] = (
            re.sub(r"^   (?=\s*\S)", "    ", text, flags=re.MULTILINE) if name == "CONTRIBUTING.md" else text
        )
    return found


def linked(markdown: str) -> str:
    """Links of a page in docs/ as they are on the site: cards and files at the top of the repository are pages too."""
    markdown = markdown.replace("](../docs/", "](")
    for name, address in TOP_PAGES.items():
        markdown = markdown.replace(f"](../{name})", f"]({address})")
    return _CARD.sub(lambda found: f"](cards/{card_page(found[1])}.md)", markdown)


def card_page(stem: str) -> str:
    """The page that shows the card of a file."""
    if stem in METRICS:
        return stem
    return f"set-{stem}" if stem in SETS else next(name for name in METRICS if card_file(name).stem == stem)


def barred(markdown: str) -> str:
    r"""Bars in code inside tables without the backslash that GitHub asks for and Python-Markdown would show.

    >>> print(barred("| joined | `\\|` or |"))
    | joined | `|` or |
    """
    return re.sub(r"`[^`\n]*`", lambda code: code[0].replace(r"\|", "|"), markdown)


def spaced(markdown: str) -> str:
    """Blank lines before lists, which GitHub does not ask for and Python-Markdown does."""
    lines: list[str] = []
    fenced = False
    for line in markdown.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        before = lines[-1] if lines else ""
        if (
            not fenced
            and _LIST.match(line)
            and before.strip()
            and not _LIST.match(before)
            and not before.startswith(" ")
        ):
            lines.append("")
        lines.append(line)
    return "\n".join(lines) + "\n"


def cards() -> dict[str, str]:
    """A page for every metric and set: its card, a snippet that was run just now, and a picture."""
    made = {"cards/index.md": _index()}
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "demo", Path(folder, "try"))
        for name in METRICS:
            try:
                text, picture = examples.page(name, Path(folder))
                made[f"cards/{name}.md"] = f"{card(name)}\n\n## Try it\n\n{text}"
            except Exception as error:  # of any part: told here, and a strict build stops
                log.warning("the page of the metric %s cannot be made: %s", name, error)
                continue
            if picture:
                made[f"cards/pictures/{name}.svg"] = picture
    for name in SETS:
        made[f"cards/set-{name}.md"] = card(name)
    return made


def _index() -> str:
    """All metrics in one table."""
    lines = ["# All metrics", "", "`vericap metrics` prints this list, `vericap metrics NAME` a card.", ""]
    lines += ["| metric | what it tells | better | range | needs |", "|---|---|---|---|---|"]
    for name in METRICS:
        found = metric_class(name)
        low, high = (f"{bound:g}".replace("inf", "∞") for bound in found.range)
        bounds = f"{low} .. {high}"
        lines.append(f"| [`{name}`]({name}.md) | {tells(name)} | {found.direction} | {bounds} | {needed(name)} |")
    lines += ["", "Sets of metrics: " + ", ".join(f"[`{name}`](set-{name}.md)" for name in SETS) + "."]
    lines += ["", "Options follow the name (`rouge-l:beta=1`); `mean(a,b)` averages any of them.", ""]
    return "\n".join(lines)

"""The page that says how each figure was made: the commands that pages and cards name, found in their text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

_COMMAND = re.compile(
    r"(?:VERICAP_DATA=\S+ )?python (?:-m )?(?:benchmarks|tools)[/.][\w./-]+[^`\n|#]*"
    r"|vericap (?:meta|verify|reproduce|train) [^`\n|#]*"
)
_CODE = re.compile(r"`([^`\n]+)`|^(?:    |\$ )+(.*)$", re.MULTILINE)


def commands(text: str) -> list[str]:
    """Commands that make figures, in the order of a page.

    >>> commands("Made by `python benchmarks/speed/startup.py --runs 3`, see `vericap meta all`.")
    ['python benchmarks/speed/startup.py --runs 3', 'vericap meta all']
    """
    found = []
    for inline, block in _CODE.findall(re.sub(r"\s*\\\n\s*", " ", text)):
        found += [match[0].strip(" ,;.:()") for match in _COMMAND.finditer(inline or block)]
    return list(dict.fromkeys(found))


def scripts(command: str) -> str:
    """The script a command runs; empty where it runs the product."""
    found = re.search(r"(?:benchmarks|tools)[/.][\w./-]+", command)
    if found is None:
        return ""
    name = found[0]
    return name if name.endswith((".py", "/")) else f"{name.replace('.', '/')}.py"


def about(file: Path) -> str:
    """The first line of a script's docstring."""
    text = file.read_text("utf-8") if file.is_file() else ""
    found = re.match(r'(?:#!.*\n)?(?:r)?"""(.*?)(?:\n|""")', text)
    return found[1].strip() if found else ""


def page(texts: Mapping[str, str], top: Path) -> str:
    """The page; `texts` are pages by their address."""
    lines = [
        "# How each figure was made",
        "",
        "Every figure of these pages comes from a command; these are the commands that pages and cards name, and what",
        "the scripts say of themselves. Scripts that need data read it from the folder that `VERICAP_DATA` names",
        "([meta-evaluation.md](meta-evaluation.md) lists the sets).",
        "",
    ]
    for address, text in texts.items():
        found = commands(text)
        if not found:
            continue
        title = re.search(r"^# (.*)$", text, re.MULTILINE)
        lines += [f"## [{title[1] if title else address}]({address})", ""]
        for command in found:
            said = about(top / scripts(command)) if scripts(command) else ""
            lines.append(f"- `{command}`" + (f": {said}" if said else ""))
        lines.append("")
    return "\n".join(lines)

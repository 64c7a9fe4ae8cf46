"""The code of a page: Python blocks and commands, with where they stand."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
PAGES = [TOP / "README.md", *sorted((TOP / "docs").glob("*.md"))]
_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_NEEDS = re.compile(r"<!-- needs: ([\w, ]+) -->\s*$")
PROGRAMS = ("vericap", "pip", "make", "python", "torchrun", "cat", "cd")


@dataclass
class Block:
    """Code of one language, the modules it needs, and the line it begins at."""

    language: str
    text: str
    line: int
    needs: tuple[str, ...] = ()


@dataclass
class Command:
    """A command of a page and what the page says it prints (empty: nothing is said)."""

    words: list[str]
    printed: str
    line: int

    def __str__(self) -> str:
        return shlex.join(self.words)


def blocks(text: str) -> list[Block]:
    """Fenced blocks, and blocks that are set in by four blanks."""
    found, rest = [], text
    for match in _FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        needs = _NEEDS.search(text[: match.start()])
        body = "\n".join(one.removeprefix(match[1]) for one in match[3].splitlines())
        modules = tuple(needs[1].replace(" ", "").split(",")) if needs else ()
        found.append(Block(match[2] or "text", body, line, modules))
        rest = rest.replace(match[0], "\n" * match[0].count("\n"), 1)
    lines = rest.splitlines()
    start: int | None = None
    for number, line in enumerate([*lines, "end"]):
        inside = line.startswith("    ") or (start is not None and not line.strip())
        if inside and start is None and (number == 0 or not lines[number - 1].strip()):
            start = number
        elif not inside and start is not None:
            body = "\n".join(one[4:] for one in lines[start:number]).rstrip()
            found.append(Block("indented", body, start + 1))
            start = None
    return sorted(found, key=lambda block: block.line)


def commands(block: Block) -> list[Command]:
    """Commands of a block: lines that begin with `$ `, or, where none does, lines that begin with a program."""
    text = block.text.replace("\\\n", " ")
    lines = text.splitlines()
    prompts = any(line.startswith("$ ") for line in lines)
    found: list[Command] = []
    printed: list[str] = []
    for number, line in enumerate(lines):
        line = line.removeprefix("$ ") if prompts and line.startswith("$ ") else ("" if prompts else line) or line
        is_command = lines[number].startswith("$ ") if prompts else line.split(" ")[0] in PROGRAMS
        if is_command:
            if found:
                found[-1].printed = "\n".join(printed).strip("\n")
            printed = []
            found.append(Command(shlex.split(line, comments=True), "", block.line + number))
        elif found:
            printed.append(lines[number])
    if found:
        found[-1].printed = "\n".join(printed).strip("\n")
    return found


def runnable(block: Block) -> bool:
    """Whether a block holds commands."""
    return block.language in ("console", "sh", "bash") or (
        block.language == "indented" and block.text.lstrip("$ ").split(" ")[0] in PROGRAMS
    )

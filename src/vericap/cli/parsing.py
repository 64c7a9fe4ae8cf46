"""How words of a command line are read: lists of names and files end where the captions begin, mistakes take a line."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

_NUMBER = re.compile(r"-\d+|-\d*\.\d+")
METRICS, REFERENCES = "metrics", "references"
# Options of other programs and what they are called here.
_ELSEWHERE = {
    "--refs": "--references",
    "--gts": "--references",
    "--ground-truth": "--references",
    "--language": "--lang",
    "--image-dir": "--images",
    "--image-folder": "--images",
    "--photos": "--images",
    "--num-workers": "--workers",
    "--jobs": "--workers",
    "-j": "--workers",
    "-i": "--images",
    "-tok": "--tokenizer",
}


@dataclass
class Words:
    """The words of a command line by what they belong to."""

    positional: list[str] = field(default_factory=list)
    options: list[list[str]] = field(default_factory=list)  # an option with its values
    metrics: list[str] | None = None
    references: list[str] = field(default_factory=list)

    def rearranged(self) -> list[str]:
        """A line that argparse reads in one way only: options, then everything else."""
        metrics = [] if self.metrics is None else [f"--metrics={','.join(self.metrics)}"]
        references = ["--references", *self.references] if self.references else []
        options = [word for option in self.options for word in option]
        return [*options, *metrics, *references, *(["--", *self.positional] if self.positional else [])]


class Parser(argparse.ArgumentParser):
    """argparse, with `-m a b`, `-m a -m b` and `-r FILES` that leave the captions alone, and one line per mistake."""

    @classmethod
    def of(cls, prog: str, module: ModuleType) -> Parser:
        """The parser of a command, which is a module with `add_arguments` and `run`; its docstring is the help."""
        raw = argparse.RawDescriptionHelpFormatter
        parser = cls(prog=prog, description=module.__doc__, formatter_class=raw)
        module.add_arguments(parser)
        parser.set_defaults(run=module.run)
        return parser

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        words = list(sys.argv[1:] if args is None else args)
        found = self._sorted(words) if self._lists() else None
        return super().parse_args(words if found is None else found.rearranged(), namespace)

    def error(self, message: str) -> NoReturn:
        """One line instead of the list of all options."""
        message = message.replace("arguments: -- ", "arguments: ")  # our own mark, see `rearranged`
        hint = "".join(self._hints(message.partition("unrecognized arguments: ")[2].split()))
        self.exit(2, f"{self.prog}: {message}{hint} (`{self.prog} --help` lists the options)\n")

    def _hints(self, left: list[str]) -> list[str]:
        """What may have been meant with words that nothing takes."""
        known = self._option_string_actions
        for word in left:
            if word.startswith("-"):
                typed = word.partition("=")[0].replace("_", "-")
                meant = [name for name in (_ELSEWHERE.get(typed), typed) if name in known]
                near = meant or difflib.get_close_matches(typed, known, n=1)
                return [f"; did you mean {near[0]}?"] if near else []
        if left:
            taken = " ".join(str(action.metavar or action.dest) for action in self._get_positional_actions())
            return [f"; beside options it takes {taken or 'nothing'}, and a pattern such as '*.tar' in quotes"]
        return []

    # --- words ------------------------------------------------------------------------------------------------------

    def _lists(self) -> bool:
        """Whether the command has the lists that must not swallow captions, and no commands of its own."""
        positionals = self._get_positional_actions()
        plain = not any(action.nargs in (argparse.PARSER, argparse.REMAINDER) for action in positionals)
        return plain and "--metrics" in self._option_string_actions

    def _sorted(self, words: list[str]) -> Words | None:
        """The words by what they belong to; None where an option is not known, which argparse tells best."""
        found, place = Words(), 0
        while place < len(words):
            word = words[place]
            if word == "--":
                found.positional += words[place + 1 :]
                break
            if not self._is_option(word):
                found.positional.append(word)
                place += 1
                continue
            action, value = self._action(word)
            if action is None:
                return None
            end = place + 1 if value is not None else _end(action, words, place + 1, self._is_option)
            values = words[place + 1 : end] if value is None else [value]
            self._take(found, action, word, values)
            place = end
        self._give_back(found)
        return found

    def _take(self, found: Words, action: argparse.Action, word: str, values: list[str]) -> None:
        if action.dest == METRICS and values:
            found.metrics = [*(found.metrics or []), *values]
        elif action.dest == REFERENCES and action.nargs == "+" and values:
            found.references += values
        elif word.startswith("--") and "=" in word:
            found.options.append([f"{action.option_strings[0]}={values[0]}"])
        else:
            found.options.append([word] if "=" in word or not values else [action.option_strings[0], *values])

    def _is_option(self, word: str) -> bool:
        return len(word) > 1 and word[0] == "-" and " " not in word and not _NUMBER.fullmatch(word)

    def _action(self, word: str) -> tuple[argparse.Action | None, str | None]:
        """The option that a word names, and the value in the same word (`--lang=ja`, `-mcoco`)."""
        known = self._option_string_actions
        name, sign, value = word.partition("=")
        if name in known:
            return known[name], value if sign else None
        if not name.startswith("--"):
            action = known.get(word[:2])
            return (action, word[2:]) if action is not None and action.nargs != 0 else (None, None)
        if f"{name}s" in known:  # --reference, --metric, --image
            return known[f"{name}s"], value if sign else None
        near = {id(known[option]): known[option] for option in known if option.startswith(name)}
        return (next(iter(near.values())) if len(near) == 1 else None), value if sign else None

    def _give_back(self, found: Words) -> None:
        """References, and options with an optional value, give up words where the captions would be missing."""
        slots = self._get_positional_actions()
        many = any(slot.nargs in ("+", "*") for slot in slots)
        if found.positional:
            lacking = 0 if many else len(slots) - len(found.positional)
            # The place of an output is free: what is there already is not one.
            if lacking > 0 and len(found.references) > 1 and not Path(found.references[-1]).exists():
                found.positional.append(found.references.pop())
            return
        if len(found.references) > 1:
            new = not many and len(slots) > 1 and not Path(found.references[-1]).exists()
            kept = 1 if many else max(1, len(found.references) - (2 if new else 1))
            found.positional, found.references = found.references[kept:], found.references[:kept]
            return
        for option in reversed(found.options):
            action = self._option_string_actions.get(option[0])
            if slots and len(option) == 2 and action is not None and action.nargs == "?":
                found.positional.append(option.pop())
                return
        if slots and found.metrics and len(found.metrics) > 1 and Path(found.metrics[-1]).exists():
            found.positional.append(found.metrics.pop())


def _end(action: argparse.Action, words: list[str], start: int, is_option: Any) -> int:
    """Where the values of an option end."""
    free = next((place for place in range(start, len(words)) if is_option(words[place])), len(words))
    if action.dest == METRICS:
        end = min(start + 1, free)
        while end < free and _is_metric(words[end]):
            end += 1
        return end
    if action.nargs in ("+", "*"):
        return free
    if action.nargs == "?":
        return min(start + 1, free)
    wanted = 1 if action.nargs is None else int(action.nargs)
    return min(start + wanted, len(words)) if wanted else start


def _is_metric(word: str) -> bool:
    """Whether a word after the first name of a metric is one more."""
    from vericap.metrics.registry import SETS, canonical, known, split

    return all(known(metric) or canonical(metric) in SETS for metric in split(word)) if split(word) else False

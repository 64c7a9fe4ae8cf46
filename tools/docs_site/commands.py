"""The page of the command line, made from the parsers: nothing on it is written by hand."""

from __future__ import annotations

import argparse
import re

from vericap.cli import COMMANDS, parser_for


def page() -> str:
    """Every command with its description, arguments and defaults, as Markdown."""
    lines = ["# Command line", "", "Made from the parsers; `vericap help COMMAND` prints the same.", ""]
    lines += ["| command | what it does |", "|---|---|"]
    lines += [f"| [`vericap {name}`](#{anchor(name)}) | {text} |" for name, text in COMMANDS.items()]
    lines += [
        "",
        "Exit codes: 0 good; 1 finished, with records that could not be read or judged, or a gate that failed; "
        "2 nothing could be done, and the message says why and what to do.",
        "",
    ]
    for name in COMMANDS:
        lines += section(name)
    return "\n".join(lines)


def anchor(name: str) -> str:
    return f"vericap-{name}"


def section(name: str) -> list[str]:
    """One command."""
    parser = parser_for(name)
    lines = [f"## vericap {name}", "", *_described(parser.description or ""), "", "```text", usage(parser), "```", ""]
    for group in parser._action_groups:
        actions = [action for action in group._group_actions if action.help is not argparse.SUPPRESS]
        actions = [action for action in actions if not isinstance(action, argparse._HelpAction)]
        if not actions:
            continue
        title = {"positional arguments": "arguments"}.get(group.title or "", group.title or "")
        lines += [f"**{title}**", ""] + ([_cell(group.description), ""] if group.description else [])
        lines += [
            "| | |",
            "|---|---|",
            *(f"| {_written(action)} | {_help(action, parser)} |" for action in actions),
            "",
        ]
    return lines


def usage(parser: argparse.ArgumentParser) -> str:
    """How a command is typed; its options are listed below.

    >>> from vericap.cli import parser_for
    >>> usage(parser_for("score"))
    'vericap score [options] CANDIDATES'
    """
    shapes = {"?": "[{}]", "*": "[{} ...]", "+": "{} ...", argparse.PARSER: "{} ...", argparse.REMAINDER: "..."}
    arguments = []
    for action in parser._get_positional_actions():
        choices = "{" + ",".join(action.choices) + "}" if action.choices else action.dest
        arguments.append(shapes.get(str(action.nargs), "{}").format(action.metavar or choices))
    return " ".join([parser.prog, "[options]", *arguments])


def _described(text: str) -> list[str]:
    """A description: lines of commands become code."""
    found: list[str] = []
    for part in re.split(r"\n\s*\n", text.strip()):
        lines = part.splitlines()
        if all(re.match(r"\s*(vericap |cat .*\| vericap )", line) for line in lines):
            found += ["```text", *(line.strip() for line in lines), "```", ""]
        else:
            found += [" ".join(line.strip() for line in lines), ""]
    return found[:-1]


def _written(action: argparse.Action) -> str:
    """How an argument is typed."""
    value = action.metavar or action.dest.upper()
    value = " ".join(value) if isinstance(value, tuple) else value
    if action.choices is not None and action.metavar is None:
        value = "{" + ",".join(map(str, action.choices)) + "}"
    if not action.option_strings:
        return f"`{_cell(value)}`"
    takes = "" if action.nargs == 0 else f" {value}" + (" ..." if action.nargs in ("+", "*") else "")
    return ", ".join(f"`{_cell(option + takes)}`" for option in action.option_strings)


def _help(action: argparse.Action, parser: argparse.ArgumentParser) -> str:
    values = {**vars(action), "prog": parser.prog}
    return _cell((action.help or "") % values if action.help else "")


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")

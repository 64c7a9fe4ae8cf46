"""Typical mistakes of users: each ends with what is wrong, where, and what to do; exit code 1 or 2, no traceback."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from vericap.cli import COMMANDS, main, parser_for, train

sys.path.insert(0, str(Path(__file__).parent))
from mistakes import MISTAKES, Mistake, files


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("mistakes")
    files(found)
    return found


def test_there_are_enough_of_them() -> None:
    assert len({mistake.typed for mistake in MISTAKES}) == len(MISTAKES) >= 100


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.typed.replace("/", "_"))
def test_mistakes(
    mistake: Mistake, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.delenv("VERICAP_DATA", raising=False)
    for name in mistake.without:
        for loaded in [module for module in sys.modules if module == name or module.startswith(f"{name}.")]:
            monkeypatch.delitem(sys.modules, loaded)
        monkeypatch.setitem(sys.modules, name, None)
    before = sorted(folder.iterdir())
    try:
        code = main(shlex.split(mistake.typed))
    except SystemExit as end:  # argparse
        code = int(end.code or 0)
    told = capfd.readouterr().err
    assert code == mistake.code, told
    assert "Traceback" not in told
    for words in mistake.says:
        assert words.replace("{here}", str(folder.resolve())) in told, told
    assert mistake.code == 1 or sorted(folder.iterdir()) == before  # nothing is left behind
    for advised in re.findall(r"pip install '([^'\[]+)\[(\w+)\]'", told):
        works(*advised)
    can_be_typed(mistake.typed, told)


def can_be_typed(typed: str, told: str) -> None:
    """Commands and options that a message names exist, but for those that it repeats as the mistake."""
    named = set(re.findall(r"vericap ([a-z]+)", told))
    assert named <= {*COMMANDS, "help"}, told
    first, second, *_ = [*typed.split(), "", ""]
    parsers = [parser_for(command) for command in (named | {first}) & set(COMMANDS)]
    parsers += [train.parser_of(second)] if first == "train" and second in train.MODELS else []
    known = {option for parser in parsers for action in parser._actions for option in action.option_strings}
    for option in set(re.findall(r"(?<![\w-])--[a-z][a-z0-9_-]+", told)) - set(typed.split()):
        assert option in known, f"{option}: {told}"


def works(place: str, group: str) -> None:
    """What is advised can be installed: a folder with a project, or the name of the package, with such a group."""
    project = Path(place) / "pyproject.toml"
    assert place == "vericap" or project.is_file()
    if project.is_file():
        assert re.search(rf"^{group} = \[", project.read_text("utf-8"), re.MULTILINE)

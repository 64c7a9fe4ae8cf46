"""What `import vericap` shows: the names, their docstrings with parameters, returns and examples that run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import vericap
from docstrings import section

NAMES = {
    "score", "compare", "check", "load", "Scorer", "Settings", "Metric", "Option", "Statistics", "Explanation",
    "Result", "VericapError", "InputError", "UnknownName", "MissingPart", "VericapWarning",
}  # fmt: skip
# What a metric may override; the example of the class shows how.
OVERRIDDEN = {name for name in vars(vericap.Metric) if not name.startswith("_")} - {"spec"}

WRAPPED = (property, staticmethod, classmethod)


def members() -> list[tuple[str, Any]]:
    """Public names, and what their classes define themselves or inherit from ours."""
    found: list[tuple[str, Any]] = []
    for name in sorted(NAMES):
        value = getattr(vericap, name)
        found.append((name, value))
        if not inspect.isclass(value) or issubclass(value, Exception):
            continue
        for own in {n for kind in value.__mro__ if kind.__module__.startswith("vericap") for n in vars(kind)}:
            member = inspect.getattr_static(value, own)
            if not own.startswith("_") and (
                callable(member) or isinstance(member, property | staticmethod | classmethod)
            ):
                found.append((f"{name}.{own}", member))
    return sorted(found, key=lambda pair: pair[0])


def plain(member: Any) -> Any:
    if isinstance(member, property):
        return member.fget
    return member.__func__ if isinstance(member, staticmethod | classmethod) else member


def test_all_and_tab_completion_show_the_public_names() -> None:
    assert set(vericap.__all__) == set(dir(vericap)) == NAMES
    for name in NAMES:
        assert getattr(vericap, name).__name__ == name


@pytest.mark.parametrize(("name", "member"), members(), ids=[name for name, _ in members()])
def test_docstring(name: str, member: Any) -> None:
    function = plain(member)
    text = inspect.getdoc(function) or ""
    assert text, name
    if name.startswith("Metric.") and name.partition(".")[2] in OVERRIDDEN:
        return
    assert doctest.DocTestParser().get_examples(text), f"{name} has no example"
    if isinstance(member, property) or (inspect.isclass(function) and issubclass(function, Exception)):
        return
    given = inspect.signature(function).parameters.values()
    told = section(text, "Parameters") + section(text, "Attributes")
    for parameter in given:
        stars = {parameter.VAR_KEYWORD: r"\*\*"}.get(parameter.kind, "")
        if parameter.name not in ("self", "cls", "states", "reporter"):
            assert re.search(rf"^(.*, )?{stars}{parameter.name}(,.*)? : ", told, re.MULTILINE), (
                f"{name}: {parameter.name}"
            )
    if not inspect.isclass(function):
        assert section(text, "Returns") or section(text, "Yields"), f"{name} says not what it returns"


def test_sections_have_the_form_of_numpy() -> None:
    for name, member in members():
        for title in ("Parameters", "Attributes"):
            for line in section(inspect.getdoc(plain(member)) or "", title).splitlines():
                assert not line.strip() or line.startswith("    ") or re.fullmatch(r"[*\w, ]+ : .+", line), (name, line)


@pytest.mark.parametrize(
    "module",
    [
        "vericap", "vericap.api", "vericap.core.errors", "vericap.core.explanation", "vericap.core.metric",
        "vericap.core.renders", "vericap.core.settings", "vericap.core.statistics", "vericap.io.calls",
        "vericap.run.results",
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::vericap.VericapWarning")
def test_examples_run(module: str) -> None:
    found = doctest.testmod(importlib.import_module(module))
    assert found.attempted
    assert not found.failed


CAPTIONS = {"7": "a dog runs", "9": "two cats"}
REFERENCES = {"7": ["a dog is running", "the dog runs"], "9": ["two cats sleep"]}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rows = "".join(f"{key},{text}\n" for key, text in CAPTIONS.items())
    (tmp_path / "mine.csv").write_text(f"id,alt\n{rows}")
    (tmp_path / "usual.csv").write_text(f"id,prediction\n{rows}")
    rows = "".join(f"{key},{text}\n" for key, texts in REFERENCES.items() for text in texts)
    (tmp_path / "refs.csv").write_text(f"id,caption\n{rows}")
    return tmp_path


def test_the_same_inputs_as_the_command_line(files: Path) -> None:
    wanted = vericap.score(CAPTIONS, REFERENCES, "rouge-l")["rouge-l"].tolist()
    refs = files / "refs.csv"
    loaded = vericap.load(files / "mine.csv", refs, caption_field="alt")
    table = [{"key": key, "alt": text, "refs": REFERENCES[key]} for key, text in CAPTIONS.items()]
    for result in (
        vericap.score(files / "usual.csv", refs, "rouge-l"),
        vericap.score(str(files / "mine.csv"), [str(refs)], "rouge-l", caption_field="alt"),
        vericap.score(predictions=files / "usual.csv", references=refs, metrics="rouge-l"),
        vericap.score(predictions=list(CAPTIONS.values()), references=list(REFERENCES.values()), metrics="rouge-l"),
        vericap.score(CAPTIONS, refs, "rouge-l"),
        vericap.score(loaded, metrics="rouge-l"),
        vericap.score(table, metrics="rouge-l", caption_field="alt", id_field="key"),
        vericap.Scorer("rouge-l").score(predictions=loaded),
        vericap.compare({"a": loaded, "b": files / "usual.csv"}, refs, "rouge-l", resamples=10).results["b"],
    ):
        assert result["rouge-l"].tolist() == wanted


def test_what_a_file_cannot_give_is_in_the_problems(files: Path) -> None:
    (files / "usual.csv").write_text("id,prediction\n7,a dog runs\n8,a cow\n")
    result = vericap.score(files / "usual.csv", files / "refs.csv", "rouge-l")
    assert result.ids == ["7"]
    assert "id 8" in str(result.problems[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"candidates": ["a"], "predictions": ["a"]}, "another name for `candidates`"),
        ({"references": [["a"]]}, "no captions: give `candidates`"),
        ({"candidates": "no-such-file.json"}, "no file of that name exists"),
        ({"candidates": [{"alt": "a"}]}, "`caption_field=NAME`"),
        ({"candidates": [{"alt": "a"}], "caption_field": "text"}, "no column 'text'"),
        ({"candidates": ["a"], "references": Path(__file__)}, "captions need ids"),
    ],
)
def test_mistakes_say_what_to_do(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(vericap.InputError, match=message):
        vericap.score(**arguments, metrics="rouge-l")


def test_tables_of_a_result(tmp_path: Path) -> None:
    result = vericap.score(CAPTIONS, REFERENCES, "rouge-l")
    for form in ("csv", "markdown", "latex"):
        text = getattr(result, f"to_{form}")(tmp_path / form)
        assert (tmp_path / form).read_text("utf-8") == text
        assert "rouge-l" in text

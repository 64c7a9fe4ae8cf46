"""Workflows, hooks and citation say what the project is: versions, groups and files they name exist."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import vericap

HERE = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((HERE / ".github" / "workflows").glob("*.yml"))
yaml = pytest.importorskip("yaml", reason="needs PyYAML")


def read(file: Path) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(file.read_text("utf-8"))
    return found


def steps() -> list[str]:
    """Every command of every workflow."""
    jobs = [job for file in WORKFLOWS for job in read(file)["jobs"].values()]
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


def pyproject() -> str:
    return (HERE / "pyproject.toml").read_text("utf-8")


def test_three_systems_and_every_python() -> None:
    matrix = read(HERE / ".github/workflows/tests.yml")["jobs"]["tests"]["strategy"]["matrix"]
    assert {name.partition("-")[0] for name in matrix["system"]} == {"ubuntu", "macos", "windows"}
    assert matrix["python"] == [f"3.{minor}" for minor in range(10, 15)]
    lowest = re.search(r'requires-python = ">=([\d.]+)"', pyproject())
    assert lowest is not None
    assert matrix["python"][0] == lowest[1]


def test_a_leg_without_compiler_and_one_without_torch() -> None:
    jobs = read(HERE / ".github/workflows/tests.yml")["jobs"]
    assert jobs["without-compiler"]["env"] == {"CC": "false", "VERICAP_PURE_PYTHON": "1"}
    assert any("import torch" in step.get("run", "") for step in jobs["without-torch"]["steps"])


def test_every_job_ends_and_may_do_little() -> None:
    for file in WORKFLOWS:
        found = read(file)
        assert found["permissions"] == {"contents": "read"}, file
        for name, job in found["jobs"].items():
            assert "timeout-minutes" in job or name == "publish", (file, name)


def test_groups_and_files_that_commands_name_exist() -> None:
    groups = {name for step in steps() for found in re.findall(r"\.\[([\w,-]+)\]", step) for name in found.split(",")}
    assert groups >= {"dev", "ja", "train"}
    for name in groups:
        assert re.search(rf"^{name} = \[", pyproject(), re.MULTILINE), name
    files = {word for step in steps() for word in step.split() if re.match(r"(tools|tests|\.ci)/", word)}
    assert len(files) >= 4
    for name in files:
        assert (HERE / name).exists(), name


def test_groups_that_messages_advise_exist() -> None:
    """`pip install 'vericap[GROUP]'` works for every group that a message names."""
    pattern = re.compile(r"""(?:require\([^)]*?,\s*|install\()"(\w+)"|vericap\[(\w+)\]""")
    sources = [file.read_text("utf-8") for file in (HERE / "src").rglob("*.py")]
    groups = {one or other for text in sources for one, other in pattern.findall(text)}
    assert groups >= {"ja", "train", "xlsx", "torchmetrics"}
    for name in groups:
        assert re.search(rf"^{name} = \[", pyproject(), re.MULTILINE), name


def test_hooks() -> None:
    hooks = [hook for repo in read(HERE / ".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    wanted = {"check-added-large-files", "ruff-check", "ruff-format", "mypy", "import-linter", "licences"}
    assert wanted <= {hook["id"] for hook in hooks}


def test_the_citation_is_of_this_version() -> None:
    found = read(HERE / "CITATION.cff")
    assert found["version"] == vericap.__version__
    assert {"cff-version", "title", "authors", "message"} <= set(found)


@pytest.mark.skipif(importlib.util.find_spec("check_jsonschema") is None, reason="needs the package check-jsonschema")
@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("github-workflows", WORKFLOWS),
        ("github-issue-forms", [HERE / ".github/ISSUE_TEMPLATE" / name for name in ("bug.yml", "metric.yml")]),
        ("dependabot", [HERE / ".github/dependabot.yml"]),
        ("citation-file-format", [HERE / "CITATION.cff"]),
    ],
)
def test_schemas(schema: str, files: list[Path]) -> None:
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *map(str, files)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr

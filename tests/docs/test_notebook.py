"""docs/start.ipynb runs from top to bottom, its last lines can be shown, and it is stored without outputs."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).resolve().parent.parent.parent / "docs" / "start.ipynb"
NOTEBOOK = json.loads(FILE.read_text("utf-8"))
CODE = ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]


def run(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does; the value of its last line is what is shown."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, FILE.name, "exec"), names)
    if last is None:
        return None
    assert isinstance(last, ast.Expr)
    return eval(compile(ast.Expression(last.value), FILE.name, "eval"), names)


def test_it_is_stored_clean() -> None:
    assert NOTEBOOK["nbformat"] == 4
    for cell in NOTEBOOK["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::vericap.VericapWarning")
def test_it_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = [run(source, names) for source in CODE]
    pages = [value._repr_html_() for value in shown if hasattr(value, "_repr_html_")]
    assert len(pages) >= 4
    assert all("<table" in page for page in pages)
    assert any(hasattr(value, "_repr_svg_") for value in shown)
    assert (tmp_path / "report" / "index.html").is_file()

"""One table, five ways to print it."""

from __future__ import annotations

import csv
import io
import json

from vericap.core.layout import width
from vericap.core.table import Table


def table() -> Table:
    return Table(["name", "value"], [["a|b_%", 0.5], ["犬", None], ["c", float("nan")]], title="T", notes=["n"])


def test_text_aligns_wide_characters() -> None:
    lines = table().text().splitlines()
    assert width("犬") == 2
    assert len({width(line.rstrip()) for line in lines[2:4]}) == 1
    assert "undefined" in table().text()


def test_markdown_and_latex_escape() -> None:
    assert "a\\|b_%" in table().markdown()
    assert r"a$|$b\_\%" in table().latex()


def test_csv_and_json_read_back() -> None:
    rows = list(csv.reader(io.StringIO(table().csv())))
    assert rows[1] == ["a|b_%", "0.5"]
    found = json.loads(table().json())
    assert [row["value"] for row in found["rows"]] == [0.5, None, None]

"""Rows of CSV and TSV files: a stray quote costs no other record, lines are named as an editor counts them."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.io import load, open_input
from vericap.io.csv_rows import LINES, RowReader


def rows(text: str, delimiter: str = ",", width: int = 0) -> list[list[str]]:
    return [row.cells for row in RowReader(io.StringIO(text, newline=""), delimiter, width=width)]


CELLS = st.text(st.characters(exclude_characters="\r\0", exclude_categories=("Cs",)), max_size=12)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=8), st.sampled_from(",;\t|"))
def test_what_python_writes_is_read_back(table: list[list[str]], delimiter: str) -> None:
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter, lineterminator="\n").writerows(table)
    assert rows(stream.getvalue(), delimiter, 3) == table


@pytest.mark.parametrize("name", ["x.csv", "x.tsv"])
@pytest.mark.parametrize("stray", ['"unclosed', '"he said "hello', '5" pipe', '"hello" she said'])
@pytest.mark.parametrize("twice", [False, True])
def test_a_stray_quote_costs_no_other_record(tmp_path: Path, name: str, stray: str, twice: bool) -> None:
    mark = "\t" if name.endswith("tsv") else ","
    texts = ["a dog", stray, *["a man"] * 40, stray if twice else "a cat", *["a bus"] * 5]
    lines = [mark.join(["id", "caption", "n"]), *(mark.join([str(i), text, "7"]) for i, text in enumerate(texts))]
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    loaded = load(tmp_path / name)
    assert not loaded.problems
    found = [sample.candidate for sample in loaded.samples]
    assert [text.replace('"', "") for text in found] == [text.replace('"', "") for text in texts]
    with open_input(tmp_path / name, records=7) as source:
        assert [sample.candidate for records in source for sample in records.samples] == found


def test_a_row_that_a_stray_quote_spoils_is_named_alone(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text('id,caption\n1,a dog\n2,"a cat, black\n3,a man\n4,a bus\n')
    loaded = load(tmp_path / "x.csv")
    assert [sample.id for sample in loaded.samples] == ["1", "3", "4"]
    assert 'line 3: has a quote (") that opens a cell and is not closed' in str(loaded.problems[0])


def test_lines_are_named_as_an_editor_counts_them(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b'id,caption\n1,"two\nlines"\n2,caf\xe9\n3\n4,"over\n\xe9 two"\n5,ok\n')
    loaded = load(tmp_path / "x.csv")
    assert [sample.candidate for sample in loaded.samples] == ["two\nlines", "ok"]
    assert [problem.record for problem in loaded.problems] == ["line 4", "line 7", "line 5"]


def test_many_stray_quotes_take_no_longer() -> None:
    text = "".join(f'{i},"x\n' for i in range(20_000))
    assert len(rows(text, ",", 2)) == 20_000
    assert len(rows('1,"' + "x\n" * (3 * LINES), ",", 2)) == 3 * LINES

"""A table that fits its terminal, marks what is best and better, and can be pasted into a paper."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from vericap.core.latex import escaped
from vericap.core.layout import width, wrapped
from vericap.core.table import Head, Interval, Number, Table

NAMES = [f"metric-{place}" for place in range(12)]


def wide() -> Table:
    table = Table(["system", *NAMES], heads={"metric-2": Head("Metric 2", lower=True)}, arrows="old")
    table.add("old", *(Number(0.5, best=place % 2 == 0) for place in range(12)))
    table.add("new_one", *(Number(0.123456, change=1 - 2 * (place % 2), star=place > 5) for place in range(12)))
    table.legend = [
        "* differs from old with adjusted p < 0.05 (a test whose name is long, 20000 resamples, 5 captions)"
    ]
    table.notes = ["a note"]
    return table


def bare(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("room", [40, 80, 160])
@pytest.mark.parametrize("colour", [False, True])
def test_no_line_is_wider_than_the_terminal_and_nothing_is_lost(room: int, colour: bool) -> None:
    text = wide().text(width=room, colour=colour)
    assert max(width(line) for line in bare(text).splitlines()) <= room
    assert all(name in text for name in NAMES)
    assert text.count("0.1235") == 12
    assert "metric-2 ↓" in text
    assert "↓ lower is better" in " ".join(bare(text).split())
    assert ("\x1b[" in text) == colour
    if room < 160:
        assert bare(text).count("new_one") > 1  # every block says which row it is


def test_colours_say_what_shapes_say() -> None:
    text = wide().text(colour=True)
    assert "\x1b[1m0.5000\x1b[0m" in text  # the best is bold
    assert "\x1b[32m ▲*\x1b[0m" in text
    assert "\x1b[31m ▼*\x1b[0m" in text
    assert "\x1b[2m ▲\x1b[0m" in text  # not significant: no colour of its own
    assert "▲ better, ▼ worse than old" in wide().text()


def test_long_texts_are_wrapped_in_their_column() -> None:
    table = Table(["name", "what"], [["a", "word " * 30], ["b", "https://" + "x" * 200]])
    lines = table.text(width=50).splitlines()
    assert max(map(width, lines)) <= 50
    assert sum(line.count("word") for line in lines) == 30
    assert sum(line.count("x") for line in lines) == 200
    assert wrapped("犬が芝生の上を走っている", 10) == ["犬が芝生の", "上を走って", "いる"]


def test_times_100_moves_scores_and_nothing_else() -> None:
    table = Table(["m", "score", "95 % interval", "captions", "p"], digits=4)
    table.add("a", Number(0.12345), Interval(0.1, 0.2), 7, 0.5)
    table.add("b", Number(0.2, digits=3, spread=0.01), Interval(-0.1, 0.2), 7, 0.5)
    table.add("c", Number(0.3, gap=-0.05), Interval(float("nan"), 0.2), 7, None)
    assert table.text().splitlines()[2].split() == ["a", "0.1235", "0.1000-0.2000", "7", "0.5000"]
    table.x100 = True
    rows = [line.split("  ") for line in table.text().splitlines()[2:5]]
    assert [[cell.strip() for cell in row if cell.strip()] for row in rows] == [
        ["a", "12.35", "10.00-20.00", "7", "0.5000"],
        ["b", "20.0 ± 1.0", "-10.00 to 20.00", "7", "0.5000"],
        ["c", "30.00 (-5.00)", "-", "7", "-"],
    ]
    assert table.text().splitlines()[-1] == "x100"
    assert table.records()[0] == {"m": "a", "score": 12.345, "95 % interval": "10.00-20.00", "captions": 7, "p": 0.5}
    assert Table.from_dict(table.as_dict()).text() == table.text()


def structure(text: str) -> tuple[str, list[list[str]], list[str]]:
    """Columns, rows of cells, and lines of the legend of a tabular; what LaTeX would refuse fails here."""
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    sides = re.fullmatch(r"\\begin\{tabular\}\{([lr]+)\}", lines[0])
    assert sides is not None
    assert lines[1] == r"\toprule"
    assert lines[-1] == r"\end{tabular}"
    for line in lines:
        plain = re.sub(r"\\[&%_#${}]", "", line)
        assert plain.count("{") == plain.count("}")
        assert plain.count("$") % 2 == 0
        assert not re.search(r"[%#_^](?!\{)", re.sub(r"\$[^$]*\$", "", plain))
    end = lines.index(r"\bottomrule")
    body = [line for line in lines[2:end] if line != r"\midrule"]
    assert all(line.endswith(r" \\") for line in [*body, *lines[end + 1 : -1]])
    rows = [re.split(r"(?<!\\) & ", line.removesuffix(r" \\")) for line in body]
    assert {len(row) for row in rows} == {len(sides[1])}
    return sides[1], rows, lines[end + 1 : -1]


def test_latex_is_whole_and_tells_what_the_star_means() -> None:
    sides, rows, legend = structure(wide().latex())
    assert sides == "l" + "r" * 12
    assert rows[0][3] == r"Metric 2 $\downarrow$"
    assert rows[2][0] == r"new\_one"
    assert rows[1][1] == r"\textbf{0.5000}"
    assert rows[2][12] == r"0.1235\rlap{$^{*}$}"
    assert len(legend) >= 2
    assert all(line.startswith(r"\multicolumn{13}{l}{\footnotesize ") for line in legend)
    assert "$^{*}$ differs from old with adjusted p $<$ 0.05" in legend[0]
    assert "% a note" in wide().latex()


def test_latex_of_names_that_mean_something_to_it() -> None:
    table = Table(["a_b", "50 %"], [["[x]", 1.0], ["* y", 2.0], [r"\end{tabular} & $x^2$ #~|<", 3.0]])
    _, rows, _ = structure(table.latex())
    assert rows[1][0] == "{}[x]"
    assert rows[2][0] == "{}* y"
    assert escaped("犬") == "犬"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles(tmp_path: Path) -> None:
    table = Table(["a_b", "50 %"], [["[x]", 1.0], ["* y", 2.0], [r"\end{tabular} & $x^2$ #~|<±↓", 3.0]])
    source = "\n".join(
        [r"\documentclass{article}\usepackage{booktabs}\begin{document}", wide().latex(), "", table.latex()]
    )
    (tmp_path / "t.tex").write_text(source + r"\end{document}", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


def test_forms_are_written_where_one_says(tmp_path: Path) -> None:
    for name, form in (("csv", "to_csv"), ("md", "to_markdown"), ("tex", "to_latex")):
        text = getattr(wide(), form)(tmp_path / f"t.{name}")
        assert (tmp_path / f"t.{name}").read_text("utf-8") == text
        assert "metric-11" in text
    assert wide().markdown().splitlines()[3].count(r"▲\*") == 3
    assert "**0.5000**" in wide().markdown()
    assert "<b>0.5000</b>" in wide().html()

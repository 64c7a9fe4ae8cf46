"""The page of all experiments: what is finished is kept, what lacks data says so."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from vericap.cli import main
from vericap.core.errors import InputError
from vericap.core.table import Number, Table
from vericap.reproduce import jaspice, page
from vericap.reproduce.catalogue import NAMES
from vericap.reproduce.experiment import Choices, Experiment, Outcome

CHOSEN = [NAMES["vifidel-figure-5"], NAMES["vifidel-table-2"]]


def test_results_are_kept_and_put_between_marks(tmp_path: Path) -> None:
    said: list[str] = []
    kept, where = tmp_path / "kept", Choices(data=tmp_path / "nothing")
    text = page.results(where, kept=kept, say=said.append, chosen=CHOSEN)
    assert said[:2] == ["vifidel-figure-5 ...", "vifidel-table-2 ..."]
    assert "imagesdg.wordpress.com" in said[2]
    assert "### vifidel-figure-5: objects join the image" in text
    assert "| a cat sits on a table next to a laptop and a cup | cat | yes |" in text
    assert "- Protocol: objects that a caption mentions" in text
    assert "Not run here" in text
    assert "imagesdg.wordpress.com" in text
    again = page.results(where, kept=kept, say=said.append, chosen=CHOSEN)
    assert again == text
    assert said[3] == "vifidel-table-2 ..."  # the other one was finished
    file = tmp_path / "page.md"
    file.write_text(f"# Title\n\nBefore.\n\n{page.START}\nold\n{page.END}\n\nAfter.\n")
    page.write_into(file, "new")
    assert file.read_text() == f"# Title\n\nBefore.\n\n{page.START}\n\nnew\n\n{page.END}\n\nAfter.\n"
    page.write_into(file, "new")
    assert file.read_text().count("new") == 1
    page.write_into(tmp_path / "fresh.md", "first")
    assert "first" in (tmp_path / "fresh.md").read_text()


def test_distances_stand_between_ours_and_the_papers() -> None:
    table = Table(["row", "tau", "tau, paper", "other"], x100=True)
    table.add("a", Number(0.5), Number(0.48), Number(0.1))
    table.add("b", Number(0.3), None, Number(0.1))
    table.add("c", None, Number(0.3), Number(0.1))
    assert page.distances(table) == [(pytest.approx(2.0), True)]
    counts = Table(["row", "zeros", "zeros, paper"], [["a", 1400, 1465]], x100=True)
    assert page.distances(counts) == [(-65, False)]
    shown = page.overview({CHOSEN[0]: Outcome([table]), CHOSEN[1]: "not there"})
    assert [list(row[2:]) for row in shown.rows] == [[1, pytest.approx(2.0)], ["not run: data not at hand", None]]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (InputError("pairs.jsonl, line 3: not JSON"), "failed: pairs.jsonl, line 3: not JSON"),
        (ZeroDivisionError("division by zero"), "failed: ZeroDivisionError: division by zero"),
    ],
)
def test_an_experiment_that_fails_does_not_stop_the_others(
    error: Exception, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(choices: Choices) -> Outcome:
        raise error

    monkeypatch.setattr(jaspice, "table_8", broken)
    chosen = [NAMES["jaspice-table-8"], *CHOSEN]
    text = page.results(Choices(data=tmp_path), kept=tmp_path / "kept", chosen=chosen)
    assert said in text
    assert "| jaspice-table-8 | agreement by captioning model | failed |" in text
    assert "| vifidel-table-2 | Composite, COCO part, machine captions | not run: data not at hand |" in text
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["vifidel-figure-5.json"]
    names = [one.name for one in chosen]
    assert main(["reproduce", *names, "--data", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert f"jaspice-table-8: {said}" in printed.err
    assert "vifidel-table-2: " in printed.err
    assert "VIFIDEL, Figure 5" in printed.out


def test_what_was_made_with_other_models_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    model = tmp_path / "scan" / "meta.json"
    model.parent.mkdir()
    monkeypatch.setattr(page, "ROOT", tmp_path)

    def results(about: dict[str, object]) -> list[str]:
        model.write_text(json.dumps(about))
        before = len(said)
        page.results(Choices(data=tmp_path), kept=tmp_path / "kept", say=said.append, chosen=CHOSEN[:1])
        return said[before:]

    assert results({"files": {"scan.safetensors": "1"}}) == ["vifidel-figure-5 ..."]
    assert results({"files": {"scan.safetensors": "1"}, "pointing": {}}) == []
    (tmp_path / "verdict").mkdir()
    (tmp_path / "verdict" / "meta.json").write_text('{"files": {}}')  # which no experiment reads
    assert results({"files": {"scan.safetensors": "1"}}) == []
    assert results({"files": {"scan.safetensors": "2"}}) == ["vifidel-figure-5 ..."]


def test_figures_of_a_page_lie_in_one_folder(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    text = page.results(Choices(data=tmp_path), figures=tmp_path / "pictures", beside=tmp_path, chosen=CHOSEN[:1])
    assert "![objects join the image](pictures/vifidel-figure-5.png)" in text
    assert [path.name for path in (tmp_path / "pictures").iterdir()] == ["vifidel-figure-5.png"]


def test_a_limit_is_named(tmp_path: Path) -> None:
    one = Experiment("made", "made", "vifidel:figure_5", ("pascal50s",), "a protocol", "nothing.")
    found = one.run(Choices(data=tmp_path, limit=3))
    assert found.tables[0].notes[:2] == ["Protocol: a protocol", "What differs: nothing."]
    assert found.tables[0].notes[2] == "at most the first 3 images or cases: `limit=3`."
    assert isinstance(one.run(Choices()).tables[0], Table)
    whole = replace(one, data=()).run(Choices(data=tmp_path, limit=3))  # an example is not cut
    assert "limit" not in whole.text()
    assert (found.options, whole.options) == ("--limit 3", "")


def test_the_page_prints_the_options_that_were_used(tmp_path: Path) -> None:
    models = {"faier-1": str(tmp_path / "mine"), "scan": "default#alone"}
    given = Choices(photos=tmp_path, limit=800, draws=2, models=models, metrics=("tiger",))
    told = "--model faier-1=DIR --model scan=default#alone --photos DIR --metrics tiger --draws 2 --limit 800"
    assert NAMES["grounding"].options(given) == told
    assert NAMES["vifidel-figure-5"].options(given) == "--metrics tiger"
    assert NAMES["grounding"].options(Choices()) == ""
    text = page.results(Choices(data=tmp_path, metrics=("vifidel:setting=authors",)), kept=tmp_path, chosen=CHOSEN)
    command = "`vericap reproduce vifidel-figure-5 --metrics vifidel:setting=authors`"
    assert command in text
    assert "`vericap reproduce vifidel-table-2`" in text  # which was not run
    assert command in page.results(Choices(data=tmp_path), kept=tmp_path, chosen=CHOSEN[:1])  # kept from before

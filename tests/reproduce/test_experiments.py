"""Every experiment on tiny sets of the published layouts, by the library and by the command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from vericap.cli import main
from vericap.core import shipped
from vericap.core.errors import InputError, MissingPart
from vericap.core.settings import Settings
from vericap.meta.evaluation import evaluate
from vericap.meta.judgements import Ratings
from vericap.meta.published import published
from vericap.reproduce import demo
from vericap.reproduce.catalogue import EXPERIMENTS, NAMES, reproduce
from vericap.reproduce.experiment import Choices, Outcome
from vericap.reproduce.faier_agreement import by_source
from vericap.reproduce.models import called, over

WITH_IMAGES = {"faier-table-1", "faier-table-4", "faier-figure-4", "faier-range", "reo-table-1", "vifidel-table-2",
               "vifidel-table-3"}  # fmt: skip


def run(name: str, choices: Choices, tmp_path: Path) -> Outcome:
    """An experiment with its figure; Composite's photos lie in a folder of their own, beside Flickr8k's."""
    if name.startswith("jaspice"):
        pytest.importorskip("ginza")
    figure = tmp_path / f"{name}.png" if NAMES[name].figure else None
    if figure is not None:
        pytest.importorskip("matplotlib")
    images = choices.folder / "photos" if name in ("vifidel-table-2", "vifidel-table-3") else None
    return reproduce(name, replace(choices, figure=figure, settings=Settings(images=images)))


@pytest.mark.parametrize("name", list(NAMES))
def test_every_experiment_runs_on_its_layout(name: str, choices: Choices, tmp_path: Path) -> None:
    for part in ("faier", "scan"):
        if not (shipped.ROOT / part / "meta.json").is_file():
            pytest.skip(f"{part} is not in this checkout")
    found = run(name, choices, tmp_path)
    notes = found.tables[0].notes
    assert notes[0].startswith("Protocol: ")
    assert notes[1].startswith("What differs: ")
    assert all(table.rows for table in found.tables)
    assert not any("not at hand" in note for table in found.tables for note in table.notes)
    assert bool(found.figures) is NAMES[name].figure
    assert all(path.stat().st_size > 5000 for path in found.figures)
    assert Outcome.from_dict(json.loads(json.dumps(found.as_dict()))).text() == found.text()


def test_every_number_of_a_paper_has_its_experiment() -> None:
    for item in published():
        assert not item.paper or item.experiment in NAMES
        assert not item.experiment or item.paper == item.experiment.partition("-")[0]


def test_every_experiment_of_the_papers_is_there() -> None:
    wanted = [
        *(f"faier-table-{n}" for n in range(1, 7)),
        *(f"faier-figure-{n}" for n in (4, 5, 6)),
        "faier-range", "reo-table-1", "reo-figure-1", "reo-figure-3", "reo-figure-4",
        *(f"vifidel-table-{n}" for n in range(1, 7)), "vifidel-figure-4", "vifidel-figure-5",
        *(f"jaspice-table-{n}" for n in (1, 2, 3, 4, 5, 7, 8)), "jaspice-r-human", "jaspice-examples", "grounding",
    ]  # fmt: skip
    assert set(wanted) <= set(NAMES)


def cells(found: Outcome, place: int = 0) -> list[dict[str, object]]:
    return found.tables[place].records()


def test_table_1_stands_beside_the_paper(choices: Choices) -> None:
    found = reproduce("faier-table-1", replace(choices, settings=Settings()))
    rows = {row["row"]: row for row in cells(found)}
    assert rows["METEOR"]["kendall, paper"] == 35.0
    assert rows["FAIEr-r ref (ref-free)"]["spearman, paper"] == 69.4
    expected = evaluate(
        "flickr8k-expert", "rouge-l", protocol="faier-1-pearson", runs=2, data_folder=choices.data, resamples=0
    )
    value = str(rows["ROUGE-L"]["pearson"]).split(" ±")[0]
    assert float(value) == pytest.approx(100 * expected["rouge-l"].value, abs=0.05)  # type: ignore[operator]
    assert rows["FAIEr-1 ref"]["metric here"] is None
    assert any("faier-1, faier-4" in note for note in found.tables[0].notes)
    columns = found.tables[-1].columns
    assert found.tables[-1].title == "Composite by source: tau-c"
    assert [
        f"{aspect}, {part}" for part in ("pooled", "8k", "30k", "coco") for aspect in ("correctness", "thoroughness")
    ] == (list(columns)[1:])


def test_composite_tells_correctness_from_thoroughness(choices: Choices) -> None:
    data = choices.load("composite")
    assert isinstance(data, Ratings)
    assert data.ratings[:3].ravel().tolist() == [5, 3, 1]
    assert data.aspects["thoroughness"][:3].ravel().tolist() == [1, 4, 5]
    (row,) = by_source(data, ["rouge-l"], choices).records()
    for aspect, protocol in (("correctness", "published"), ("thoroughness", "thoroughness")):
        expected = evaluate("composite", "rouge-l", protocol=protocol, data_folder=choices.data, resamples=0)
        assert row[f"{aspect}, pooled"] == pytest.approx(100 * expected["rouge-l"].value)  # type: ignore[operator]
    assert row["correctness, coco"] * row["thoroughness, coco"] < 0  # type: ignore[operator]


def test_models_of_ones_own_stand_for_rows_of_the_paper(choices: Choices, tmp_path: Path) -> None:
    if not (shipped.ROOT / "faier" / "meta.json").is_file():
        pytest.skip("faier is not in this checkout")
    folder = str(shipped.ROOT / "faier")
    given = replace(choices, models={"faier-1": folder}, draws=1, settings=Settings())
    rows = {row["row"]: row for row in cells(reproduce("faier-table-4", given))}
    assert rows["FAIEr-1 ref"]["metric here"] == "faier:model=faier-1"
    steps = shipped.meta("faier")["trained"]["steps"]
    told = f"Models that were named, none of them the one that ships: faier-1 ({steps:,} steps)."
    assert told in reproduce("faier-figure-4", replace(given, limit=3, metrics=("rouge-l",))).tables[0].notes
    assert rows["FAIEr-1 ref"]["kendall"] == rows["FAIEr-r ref"]["kendall"]  # the same weights here
    with pytest.raises(InputError, match=r"no row of the paper; there are: fier, .*faier-1"):
        reproduce("faier-table-4", replace(choices, models={"faier-9": folder}))
    with pytest.raises(InputError, match=r"`model=typo=x`: no row of the paper"):
        reproduce("vifidel-figure-5", Choices(models={"typo": "x"}))


def test_metrics_read_the_models_that_were_named_for_them() -> None:
    models = {"scan": "runs/scan", "faier-r": "runs/faier"}
    assert over("tiger", models) == "tiger:model=runs/scan"
    assert over("REO-omission:truth=both", models) == "reo-omission:truth=both:model=runs/scan"
    assert over("mean(vse,reo-relevance)", models) == "mean(vse,reo-relevance:model=runs/scan)"
    assert over("tiger:model=other", models) == "tiger:model=other"
    assert over("faier", models) == "faier:model=runs/faier"
    assert over("spice", models) == "spice"
    assert called("mean(vse,reo-relevance:model=runs/scan)", models) == "mean(vse,reo-relevance:model=scan)"
    assert called("tiger:model=runs/scan-2", models) == "tiger:model=runs/scan-2"


NO_SCAN = "holds no model of the kind 'scan'"


@pytest.mark.parametrize("name", ["reo-figure-1", "reo-figure-4"])
def test_examples_read_a_scan_model_of_ones_own(name: str, tmp_path: Path) -> None:
    """A folder without a model stops what reads SCAN: nothing goes on with the model that ships."""
    with pytest.raises(InputError, match=NO_SCAN):
        reproduce(name, Choices(models={"scan": str(tmp_path)}))


@pytest.mark.parametrize("name", ["faier-figure-4", "reo-table-1"])
def test_tiger_reads_a_scan_model_of_ones_own(name: str, choices: Choices, tmp_path: Path) -> None:
    given = replace(choices, draws=1, models={"scan": str(tmp_path)}, metrics=("tiger",), settings=Settings())
    found = reproduce(name, given)
    assert any(note.startswith("tiger:model=") and NO_SCAN in note for note in found.tables[0].notes)
    assert "tiger:model=scan" in found.text() or name == "faier-figure-4"  # whose rows are curves


def test_the_papers_own_example_to_the_digit(choices: Choices) -> None:
    """FAIEr prints BLEU-4, METEOR and ROUGE-L of four captions: the same computation here."""
    pytest.importorskip("matplotlib")
    rows = cells(reproduce("faier-figure-5", replace(choices, metrics=("rouge-l",))))
    assert len(rows) == 4
    for row in rows:
        for metric in ("METEOR", "ROUGE-L"):
            assert row[metric] == pytest.approx(row[f"{metric}, paper"], abs=6e-4)
        assert float(row["BLEU-4"]) == pytest.approx(float(row["BLEU-4, paper"]), rel=5e-3)  # type: ignore[arg-type]
        assert row["FAIEr"] is None


def test_counts_stand_as_they_are_in_a_table_of_shares(choices: Choices, tmp_path: Path) -> None:
    found = run("jaspice-table-5", replace(choices, metrics=()), tmp_path).tables[0]
    (row,) = [row for row in found.records() if row["row"] == "UD"]
    assert row["zeros, paper"] == 1465
    assert "1465" in found.text()
    assert "146500" not in found.text()


def test_visual_words_stand_beside_the_papers_larger_detector(choices: Choices) -> None:
    rows = cells(reproduce("vifidel-table-6", replace(choices, metrics=("vifidel", "bleu-4"), settings=Settings())))
    found = {(row["metric"], row["objects"], row["references"]): row for row in rows}
    assert {key[1] for key in found if key[0] == "vifidel"} == {"detector", "words"}
    assert {key[1] for key in found if key[0] == "bleu-4"} == {None}  # it looks at no object
    assert [found["vifidel", "words", 5][f"{group}, paper"] for group in ("HC", "HI", "HM", "MM")] == [64, 97, 75, 72]


def test_objects_that_a_caption_mentions_raise_vifidel() -> None:
    rows = cells(reproduce("vifidel-figure-5"))
    steps = [(row["mentioned"], row["change"]) for row in rows if row["change"] is not None]
    assert all(change > 0 for mentioned, change in steps if mentioned)  # type: ignore[operator]
    assert np.mean([change for mentioned, change in steps if not mentioned]) < 0


def test_what_is_not_there_says_where_it_comes_from(tmp_path: Path) -> None:
    empty = Choices(data=tmp_path)
    for name, said in (
        ("vifidel-table-2", "imagesdg.wordpress.com"),
        ("jaspice-table-8", "keio-smilab23/JaSPICE"),
        ("faier-table-6", "nocaps.org"),
        ("faier-table-5", "cocodataset.org"),
        ("jaspice-table-4", "translations=FILE"),
        ("jaspice-examples", "jaspice_golden.json"),
    ):
        with pytest.raises(MissingPart, match=said):
            reproduce(name, empty)
    with pytest.raises(MissingPart, match=r"(?s)expected: coco/ with captions_"):
        reproduce("faier-table-5", replace(empty, photos=demo.PHOTOS))


def test_commands(everything: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "list", "--data", str(everything)]) == 0
    out = capsys.readouterr().out
    assert all(one.name in out for one in EXPERIMENTS)
    file = tmp_path / "table.md"
    words = ["reproduce", "faier-protocol", "--data", str(everything), "--draws", "2", "-q"]
    assert main([*words, "-m", "rouge-l,bleu-1", "-o", str(file)]) == 0
    assert "the paper" in capsys.readouterr().out
    assert "| the paper |" in file.read_text("utf-8")
    assert main([*words, "--figure", "x.png"]) == 2
    assert "draws no figure" in capsys.readouterr().err
    assert main(["reproduce", "vifidel-figure-5", "--figure", "x.xyz"]) == 2
    assert "the name must end in .png, .svg, .pdf" in capsys.readouterr().err
    assert main(["reproduce", "vifidel-figure-5", "--page", str(tmp_path / "page.md")]) == 2
    assert "write it with `vericap reproduce all`" in capsys.readouterr().err
    assert main(["reproduce", "grounding", "--no-judged", "--data", str(everything)]) == 2
    assert capsys.readouterr().err.count("--photos DIR") == 1
    assert main(["reproduce", "faier-tabel-1"]) == 2
    assert "did you mean faier-table-1" in capsys.readouterr().err
    assert main(["reproduce", "faier-table-4", "--model", "nothing"]) == 2
    assert "NAME=DIR" in capsys.readouterr().err
    assert main(["reproduce", "vifidel-table-2", "--data", str(tmp_path)]) == 2
    assert "--data-folder DIR" in capsys.readouterr().err


def test_several_are_printed_and_kept_for_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    kept, file = tmp_path / "scores", tmp_path / "both.csv"
    words = ["reproduce", "vifidel-figure-5", "vifidel-figure-5", "--data", str(tmp_path), "-q"]
    assert main([*words, "--figures", str(tmp_path / "drawn"), "--resume", str(kept), "-o", str(file)]) == 0
    assert capsys.readouterr().out.count("objects join the image") == 2
    assert (tmp_path / "drawn" / "vifidel-figure-5.png").stat().st_size > 5000
    assert (kept / "experiments" / "vifidel-figure-5.json").is_file()
    assert file.read_text("utf-8").count("a cat sits on a table") == 2
    assert main([*words, "--figure", "x.png"]) == 2
    assert "--figures DIR" in capsys.readouterr().err

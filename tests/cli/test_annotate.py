"""`vericap annotate`: from captions to a page, and what came back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vericap.cli import main
from vericap.core import shipped

DEMO = shipped.ROOT / "demo"
SYSTEMS = [str(DEMO / f"{name}.jsonl") for name in ("careful", "terse", "inventive")]
IMAGES = ["--images", str(DEMO / "photos")]
REFERENCES = ["--references", str(DEMO / "references.jsonl")]


def test_a_campaign_of_several_systems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "campaign"
    options = ["--captions", "9", "--raters", "ana, ben ,eva", "--each", "2", "--repeats", "2", "--title", "Three"]
    assert main(["annotate", *SYSTEMS, *IMAGES, *REFERENCES, *options, "--output", str(output)]) == 0
    told = capsys.readouterr().err
    assert "9 captions on 3 photos; asked: fidelity, adequacy, fluency" in told
    assert "index.html" in told
    found = json.loads((output / "campaign.json").read_text())
    assert found["raters"] == ["ana", "ben", "eva"]
    assert {one["system"] for one in found["captions"]} == {"careful", "terse", "inventive"}
    assert all(one["references"] for one in found["captions"])
    page = (output / "index.html").read_text()
    assert "<option>ben</option>" in page
    assert "<title>Three</title>" in page
    assert "8 captions" in page  # 9 captions, 2 of 3 raters each: 6 for everybody, 2 of them twice


def test_questions_seed_and_notes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = []
    for seed in ("1", "1", "2"):
        output = tmp_path / str(len(drawn))
        words = ["annotate", SYSTEMS[0], *IMAGES, "--questions", "fidelity", "--captions", "3", "--seed", seed]
        assert main([*words, "-o", str(output)]) == 0
        drawn.append([one["id"] for one in json.loads((output / "campaign.json").read_text())["captions"]])
    assert drawn[0] == drawn[1] != drawn[2]
    assert "no references are kept" in capsys.readouterr().err
    assert "Does it read well?" not in (tmp_path / "0" / "index.html").read_text()


def test_bad_photos_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    captions = tmp_path / "captions.jsonl"
    records = [("a", "chelsea.jpg"), ("b", "../demo/photos/chelsea.jpg"), ("c", "absent.jpg")]
    lines = [json.dumps({"id": key, "candidate": "a cat", "image": image}) for key, image in records]
    captions.write_text("\n".join([*lines, "{broken"]))
    assert main(["annotate", str(captions), *IMAGES, "-o", str(tmp_path / "c")]) == 1
    told = capsys.readouterr().err
    assert "3 problem(s)" in told
    assert "points outside" in told
    assert "1 captions on 1 photos" in told


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["-o", "x"], "--images DIR"),
        ([*IMAGES], "--output DIR"),
        ([*IMAGES, "-o", "x", "--questions", "beauty"], "no question is called 'beauty'"),
        ([*IMAGES, "-o", "x", "--each", "2"], "name them with --raters NAMES"),
        (["--images", "absent", "-o", "x"], "--images DIR"),
        ([*IMAGES, "-o", str(DEMO)], "name a new one with --output DIR"),
    ],
)
def test_usage(
    words: list[str],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["annotate", SYSTEMS[0], *words]) == 2
    assert reason in capsys.readouterr().err


def rated(folder: Path, rater: str, ratings: list[tuple[int, int, int]]) -> Path:
    """What the page saves, for the first captions of a campaign."""
    campaign = json.loads((folder / "campaign.json").read_text())
    answers = [
        {"id": one["id"], "caption": one["caption"], "question": question, "rating": rating, "seconds": 2.5}
        for one, given in zip(campaign["captions"], ratings)
        for question, rating in zip(("fidelity", "adequacy", "fluency"), given)
    ]
    head = {"format": "vericap ratings", "version": 1, "campaign": campaign["campaign"], "rater": rater}
    path = folder / f"ratings-{rater}.json"
    path.write_text(json.dumps(head | {"session": rater, "saved": "2026-01-01", "answers": answers}))
    return path


def test_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "campaign"
    main(["annotate", SYSTEMS[0], *IMAGES, "-o", str(output), "--captions", "2", "-q"])
    rated(output, "ana", [(4, 3, 5)])
    assert main(["annotate", str(output), "--status"]) == 0
    line = capsys.readouterr().out.splitlines()[4]
    assert line.split() == ["ana", "1", "0", "0", "7.50", "0", "-", "-"]
    (output / "ratings-ben.json").write_text("{}")
    assert main(["annotate", str(output), "--status"]) == 1
    assert "not a file of ratings" in capsys.readouterr().err


def test_meta_reads_the_campaign(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "campaign"
    main(["annotate", SYSTEMS[0], SYSTEMS[2], *IMAGES, *REFERENCES, "-o", str(output), "--captions", "6", "-q"])
    rated(output, "ana", [(5, 5, 5), (1, 2, 4)] * 3)
    rated(output, "ben", [(4, 4, 5), (2, 1, 3)] * 2)
    words = ["--metrics", "rouge-l,chair", "--resamples", "20", "--cache", "off", "--quiet"]
    assert main(["meta", str(output), *words]) == 0
    told = capsys.readouterr().out
    assert "10 judgements on 3 images" in told
    assert "chair" in told
    # Files by name: only these raters count.
    assert main(["meta", *(str(output / f"ratings-{name}.json") for name in ("ana", "ben")), *words]) == 0
    assert "10 judgements on 3 images" in capsys.readouterr().out
    assert main(["meta", str(output / "ratings-ana.json"), *words, "--protocol", "fidelity-filtered"]) == 0
    assert "6 judgements on 3 images" in capsys.readouterr().out
    assert main(["meta", "composite", "flickr8k-expert", *words]) == 2
    assert "one data set at a time" in capsys.readouterr().err

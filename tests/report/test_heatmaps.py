"""Heat maps and the page that holds them."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from vericap.cli import main
from vericap.metrics.base import Statistics
from vericap.metrics.registry import make
from vericap.report.heatmaps import heatmap, pictures
from vericap.report.reasons import page
from vericap.results import Result
from vericap.samples import Sample

BOXES = [[0, 0, 1, 1], [0, 0, 0.5, 0.5]]
REASONS = {
    "words": ["a", "<dog>"],
    "matrix": [[0.1, 0.9], [0.4, -0.2]],
    "boxes": BOXES,
    "word_regions": [1, 0],
    "triplets": [],
    "triplet_matrix": [[], []],
    "note": "no triplets",
    "references": [{"words": ["dog"], "attention": [[1.0], [1.0]]}],
}


def test_a_heat_map_shows_every_value_and_frames_the_best() -> None:
    root = ElementTree.fromstring(heatmap(REASONS["words"], REASONS["matrix"], boxes=BOXES))
    texts = [item.text for item in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"a", "<dog>", "0.10", "0.90", "0.40", "-0.20"} <= set(texts)
    framed = [item for item in root.iter() if item.get("stroke") == "#c0392b"]
    assert len(framed) == 2  # one per word
    with pytest.raises(ValueError, match="do not fit"):
        heatmap(["one"], REASONS["matrix"])


def test_pictures_of_an_explanation() -> None:
    titles = [title for title, _ in pictures(REASONS)]
    assert [title.split(":")[0] for title in titles] == [
        "regions x words of the candidate",
        "regions x words of reference 1",
    ]
    assert len(pictures({"words": ["a"], "attention": [[1.0]]})) == 1  # as REO explains itself
    assert pictures({"cosines": [1.0]}) == []


def test_the_page_holds_photo_scores_and_heat_maps(tmp_path: Path) -> None:
    Image.new("RGB", (40, 30), "green").save(tmp_path / "x.jpg")
    metric = make("rouge-l")
    found = Statistics([0.5], explanations=[REASONS])
    result = Result(ids=["1"], metrics={"rouge-l": metric}, statistics={"rouge-l": found}, candidates=["a <dog>"])
    text = page(result, [Sample(id="1", candidate="a <dog>", references=("dog",), image="x.jpg")], images=tmp_path)
    assert "a &lt;dog&gt;" in text
    assert text.count("<figure>") == 2
    assert "data:image/jpeg" in text
    assert "no triplets" in text
    assert "0.5000" in text
    lost = page(result, [Sample(id="1", candidate="a <dog>", references=("dog",), image="y.jpg")], images=tmp_path)
    assert "y.jpg" in lost


def test_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text(json.dumps({"id": 1, "candidate": "a dog", "references": ["a dog runs"]}))
    assert main(["score", str(tmp_path / "c.jsonl"), "-m", "rouge-l", "--page", str(tmp_path / "p.html")]) == 0
    assert "<h2>a dog</h2>" in (tmp_path / "p.html").read_text()

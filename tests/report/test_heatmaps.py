"""Heat maps and the page that holds them."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from vericap.cli import main
from vericap.core.explanation import (
    Explanation,
    Graph,
    HeatMap,
    Match,
    MissingContent,
    Move,
    SentenceEvidence,
    WordEvidence,
)
from vericap.core.samples import Sample
from vericap.core.statistics import Statistics
from vericap.metrics.registry import make
from vericap.report.heatmaps import heatmap, pictures
from vericap.report.reasons import page
from vericap.run.results import Result

BOXES = ((0.0, 0.0, 1.0, 1.0), (0.0, 0.0, 0.5, 0.5))
MAP = HeatMap("regions x words", ("a", "<dog>"), ((0.1, 0.9), (0.4, -0.2)), BOXES)
EMPTY = HeatMap("regions x triplets", (), ((), ()), BOXES)
REASONS = Explanation(
    "rouge-l",
    words=(
        WordEvidence("a", 0, 1),
        WordEvidence("<dog>", 2, 7, 0.25, "image", BOXES[1]),
    ),
    sentences=(SentenceEvidence("a <dog>", 0, 7, None),),
    missing=tuple(MissingContent(f"cat {number}", 0.5, "image") for number in range(20)),
    matches=(Match(("dog",), ("dogs",), 0.6, "stem"), Match(("a",))),
    transport=(Move("puppy", "dog", 0.5, 0.31),),
    heatmaps=(MAP, EMPTY),
    graphs=(Graph("candidate", ("<dog>",), ((0, "big"),)),),
    notes=("no <triplets>",),
    facts={"mentions": 3, "matrix": [[1.0]]},
)


def texts(svg: str) -> list[str | None]:
    return [item.text for item in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_a_heat_map_shows_every_value_and_frames_the_best() -> None:
    svg = heatmap(MAP)
    assert {"a", "<dog>", "0.10", "0.90", "0.40", "-0.20"} <= set(texts(svg))
    framed = [item for item in ElementTree.fromstring(svg).iter() if item.get("stroke") == "#c0392b"]
    assert len(framed) == 2  # one per word
    with pytest.raises(ValueError, match="do not fit"):
        heatmap(HeatMap("", ("one",), MAP.values))


def test_pictures_of_an_explanation() -> None:
    assert [title for title, _ in pictures(REASONS)] == ["regions x words"]  # an empty one is not drawn
    assert pictures(Explanation("m")) == []


def test_a_picture_of_few_regions_holds_the_best_of_every_word() -> None:
    values = np.random.default_rng(0).random((30, 4))
    found = HeatMap("regions x words", tuple("abcd"), tuple(map(tuple, values.tolist())))
    ((title, svg),) = pictures(Explanation("m", heatmaps=(found,)), most=6)
    assert title == "regions x words (6 of 30 regions)"
    shown = [int(text) for text in texts(svg) if text is not None and text.isdigit()]
    assert len(shown) == 6
    assert {int(row) + 1 for row in values.argmax(axis=0)} <= set(shown)


def drawn(folder: Path, image: str, reasons: Explanation | None = REASONS) -> str:
    found = Statistics(np.array([0.5]))
    result = Result(ids=["1"], metrics={"rouge-l": make("rouge-l")}, statistics={"rouge-l": found})
    sample = Sample(id="1", candidate="a <dog>", references=("<b>dog</b>",), image=image)
    return page(result, [sample], {"rouge-l": [reasons]}, images=folder)


def test_the_page_holds_photo_scores_and_reasons(tmp_path: Path) -> None:
    Image.new("RGB", (1200, 900), "green").save(tmp_path / "x.jpg")
    text = drawn(tmp_path, "x.jpg")
    assert "<h2>a &lt;dog&gt;</h2>" in text
    assert "<b>dog" not in text
    assert "<dog>" not in text
    assert "0.5000" in text
    assert text.count("<figure>") == 2  # a heat map and a graph
    assert 'title="support 0.25 by the image">&lt;dog&gt;</mark>' in text
    for said in (
        "not judged",
        "what the caption does not say; 8 of 20",
        "cat 7",
        "dogs",
        "stem",
        "nothing",
        "puppy",
        "0.31",
    ):
        assert said in text, said
    assert "cat 8" not in text  # tables are short
    assert "<td>mentions</td><td>3</td>" in text
    assert "no &lt;triplets&gt;" in text
    photo = Image.open(BytesIO(b64decode(re.findall(r"data:image/jpeg;base64,([^\"]+)", text)[0])))
    assert photo.size == (420, 315)
    assert f'width="{420 // 2}" height="158"' in text  # the frame of the word's region


def test_a_page_without_reasons_or_photo(tmp_path: Path) -> None:
    text = drawn(tmp_path, "y.jpg", None)
    assert "y.jpg" in text
    assert "<h3>" not in text


def test_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text(json.dumps({"id": 1, "candidate": "a dog", "references": ["a dog runs"]}))
    assert main(["score", str(tmp_path / "c.jsonl"), "-m", "rouge-l", "--page", str(tmp_path / "p.html")]) == 0
    assert "<h2>a dog</h2>" in (tmp_path / "p.html").read_text()

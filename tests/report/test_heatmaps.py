"""Heat maps: as SVG by ourselves, as PNG and PDF by matplotlib, from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from vericap.cli import main
from vericap.core.explanation import Explanation, HeatMap
from vericap.core.shipped import ROOT
from vericap.report.heatmaps import heatmap, pictures, save

BOXES = ((0.0, 0.0, 1.0, 1.0), (0.0, 0.0, 0.5, 0.5))
MAP = HeatMap("regions x words", ("a", "<dog>"), ((0.1, 0.9), (0.4, -0.2)), BOXES)
EMPTY = HeatMap("regions x triplets", (), ((), ()), BOXES)
REASONS = Explanation("rouge-l", heatmaps=(MAP, EMPTY))


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


def test_a_heat_map_is_written_by_its_ending(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    starts = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}
    for ending, start in starts.items():
        assert save(MAP, tmp_path / f"map.{ending}").read_bytes().startswith(start)
    assert Image.open(tmp_path / "map.png").size[0] > 200


def test_figures_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    photos = ROOT / "demo" / "photos"
    record = {"id": "a/1", "candidate": "a cat with whiskers", "image": "chelsea.jpg"}
    (tmp_path / "c.jsonl").write_text(json.dumps(record))
    words = ["score", str(tmp_path / "c.jsonl"), "-m", "faier", "--images", str(photos)]
    assert main([*words, "--figures", str(tmp_path / "f"), "--figure-format", "pdf", "--worst", "1"]) == 0
    written = sorted(path.name for path in (tmp_path / "f").iterdir())
    assert "distributions.pdf" in written
    assert "a_1-faier-1.pdf" in written  # the id is no path
    assert all(path.endswith(".pdf") for path in written)
    assert capsys.readouterr().err.count("wrote ") == len(written)

"""Drawings of Japanese graphs: labels as text, in fonts that have them, wide enough."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from vericap.graphs.drawing import text_width
from vericap.graphs.scene_graph import SceneGraph


def test_labels_fonts_and_width() -> None:
    graph = SceneGraph.of(
        [("男の子",), ("ヘルメット", "オレンジ色"), ("男の子", "被る", "ヘルメット"), ("[PHI]", "取る", "箱")]
    )
    picture = graph.draw(title="男の子がオレンジ色のヘルメットを被っている")
    root = ET.fromstring(picture)
    texts = {"".join(element.itertext()).strip() for element in root.iter() if element.tag.endswith("text")}
    assert {"男の子", "ヘルメット", "オレンジ色", "被る", "箱"} <= texts
    for font in ("Noto Sans CJK JP", "Hiragino", "Yu Gothic", "Meiryo", "IPAexGothic"):
        assert font in picture
    assert text_width("ヘルメット") > 1.5 * text_width("helme")  # a kana takes two letters' width

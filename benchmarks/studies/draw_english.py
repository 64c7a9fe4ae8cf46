"""Twenty English scene graphs on one page, to be looked at by eye: short and long captions, drawn at random.

    python -m benchmarks.studies.draw_english --output graphs.html [--seed 0]

Ten captions of COCO val2014, four of Flickr8k's test photos, six long ones of LLaVA-1.5 (Karpathy test).
"""

from __future__ import annotations

import argparse
import gzip
import html
import json
import random
from pathlib import Path

from benchmarks.library.data import data_folder
from vericap.graphs.english import parse_many
from vericap.graphs.scene_graph import SceneGraph


def captions(seed: int) -> list[str]:
    """Captions of the three sources, by a fixed seed."""
    draw = random.Random(seed)
    with gzip.open(data_folder() / "coco" / "captions_val2014.json.gz", "rt", encoding="utf-8") as stream:
        coco = [note["caption"].strip() for note in json.load(stream)["annotations"]]
    photos = set((data_folder() / "flickr8k" / "Flickr_8k.testImages.txt").read_text("utf-8").split())
    lines = (data_folder() / "flickr8k" / "Flickr8k.token.txt").read_text("utf-8").splitlines()
    flickr = [line.split("\t", 1)[1].strip() for line in lines if line.split("#")[0] in photos]
    llava = [
        row["caption"]
        for row in json.loads((data_folder() / "coco" / "karpathy_test_llava15_default.json").read_text())
    ]
    return draw.sample(coco, 10) + draw.sample(flickr, 4) + draw.sample(llava, 6)


def page(texts: list[str], graphs: list[SceneGraph]) -> str:
    parts = [
        f"<section><h2>{number}</h2><p>{html.escape(text)}</p>{graph.draw()}<p><code>{_told(graph)}</code></p></section>"
        for number, (text, graph) in enumerate(zip(texts, graphs), 1)
    ]
    style = "body{font-family:sans-serif;max-width:70em;margin:auto}svg{max-width:100%;height:auto}"
    return f"<!doctype html><meta charset=utf-8><title>Scene graphs</title><style>{style}</style>{''.join(parts)}"


def _told(graph: SceneGraph) -> str:
    return html.escape("; ".join(" | ".join(item) for item in graph.tuples() if len(item) > 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", "-o", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    texts = captions(args.seed)
    graphs = parse_many(texts)
    args.output.write_text(page(texts, graphs), "utf-8")
    for number, (text, graph) in enumerate(zip(texts, graphs), 1):
        print(f"{number}. {text}\n   {'; '.join(graph.objects)}")
        print("   " + "; ".join(" | ".join(item) for item in graph.tuples() if len(item) > 1))


if __name__ == "__main__":
    main()

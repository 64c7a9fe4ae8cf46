"""Tuples of hand-checked Japanese captions, and the golden scores of JaSPICE's authors, from raw text.

    python benchmarks/japanese_tuples.py

Prints tuple precision, recall and F1 on both parts of tests/graphs/ja (the rules were developed on "dev", never on
"test"), the same for the parser's dependencies without our rules, and our score beside each golden one.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "graphs" / "ja"))

import gold
from jsts import ROOT, unrepaired_tuples

from vericap.graphs import japanese
from vericap.graphs.ja.match import MatchRules, score_tuples


def main() -> None:
    print(f"{'part':5s} {'captions':>8s} {'tuples':>6s}  parser          P     R     F1")
    for part in ("dev", "test"):
        captions = gold.load(part)
        texts = [caption for caption, _ in captions]
        expected = [tuples for _, tuples in captions]
        plain = unrepaired_tuples(texts)
        for name, found in (
            ("PAS", [set(graph.tuples()) for graph in japanese.parse_many(texts)]),
            ("dependencies", [set(plain[text]) for text in texts]),
        ):
            figures = " ".join(f"{figure:.3f}" for figure in gold.agreement(expected, found))
            print(f"{part:5s} {len(texts):8d} {sum(map(len, expected)):6d}  {name:14s} {figures}")
    print("\ngolden  ours   candidate")
    for item in json.loads((ROOT / "japanese" / "jaspice_golden.json").read_text("utf-8"))["scores"]:
        candidate, *references = [g.tuples() for g in japanese.parse_many([item["candidate"], *item["references"]])]
        score = score_tuples(candidate, references, rules=MatchRules(spelling=True))
        print(f"{item['score']:.4f}  {score.f1:.4f} {item['candidate']}")


if __name__ == "__main__":
    main()

"""Tuples of hand-checked Japanese captions, and the golden scores of JaSPICE's authors, from raw text.

    python -m benchmarks.parity.japanese_tuples

Prints tuple precision, recall and F1 on the sets of tests/graphs/ja (the rules were developed on their "dev" parts,
never on "test"), by this package's rules and by the paper's, with predicate-argument structure and with dependencies
alone, and our score beside each golden one.
"""

from __future__ import annotations

import json
import sys

from benchmarks.library.data import ROOT, data_folder

sys.path.insert(0, str(ROOT / "tests" / "graphs" / "ja"))

import gold

from vericap.graphs import japanese
from vericap.graphs.ja.match import MatchRules, score_tuples
from vericap.graphs.ja.options import DEFAULT, PAPER, GraphOptions

Gold = list[tuple[str, set[gold.Tuple]]]


def report(name: str, captions: Gold, options: GraphOptions) -> None:
    """One line: agreement of tuples, and graphs that are right as a whole."""
    expected = [tuples for _, tuples in captions]
    found = [set(graph.tuples()) for graph in japanese.parse_many([text for text, _ in captions], options=options)]
    figures = " ".join(f"{figure:.3f}" for figure in gold.agreement(expected, found))
    whole = sum(one == other for one, other in zip(expected, found))
    sizes = f"{len(captions):8d} {sum(map(len, expected)):6d}"
    print(f"{name:28s} {options.structure:13s} {sizes}  {figures}  {whole:3d}", flush=True)


def golden_scores() -> None:
    """The scores the authors' tests assert beside ours."""
    print("\ngolden  paper's rules  jaspice  candidate")
    for item in json.loads((data_folder() / "japanese" / "jaspice_golden.json").read_text("utf-8"))["scores"]:
        texts = [item["candidate"], *item["references"]]
        ours = []
        for options, rules in ((PAPER, MatchRules(spelling=True)), (DEFAULT, MatchRules(spelling=True, heads=True))):
            candidate, *references = [graph.tuples() for graph in japanese.parse_many(texts, options=options)]
            ours.append(score_tuples(candidate, references, rules=rules).f1)
        print(f"{item['score']:6.3f}  {ours[0]:13.3f}  {ours[1]:7.3f}  {item['candidate']}")


def main() -> None:
    print(f"{'set':28s} {'structure':13s} captions tuples  P     R     F1    whole graphs right")
    for part in ("dev", "test"):
        parts = {name: gold.load(part, name) for name in gold.SETS}
        parts["written and jsts"] = parts["written"] + parts["jsts"]
        for name, captions in parts.items():
            report(f"{name}, {part}", captions, DEFAULT)
        report(f"written and jsts, {part}", parts["written and jsts"], GraphOptions(structure="dependencies"))
        report(f"the paper's rules, {part}", gold.load(part), PAPER)
    golden_scores()


if __name__ == "__main__":
    main()

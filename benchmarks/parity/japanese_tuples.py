"""Tuples of hand-checked Japanese captions, and the golden scores of JaSPICE's authors, from raw text.

    python -m benchmarks.parity.japanese_tuples [--save]

Prints tuple precision, recall and F1 on the sets of tests/graphs/ja (the rules were developed on their "dev" parts,
never on "test"), by this package's rules and by the paper's, with predicate-argument structure and with dependencies
alone, and our score beside each golden one.
"""

from __future__ import annotations

import argparse
import json
import sys

from benchmarks.library.data import ROOT, data_folder
from benchmarks.library.results import add_save, tell

sys.path.insert(0, str(ROOT / "tests" / "graphs" / "ja"))

import gold

from vericap.core.table import Number, Table
from vericap.graphs import japanese
from vericap.graphs.ja.match import MatchRules, score_tuples
from vericap.graphs.ja.options import DEFAULT, PAPER, GraphOptions

Gold = list[tuple[str, set[gold.Tuple]]]


def add(table: Table, name: str, captions: Gold, options: GraphOptions) -> None:
    """One row: agreement of tuples, and graphs that are right as a whole."""
    expected = [tuples for _, tuples in captions]
    found = [set(graph.tuples()) for graph in japanese.parse_many([text for text, _ in captions], options=options)]
    whole = sum(one == other for one, other in zip(expected, found))
    figures = [Number(figure) for figure in gold.agreement(expected, found)]
    table.add(name, options.structure, len(captions), sum(map(len, expected)), *figures, whole)


def tuples() -> Table:
    """Agreement with the hand-checked captions."""
    table = Table(["set", "structure", "captions", "tuples", "P", "R", "F1", "whole graphs right"], digits=3)
    for part in ("dev", "test"):
        parts = {name: gold.load(part, name) for name in gold.SETS}
        parts["written and jsts"] = parts["written"] + parts["jsts"]
        for name, captions in parts.items():
            add(table, f"{name}, {part}", captions, DEFAULT)
        add(table, f"written and jsts, {part}", parts["written and jsts"], GraphOptions(structure="dependencies"))
        add(table, f"the paper's rules, {part}", gold.load(part), PAPER)
    return table


def golden_scores() -> Table:
    """The scores the authors' tests assert beside ours."""
    table = Table(["golden", "paper's rules", "jaspice", "candidate"], digits=3)
    for item in json.loads((data_folder() / "japanese" / "jaspice_golden.json").read_text("utf-8"))["scores"]:
        texts = [item["candidate"], *item["references"]]
        ours = []
        for options, rules in ((PAPER, MatchRules(spelling=True)), (DEFAULT, MatchRules(spelling=True, heads=True))):
            candidate, *references = [graph.tuples() for graph in japanese.parse_many(texts, options=options)]
            ours.append(Number(score_tuples(candidate, references, rules=rules).f1))
        table.add(Number(item["score"]), *ours, item["candidate"])
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_save(parser)
    save = parser.parse_args().save
    tell("benchmarks.parity.japanese_tuples", {"tuples": tuples(), "golden": golden_scores()}, save=save)


if __name__ == "__main__":
    main()

"""Precision of what jaspice-plus takes for a match by the encoder, from 150 pairs judged by hand.

    python -m benchmarks.studies.japanese_matches [--save]

`japanese_matches.tsv` has 25 pairs of tuples per tenth of the cosine, drawn from jsts_train. The threshold of
jaspice-plus is the first cosine from which three of four pairs of one length are right.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.library.results import add_save, tell
from vericap.core.table import Table

FILE = Path(__file__).with_suffix(".tsv")


def matches() -> Table:
    """Right pairs by tenth of the cosine."""
    lines = [line.split("\t") for line in FILE.read_text("utf-8").splitlines() if line[:1] != "#"]
    rows = [(float(cosine), one.count("/") == other.count("/"), int(right)) for cosine, one, other, right in lines]
    table = Table(["cosine", "right", "of", "of one length: right", "of them"])
    for low in (0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
        here = [(same, right) for cosine, same, right in rows if low <= cosine < low + 0.1 or (low == 0.9 <= cosine)]
        alike = [right for same, right in here if same]
        table.add(f"{low:.1f} - {low + 0.1:.1f}", sum(right for _, right in here), len(here), sum(alike), len(alike))
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_save(parser)
    tell("benchmarks.studies.japanese_matches", {"matches": matches()}, save=parser.parse_args().save)


if __name__ == "__main__":
    main()

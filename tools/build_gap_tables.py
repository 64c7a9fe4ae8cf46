"""The shipped curves of what a gap means to people (vericap/meta/gap_tables), one JSON file per judged set.

VERICAP_DATA=data python tools/build_gap_tables.py [--resume DIR] flickr8k-expert pascal50s

All English metrics that ship with their model are measured; make the tables anew when a model or a score changes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import vericap.meta
from vericap.meta import gaps
from vericap.meta.evaluation import evaluate
from vericap.meta.scoring import KeptScores, metrics_of
from vericap.metrics.registry import METRICS

FOLDER = Path(vericap.meta.__file__).parent / "gap_tables"
WITHOUT_MODEL = {"clipscore", "refclipscore"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--data", type=Path, help="where data sets lie (default: $VERICAP_DATA)")
    parser.add_argument("--resume", type=Path, help="keep scores there and take them up again")
    args = parser.parse_args()
    metrics = [
        metric
        for metric in metrics_of([name for name in METRICS if name not in WITHOUT_MODEL])
        if not metric.languages or "en" in metric.languages
    ]
    store = KeptScores(args.resume) if args.resume else None
    for name in args.datasets:
        found = evaluate(name, metrics, data_folder=args.data, store=store, keep_going=True)
        print(f"{gaps.save(found, FOLDER / f'{name}.json')}: {len(found.gaps)} metrics")


if __name__ == "__main__":
    main()

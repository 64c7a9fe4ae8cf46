"""SPICE and semantic SPICE end to end: agreement with people and with the original program.

    python -m benchmarks.agreement.spice_agreement [--metrics spice spice-soft spice-soft:whole=0] [--save]

Agreement by the published protocols of `vericap meta`: Flickr8k-Expert (tau-c), Flickr8k-CF (tau-b), PASCAL-50S (the
label of 48 votes), x100. Beside it the rank correlation with the original SPICE on Flickr8k-Expert and the means of two
systems' captions (VERICAP_GOLDEN). The encoder of spice-soft may have seen captions of Flickr30k and COCO.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks.library.data import data_folder
from benchmarks.library.results import add_save, tell
from benchmarks.parity.spice_scoring import rows
from vericap.core.samples import Sample
from vericap.core.table import Number, Table
from vericap.meta.agreement import correlation
from vericap.meta.evaluation import evaluate
from vericap.metrics.registry import make
from vericap.run.engine import Run

SETS = {"Expert tau-c": "flickr8k-expert", "CF tau-b": "flickr8k-cf", "PASCAL-50S": "pascal50s"}
ORIGINAL = {"coco_m2_transformer": 0.2256, "coco_llava15_default": 0.2088}  # printed by the original program


def golden(metric: str, name: str) -> tuple[list[dict[str, Any]], np.ndarray]:
    """Rows of a golden set with the scores of a metric."""
    found = rows(name)
    samples = [Sample(str(row["id"]), text, tuple(references)) for row, text, references in found]
    return [row for row, _, _ in found], np.asarray(Run([make(metric)]).score(samples)[metric])


def people(metrics: list[str]) -> Table:
    """Agreement with people."""
    found = {title: evaluate(name, metrics, data_folder=data_folder(), resamples=0) for title, name in SETS.items()}
    table = Table(["metric", *SETS], x100=True)
    for metric in metrics:
        table.add(f"`{metric}`", *(Number(float(found[title][metric].value or np.nan)) for title in SETS))
    return table


def original(metrics: list[str]) -> Table:
    """Agreement with the original program."""
    table = Table(
        ["metric", "Spearman, Expert", *(f"mean of {name} (original {value})" for name, value in ORIGINAL.items())]
    )
    for metric in metrics:
        records, scores = golden(metric, "flickr8k_expert")
        theirs = np.array([record["spice"]["All"]["f"] for record in records])
        means = [Number(float(np.nanmean(golden(metric, name)[1]))) for name in ORIGINAL]
        table.add(f"`{metric}`", Number(correlation("spearman", scores, theirs)), *means)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--metrics", nargs="+", default=["spice", "spice:actions=false", "spice-soft", "spice-soft:whole=0"]
    )
    add_save(parser)
    args = parser.parse_args()
    tables = {"people": people(args.metrics), "original": original(args.metrics)}
    tell("benchmarks.agreement.spice_agreement", tables, save=args.save)


if __name__ == "__main__":
    main()

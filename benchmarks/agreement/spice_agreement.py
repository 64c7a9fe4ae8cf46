"""SPICE and semantic SPICE end to end: agreement with people and with the original program.

    python -m benchmarks.agreement.spice_agreement [--metrics spice,spice-soft,spice-soft:whole=0]

Flickr8k-Expert: Kendall tau-c, three ratings as separate rows. Flickr8k-CF: tau-b. PASCAL-50S: the label of 48 votes,
ties count 1/2. The encoder of spice-soft may have seen captions of Flickr30k and COCO in its own training.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np
from scipy.stats import kendalltau, spearmanr

from benchmarks.library.data import data_folder
from benchmarks.parity.spice_scoring import flickr_captions, rows
from vericap.core.samples import Sample
from vericap.metrics.registry import make, split
from vericap.run.engine import Run

GROUPS = ("HC", "HI", "HM", "MM")


def score(metric: str, samples: list[Sample]) -> Any:
    return Run([make(metric)]).score(samples)[metric]


def golden_samples(name: str) -> tuple[list[dict[str, Any]], list[Sample]]:
    found = rows(name)
    return [row for row, _, _ in found], [Sample(str(row["id"]), text, tuple(refs)) for row, text, refs in found]


def expert(metric: str) -> str:
    records, samples = golden_samples("flickr8k_expert")
    scores = score(metric, samples)
    ratings = [rating for record in records for rating in record["ratings"]]
    tau = kendalltau(np.repeat(scores, 3), ratings, variant="c").statistic
    rank = spearmanr(scores, [record["spice"]["All"]["f"] for record in records]).statistic
    return f"Expert tau-c {100 * tau:.2f}  Spearman with the original {rank:.3f}"


def crowd(metric: str) -> str:
    texts, samples, shares = flickr_captions(), [], []
    for line in (data_folder() / "flickr8k" / "CrowdFlowerAnnotations.txt").read_text("utf-8").splitlines():
        image, caption, share, *_ = line.split("\t")
        own = [f"{image}#{i}" for i in range(5)]
        references = tuple(texts[key] for key in own if key != caption and key in texts)
        if caption in texts and references:
            samples.append(Sample(f"{image}|{caption}", texts[caption], references))
            shares.append(float(share))
    tau = kendalltau(score(metric, samples), shares, variant="b").statistic
    return f"CF tau-b {100 * tau:.2f} ({len(shares)} pairs)"


def pascal(metric: str) -> str:
    lines = (data_folder() / "pascal50s" / "pairs.jsonl").read_text("utf-8").splitlines()
    pairs = [json.loads(line) for line in lines]
    samples = [
        Sample(f"{place}:{which}", pair["captions"][which], tuple(pair["references"]))
        for place, pair in enumerate(pairs)
        for which in (0, 1)
    ]
    scores = score(metric, samples).reshape(-1, 2)
    right: dict[str, list[float]] = {group: [] for group in GROUPS}
    for (one, two), pair in zip(scores, pairs):
        first = pair["consensus48"] == 0
        right[pair["group"]].append(0.5 if one == two else float((one > two) == first))
    means = [100 * float(np.mean(right[group])) for group in GROUPS]
    return f"PASCAL-50S {'/'.join(f'{m:.1f}' for m in means)} mean {np.mean(means):.2f} ({len(pairs)} pairs)"


def corpora(metric: str) -> str:
    parts = []
    for name, original in (("coco_m2_transformer", 0.2256), ("coco_llava15_default", 0.2088)):
        found = float(np.nanmean(score(metric, golden_samples(name)[1])))
        parts.append(f"{name} {found:.4f} (original SPICE {original})")
    return "  ".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--metrics", default="spice,spice:actions=false,spice-soft,spice-soft:whole=0")
    for metric in split(parser.parse_args().metrics):
        for part in (expert, crowd, pascal, corpora):
            print(f"{metric:<22} {part(metric)}", flush=True)


if __name__ == "__main__":
    main()

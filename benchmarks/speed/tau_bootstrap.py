"""Clustered bootstrap of Kendall's tau: ours against a loop over scipy.stats.kendalltau, side by side.

    python -m benchmarks.speed.tau_bootstrap [--resamples 1000] [--scipy 1000] [--save]

Data of the size of Flickr8k-Expert are made here: 5,664 captions of 1,000 images, three ratings 1-4 each.
Both sides get the same draws; the values must agree to 1e-12.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.stats import kendalltau

from benchmarks.library.results import add_save, tell
from vericap.core.table import Table
from vericap.meta.agreement import agreement
from vericap.meta.bootstrap import cluster_weights


def made(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    image = np.sort(np.concatenate([np.arange(1000), generator.integers(0, 1000, 4664)]))
    quality = generator.normal(size=1000)[image] + generator.normal(size=5664)
    score = quality + generator.normal(size=5664)
    ratings = np.digitize(quality[:, None] + generator.normal(size=(5664, 3)), [0.5, 1.2, 2.0]) + 1.0
    return np.repeat(score, 3), ratings.ravel(), np.repeat(image, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--scipy", type=int, default=1000, help="resamples of the loop over scipy")
    add_save(parser)
    args = parser.parse_args()
    x, y, cluster = made()
    weights = cluster_weights(1000, resamples=args.resamples, seed=0)
    start = time.perf_counter()
    ours = agreement("tau-c", x, y, cluster).resampled(weights)
    fast = time.perf_counter() - start
    rows = np.split(np.arange(len(x)), np.flatnonzero(np.diff(cluster)) + 1)
    count = min(args.scipy, args.resamples)
    start = time.perf_counter()
    theirs = []
    for draw in weights[:count]:
        drawn = np.concatenate([np.tile(rows[k], int(times)) for k, times in enumerate(draw) if times])
        theirs.append(kendalltau(x[drawn], y[drawn], variant="c")[0])
    slow = (time.perf_counter() - start) * args.resamples / count
    gap = np.abs(ours[:count] - np.array(theirs)).max()
    table = Table([f"{args.resamples} resamples of {len(x)} ratings on 1000 images, tau-c", "seconds", "times as fast"])
    table.digits = 2
    table.add("loop over `scipy.stats.kendalltau`" + (" (scaled)" if count < args.resamples else ""), slow, 1.0)
    table.add("vericap", fast, slow / fast)
    table.notes.append(f"Largest difference of the two: {gap:.1e}.")
    tell("benchmarks.speed.tau_bootstrap", {"bootstrap": table}, save=args.save)


if __name__ == "__main__":
    main()

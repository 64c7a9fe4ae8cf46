"""Speed of SCAN's attention: all pairs by matrix products against a loop over captions; scoring and extraction.

python -m benchmarks.speed.scan_speed [--save]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks.library.results import add_save, tell
from vericap.core.table import Number, Table
from vericap.models.scan import Attention, CaptionWords, ScanModel, pooled, unit, weights

IMAGES, REGIONS, CAPTIONS, WIDTH = 64, 14, 640, 384


def over_captions(regions: np.ndarray, mask: np.ndarray, words: CaptionWords, attention: Attention) -> np.ndarray:
    """One caption after the other against all images, context vectors built."""
    scores = np.empty((len(regions), len(words)), np.float32)
    for caption in range(len(words)):
        h = words[caption]
        alpha = weights(regions @ h.T, mask, attention)
        grounding = (unit(alpha @ h) * regions).sum(axis=-1)
        scores[:, caption] = pooled(grounding, mask, attention)
    return scores


def best(function, times: int = 3) -> tuple[float, np.ndarray]:  # type: ignore[no-untyped-def]
    found, fastest = None, float("inf")
    for _ in range(times):
        started = time.process_time()
        found = function()
        fastest = min(fastest, time.process_time() - started)
    return fastest, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_save(parser)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    regions = unit(rng.normal(size=(IMAGES, REGIONS, WIDTH)).astype(np.float32))
    mask = np.ones((IMAGES, REGIONS), np.float32)
    lengths = rng.integers(9, 20, CAPTIONS)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    words = CaptionWords(unit(rng.normal(size=(int(lengths.sum()), WIDTH)).astype(np.float32)), offsets)
    blank = {"image": np.eye(WIDTH), "image_bias": np.zeros(WIDTH)}
    scan = ScanModel(blank, {"name": "random", "fingerprint": "", "words": "states"})
    slow, expected = best(lambda: over_captions(regions, mask, words, scan.attention))
    fast, found = best(lambda: scan.matrix(regions, mask, words))
    images, captions = rng.integers(0, IMAGES, 10_000), rng.integers(0, CAPTIONS, 10_000)
    seconds, _ = best(lambda: scan.pairs(regions, mask, words, images, captions))
    table = Table(["SCAN's attention", "processor s", "pairs per second"])
    rows = {
        "loop over captions": (slow, found.size),
        "matrix products": (fast, found.size),
        "given pairs": (seconds, 10_000),
    }
    for what, (spent, pairs) in rows.items():
        table.add(what, Number(spent, digits=3), Number(pairs / spent, digits=0))
    told = f"{slow / fast:.1f} times as fast, largest difference {np.abs(found - expected).max():.1e}"
    table.notes.append(f"all pairs of {IMAGES} photos and {CAPTIONS} captions: {told}")
    tell("benchmarks.speed.scan_speed", {"attention": table}, save=args.save)


if __name__ == "__main__":
    main()

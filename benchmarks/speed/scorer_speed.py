"""Milliseconds of one call of a warm `vericap.Scorer`: 16 captions of `cider-d` with a given document-frequency table.

python -m benchmarks.speed.scorer_speed [--captions 16] [--calls 200]
"""

from __future__ import annotations

import argparse
import statistics
import time

import vericap


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captions", type=int, default=16)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--metrics", default="cider-d")
    args = parser.parse_args()
    scorer = vericap.Scorer(args.metrics, df="coco-val")
    captions = [f"a dog runs over the grass with {number} balls" for number in range(args.captions)]
    references = [["a dog is running", "the dog runs on the lawn", "a brown dog plays", "dog on grass", "a dog"]] * len(
        captions
    )
    times = []
    for _ in range(args.calls):
        start = time.process_time()
        scorer.score(captions, references)
        times.append(1000 * (time.process_time() - start))
    first, later = times[0], times[1:]
    print(
        f"{args.metrics}, {args.captions} captions: first call {first:.1f} ms, then {statistics.median(later):.2f} ms"
    )


if __name__ == "__main__":
    main()

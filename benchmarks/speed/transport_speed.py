"""Exact transport side by side in one run: ours, `ot.emd2` per pair, gensim's `wmdistance`; 8 x 5 words.

    python -m benchmarks.speed.transport_speed [--pairs 2000] [--width 300]

Ours and POT include the cost matrix; the three distances are checked to be the same. CPU time of one thread.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

try:
    import ot
    from gensim.models import KeyedVectors
except ImportError as error:
    raise SystemExit(f"{error.name} is compared with: pip install POT gensim") from error

from vericap.native import load
from vericap.text.bags import Bags
from vericap.text.transport import distances
from vericap.text.transport_python import distances as in_python
from vericap.text.word_table import count_bags


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--width", type=int, default=300)
    args = parser.parse_args()
    random = np.random.default_rng(0)
    vectors = random.normal(size=(3000, args.width)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    left = [random.choice(3000, 8, replace=False).tolist() for _ in range(args.pairs)]
    right = [random.choice(3000, 5, replace=False).tolist() for _ in range(args.pairs)]
    keyed = KeyedVectors(args.width)
    keyed.add_vectors([f"w{i}" for i in range(3000)], vectors)

    def ours() -> np.ndarray:
        """From word numbers, as the metrics do it: bags, cost matrices, transport."""
        bags = []
        for side in (left, right):
            texts = np.repeat(np.arange(len(side)), [len(words) for words in side])
            bags.append(count_bags(texts, np.array([w for words in side for w in words]), len(side), 3000))
        return distances(vectors, *bags, p=1.0)

    def twin() -> np.ndarray:
        part = slice(0, max(args.pairs // 10, 1))
        bags = [Bags.of(dict.fromkeys(words, 1.0) for words in side[part]) for side in (left, right)]
        return in_python(vectors, *bags, p=1.0)

    def pot() -> np.ndarray:
        a, b = np.full(8, 1 / 8), np.full(5, 1 / 5)
        return np.array(
            [ot.emd2(a, b, ot.dist(vectors[i], vectors[j], "euclidean").astype(float)) for i, j in zip(left, right)]
        )

    def gensim() -> np.ndarray:
        return np.array([keyed.wmdistance([f"w{k}" for k in i], [f"w{k}" for k in j]) for i, j in zip(left, right)])

    print(f"{args.pairs} problems of 8 x 5 words of {args.width} numbers; compiled: {load('transport') is not None}")
    wanted, base = None, 0.0
    for name, function in (
        ("ours", ours), ("POT emd2", pot), ("gensim wmdistance", gensim), ("our Python twin", twin),
    ):  # fmt: skip
        function() if name == "ours" else None
        start = time.process_time()
        found = function()
        each = (time.process_time() - start) / len(found)
        wanted, base = (found, each) if wanted is None else (wanted, base)
        error = np.abs(found - wanted[: len(found)]).max()
        print(
            f"  {name:18} {1e6 * each:8.1f} us per pair, {each / base:6.1f} times ours, largest difference {error:.1e}",
            flush=True,
        )


if __name__ == "__main__":
    main()

"""Does REO point the right way? Captions with an invented phrase, captions with a dropped object.

    python benchmarks/reo_direction.py [--cases 500] [--mentions 2]

Flickr8k dev photos: one caption is the candidate, the other four are the references. A phrase of another photo's
caption, of something none of the five captions speaks of, is added (extraness must fall); or an object is dropped with
its preposition or conjunction (omission must fall) that at least --mentions of the references speak of. The table shows
in how many percent of the cases the worse caption scores lower, with every ground truth.
"""

from __future__ import annotations

import argparse

import numpy as np
from caption_edits import Case, added, dropped
from caption_sets import ROOT

from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics.registry import resolve
from vericap.run.engine import Run
from vericap.train.data import flickr8k

MEASURES = ("reo-relevance", "reo-extraness", "reo-omission")
TRUTHS = ("image", "reference", "both")


def right(cases: list[Case], *, model: str = "default") -> dict[str, dict[str, float]]:
    """measure -> ground truth -> share of cases (percent) in which the worse caption scores lower."""
    samples = [
        Sample(f"{number}-{side}", text, case.references, case.key)
        for number, case in enumerate(cases)
        for side, text in enumerate((case.before, case.after))
    ]
    names = [f"{measure}:truth={truth}:model={model}" for measure in MEASURES for truth in TRUTHS]
    result = Run(resolve(names), Settings(images=ROOT / "flickr8k" / "Images")).score(samples)
    values = [np.asarray(result[label], dtype=float) for label in result.metrics]
    shares = iter([100 * float((scores[0::2] > scores[1::2]).mean()) for scores in values])
    return {measure: {truth: next(shares) for truth in TRUTHS} for measure in MEASURES}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--mentions", type=int, default=2, help="references that speak of a dropped object")
    parser.add_argument("--model", default="default")
    args = parser.parse_args()
    data = flickr8k(ROOT / "flickr8k", "dev")
    edits = {
        "a phrase added": added(data, args.cases),
        "an object dropped": dropped(data, args.cases, mentions=args.mentions),
    }
    print("| error | measure | image | reference | both |\n|---|---|---|---|---|")
    for what, cases in edits.items():
        for measure, shares in right(cases, model=args.model).items():
            print(f"| {what} ({len(cases)} cases) | {measure} |", " | ".join(f"{v:.1f}" for v in shares.values()), "|")
    for what, cases in edits.items():
        for case in cases[:3]:
            print(f"{what}: {case.before!r} -> {case.after!r}")


if __name__ == "__main__":
    main()

"""Does REO point the right way? Captions with an invented phrase, captions with a dropped object.

    python benchmarks/reo_direction.py [--cases 500]

Flickr8k dev photos: one caption is the candidate, the other four are the references. A phrase of another photo's
caption is added (extraness must fall), or the caption's last phrase is dropped (omission must fall).
"""

from __future__ import annotations

import argparse
import re

import numpy as np
from caption_sets import ROOT

from vericap.run.batch import Settings
from vericap.run.engine import score_batch
from vericap.samples import Sample
from vericap.train.data import flickr8k

_CUT = re.compile(r"\s(?:in|on|with|at|near|by|through|over|while|and|into|behind|under|beside|next to)\s")


def phrase(caption: str) -> str:
    """From the last preposition or 'and' to the end; empty where there is none."""
    found = list(_CUT.finditer(caption))
    return caption[found[-1].start() :].rstrip(" .") if found else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--truth", default="both")
    args = parser.parse_args()
    data = flickr8k(ROOT / "flickr8k", "dev")
    rng = np.random.default_rng(0)
    added, dropped = [], []
    for key, captions in zip(data.keys, data.captions):
        own, references = captions[0].rstrip(" ."), tuple(captions[1:])
        other = phrase(data.captions[int(rng.integers(len(data)))][0])
        if other and len(added) < args.cases:
            added.append((own, own + other, references, key))
        last = phrase(captions[0])
        if last and len(own) > len(last) + 8 and len(dropped) < args.cases:
            dropped.append((own, own.removesuffix(last), references, key))
    for name, cases in (("reo-extraness", added), ("reo-omission", dropped), ("reo-relevance", added)):
        samples = [Sample(f"{i}-{k}", c[k], c[2], c[3]) for i, c in enumerate(cases) for k in (0, 1)]
        metric = f"{name}:truth={args.truth}"
        values = score_batch(samples, [metric], Settings(images=ROOT / "flickr8k" / "Images"))[metric]
        right = values[0::2] > values[1::2]
        print(f"{name}: the worse caption scores lower in {100 * right.mean():.1f} % of {len(cases)} cases")


if __name__ == "__main__":
    main()

"""What the parts of the verdict's rating are worth, and other shares of them: Spearman, x100.

    VERICAP_DATA=DIR python -m benchmarks.studies.rating_parts --photos train2017/ [--save]

CxC's ratings (all, and those of captions of other photos) on photos that set the verdict's thresholds, not on those
that fit its weights or make the docs' figures; and Flickr8k's dev photos with captions of other photos, unrated:
there the photo's own captions that are not given as references say how near a caption comes (mean and largest cosine by
gte-small, `packages/vericap-gte-small`). Parts are brought to one scale and added with the shares of each row; fluency
and adequacy are left aside.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from benchmarks.agreement import verdict_cases as cases
from benchmarks.library.data import data_folder
from benchmarks.library.results import add_save, tell
from vericap.core.batch import Batch
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.table import Number, Table
from vericap.core.typing import Floats
from vericap.metrics.verdict.judge import BOTH, IMAGE, shipped_judge
from vericap.metrics.verdict.parts import Parts
from vericap.metrics.verdict.rating import RATING, rating_features
from vericap.run.plan import analysed
from vericap.run.runtime import Runtime
from vericap.train import data
from vericap.train.ratings import FIT, HELD, share_of
from vericap.train.verdict.cases import rated as ratings

RATED, PHOTOS, GIVEN = 4000, 700, 2  # ratings; Flickr8k photos; references that are given there
NEAR, MIDDLE = 15, 115  # the nearest captions of other photos: three of these, two of the next, one of the rest
TRIED: dict[str, dict[str, Sequence[float]]] = {
    IMAGE: {"without claims": (1, 1, 0, 0), "claims half": (1, 1, 0.25, 0.25), "claims twice": (1, 1, 1, 1)},
    BOTH: {
        "without claims": (1, 0, 0, 0.75, 0.75),
        "claims twice": (1, 0.5, 0.5, 0.75, 0.75),
        "match twice": (2, 0.25, 0.25, 0.75, 0.75),
        "likeness half": (1, 0.25, 0.25, 0.35, 0.35),
    },
}


@dataclass(frozen=True)
class Judged:
    """Captions with the parts of their ratings (standardised) and what they are compared with."""

    parts: Floats
    truth: Floats

    def agreement(self, shares: Sequence[float], rows: slice | Floats = slice(None)) -> Number:
        return Number(100 * float(spearmanr((self.parts @ np.array(shares))[rows], self.truth[rows])[0]), digits=1)


def parts_of(samples: Sequence[Sample], settings: Settings, way: str) -> Floats:
    judge, found = shipped_judge(), []
    for start in range(0, len(samples), 1000):
        batch = Batch.of(list(samples[start : start + 1000]), settings)
        captions = [parts for parts in analysed(batch, Parts())[Parts()] if parts is not None]
        found.append(rating_features(captions, judge.judged(captions, way), way))
    values = np.concatenate(found)
    return np.asarray((values - values.mean(axis=0)) / values.std(axis=0))


def rated(folder: Path, photos: Path, way: str, cache: str | None) -> tuple[Judged, Floats]:
    """Ratings, and which are of captions of other photos."""
    known = ratings(folder / "cxc" / "sits_val.jsonl.gz", cases.captions_of(folder))
    every = [case for case in known if FIT <= share_of(case.image) < HELD]
    own = [every[row] for row in np.random.default_rng(0).permutation(len(every))[:RATED]]
    samples = [Sample(str(n), c.caption, c.references if way == BOTH else (), c.image) for n, c in enumerate(own)]
    parts = parts_of(samples, Settings(images=photos, cache=cache), way)
    return Judged(parts, np.array([case.rating for case in own])), np.array([case.kind == "foreign" for case in own])


def likened(folder: Path, way: str) -> Judged:
    """Captions of other Flickr8k dev photos, near and far, with how near the photo's own ones that are kept come."""
    dev = data.flickr8k(folder / "flickr8k", "dev").first(PHOTOS)
    settings = Settings(images=folder / "flickr8k" / "Images", cache="off")
    texts = [(photo, text) for photo, own in enumerate(dev.captions) for text in own]
    vectors = Runtime.of(settings).encoder("gte-small").encode([text for _, text in texts])
    alike, owner = vectors @ vectors.T, np.array([photo for photo, _ in texts])
    given = GIVEN if way == BOTH else 0
    generator, samples, truth = np.random.default_rng(0), list[Sample](), list[float]()
    for photo, key in enumerate(dev.keys):
        own = np.flatnonzero(owner == photo)
        mean = np.where(owner == photo, -np.inf, alike[own].mean(axis=0))
        order = np.argsort(-mean)[: -len(own)]
        drawn = [*order[generator.choice(NEAR, 3, replace=False)]]
        drawn += [*order[NEAR + generator.choice(MIDDLE - NEAR, 2, replace=False)], generator.choice(order[MIDDLE:])]
        for place in drawn:
            samples.append(Sample(str(len(samples)), texts[place][1], tuple(dev.captions[photo][:given]), key))
            kept = alike[own[given:], place]
            truth.append(float(kept.mean() + kept.max()))
    return Judged(parts_of(samples, settings, way), np.array(truth))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", required=True, type=Path, help="COCO's photos, named by their number")
    parser.add_argument("--cache", metavar="off|DIR")
    add_save(parser)
    args = parser.parse_args()
    folder, tables = data_folder(), {}
    for way, title in ((IMAGE, "without references"), (BOTH, "with references")):
        (people, foreign), flickr = rated(folder, args.photos, way, args.cache), likened(folder, way)
        table = Table(["parts", "CxC", "CxC, other photos", "Flickr8k dev, other photos"])
        names = list(RATING[way])
        rows: dict[str, Sequence[float]] = {
            name: np.eye(len(names))[place].tolist() for place, name in enumerate(names)
        }
        rows |= {"as shipped": list(RATING[way].values()), **TRIED[way]}
        for name, shares in rows.items():
            table.add(name, people.agreement(shares), people.agreement(shares, foreign), flickr.agreement(shares))
        table.notes.append(f"shares of {', '.join(names)}; as shipped: {', '.join(map(str, RATING[way].values()))}")
        tables[title.replace(" ", "-")] = table
    tell("benchmarks.studies.rating_parts", tables, save=args.save)


if __name__ == "__main__":
    main()

"""What SCAN's attention gives REO and TIGEr, by its sharpness, and how much of REO's `both` the image is: Spearman with
people's ratings (CxC).

    python -m benchmarks.studies.attention --photos train2017/ [--model DIR] [--save]

Sharpness 0 is uniform attention: every region's context is the mean of the words. Ratings are of photos whose captions
the models may have seen; what is compared is one model with itself.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.stats import spearmanr

from benchmarks.agreement import verdict_cases as cases
from benchmarks.library.data import data_folder
from benchmarks.library.results import add_save, tell
from vericap.core.settings import Settings
from vericap.core.table import Number, Table
from vericap.reproduce.uniform import sharpened
from vericap.train.ratings import FIT, share_of
from vericap.train.verdict.cases import Case, rated

METRICS = ("reo-relevance:truth=image", "reo-relevance:truth=reference", "reo-relevance:truth=both", "tiger")
SHARPNESS = (0.0, 4.0, 9.0, 15.0, 30.0, 60.0)
SHARES = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 1.0)
OTHERS, OWN = 2500, 500  # ratings of other photos' captions, and of the photo's own


def drawn(folder: Path) -> list[Case]:
    """Rated captions, mostly of other photos: what people see at once is no question."""
    known = rated(folder / "cxc" / "sits_val.jsonl.gz", cases.captions_of(folder))
    every = [case for case in known if share_of(case.image) >= FIT]  # the others are learned from
    generator, found = random.Random(0), []
    for foreign, count in ((True, OTHERS), (False, OWN)):
        own = [case for case in every if (case.kind == "foreign") == foreign]
        found += generator.sample(own, min(count, len(own)))
    return found


def image_shares(own: list[Case], people: np.ndarray, settings: Settings, model: str) -> Table:
    """Relevance to image and references together, by the image's share."""
    named = [f"reo-relevance:truth={truth}:model={model}" for truth in ("image", "reference")]
    image, reference = (np.nan_to_num(cases.scored(own, settings, named, references=True).values[n]) for n in named)
    foreign = np.array([case.kind == "foreign" for case in own])
    table = Table(["share of the image", "all", "captions of other photos"], x100=True)
    for share in SHARES:
        both = share * image + (1 - share) * reference
        figures = (float(spearmanr(both[part], people[part])[0]) for part in (foreign | True, foreign))
        table.add(f"{share:g}", *(Number(figure, digits=3) for figure in figures))
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", required=True, type=Path, help="COCO's photos, named by their number")
    parser.add_argument("--model", default="default", metavar="DIR", help="a SCAN model (the shipped one)")
    parser.add_argument("--cache", metavar="off|DIR")
    add_save(parser)
    args = parser.parse_args()
    own = drawn(data_folder())
    people = np.array([case.rating for case in own])
    settings = Settings(images=args.photos, cache=args.cache)
    table = Table(["sharpness", *METRICS], x100=True)
    for sharpness in SHARPNESS:
        with TemporaryDirectory() as scratch:
            model = sharpened(args.model, Path(scratch), sharpness)
            named = [f"{name}:model={model}" for name in METRICS]
            values = cases.scored(own, settings, named, references=True).values
        figures = [float(spearmanr(np.nan_to_num(values[name]), people)[0]) for name in named]
        table.add(f"{sharpness:g}", *(Number(figure, digits=3) for figure in figures))
    table.notes.append(f"{len(own)} ratings, {OTHERS} of captions of other photos")
    shares = image_shares(own, people, settings, args.model)
    tell("benchmarks.studies.attention", {"sharpness": table, "image": shares}, save=args.save)


if __name__ == "__main__":
    main()

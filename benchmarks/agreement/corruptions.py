"""How often does each metric see that a caption was made wrong?

    python -m benchmarks.agreement.corruptions [--captions 500] [--references 4] [--references 0]
        [--metrics NAME ...] [--save]

Flickr8k dev captions against the same captions with one claim changed (see `vericap.graphs.corruptions`): an object,
an attribute, a relation or a number replaced, content words shuffled, subject and object swapped. Share of pairs in
which the right caption scores higher, ties 1/2.

Photos of Flickr8k have five captions and the right caption is one of them, so that its references are the **four
others**: a fifth one would be the right caption itself. What the four say is never put in. `--references 0` gives the
metrics that look at the photo nothing else to look at; without the option both are printed.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import numpy as np

from benchmarks.library.data import data_folder
from benchmarks.library.results import add_save, tell
from benchmarks.library.runs import photos, scored, short, usable
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.table import Table
from vericap.graphs.corruptions import KINDS, Pools, corruptions
from vericap.run.analyses.graphs import parse_texts
from vericap.run.runtime import Runtime
from vericap.train.data import flickr8k

METRICS = ("bleu-4", "rouge-l", "meteor", "cider-d", "spice", "spice-soft", "sentence", "lm", "vse", "reo-relevance",
           "tiger", "faier", "faier-plus")  # fmt: skip


def cases(count: int, *, seed: int, split: str = "dev") -> dict[str, list[tuple[str, str, tuple[str, ...], str]]]:
    """Kind -> (right, wrong, other captions, photo), `count` of each where so many can be made."""
    data = flickr8k(data_folder() / "flickr8k", split)
    pool = [(key, place) for key in range(len(data.keys)) for place in range(len(data.captions[key]))]
    pool = random.Random(seed).sample(pool, min(len(pool), 3 * count + 200))
    right = [data.captions[key][place] for key, place in pool]
    others = [tuple(c for i, c in enumerate(data.captions[key]) if i != place) for key, place in pool]
    graphs = list(parse_texts(right, Runtime.of(Settings())))
    made = corruptions(right, graphs, seed=seed, avoid=others, pools=Pools.of(right, graphs, minimum=2))
    result: dict[str, list[tuple[str, str, tuple[str, ...], str]]] = {kind: [] for kind in KINDS}
    for text, rest, (key, _), wrong in zip(right, others, pool, made):
        for kind, changed in wrong.items():
            if len(result[kind]) < count:
                result[kind].append((text, changed, rest, data.keys[key]))
    return result


def samples_of(found: list[tuple[str, str, tuple[str, ...], str]], references: int) -> list[Sample]:
    """Right and wrong caption one after the other."""
    return [
        Sample(f"{i}-{side}", text, rest[:references], image)
        for i, (right, wrong, rest, image) in enumerate(found)
        for side, text in enumerate((right, wrong))
    ]


def seen(scores: np.ndarray) -> float:
    """Share of pairs in which the right caption scores higher, x 100."""
    right, wrong = scores[0::2], scores[1::2]
    return 100 * float(np.where(right == wrong, 0.5, right > wrong).mean())


def table(names: list[str], made: dict[str, list], references: int, settings: Settings) -> Table:
    kinds = [kind for kind in made if made[kind]]
    sets = [samples_of(made[kind], references) for kind in kinds]
    good, left_out = usable(names, sets[0][0], settings)
    what = f"{references} references" if references else "no references"
    counts = ", ".join(f"{kind} {len(made[kind])}" for kind in kinds)
    shown = Table(("metric", *kinds), title=f"Corruptions seen (%), {what}", digits=1)
    for name, parts in scored(sets, good, settings).items():
        shown.add(short(name), *map(seen, parts))
    shown.notes = [f"Pairs: {counts}; one standard error is at most 50 / sqrt(pairs). Chance is 50.", *left_out]
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captions", type=int, default=500, help="pairs per kind")
    parser.add_argument("--references", type=int, action="append", choices=range(5))
    parser.add_argument("--metrics", nargs="+", default=list(METRICS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--split", default="dev", choices=("dev", "test"))
    parser.add_argument("--examples", type=int, default=0, help="print some pairs of each kind and stop")
    parser.add_argument("--cache", type=Path)
    add_save(parser)
    args = parser.parse_args()
    made = cases(args.captions, seed=args.seed, split=args.split)
    if args.examples:
        for kind, found in made.items():
            for right, wrong, *_ in found[: args.examples]:
                print(f"- {kind}: {right} -> {wrong}")
        return
    settings = photos(data_folder() / "flickr8k" / "Images", cache=args.cache)
    tables = {
        f"{references} references": table(args.metrics, made, references, settings)
        for references in args.references or [4, 0]
    }
    tell("benchmarks.agreement.corruptions", tables, save=args.save)


if __name__ == "__main__":
    main()

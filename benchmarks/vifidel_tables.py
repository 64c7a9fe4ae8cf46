"""VIFIDEL and WMD beside people: PASCAL-50S with gold labels and with the detector, Flickr8k-Expert.

    python benchmarks/vifidel_tables.py [--vectors FILE] [--no-images] [--draws 5]

Prints accuracy per group (HC HI HM MM, x100, mean over draws of the references) for 0, 1 and 5 references and
both kinds of label, the figures of the paper beside them, and Expert tau-c (published protocol) x100.
"""

from __future__ import annotations

import argparse

import numpy as np
from caption_sets import GROUPS, ROOT, expert, pascal

from vericap.core.batch import Batch
from vericap.core.settings import Settings
from vericap.metrics.registry import make

# Madhyastha, Wang and Specia (2019), Tables 1, 5 and 6: all 4,000 pairs, word2vec, 48-vote label.
PAPER = {
    ("gold", 0): (57, 91, 53, 68),
    ("gold", 1): (62, 96, 65, 69),
    ("gold", 5): (65, 98, 66, 70),
}
PAPER_MM = {("detector", 0): 69, ("detector", 1): 71, ("detector", 5): 72}  # their 500-class detector, MM only


def ranking(metric: str, batch: Batch) -> np.ndarray:
    """-distance; what cannot be judged comes last."""
    found = make(metric).statistics(batch)
    return np.where(np.isnan(found.columns["distance"]), -np.inf, -found.columns["distance"])


def pascal_row(metric: str, *, label: str, references: int, draws: int, gold: bool) -> np.ndarray:
    """(draws, groups + mean)"""
    rows = []
    for draw in range(draws if references else 1):
        data = pascal(label=label, references=references, draw=draw, objects=gold)
        batch = Batch.of(data.samples, Settings(images=ROOT / "pascal50s/images"))
        found = data.accuracy(ranking(metric, batch))
        rows.append([found[group] for group in (*GROUPS, "mean")])
    return np.array(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", default="encoder")
    parser.add_argument("--options", default="", help="more options of vifidel, e.g. :counts=binary:p=1")
    parser.add_argument("--no-images", action="store_true", help="leave the detector out")
    parser.add_argument("--draws", type=int, default=5)
    args = parser.parse_args()
    vifidel = f"vifidel:vectors={args.vectors}{args.options}"
    wmd = f"wmd:vectors={args.vectors}"
    sources = ["gold"] if args.no_images else ["gold", "detector"]
    print(f"PASCAL-50S, 811 pairs, {args.draws} draws; columns {' '.join(GROUPS)} mean (sd of the mean)")
    for label in ("consensus48", "votes11"):
        for source in sources:
            for count in (0, 1, 5):
                found = pascal_row(vifidel, label=label, references=count, draws=args.draws, gold=source == "gold")
                shown = " ".join(f"{value:5.1f}" for value in found.mean(axis=0))
                paper = PAPER.get((source, count)) if label == "consensus48" else None
                beside = f"   paper {' '.join(map(str, paper))}" if paper else ""
                if label == "consensus48" and (source, count) in PAPER_MM:
                    beside = f"   paper (D500) MM {PAPER_MM[source, count]}"
                print(
                    f"  vifidel {label:12} {source:9} refs {count}: {shown} ({found[:, -1].std():.1f}){beside}",
                    flush=True,
                )
        for count in (1, 5):
            found = pascal_row(wmd, label=label, references=count, draws=args.draws, gold=True)
            shown = " ".join(f"{value:5.1f}" for value in found.mean(axis=0))
            print(f"  wmd     {label:12} {'-':9} refs {count}: {shown} ({found[:, -1].std():.1f})")
    print("Flickr8k-Expert, tau-c x100")
    data = expert()
    batch = Batch.of(data.samples, Settings(images=ROOT / "flickr8k/Images"))
    print(f"  wmd refs 5: {data.tau(ranking(wmd, batch)):.2f}")
    if not args.no_images:
        print(f"  vifidel detector refs 0: {data.tau(ranking(f'{vifidel}:references=none', batch)):.2f}", flush=True)
        print(f"  vifidel detector refs 5: {data.tau(ranking(vifidel, batch)):.2f}")


if __name__ == "__main__":
    main()

"""VIFIDEL and WMD beside people: PASCAL-50S with gold labels and with the detector, Flickr8k-Expert.

    python benchmarks/vifidel_tables.py [--vectors FILE] [--no-images] [--draws 5] [--labels consensus48]

Prints accuracy per group (HC HI HM MM, x100, mean over draws of the references) for 0, 1 and 5 references and
both kinds of label, of VIFIDEL as we and as the authors' program set it, of the language model and of the means of the
paper's Table 1, the figures of the paper beside them; and Expert tau-c (published protocol) x100.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from caption_sets import GROUPS, ROOT, expert, pascal

from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics.registry import make
from vericap.run.engine import Run

# Madhyastha, Wang and Specia (2019), Tables 1, 5 and 6: all 4,000 pairs, word2vec, 48-vote label.
PAPER = {
    ("vifidel", "gold", 0): "   paper 57 91 53 68",
    ("vifidel", "gold", 1): "   paper 62 96 65 69",
    ("vifidel", "gold", 5): "   paper 65 98 66 70",
    ("vifidel", "detector", 0): "   paper (500 classes) MM 69",
    ("vifidel", "detector", 1): "   paper (500 classes) MM 71",
    ("vifidel", "detector", 5): "   paper (500 classes) MM 72",
}


def ranking(metric: str, samples: Sequence[Sample], settings: Settings) -> np.ndarray:
    """Scores of captions; -distance where there is one, which does not round; what cannot be judged comes last."""
    result = Run([make(metric)], settings).score(samples)
    columns = result.statistics[metric].columns
    found = -np.asarray(columns["distance"]) if "distance" in columns else result[metric]
    return np.where(np.isnan(found), -np.inf, found)


def pascal_row(metric: str, *, label: str, references: int, draws: int, gold: bool) -> np.ndarray:
    """(draws, groups + mean)"""
    rows = []
    for draw in range(draws if references else 1):
        data = pascal(label=label, references=references, draw=draw, objects=gold)
        found = data.accuracy(ranking(metric, data.samples, Settings(images=ROOT / "pascal50s/images")))
        rows.append([found[group] for group in (*GROUPS, "mean")])
    return np.array(rows)


def pascal_tables(metrics: dict[str, str], label: str, sources: Sequence[str], draws: int) -> None:
    for name, metric in metrics.items():
        blind = name in ("lm", "wmd")  # looks at no object
        for source in sources[:1] if blind else sources:
            for count in (0, 1, 5):
                if (name == "wmd" or "cider" in name) and not count:
                    continue
                found = pascal_row(metric, label=label, references=count, draws=draws, gold=source == "gold")
                shown = " ".join(f"{value:5.1f}" for value in found.mean(axis=0))
                paper = PAPER.get((name, source, count), "") if label == "consensus48" else ""
                where = "-" if blind else source
                print(
                    f"  {name:22} {label:12} {where:9} refs {count}: {shown} ({found[:, -1].std():.1f}){paper}",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", default="encoder")
    parser.add_argument("--options", default="", help="more options of vifidel, e.g. :counts=binary:p=1")
    parser.add_argument("--no-images", action="store_true", help="leave the detector out")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--labels", nargs="*", default=["consensus48", "votes11"])
    args = parser.parse_args()
    vifidel = (
        f"vifidel:vectors={args.vectors}{args.options}" if args.vectors != "encoder" or args.options else "vifidel"
    )
    metrics = {
        "vifidel": vifidel,
        "authors": f"vifidel:setting=authors:vectors={args.vectors}",
        "lm": "lm",
        "mean(vifidel,lm)": "mean(vifidel,lm)",
        "mean(vifidel,cider-d)": "mean(vifidel,cider-d)",
        "wmd": f"wmd:vectors={args.vectors}",
    }
    sources = ["gold"] if args.no_images else ["gold", "detector"]
    print(f"PASCAL-50S, 811 pairs, {args.draws} draws; columns {' '.join(GROUPS)} mean (sd of the mean)")
    for label in args.labels:
        pascal_tables(metrics, label, sources, args.draws)
    print("Flickr8k-Expert, tau-c x100")
    data, settings = expert(), Settings(images=ROOT / "flickr8k/Images")
    print(f"  wmd refs 5: {data.tau(ranking(metrics['wmd'], data.samples, settings)):.2f}")
    if not args.no_images:
        for metric in (f"{vifidel}:references=none", vifidel, "mean(vifidel,lm)"):
            print(f"  {metric} detector: {data.tau(ranking(metric, data.samples, settings)):.2f}", flush=True)


if __name__ == "__main__":
    main()

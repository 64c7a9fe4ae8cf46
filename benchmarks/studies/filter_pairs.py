"""`vericap filter` on pairs of which a third have another photo's caption: what is kept, and what the cascade saves.

    python -m benchmarks.studies.filter_pairs --metric vse --pairs 20000 [--save]
    python -m benchmarks.studies.filter_pairs --metric vse --pairs 600 --cascade 'vse>=0.3 & chair==0' [--table NAME]
    python -m benchmarks.studies.filter_pairs --metric vse --pairs 600 --soiled

The pairs are captions and photos of Flickr8k (VERICAP_DATA/flickr8k). Precision is the share of kept pairs whose
caption belongs to the photo, recall the share of those that are kept; ties and rounding are those of top:SHARE:METRIC.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.library.data import data_folder
from benchmarks.library.results import add_save, tell
from vericap.core.settings import Settings
from vericap.core.table import Table
from vericap.io.filtering import Filtering, Outcome, Wish
from vericap.io.stream import open_input
from vericap.metrics.registry import make
from vericap.run.filter.truth import best_share

SHARES = ("0.3", "0.5", "2/3", "0.8")


def pairs(count: int, wrong: Fraction, seed: int) -> list[dict[str, object]]:
    """Captions with their photo, and for a share of them that of another one."""
    lines = (data_folder() / "flickr8k" / "Flickr8k.token.txt").read_text(encoding="utf-8").splitlines()
    captions = [(line.split("#")[0], line.split("\t")[1].strip()) for line in lines]
    photos = {path.name for path in (data_folder() / "flickr8k" / "Images").iterdir()}
    draw = random.Random(seed)
    chosen = draw.sample([pair for pair in captions if pair[0] in photos], count)
    bad = set(draw.sample(range(count), int(wrong * count)))
    return [
        {"id": str(number), "image": photo, "caption": _other(photo, chosen, draw) if number in bad else caption}
        | {"right": int(number not in bad)}
        for number, (photo, caption) in enumerate(chosen)
    ]


def _other(photo: str, captions: list[tuple[str, str]], draw: random.Random) -> str:
    """A caption of another photo."""
    return next(text for other, text in iter(lambda: draw.choice(captions), None) if other != photo)


def filtered(
    file: Path, folder: Path, keep: str, *, cascade: bool = False, clean: bool = False
) -> tuple[Outcome, float, list[dict[str, object]]]:
    """The outcome of a filter, its processor seconds, and all records with their scores; nothing is cached."""
    settings = Settings(images=data_folder() / "flickr8k" / "Images", cache="off")
    kept, lost = folder / "kept.jsonl", folder / "lost.jsonl"
    start = time.process_time()
    with open_input(file) as source:
        outcome = Filtering(source, Wish(keep, cascade=cascade, clean=clean), settings).run(kept, lost)
    seconds = time.process_time() - start
    rows = [{**json.loads(line), "kept": name == kept} for name in (kept, lost) for line in name.open(encoding="utf-8")]
    return outcome, seconds, rows


def quality(file: Path, folder: Path, metric: str) -> Table:
    """Precision and recall of the best shares, and the chance that a right pair scores above a wrong one."""
    _, seconds, rows = filtered(file, folder, f"top:0.6667:{metric}")
    scores = np.array([np.nan if row[metric] is None else row[metric] for row in rows], dtype=np.float64)
    right = np.array([row["right"] == 1 for row in rows])
    lower = make(metric).direction == "lower"
    table = Table(["kept", "pairs", "precision", "recall", "least score"])
    for share in SHARES:
        truth, cut = best_share(scores, Fraction(share), highest=not lower)
        inside = right[truth.yes]
        table.add(
            f"top:{share}", int(truth.yes.sum()), float(inside.mean()), float(inside.sum() / right.sum()), cut.value
        )
    good, bad = scores[right & ~np.isnan(scores)], scores[~right & ~np.isnan(scores)]
    above = np.searchsorted(np.sort(bad), good, "left") + np.searchsorted(np.sort(bad), good, "right")
    area = float(above.mean() / 2 / len(bad))
    wrong, each = int((~right).sum()), 1000 * seconds / len(rows)
    table.notes.append(
        f"{len(rows):,} pairs, {wrong:,} with another photo's caption; area under the ROC curve "
        f"{1 - area if lower else area:.4f}; {each:.1f} ms of processor a pair, opening the networks included"
    )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--metric", default="vse")
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--wrong", type=Fraction, default=Fraction(1, 3))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cascade", metavar="EXPRESSION", help="a condition to run with and without the cascade")
    parser.add_argument("--table", default="cascade", help="under which the table of --cascade is kept")
    parser.add_argument("--soiled", action="store_true", help="the same captions with &nbsp; for blanks, and cleaned")
    add_save(parser)
    args = parser.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "pairs.jsonl"
        file.write_text(
            "".join(json.dumps(one) + "\n" for one in pairs(args.pairs, args.wrong, args.seed)), encoding="utf-8"
        )
        if args.cascade:
            tables = {args.table: cascaded(file, folder, args.cascade)}
        elif args.soiled:
            tables = {"soiled": soiled(file, folder, args.metric)}
        else:
            tables = {args.metric: quality(file, folder, args.metric)}
        tell("benchmarks.studies.filter_pairs", tables, save=args.save)


def cascaded(file: Path, folder: Path, keep: str) -> Table:
    """Time and records scored, with and without; what is kept must be the same."""
    table = Table(["cascade", "seconds", "kept", "scored"], title=keep, digits=1)
    found = {}
    for cascade in (False, True):
        outcome, seconds, rows = filtered(file, folder, keep, cascade=cascade)
        found[cascade] = [(row["id"], row["kept"], row.get("rejected")) for row in rows]
        scored = ", ".join(f"{label} {count}" for label, count in outcome.summary.scored.items())
        table.add("yes" if cascade else "no", seconds, outcome.summary.kept, scored)
    table.notes.append("the same records are kept and rejected" if found[True] == found[False] else "RESULTS DIFFER")
    return table


def soiled(file: Path, folder: Path, metric: str) -> Table:
    """The mean score of true captions as they are, with entities for blanks, and with these undone by `clean`."""
    true = [item for item in map(json.loads, file.open(encoding="utf-8")) if item["right"]]
    table = Table(["captions", "mean"], title=f"{metric} of {len(true)} true captions")
    for name, blank, clean in (
        ("as they are", " ", False),
        ("with &nbsp;", "&nbsp;", False),
        ("cleaned", "&nbsp;", True),
    ):
        other = folder / "soiled.jsonl"
        items = [{**item, "caption": item["caption"].replace(" ", blank)} for item in true]
        other.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
        _, _, rows = filtered(other, folder, f"top:1:{metric}", clean=clean)
        table.add(name, float(np.mean([row[metric] for row in rows if row[metric] is not None])))
    return table


if __name__ == "__main__":
    main()

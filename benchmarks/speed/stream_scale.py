"""Cost and memory of `vericap score` from ten thousand to ten million captions, with a plot.

    VERICAP_DATA=DIR python -m benchmarks.speed.stream_scale [--sizes 10000,50000,1000000] [--metrics classics,vifidel]
        [--workers 2] [--mix] [--work DIR] [--output FILE.json] [--plot FILE.svg] [--save]

Captions are real ones of COCO (train and val 2014), repeated: the captions of one photo in a drawn order, four of them
references; the candidate is the fifth, or, for every third one, a caption of another photo. With --mix the captions of
later rounds are made of halves of two, so that n-grams go on growing without end; they lie on disk, and memory must
stay where it is then too.

Measured from outside: memory is the sum over all processes of the run (proportional set size, /proc/PID/smaps_rollup)
and, beside it, that of the largest; processor time is user and system time of all of them. On a machine that others
use, wall time says nothing: captions per second on two cores are 2 / (processor seconds per caption).
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.library import corpora
from benchmarks.library.measuring import measured
from benchmarks.library.results import add_save, tell
from vericap.core.table import Number, Table

SETS = {"classics": "bleu-4,rouge-l,cider-d", "vifidel": "bleu-4,rouge-l,cider-d,vifidel"}
LABELS = ("person", "dog", "car", "chair", "bottle", "cat", "bicycle", "bench", "bird", "cup")


def captions(count: int, target: Path, by_image: list[list[str]], *, mix: bool) -> None:
    """Write `count` records."""
    rng = random.Random(0)
    with target.open("w", encoding="utf-8") as stream:
        for number in range(count):
            own = list(by_image[number % len(by_image)])
            if mix and number >= len(by_image):
                other = by_image[rng.randrange(len(by_image))]
                own = [mixed(one, two) for one, two in zip(own, other)]
            rng.shuffle(own)
            if number % 3 == 0:
                own[0] = rng.choice(by_image[rng.randrange(len(by_image))])
            objects = rng.sample(LABELS, 2)
            record = {"id": f"r{number}", "candidate": own[0], "references": own[1:5], "objects": objects}
            stream.write(json.dumps(record) + "\n")


def mixed(one: str, two: str) -> str:
    """The first half of a caption with the second half of another."""
    first, second = one.split(), two.split()
    return " ".join(first[: len(first) // 2] + second[len(second) // 2 :])


def measure(path: Path, metrics: str, workers: int, output: Path) -> dict[str, Any]:
    """One run of the command line."""
    words = ["score", path, "-m", metrics, "-o", output, "--workers", workers, "--quiet", "--cache", "off"]
    used = measured(*words)
    found = {"wall_s": used.wall, "cpu_s": used.cpu, "together_mb": used.together / 1e6}
    return {**found, "largest_mb": used.largest / 1e6, "table": used.printed}


def table_of(rows: list[dict[str, Any]]) -> Table:
    """What was measured, one row a run."""
    columns = [
        "captions",
        "metrics",
        "processor us each",
        "captions/s on two cores",
        "captions/s by the clock",
        "MB together",
        "MB of the largest",
    ]
    table = Table(columns, digits=0, keys=2)
    for row in rows:
        clock = row["captions"] / row["wall_s"]
        figures = (row["cpu_us"], row["two_cores_per_s"], clock, row["together_mb"], row["largest_mb"])
        table.add(row["captions"], SETS[row["set"]].replace(",", ", "), *map(Number, figures))
    for name in SETS:
        rates = {row["captions"]: row["two_cores_per_s"] for row in rows if row["set"] == name}
        if {50_000, 1_000_000} <= set(rates):
            table.notes.append(
                f"{name}: at a million {rates[1_000_000] / rates[50_000]:.2f} of the rate at 50,000, by processor time"
            )
    return table


def plot(rows: list[dict[str, Any]], target: Path) -> None:
    """Cost and memory over size."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams["svg.fonttype"] = "none"  # words stay words
    figure, (cost, memory) = plt.subplots(1, 2, figsize=(10, 4))
    for name in dict.fromkeys(row["set"] for row in rows):
        own = [row for row in rows if row["set"] == name]
        sizes = [row["captions"] for row in own]
        label = SETS[name].replace(",", ", ")
        cost.plot(sizes, [row["cpu_us"] for row in own], "o-", label=label)
        memory.plot(sizes, [row["together_mb"] for row in own], "o-", label=label)
    cost.axhline(80, color="grey", linestyle=":", label="25,000 captions a second on two cores")
    memory.axhline(800, color="grey", linestyle=":", label="800 MB")
    for axes, title in ((cost, "processor time per caption (µs)"), (memory, "memory of all processes (MB)")):
        axes.set(xscale="log", xlabel="captions (4 references each)", title=title, ylim=(0, None))
        axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(target, dpi=120, metadata={"Date": None} if target.suffix == ".svg" else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="10000,50000,200000,1000000,10000000")
    parser.add_argument("--metrics", default="classics,vifidel", help=f"of: {', '.join(SETS)}")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--mix", action="store_true", help="make new captions of halves of two")
    parser.add_argument("--work", type=Path, help="folder for made captions and outputs (default: a temporary one)")
    parser.add_argument("--output", type=Path, help="JSON of the rows; those it holds are not measured again")
    parser.add_argument("--plot", type=Path)
    add_save(parser)
    args = parser.parse_args()
    grouped: dict[str, list[str]] = {}
    for split in ("train", "val"):
        for image, caption in corpora.coco_captions(split):
            grouped.setdefault(image, []).append(caption)
    by_image = [texts[:5] for texts in grouped.values() if len(texts) >= 5]
    rows: list[dict[str, Any]] = json.loads(args.output.read_text()) if args.output and args.output.exists() else []
    known = {(row["captions"], row["set"]) for row in rows}
    with tempfile.TemporaryDirectory(dir=args.work) as name:
        for size in map(int, args.sizes.split(",")):
            path = Path(name) / f"{size}.jsonl"
            wanted = [chosen for chosen in args.metrics.split(",") if (size, chosen) not in known]
            if wanted:
                captions(size, path, by_image, mix=args.mix)
            for chosen in wanted:
                found = measure(path, SETS[chosen], args.workers, Path(name) / "scores.jsonl")
                row = {"captions": size, "set": chosen, "workers": args.workers, **found}
                row["cpu_us"] = found["cpu_s"] / size * 1e6
                row["two_cores_per_s"] = 2 * size / found["cpu_s"]
                rows.append(row)
                shown = {key: round(value) for key, value in row.items() if isinstance(value, float)}
                print(size, chosen, shown, flush=True)
                if args.output:
                    args.output.write_text(json.dumps(rows, indent=1))
            path.unlink(missing_ok=True)
    rows.sort(key=lambda row: row["captions"])
    tell("benchmarks.speed.stream_scale", {"mixed" if args.mix else "sizes": table_of(rows)}, save=args.save)
    if args.plot:
        plot(rows, args.plot)


if __name__ == "__main__":
    main()

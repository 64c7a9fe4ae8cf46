"""Time vericap against the COCO tool (pycocoevalcap 1.2, needs Java), raw strings in, side by side in one run.

    python benchmarks/coco_speed.py [--counts 5000 40000] [--meteor] [--repeat 3]

Measures tokenising + BLEU-1..4 + ROUGE-L + CIDEr-D on N candidates x 5 references, each in a process of its own
with its peak memory (input strings included, Java's not), and the time of `import vericap`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import coco_data

METRICS = "bleu-1,bleu-2,bleu-3,bleu-4,rouge-l,cider-d"


def clock() -> tuple[float, float]:
    """Wall time, and processor time of this process and the Java programs it waited for."""
    times = os.times()
    return time.perf_counter(), times.user + times.system + times.children_user + times.children_system


def since(start: tuple[float, float]) -> tuple[float, float]:
    now = clock()
    return now[0] - start[0], now[1] - start[1]


def run_tool(candidates: dict[str, str], references: dict[str, list[str]], meteor: bool) -> tuple[float, float]:
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.meteor.meteor import Meteor
    from pycocoevalcap.rouge.rouge import Rouge
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    start = clock()
    tokenizer = PTBTokenizer()
    gts = tokenizer.tokenize({key: [{"caption": text} for text in texts] for key, texts in references.items()})
    res = tokenizer.tokenize({key: [{"caption": text}] for key, text in candidates.items()})
    if meteor:
        start = clock()  # METEOR alone, as its row says
        Meteor().compute_score(gts, res)
    else:
        Bleu(4).compute_score(gts, res, verbose=0)
        Rouge().compute_score(gts, res)
        Cider().compute_score(gts, res)
    return since(start)


def run_ours(candidates: dict[str, str], references: dict[str, list[str]], meteor: bool) -> tuple[float, float]:
    from vericap.core.batch import Batch
    from vericap.core.samples import Sample
    from vericap.metrics import registry
    from vericap.run.analyses import Tokens
    from vericap.run.plan import analysed

    metrics = registry.resolve("meteor" if meteor else METRICS)  # imports are outside both clocks
    start = clock()
    batch = Batch.of(Sample(key, text, tuple(references[key])) for key, text in candidates.items())
    if meteor:
        analysed(batch, Tokens())
        start = clock()
    for metric in metrics:
        analysed(batch, *metric.requires(batch.settings))
        values = metric.statistics(batch, metric.prepare(batch)).values
        metric.captions(values)
        metric.corpus(values.sum(axis=0), values.shape[0])
    return since(start)


def child(who: str, count: int, meteor: bool) -> None:
    candidates, references = coco_data.repeated(count)
    seconds, processor = (run_tool if who == "tool" else run_ours)(candidates, references, meteor)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": seconds, "processor": processor, "peak": peak / 1024}))


def measure(who: str, count: int, meteor: bool, repeat: int) -> dict[str, float]:
    """Best times and peak memory (MB) of fresh processes."""
    command = [sys.executable, __file__, "--child", who, "--counts", str(count), *(["--meteor"] if meteor else [])]
    runs = []
    for _ in range(repeat):
        out = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        runs.append(json.loads(out.splitlines()[-1]))
    best = {name: min(run[name] for run in runs) for name in ("seconds", "processor")}
    return {**best, "peak": max(run["peak"] for run in runs)}


def import_time() -> float:
    program = "import time; t = time.perf_counter(); import vericap; print(time.perf_counter() - t)"
    command = [sys.executable, "-c", program]
    return min(float(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout) for _ in range(3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=int, nargs="+", default=[5000, 40000], help="numbers of candidates")
    parser.add_argument("--meteor", action="store_true", help="time METEOR alone instead (slow for the tool)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of vericap, of which the fastest counts")
    parser.add_argument("--child", choices=["tool", "ours"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.child, args.counts[0], args.meteor)
        return
    what = "METEOR" if args.meteor else "tokenise + BLEU + ROUGE-L + CIDEr-D"
    print(f"{what}, N candidates x 5 references\n")
    print("| N | tool s | vericap s | times faster | tool CPU s | vericap CPU s | times less | CPU ms per 1,000 "
          "| tool peak MB | vericap peak MB |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|")
    for count in args.counts:
        ours = measure("ours", count, args.meteor, args.repeat)
        tool = measure("tool", count, args.meteor, 1)
        print(
            f"| {count:,} | {tool['seconds']:.1f} | {ours['seconds']:.3f} | {tool['seconds'] / ours['seconds']:.0f} "
            f"| {tool['processor']:.1f} | {ours['processor']:.3f} | {tool['processor'] / ours['processor']:.0f} "
            f"| {1e6 * ours['processor'] / count:.1f} | {tool['peak']:.0f} | {ours['peak']:.0f} |",
            flush=True,
        )
    print(f"\n`import vericap`: {import_time():.3f} s ({Path(sys.executable).name} {sys.version.split()[0]})")


if __name__ == "__main__":
    main()

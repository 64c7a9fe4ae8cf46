"""METEOR's speed here and in the Java tool (pycocoevalcap 1.2), side by side in one run, raw strings in.

    python benchmarks/meteor_speed.py [--counts 1000 5000 40000] [--no-tool]

Each count runs in a process of its own, start-up and tokenising included on both sides; the tool's tokeniser and
METEOR run as Java programs. Peak memory is that of our process.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import meteor_sets

READING = [0.0]  # CPU seconds spent before the clock starts


def ours(count: int) -> dict[str, float]:
    samples = meteor_sets.coco_split()[:count]
    READING[0] = cpu_seconds()
    start = time.perf_counter()
    import numpy as np

    from vericap.core.batch import Batch
    from vericap.metrics.meteor import Meteor
    from vericap.run.analyses import Tokens
    from vericap.run.plan import analysed

    batch = analysed(Batch.of(samples), Tokens())
    tokenised = time.perf_counter()
    metric = Meteor()
    values = metric.statistics(analysed(batch, *metric.requires(batch.settings))).values
    corpus = float(metric.corpus(values.sum(axis=0), np.array(len(batch))))
    end = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "corpus": corpus, "tokenise": tokenised - start, "meteor": end - tokenised, "cpu": cpu_seconds(), "peak": peak
    }  # fmt: skip


def cpu_seconds() -> float:
    """CPU time of this process and its children, the reading of the captions left out."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime - READING[0]


def tool(count: int) -> dict[str, float]:
    samples = meteor_sets.coco_split()[:count]
    READING[0] = cpu_seconds()
    start = time.perf_counter()
    from pycocoevalcap.meteor.meteor import Meteor
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    references = {s.id: [{"caption": r} for r in s.references] for s in samples}
    candidates = {s.id: [{"caption": s.candidate}] for s in samples}
    tokenizer = PTBTokenizer()
    references, candidates = tokenizer.tokenize(references), tokenizer.tokenize(candidates)
    tokenised = time.perf_counter()
    meteor = Meteor()
    corpus, _ = meteor.compute_score(references, candidates)
    end = time.perf_counter()
    meteor.__del__()  # closes the Java program, so that its CPU time is counted
    return {
        "corpus": corpus, "tokenise": tokenised - start, "meteor": end - tokenised, "cpu": cpu_seconds()
    }  # fmt: skip


def measure(side: str, count: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--side", side, "--counts", str(count)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, float] = json.loads(output.strip().splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=int, nargs="+", default=[1000, 5000, 40000])
    parser.add_argument("--no-tool", action="store_true")
    parser.add_argument("--side", choices=("ours", "tool"), help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.side:
        print(json.dumps({"ours": ours, "tool": tool}[wanted.side](wanted.counts[0])))
        return
    for count in wanted.counts:
        mine = measure("ours", count)
        print(
            f"{count:>6} captions: ours METEOR {mine['meteor']:.2f} s (tokenise {mine['tokenise']:.2f} s), "
            f"{1e6 * mine['meteor'] / count:.0f} us per caption, CPU {mine['cpu']:.2f} s, peak {mine['peak']:.0f} MB, "
            f"corpus {mine['corpus']:.6f}",
            flush=True,
        )
        if not wanted.no_tool:
            theirs = measure("tool", count)
            both = (theirs["meteor"] + theirs["tokenise"]) / (mine["meteor"] + mine["tokenise"])
            print(
                f"        tool METEOR {theirs['meteor']:.1f} s (tokenise {theirs['tokenise']:.1f} s), "
                f"CPU {theirs['cpu']:.1f} s, corpus {theirs['corpus']:.6f}; "
                f"ours is {theirs['meteor'] / mine['meteor']:.1f} times as fast, {both:.1f} with tokenising, "
                f"{theirs['cpu'] / mine['cpu']:.1f} by CPU time",
                flush=True,
            )


if __name__ == "__main__":
    main()

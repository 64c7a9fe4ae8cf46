"""METEOR here against the live Java tool (pycocoevalcap 1.2), caption by caption.

    python -m benchmarks.parity.meteor_parity [--sets val systems expert made-up] [--limit N] [--seed N] [--save]

Both get the same tokens, so that this measures METEOR alone. Needs Java and `pip install pycocoevalcap==1.2`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from pycocoevalcap.meteor.meteor import Meteor as Tool

from benchmarks.library.judged import expert
from benchmarks.library.results import add_save, tell
from benchmarks.parity import meteor_sets
from vericap.core.batch import Batch
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.table import Number, Table
from vericap.metrics.meteor import Meteor
from vericap.run.analyses import Tokens
from vericap.run.plan import analysed

Tau = Callable[[np.ndarray], float]


def compare(table: Table, name: str, samples: list[Sample], *, tokenizer: str = "ptb", tau: Tau | None = None) -> bool:
    """One row, and whether both programs agree."""
    batch = Batch.of(samples, Settings(tokenizer=tokenizer))
    tokens = analysed(batch, Tokens(tokenizer))[Tokens(tokenizer)]
    lines = [" ".join(tokens[text]) for text in range(len(tokens))]
    metric = Meteor()
    start = time.perf_counter()
    values = metric.statistics(analysed(batch, *metric.requires(batch.settings))).values
    ours, corpus = metric.captions(values), float(metric.corpus(values.sum(axis=0), np.array(len(batch))))
    middle = time.perf_counter()
    references = {row: [lines[text] for text in batch.references(row)] for row in range(len(batch))}
    candidates = {row: [lines[text]] for row, text in enumerate(batch.candidates.tolist())}
    tool_corpus, theirs = Tool().compute_score(references, candidates)
    end = time.perf_counter()
    gap = np.abs(ours - np.array(theirs))
    differ, largest, apart = int((gap > 1e-9).sum()), f"{gap.max():.1e}", f"{abs(corpus - tool_corpus):.1e}"
    seconds = [Number(middle - start, digits=1), Number(end - middle, digits=1)]
    table.add(name, len(batch), differ, largest, Number(corpus), apart, *seconds)
    if tau is not None:
        people = f"{tau(ours):.2f} here, {tau(np.array(theirs)):.2f} with the tool"
        table.notes.append(f"{name}, agreement with people (tau-c x100): {people}")
    for row in np.flatnonzero(gap > 1e-9)[:5]:
        print("   ", candidates[row], references[row], ours[row], theirs[row])
    return bool(gap.max() <= 1e-4 and abs(corpus - tool_corpus) <= 1e-4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["val", "systems", "expert", "made-up"])
    parser.add_argument("--limit", type=int, default=None, help="first N samples of each set")
    parser.add_argument("--seed", type=int, default=0)
    add_save(parser)
    wanted = parser.parse_args()
    good = True
    columns = [
        "set",
        "captions",
        "differ by more than 1e-9",
        "largest difference",
        "corpus",
        "difference of the corpus",
    ]
    table = Table([*columns, "s", "tool s"])
    if "val" in wanted.sets:
        good &= compare(table, "COCO val2014, human", meteor_sets.coco_split()[: wanted.limit])
    if "systems" in wanted.sets:
        for system in meteor_sets.SYSTEMS:
            good &= compare(table, f"Karpathy {system}", meteor_sets.karpathy(system)[: wanted.limit])
    if "expert" in wanted.sets:
        rated = expert()
        tau = None if wanted.limit else rated.tau
        good &= compare(table, "Flickr8k-Expert", rated.samples[: wanted.limit], tau=tau)
    if "made-up" in wanted.sets:
        samples = list(meteor_sets.made_up(wanted.limit or 5000, wanted.seed))
        good &= compare(table, "made-up, ptb", samples)
        good &= compare(table, "made-up, uncut", samples, tokenizer="none")
    tell("benchmarks.parity.meteor_parity", {"sets": table}, save=wanted.save)
    raise SystemExit(0 if good else "METEOR differs from the tool by more than 1e-4")


if __name__ == "__main__":
    main()

"""Japanese captions per second: our parse (graphs included) beside the plain ja_ginza pipeline, in one run.

    python -m benchmarks.speed.japanese_speed --captions 1000

The two are measured in turns on the same captions, one thread, so that other load on the machine hits both alike.
Memory is the growth of the process's peak between the first and the last round of our parse.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import time

from benchmarks.library.data import data_folder

os.environ.setdefault("OMP_NUM_THREADS", "1")

import spacy

from vericap.graphs import japanese


def captions(count: int) -> list[str]:
    with gzip.open(data_folder() / "japanese" / "jsts_train.jsonl.gz", "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    return list(dict.fromkeys(text for row in rows for text in (row["sentence1"], row["sentence2"])))[:count]


def seconds(work: object, texts: list[str]) -> float:
    start = time.process_time()
    work(texts)  # type: ignore[operator]
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captions", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=4)
    arguments = parser.parse_args()
    texts = captions(arguments.captions)
    plain = spacy.load("ja_ginza")
    japanese.parse_many(texts[:20])
    list(plain.pipe(texts[:20]))
    size = len(texts) // arguments.rounds
    ours = theirs = 0.0
    peaks = []
    for place in range(arguments.rounds):
        part = texts[place * size : (place + 1) * size]
        theirs += seconds(lambda chosen: [None for _ in plain.pipe(chosen)], part)
        ours += seconds(japanese.parse_many, part)
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    count = size * arguments.rounds
    print(f"plain ja_ginza {count / theirs:7.1f} captions per CPU second")
    print(f"vericap        {count / ours:7.1f} captions per CPU second, {theirs / ours:.2f} times")
    print(f"peak memory    {peaks[0]:.0f} MB after the first round, {peaks[-1]:.0f} MB after the last")


if __name__ == "__main__":
    main()

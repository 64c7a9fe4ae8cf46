"""Kill a run at random moments, resume it each time, and compare its files with those of an uninterrupted run.

    python -m benchmarks.studies.kill_runs [--kills 20] [--captions 30000] [--seed 0] [--save]

The parent and its workers are killed in turns with SIGKILL at moments drawn over the length of a run; every kill is
followed by the same command with --resume, until it is done. Outputs of all formats must be equal byte for byte. The
short form is in tests/cli/test_score_resumed.py.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.library.results import add_save, tell
from vericap.core.table import Table

WORDS = ("a", "the", "red", "dog", "cat", "man", "runs", "sleeps", "on", "under", "green", "grass", "street", "bus")


def write(path: Path, count: int, rng: random.Random) -> None:
    def text() -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(3, 12)))

    with path.open("w", encoding="utf-8") as stream:
        for number in range(count):
            row = {"id": f"r{number}", "candidate": text(), "references": [text() for _ in range(4)], "n": number}
            stream.write(json.dumps(row) + "\n")


def start(words: list[object]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "vericap", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def kill(run: subprocess.Popen[bytes], *, worker: bool) -> str:
    """Kill a run or one of its workers; what was killed."""
    tasks = Path(f"/proc/{run.pid}/task").iterdir()
    children = [child for task in tasks for child in (task / "children").read_text().split()]
    workers = [child for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]
    target, what = (int(workers[-1]), "worker") if worker and workers else (run.pid, "parent")
    os.kill(target, signal.SIGKILL)
    return what


def compared(folder: Path, kind: str, run: subprocess.Popen[bytes]) -> bool:
    """Whether a run that came to its end left anything but what the uninterrupted one left."""
    same = (folder / f"whole.{kind}").read_bytes() == (folder / f"cut.{kind}").read_bytes()
    print(f"{kind}: {'equal byte for byte' if same else 'DIFFERENT'}, exit code {run.returncode}", flush=True)
    return not same or run.returncode != 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--captions", type=int, default=30_000)
    parser.add_argument("--seed", type=int, default=0)
    add_save(parser)
    args = parser.parse_args()
    rng, wrong, killed = random.Random(args.seed), 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "captions.jsonl", args.captions, rng)
        common: list[object] = ["score", folder / "captions.jsonl", "-m", "bleu-4,rouge-l,cider-d", "--columns", "all",
                                "--shard-records", 500, "--workers", 2, "--quiet"]  # fmt: skip
        for kind in ("jsonl", "csv", "parquet", "json"):
            before = time.perf_counter()
            whole = start([*common, "-o", folder / f"whole.{kind}"])
            whole.communicate()
            length = time.perf_counter() - before
            resumed = [*common, "-o", folder / f"cut.{kind}", "--resume"]
            wanted = killed + -(-args.kills // 4)
            while killed < wanted:
                run = start(resumed)
                moment = rng.uniform(0.05, 0.95) * length
                try:
                    run.wait(timeout=moment)
                    wrong += compared(folder, kind, run)
                    shutil.rmtree(folder / f"cut.{kind}.state")  # so that the next run begins again
                except subprocess.TimeoutExpired:
                    what = kill(run, worker=killed % 2 == 1)
                    killed += 1
                    print(f"{kind}: {what} killed after {moment:.1f} of {length:.1f} s", flush=True)
                    _, said = run.communicate()
                    wrong += b"Traceback" in said
            last = start(resumed)
            last.communicate()
            wrong += compared(folder, kind, last)
    table = Table(["captions", "kills", "files that differ, tracebacks or bad ends"])
    table.add(args.captions, killed, wrong)
    tell("benchmarks.studies.kill_runs", {"kills": table}, save=args.save)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

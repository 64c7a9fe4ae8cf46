"""Time vericap against the COCO tool (pycocoevalcap 1.2, needs Java), raw strings in, side by side in one run.

    python -m benchmarks.speed.coco_speed [--only classics|meteor|stages] [--counts 5000] [--repeat 3]
        [--tool-python PYTHON] [--save]

Measures tokenising + BLEU-1..4 + ROUGE-L + CIDEr-D and tokenising + METEOR on N candidates x 5 references of COCO. The
two sides take turns, each in a process of its own, imports outside the clock; the fastest run counts, by processor time
(Java's included; it holds better on a busy machine) and by wall time. Peak memory is that of the Python process, input
strings included. The stages tell where vericap's processor time goes. PYTHON is the interpreter of an environment with
pycocoevalcap, where this one has none.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.library import corpora

with suppress(ImportError):  # the tool's own environment, where only --child runs
    from vericap.core.table import Number, Table

WORK = {False: "BLEU + ROUGE-L + CIDEr-D", True: "METEOR"}
COLUMNS = ("tool, CPU s", "vericap, CPU s", "times less", "tool, s", "vericap, s", "tool, MB", "vericap, MB")

METRICS = "bleu-1,bleu-2,bleu-3,bleu-4,rouge-l,cider-d"
Records = list[tuple[str, str, list[str]]]  # id, candidate, references


def clock() -> tuple[float, float]:
    """Wall time, and processor time of this process and the Java programs it waited for."""
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return time.perf_counter(), sum(used.ru_utime + used.ru_stime for used in times)


def since(start: tuple[float, float]) -> tuple[float, float]:
    now = clock()
    return now[0] - start[0], now[1] - start[1]


def run_tool(records: Records, meteor: bool) -> tuple[float, float]:
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.meteor.meteor import Meteor
    from pycocoevalcap.rouge.rouge import Rouge
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    start = clock()
    tokenizer = PTBTokenizer()
    gts = tokenizer.tokenize({key: [{"caption": text} for text in texts] for key, _, texts in records})
    res = tokenizer.tokenize({key: [{"caption": text}] for key, text, _ in records})
    if meteor:
        scorer = Meteor()
        scorer.compute_score(gts, res)
        wall = since(start)[0]
        scorer.__del__()  # ends the Java program, so that its processor time is counted
        return wall, since(start)[1]
    Bleu(4).compute_score(gts, res, verbose=0)
    Rouge().compute_score(gts, res)
    Cider().compute_score(gts, res)
    return since(start)


def run_ours(records: Records, meteor: bool, lap: Callable[[str], None] = lambda what: None) -> tuple[float, float]:
    from vericap.core.batch import Batch
    from vericap.core.samples import Sample
    from vericap.metrics import registry
    from vericap.run.analyses import Tokens
    from vericap.run.plan import analysed
    from vericap.text.tokens import tokenizer

    tokenizer("ptb")
    metrics = registry.resolve("meteor" if meteor else METRICS)  # imports are outside both clocks
    start = clock()
    lap("")
    samples = [Sample(key, text, tuple(references)) for key, text, references in records]
    lap("samples")
    batch = Batch.of(samples)
    lap("distinct texts (`Batch.of`)")
    analysed(batch, Tokens())
    lap("tokenise")
    for metric in metrics:
        for key in metric.requires(batch.settings):
            for needed in key.requires(batch.settings):
                analysed(batch, needed)
                lap(type(needed).__name__)
            analysed(batch, key)
            lap(type(key).__name__)
        state = metric.prepare(batch)
        if state is not None:
            lap(f"{metric.title}: document frequencies")
        values = metric.statistics(batch, state).values
        metric.captions(values)
        metric.corpus(values.sum(axis=0), values.shape[0])
        lap(str(metric.title))
    return since(start)


def child(side: str, file: Path, meteor: bool) -> dict[str, Any]:
    records: Records = [tuple(json.loads(line)) for line in file.open(encoding="utf-8")]  # type: ignore[misc]
    stages: dict[str, float] = {}
    last = [0.0]

    def lap(what: str) -> None:
        now = clock()[1]
        stages[what] = stages.get(what, 0.0) + now - last[0]
        last[0] = clock()[1]

    seconds, processor = (
        run_tool(records, meteor) if side == "tool" else run_ours(records, meteor, *([lap] if side == "stages" else []))
    )
    return {"seconds": seconds, "processor": processor, "peak": peak(), "stages": stages}


def peak() -> float:
    """Peak memory in MB; getrusage would count the parent's too, from which a process is started on Linux."""
    status = Path("/proc/self/status")
    if status.exists():
        return float(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run(python: str, side: str, file: Path, meteor: bool) -> dict[str, Any]:
    child = [python, "-m", "benchmarks.speed.coco_speed", "--child"]
    command = [*child, side, str(file), *(["--meteor"] if meteor else [])]
    # A library's idle threads must not be counted as work.
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment).stdout
    found: dict[str, Any] = json.loads(out.splitlines()[-1])
    return found


def best(runs: list[dict[str, Any]]) -> dict[str, float]:
    """Fastest times, and the highest peak of memory."""
    found = {name: min(run[name] for run in runs) for name in ("seconds", "processor")}
    return {**found, "peak": max(run["peak"] for run in runs)}


def compare(table: Table, file: Path, count: int, args: argparse.Namespace, meteor: bool) -> None:
    """One row: both sides in turns, processor time and peak memory."""
    ours, tool = [], []
    for turn in range(args.repeat):
        ours += [run(sys.executable, "ours", file, meteor) for _ in range(2)]
        if turn < args.tool_repeat:
            tool.append(run(args.tool_python, "tool", file, meteor))
    mine, theirs = best(ours), best(tool)
    faster = round(theirs["processor"] / mine["processor"])
    memory = [Number(round(side["peak"]), digits=0) for side in (theirs, mine)]
    seconds = [Number(side["processor"], digits=3) for side in (theirs, mine)]
    walls = [Number(side["seconds"], digits=3) for side in (theirs, mine)]
    table.add(f"tokenise + {WORK[meteor]}, {count:,} captions", *seconds, faster, *walls, *memory)


def stages(file: Path, count: int, args: argparse.Namespace, meteor: bool) -> Table:
    """Processor time by stage, of the fastest run."""
    runs = [run(sys.executable, "stages", file, meteor) for _ in range(2 * args.repeat)]
    fastest = min(runs, key=lambda found: found["processor"])
    table = Table([f"{count:,} captions, {WORK[meteor]}", "processor ms", "share"])
    for what, seconds in list(fastest["stages"].items())[1:]:
        share = f"{100 * seconds / fastest['processor']:.0f} %"
        table.add(what, Number(1e3 * seconds, digits=1), share)
    table.add("all", Number(1e3 * fastest["processor"], digits=1), "100 %")
    return table


def import_time() -> float:
    program = "import time; t = time.perf_counter(); import vericap; print(time.perf_counter() - t)"
    command = [sys.executable, "-c", program]
    return min(float(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout) for _ in range(3))


def captions_of(count: int, folder: Path) -> Path:
    """A file of captions with five references each."""
    candidates, references = corpora.repeated(count)
    file = folder / f"{count}.jsonl"
    file.write_text("\n".join(json.dumps([key, text, references[key]]) for key, text in candidates.items()), "utf-8")
    return file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=int, nargs="+", help="numbers of candidates")
    parser.add_argument("--only", choices=("classics", "meteor", "stages"), help="one part instead of all three")
    parser.add_argument("--repeat", type=int, default=3, help="turns, each with two runs of vericap")
    parser.add_argument("--tool-repeat", type=int, default=1, help="turns in which the tool runs too")
    parser.add_argument("--tool-python", default=sys.executable, help="interpreter that has pycocoevalcap")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--meteor", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--save", action="store_true", help="keep the tables in benchmarks/results, for the docs")
    args = parser.parse_args()
    if args.child:
        print(json.dumps(child(args.child[0], Path(args.child[1]), args.meteor)))
        return
    from benchmarks.library.results import tell

    table = Table(["", *COLUMNS], notes=[f"`import vericap` takes {import_time():.3f} s."])
    tables = {"tool": table}
    with tempfile.TemporaryDirectory() as scratch:
        for meteor in (False, True):
            if args.only in (None, "meteor" if meteor else "classics"):
                for count in args.counts or ([1000, 40000] if meteor else [5000, 40000]):
                    compare(table, captions_of(count, Path(scratch)), count, args, meteor)
        if args.only in (None, "stages"):
            count = (args.counts or [40000])[-1]
            tables["stages"] = stages(captions_of(count, Path(scratch)), count, args, False)
    tell("benchmarks.speed.coco_speed", tables, save=args.save)


if __name__ == "__main__":
    main()

"""Processor time of the command line, an older commit against the working tree, in turns in one run.

    python -m benchmarks.speed.spine_speed --before COMMIT_OR_DIR [--after DIR] [--cases coco,image] [--output FILE]

Each case is one run of `python -m vericap` with a cache of its own, start and imports included; user and system time
of the process and of those it started. The two versions take turns, and each goes first in every second round, so that
other load on the machine hits both alike; the median of all runs counts (five, 25 of cases below a second).
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.library import corpora
from benchmarks.library.data import ROOT, data_folder

Record = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """What is written for a run, and the command that reads it."""

    title: str
    lay_out: Callable[[Path], None]
    command: str
    times: int = 1  # runs in a round: those below a second are mostly start, and noisy


def write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def write_records(path: Path, records: list[Record]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in records), encoding="utf-8")


def write_systems(keys: list[str], folder: Path) -> None:
    """COCO results s0.json .. s3.json of the four systems on these images, COCO annotations references.json."""
    for place, system in enumerate(corpora.systems()):
        candidates, references = corpora.karpathy(system)
        write_json(folder / f"s{place}.json", [{"image_id": int(key), "caption": candidates[key]} for key in keys])
    rows = [{"image_id": int(key), "caption": text} for key in keys for text in references[key]]
    write_json(folder / "references.json", {"images": [], "annotations": rows})


def records_of(pairs: corpora.Pairs) -> list[Record]:
    candidates, references = pairs
    return [{"id": key, "candidate": text, "references": references[key]} for key, text in candidates.items()]


def texts(count: int) -> Callable[[Path], None]:
    return lambda folder: write_records(folder / "captions.jsonl", records_of(corpora.repeated(count)))


def photos(count: int) -> Callable[[Path], None]:
    """Flickr8k test photos: of five captions the first is judged, the others are its references."""

    def lay_out(folder: Path) -> None:
        data = data_folder() / "flickr8k"
        captions: dict[str, list[str]] = {}
        for image, text in corpora.flickr_captions():
            captions.setdefault(image, []).append(text)
        names = (data / "Flickr_8k.testImages.txt").read_text("utf-8").split()[:count]
        rows = [{"id": name, "image": name, "candidate": captions[name][0], "references": captions[name][1:]}
                for name in names]  # fmt: skip
        write_records(folder / "captions.jsonl", rows)
        (folder / "photos").symlink_to(data / "Images")

    return lay_out


def systems(count: int) -> Callable[[Path], None]:
    return lambda folder: write_systems(list(corpora.karpathy(corpora.systems()[0])[0])[:count], folder)


SCORE = "score captions.jsonl --metrics"
# The same number of draws on both sides: how many a comparison takes by default is no matter of speed.
COMPARE = "compare s0.json s1.json s2.json s3.json --references references.json --quiet --resamples 1000 --metrics"
CASES = {
    "coco": Case("BLEU + ROUGE-L + CIDEr-D, 5,000 captions x 5", texts(5000), f"{SCORE} bleu,rouge-l,cider-d", 5),
    "meteor": Case("METEOR, 5,000 captions x 5", texts(5000), f"{SCORE} meteor", 5),
    "spice": Case("spice, 5,000 captions x 5", texts(5000), f"{SCORE} spice"),
    "sentence": Case("sentence, 1,000 captions x 5", texts(1000), f"{SCORE} sentence"),
    "sentence-many": Case("sentence, 40,000 captions x 5", texts(40_000), f"{SCORE} sentence"),
    "spice-soft": Case("spice-soft, 5,000 captions x 5", texts(5000), f"{SCORE} spice-soft"),
    "image": Case(
        "vse, reo-relevance, faier-plus, 300 photos",
        photos(300),
        f"{SCORE} vse,reo-relevance,faier-plus --images photos",
    ),
    "objects": Case(
        "vifidel, chair, vse, faier-plus, 150 photos",
        photos(150),
        f"{SCORE} vifidel,chair,vse,faier-plus --images photos",
    ),
    "compare": Case("compare, 4 systems, 1,000 images, coco + spice", systems(1000), f"{COMPARE} coco,spice"),
    # nearly all of the above is parsing each text once, which no sharing can save
    "compare-coco": Case("compare, 4 systems, 1,000 images, coco", systems(1000), f"{COMPARE} coco", 5),
    "compare-words": Case(
        "compare, 4 systems, 5,000 images, BLEU + ROUGE-L + CIDEr-D",
        systems(5000),
        f"{COMPARE} bleu,rouge-l,cider-d",
        3,
    ),
}


def environment(source: Path, cache: Path) -> dict[str, str]:
    """The user's cache is neither read nor filled, whatever the code does with --cache."""
    return {**os.environ, "PYTHONPATH": str(source), "VERICAP_CACHE": str(cache), "PYTHONHASHSEED": "0"}


def source_folder(path: Path) -> Path:
    """The folder for PYTHONPATH, of a checkout or itself; refused where another vericap or no kernels would run."""
    folder = (path / "src" if (path / "src" / "vericap").is_dir() else path).resolve()
    with tempfile.TemporaryDirectory() as empty:
        given: dict[str, Any] = {"cwd": empty, "env": environment(folder, Path(empty)), "text": True}
        code = "import vericap; print(vericap.__file__)"
        found = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, **given).stdout
        doctor = subprocess.run([sys.executable, "-m", "vericap", "doctor"], stdout=subprocess.PIPE, **given).stdout
    if not Path(found.strip()).is_relative_to(folder):
        raise SystemExit(f"{path} holds no vericap: {found.strip()} would run; name a checkout or its src folder")
    kernels = [line for line in doctor.splitlines() if line.startswith("kernel ")]
    if not kernels or not all("compiled" in line for line in kernels):
        raise SystemExit(f"{path}: kernels are not compiled; run `python setup.py build_ext --inplace` there")
    return folder


def checkout(commit: str, folder: Path) -> Path:
    """A commit's files with compiled kernels; the repository itself stays as it is."""
    command = ["git", "-C", str(ROOT), "archive", commit, "src", "setup.py", "pyproject.toml", "README.md"]
    done = subprocess.run(command, capture_output=True)
    if done.returncode:
        raise SystemExit(f"--before {commit} is neither a folder nor a commit ({done.stderr.decode().strip()})")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    build = [sys.executable, "setup.py", "build_ext", "--inplace"]
    subprocess.run(build, check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder


def measure(case: Case, source: Path, folder: Path) -> dict[str, float]:
    """One run: processor and wall seconds, peak megabytes of its largest process."""
    cache = Path(tempfile.mkdtemp(dir=folder, prefix="cache-"))
    command = [sys.executable, "-m", "vericap", *case.command.split(), "--cache", str(cache), "--quiet"]
    with (folder / "messages").open("w+", encoding="utf-8") as messages:
        begun = time.perf_counter()
        child = subprocess.Popen(
            command, cwd=folder, env=environment(source, cache), stdout=subprocess.DEVNULL, stderr=messages
        )
        _, status, usage = os.wait4(child.pid, 0)  # with the processes it started and waited for
        wall = time.perf_counter() - begun
        child.returncode = os.waitstatus_to_exitcode(status)
        messages.seek(0)
        if child.returncode != 0:
            raise SystemExit(f"{source}: {' '.join(command)} gave {child.returncode}\n{messages.read()[-2000:]}")
    shutil.rmtree(cache)
    return {"processor": usage.ru_utime + usage.ru_stime, "wall": wall, "peak": usage.ru_maxrss / 1024}


def rounds(case: Case, sources: dict[str, Path], repeats: int) -> dict[str, list[dict[str, float]]]:
    """All runs of a case, the versions in turns."""
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in sources}
    with tempfile.TemporaryDirectory() as folder:
        case.lay_out(Path(folder))
        for number in range(repeats * case.times):
            for name in list(sources) if number % 2 == 0 else list(reversed(sources)):
                runs[name].append(measure(case, sources[name], Path(folder)))
    return runs


def measured(names: list[str], sources: dict[str, Path], repeats: int) -> list[dict[str, Any]]:
    rows = []
    print(f"{'case':48} before (s)  after (s)  before / after  of the fastest runs")
    for name in names:
        title, runs = CASES[name].title, rounds(CASES[name], sources, repeats)
        times = {key: [run["processor"] for run in found] for key, found in runs.items()}
        before, after = (statistics.median(times[key]) for key in ("before", "after"))
        fastest = min(times["before"]) / min(times["after"])  # load of others only ever adds time
        print(f"{title:48} {before:10.2f} {after:10.2f} {before / after:15.2f} {fastest:20.2f}", flush=True)
        found = {"before": before, "after": after, "ratio": before / after, "ratio_of_fastest": fastest}
        rows.append({"case": name, "title": title, **found, "runs": runs})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", required=True, help="a commit, or the folder of a checkout with compiled kernels")
    parser.add_argument("--after", type=Path, default=ROOT, help="a checkout (default: this one)")
    parser.add_argument("--cases", default=",".join(CASES), help=f"of {', '.join(CASES)}")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--blas-threads", type=int, default=1, help="of NumPy; 0 leaves them as they are (default: 1)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="all runs as JSON")
    args = parser.parse_args()
    names = args.cases.split(",")
    if unknown := set(names) - set(CASES):
        parser.error(f"no case is called {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    if args.blas_threads:  # idle threads wait busily: on a busy machine that doubles the time of a run, by chance
        os.environ["OPENBLAS_NUM_THREADS"] = str(args.blas_threads)
    with tempfile.TemporaryDirectory() as folder:
        before = Path(args.before) if Path(args.before).is_dir() else checkout(args.before, Path(folder))
        sources = {"before": source_folder(before), "after": source_folder(args.after)}
        for source in sources.values():  # bytecode made on the way would be counted in the first round
            subprocess.run([sys.executable, "-m", "compileall", "-q", str(source / "vericap")], check=False)
        rows = measured(names, sources, args.repeats)
    if args.output:
        about = {"before": args.before, "after": str(args.after), "repeats": args.repeats, "blas": args.blas_threads}
        write_json(args.output, {**about, "unit": "s, processor", "cases": rows})


if __name__ == "__main__":
    main()

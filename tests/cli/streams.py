"""Captions and commands for tests of large inputs."""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq

from vericap.cli import main

WORDS = ("a", "the", "red", "dog", "cat", "man", "runs", "sleeps", "on", "under", "green", "grass", "street", "bus")
METRICS = "bleu-4,rouge-l,cider-d,mean(bleu-1,cider)"


def rows(count: int, seed: int = 0) -> list[dict[str, object]]:
    rng = random.Random(seed)

    def text() -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(3, 9)))

    return [{"id": f"r{n}", "candidate": text(), "references": [text() for _ in range(2 + n % 3)], "source": n}
            for n in range(count)]  # fmt: skip


def written(folder: Path) -> Path:
    """A file of captions."""
    path = folder / "captions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows(90)), encoding="utf-8")
    return path


def score(path: Path | str, *words: object) -> int:
    return main(["score", str(path), "-m", METRICS, "--quiet", *map(str, words)])


def table(text: str) -> list[str]:
    return [line for line in text.splitlines() if "|" in line]


def vericap(*words: object, **options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "vericap", *map(str, words)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, **options)  # type: ignore[call-overload]


def content(file: Path) -> object:
    if file.suffix == ".parquet":
        return pq.read_table(file).to_pylist()
    if file.suffix == ".csv":
        return list(csv.reader(file.open(encoding="utf-8", newline="")))
    if file.suffix == ".json":
        return json.loads(file.read_text("utf-8"))
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]

"""Results of a benchmark: printed, and kept as JSON from which `make figures` makes the tables of the docs."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarks.library.data import ROOT
from vericap.core.table import Table

FOLDER = ROOT / "benchmarks" / "results"


def add_save(parser: argparse.ArgumentParser) -> None:
    """The option with which results are kept."""
    parser.add_argument("--save", action="store_true", help="keep the tables in benchmarks/results, for the docs")


def tell(name: str, tables: Mapping[str, Table], *, save: bool) -> None:
    """Print tables by name, and keep them where asked for.

    Tables that another run of the same benchmark kept (other options, another day) stay beside them, each with how it
    was made. A kept table is shown in the docs between `<!-- figures: NAME/TABLE -->` and `<!-- end of figures -->`.
    """
    for title, table in tables.items():
        print(f"{title}\n\n{table}\n", flush=True)
    if save:
        FOLDER.mkdir(exist_ok=True)
        file = FOLDER / f"{name.rpartition('.')[2]}.json"
        kept = json.loads(file.read_text("utf-8")) if file.is_file() else {}
        made = circumstances(name)
        kept |= {title: {"made": made, "table": table.as_dict()} for title, table in tables.items()}
        file.write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def circumstances(name: str) -> dict[str, Any]:
    """What a reader must know of a measurement: command, day, commit, processor and how busy it was."""
    words = [_plain(word) for word in sys.argv[1:] if word != "--save"]
    found = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return {
        "command": shlex.join(["python", "-m", name, *words]),
        "day": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "commit": found.stdout.strip(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "load": round(busy, 1),
    }


def _plain(word: str) -> str:
    """A word of the command as others may type it: of a path on this machine the last part."""
    return f"{Path(word).name}/" if Path(word).is_absolute() and Path(word).is_dir() else word


def processor() -> str:
    """The processor's name as the system tells it."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())

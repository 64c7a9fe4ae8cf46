"""How much of src/ the tests reach, by package: `make coverage`.

    python -m benchmarks.studies.coverage build/coverage.json [--save]

The file is what `pytest --cov --cov-report=json` wrote. Code that runs in processes of its own is not counted, so
that the figures are a lower bound: trainings, killed runs, workers.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path, PurePosixPath

from benchmarks.library.results import add_save, tell
from vericap.core.table import Number, Table


def by_package(found: dict[str, dict[str, dict[str, int]]]) -> Table:
    """Lines and the share reached, per package of vericap and in all."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, file in found.items():
        parts = PurePosixPath(name.replace("\\", "/")).parts
        inside = parts[parts.index("vericap") + 1 :]
        package = inside[0] if len(inside) > 1 else "(top)"
        for key in (package, "all"):
            counts[key][0] += file["summary"]["num_statements"]
            counts[key][1] += file["summary"]["covered_lines"]
    table = Table(["package", "lines of code", "reached %"], digits=1)
    for package, (lines, reached) in sorted(counts.items(), key=lambda item: (item[0] == "all", item[0])):
        table.add(package, lines, Number(100 * reached / max(lines, 1)))
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="coverage.json")
    add_save(parser)
    args = parser.parse_args()
    table = by_package(json.loads(args.file.read_text("utf-8"))["files"])
    tell("benchmarks.studies.coverage", {"packages": table}, save=args.save)


if __name__ == "__main__":
    main()

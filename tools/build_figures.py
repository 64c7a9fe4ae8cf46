"""Tables of the docs from what benchmarks measured: `python tools/build_figures.py [--check]` (`make figures`).

A benchmark that is run with `--save` keeps its tables in benchmarks/results/NAME.json. In a page they stand between
`<!-- figures: NAME/TABLE -->` and `<!-- end of figures -->`, with the command and the day below. A table that was never
kept is named, and what stands there stays: an older figure, or nothing. `--check` changes nothing and fails where a
page does not show what is kept, or shows what never was.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from vericap.core.table import Table

TOP = Path(__file__).resolve().parent.parent
RESULTS = TOP / "benchmarks" / "results"
PAGES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "src/vericap/data/cards/*.md", "src/vericap/data/*/README.md")
_FIGURES = re.compile(r"(<!-- figures: ([\w-]+)/([^>]+?) -->\n).*?(<!-- end of figures -->)", re.DOTALL)


def pages() -> list[Path]:
    """The pages that may show figures."""
    return sorted(file for pattern in PAGES for file in TOP.glob(pattern))


def shown(name: str, title: str) -> str | None:
    """A kept table as Markdown, with how it was made; None where there is none."""
    file = RESULTS / f"{name}.json"
    kept: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    if title not in kept:
        return None
    made = kept[title]["made"]
    about = f"`{made['command']}`, {made['day']}, commit {made['commit']}"
    if "speed" in made["command"]:  # what else ran matters to times alone
        about += f"; {made['processor']}, {made['cores']} cores, load {made['load']}"
    return f"{Table.from_dict(kept[title]['table']).markdown().strip()}\n\n{about}\n"


def filled(text: str) -> tuple[str, list[str]]:
    """A page with its figures made anew, and the names of those that were never kept."""
    missing = []

    def one(found: re.Match[str]) -> str:
        table = shown(found[2], found[3])
        if table is None:
            missing.append(f"{found[2]}/{found[3]}")
            return found[0]
        return f"{found[1]}{table}{found[4]}"

    return _FIGURES.sub(one, text), missing


def main() -> int:
    check, stale, unknown = "--check" in sys.argv[1:], [], 0
    for page in pages():
        before = page.read_text("utf-8")
        after, missing = filled(before)
        unknown += len(missing)
        for name in missing:
            print(f"{page.relative_to(TOP)}: {name} is not kept yet; run that benchmark with --save", file=sys.stderr)
        if before != after:
            stale.append(str(page.relative_to(TOP)))
            if not check:
                page.write_text(after, encoding="utf-8")
    if stale:
        print(f"{'not what was measured' if check else 'made anew'}: {', '.join(stale)}", file=sys.stderr)
    return 1 if check and (stale or unknown) else 0


if __name__ == "__main__":
    raise SystemExit(main())

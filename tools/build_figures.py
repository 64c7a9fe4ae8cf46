"""Tables of the docs from what benchmarks measured: `python tools/build_figures.py [--check]` (`make figures`).

A benchmark that is run with `--save` keeps its tables in benchmarks/results/NAME.json. In a page they stand between
`<!-- figures: NAME/TABLE -->` and `<!-- end of figures -->`, with the command and the day below. `--check` changes
nothing and fails where a page does not show what is kept.
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


def shown(name: str, title: str) -> str:
    """A kept table as Markdown, with how it was made."""
    file = RESULTS / f"{name}.json"
    if not file.is_file():
        raise SystemExit(f"{file.relative_to(TOP)} is not there; run the benchmark {name} with --save")
    kept: dict[str, Any] = json.loads(file.read_text("utf-8"))
    if title not in kept["tables"]:
        raise SystemExit(f"{file.relative_to(TOP)} has no table '{title}'; it has {', '.join(kept['tables'])}")
    made = kept["made"]
    about = f"`{made['command']}`, {made['day']}, commit {made['commit']}"
    if "speed" in made["command"]:  # what else ran matters to times alone
        about += f"; {made['processor']}, {made['cores']} cores, load {made['load']}"
    return f"{Table.from_dict(kept['tables'][title]).markdown().strip()}\n\n{about}\n"


def filled(text: str) -> str:
    """A page with its figures made anew."""
    return _FIGURES.sub(lambda found: f"{found[1]}{shown(found[2], found[3])}{found[4]}", text)


def main() -> int:
    check, stale = "--check" in sys.argv[1:], []
    for page in pages():
        before = page.read_text("utf-8")
        after = filled(before)
        if before != after:
            stale.append(str(page.relative_to(TOP)))
            if not check:
                page.write_text(after, encoding="utf-8")
    if stale:
        print(f"{'not what was measured' if check else 'made anew'}: {', '.join(stale)}", file=sys.stderr)
    return 1 if check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Build the documentation site into site/ and check it: `make site`, or `python tools/build_site.py [--output DIR]`.

Nothing is fetched: fonts, scripts and styles are in the folder. Warnings of mkdocs, dead links and anything that a
page would load from elsewhere make the exit code 1.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from docs_site import links
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

TOP = Path(__file__).resolve().parent.parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", "-o", type=Path, default=TOP / "site", metavar="DIR")
    parser.add_argument("--lenient", action="store_true", help="go on after warnings, to look at what there is")
    args = parser.parse_args()
    config = load_config(str(TOP / "mkdocs.yml"), site_dir=str(args.output.resolve()), strict=not args.lenient)
    config.plugins.on_startup(command="build", dirty=False)
    try:
        build(config)
    except Abort as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        config.plugins.on_shutdown()
    found = links.mistakes(args.output.resolve())
    for text in found:
        print(text, file=sys.stderr)
    pages = len(list(args.output.rglob("*.html")))
    print(f"{args.output}: {pages} pages, {len(found)} mistake(s); open {args.output / 'index.html'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

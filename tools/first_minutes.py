"""Play a new user's first ten minutes: `python tools/first_minutes.py [--python PYTHON]`.

Clones the last commit, makes a fresh environment, and does literally what README.md and docs/start.md of it say:
every command of their console blocks, every Python block, in order. Prints what was done and how long it took; the exit
code is 1 where something failed or where it took longer than ten minutes.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "docs/start.md")
LIMIT = 600.0  # seconds
_BLOCK = re.compile(r"```(console|python)\n(.*?)```", re.DOTALL)


def steps(text: str) -> list[tuple[str, str]]:
    """(console or python, what to type) of a page, in order."""
    found = []
    for kind, body in _BLOCK.findall(text):
        if kind == "python":
            found.append((kind, body))
        else:
            found += [(kind, line.removeprefix("$ ")) for line in body.splitlines() if line.startswith("$ ")]
    return found


def play(clone: Path, environment: Path) -> list[str]:
    """Do what the pages say; what failed."""
    bin_ = environment / ("Scripts" if os.name == "nt" else "bin")
    own = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    own |= {"PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}", "VERICAP_CACHE": str(environment / "cache")}
    failed = []
    for page in PAGES:
        for kind, typed in steps((clone / page).read_text("utf-8")):
            start = time.monotonic()
            command = [str(bin_ / "python"), "-c", typed] if kind == "python" else typed
            done = subprocess.run(command, shell=kind == "console", cwd=clone, env=own, capture_output=True, text=True)
            said = typed.splitlines()[0] + (" ..." if kind == "python" else "")
            print(f"{time.monotonic() - start:6.1f} s  exit {done.returncode}  {page}: {said}", flush=True)
            # 1: some captions could not be judged, which is told; anything else, and every traceback, is a failure.
            if done.returncode not in ((0, 1) if typed.startswith("vericap") else (0,)) or "Traceback" in done.stderr:
                failed.append(f"{page}: {typed}\n{done.stdout}{done.stderr}")
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="the Python of the new environment")
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="SECONDS", help="that it may take (600)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="first-minutes-") as folder:
        clone, environment = Path(folder, "vericap"), Path(folder, "environment")
        start = time.monotonic()
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", TOP.as_uri(), str(clone)], check=True)
        subprocess.run([args.python, "-m", "venv", str(environment)], check=True)
        failed = play(clone, environment)
        taken = time.monotonic() - start
    print(f"{taken:6.1f} s in all, {len(failed)} failed")
    for text in failed:
        print(f"\n{text}", file=sys.stderr)
    return 1 if failed or taken > args.limit else 0


if __name__ == "__main__":
    sys.exit(main())

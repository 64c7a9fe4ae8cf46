"""Train every row of FAIEr's Table 4 alike, one after the other, and print the table and Figure 4 beside the paper's.

    python tools/faier_ablations.py runs/ablations --scores scores/ -- --features STORE \\
        --captions captions_train2014.json.gz captions_val2014.json.gz --never never_train_image_ids.txt \\
        --flickr8k flickr8k/ --work runs/work --steps 2223

What stands behind `--` goes to each `vericap train faier`, so that the models differ in variant and references alone. A
model that is finished is left as it is; one that was interrupted goes on: the same command takes everything up again.
`--only NAME ...` trains some, `--dry-run` prints the commands.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROWS = {
    "faier-r": ("faier", "r"),
    "norel-r": ("faier-norel", "r"),
    "faier-1": ("faier", "1"),
    "norel-1": ("faier-norel", "1"),
    "faier-4": ("faier", "4"),
    "norel-4": ("faier-norel", "4"),
    "fier": ("fier", "0"),
    "aier-4": ("aier", "4"),
    "fier+aier-4": ("fier+aier", "4"),
}
VERICAP = [sys.executable, "-m", "vericap"]


def training(folder: Path, name: str, shared: Sequence[str]) -> list[str]:
    variant, references = ROWS[name]
    own = [
        "--variant",
        variant,
        "--references",
        references,
        "--name",
        f"vericap-{name}",
        "--output",
        str(folder / name),
    ]
    return ["train", "faier", *shared, *own]


def finished(folder: Path, name: str, command: Sequence[str]) -> bool:
    """Whether this very training came to its end."""
    note = folder / name / "finished"
    return note.is_file() and note.read_text("utf-8") == shlex.join(command)


def tables(folder: Path, scores: Path) -> list[str]:
    """The command of Table 4 and Figure 4 with all models that are there."""
    there = [name for name in ROWS if (folder / name / "faier" / "meta.json").is_file()]
    models = [word for name in there for word in ("--model", f"{name}={folder / name / 'faier'}")]
    return ["reproduce", "faier-table-4", "faier-figure-4", "--resume", str(scores), "--figures", str(folder), *models]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a folder for each model is made there")
    parser.add_argument("--scores", type=Path, help="kept scores of `vericap reproduce` (default: FOLDER/scores)")
    parser.add_argument("--only", nargs="+", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--dry-run", action="store_true", help="print the commands")
    words = sys.argv[1:]
    here = words.index("--") if "--" in words else len(words)
    args, shared = parser.parse_args(words[:here]), words[here + 1 :]
    for name in args.only:
        command = training(args.folder, name, shared)
        if finished(args.folder, name, command):
            print(f"{name}: finished", flush=True)
            continue
        print(shlex.join(["vericap", *command]), flush=True)
        if not args.dry_run:
            subprocess.run([*VERICAP, *command], check=True)
            (args.folder / name / "finished").write_text(shlex.join(command), "utf-8")
    command = tables(args.folder, args.scores or args.folder / "scores")
    print(shlex.join(["vericap", *command]), flush=True)
    return 0 if args.dry_run else subprocess.run([*VERICAP, *command], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

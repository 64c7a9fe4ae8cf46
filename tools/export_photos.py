"""Write the photos of a fetched git directory (`train2017/` of it) into a folder outside the repository.

    python tools/export_photos.py GIT_DIRECTORY ~/vericap-work/photos

Photos that are there already are left as they are, so that an interrupted run goes on.
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

FOLDER = "train2017"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("output", type=Path)
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    git = ["git", "-C", str(args.repository)]
    listed = subprocess.run([*git, "ls-tree", "-r", "HEAD", FOLDER], check=True, capture_output=True, text=True).stdout
    blobs = [(line.split()[2], Path(line.split("\t")[1]).name) for line in listed.splitlines()]
    wanted = [(blob, name) for blob, name in blobs if not (args.output / name).is_file()]
    reader = subprocess.Popen([*git, "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert reader.stdin is not None
    assert reader.stdout is not None
    for blob, name in wanted:
        reader.stdin.write(f"{blob}\n".encode())
        reader.stdin.flush()
        size = int(reader.stdout.readline().split()[2])
        data = reader.stdout.read(size)
        reader.stdout.read(1)
        part = args.output / f"{name}.part"
        part.write_bytes(data)
        part.rename(args.output / name)
    reader.stdin.close()
    print(f"{len(wanted):,} photos written, {len(blobs):,} in {args.output}")


if __name__ == "__main__":
    main()

"""Verdicts and reasons of single captions, to be looked at beside their photos.

    VERICAP_DATA=DIR python -m benchmarks.studies.by_eye [--save]

All captions of the demo (six photos, three systems) and the first caption of twelve Flickr8k test photos, without
references.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import vericap
from benchmarks.library.data import data_folder
from benchmarks.library.results import add_save, tell
from vericap.core.shipped import ROOT
from vericap.core.table import Table
from vericap.train import data

SYSTEMS = ("careful", "terse", "inventive")
PHOTOS = (
    3385593926,
    3482062809,
    3745451546,
    241347204,
    2647049174,
    1131932671,
    1499581619,
    3458211052,
    544576742,
    3639967449,
    3462454965,
    3185409663,
)  # of Flickr8k's test photos, drawn once


def captions() -> Iterator[tuple[str, Path, str]]:
    """Name, photo and caption."""
    demo = ROOT / "demo"
    for system in SYSTEMS:
        for line in (demo / f"{system}.jsonl").read_text("utf-8").splitlines():
            record = json.loads(line)
            yield Path(record["image"]).stem, demo / "photos" / record["image"], record["candidate"]
    folder = data_folder() / "flickr8k"
    known = data.flickr8k(folder, "test")
    first = {
        int(key.partition("_")[0]): (folder / "Images" / key, own[0]) for key, own in zip(known.keys, known.captions)
    }
    for number in PHOTOS:
        yield str(number), *first[number]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_save(parser)
    args = parser.parse_args()
    table = Table(
        ["photo", "caption", "verdict", "fidelity", "adequacy", "fluency", "not supported", "left out"], digits=2
    )
    for name, photo, caption in captions():
        found = vericap.check(photo, caption, cache="off")
        values = (found.verdict, found.fidelity, found.adequacy, found.fluency)
        missing = [item.text for item in found.missing]
        table.add(name, caption, *values, ", ".join(found.not_supported), ", ".join(missing))
    tell("benchmarks.studies.by_eye", {"by-eye": table}, save=args.save)


if __name__ == "__main__":
    main()

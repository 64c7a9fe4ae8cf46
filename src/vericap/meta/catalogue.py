"""Which judgement data sets there are, where each comes from, and how its files must lie."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from vericap.core.errors import UnknownName
from vericap.core.table import Table
from vericap.meta.datasets import classic, newer
from vericap.meta.datasets.entry import Entry
from vericap.meta.judgements import Judgements, Retrieval, Systems, first_images

ENTRIES = (*classic.ENTRIES, *newer.ENTRIES)
DATASETS = {entry.name: entry for entry in ENTRIES}


def data_folder(given: str | Path | None = None) -> Path:
    """Where data lies: the given folder, else $VERICAP_DATA, else ./data."""
    return Path(given or os.environ.get("VERICAP_DATA") or "data")


def entry_of(name: str) -> Entry:
    if name not in DATASETS:
        near = difflib.get_close_matches(name, DATASETS, n=2, cutoff=0.4)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise UnknownName(
            f"no data set is called '{name}'{hint} (there are: {', '.join(DATASETS)}; "
            "a file of your own is given by its path, .jsonl or .csv)"
        )
    return DATASETS[name]


def load(
    name: str,
    data: str | Path | None = None,
    *,
    scale: tuple[float, float] | None = None,
    images: int | None = None,
    more: Sequence[str] = (),
) -> Judgements:
    """A known data set by name, or a file of one's own by path; with `images`, what was said of its first images.

    `more` are further files of a campaign's ratings. Retrieval sets and systems are read whole: what takes them up
    chooses images itself.
    """
    found = _read(name, data, scale, more)
    return found if images is None or isinstance(found, Retrieval | Systems) else first_images(found, images)


def _read(
    name: str, data: str | Path | None, scale: tuple[float, float] | None, more: Sequence[str] = ()
) -> Judgements:
    if name not in DATASETS and Path(name).exists():
        from vericap.meta.datasets import campaign

        if campaign.is_campaign(Path(name)):
            return campaign.read(Path(name), *map(Path, more))
    if more:
        raise UnknownName(f"one data set at a time: '{more[0]}' is not read beside '{name}'")
    if name not in DATASETS and (name.endswith((".jsonl", ".csv", ".tsv", ".gz")) or Path(name).is_file()):
        from vericap.meta.datasets.plain import read

        return read(Path(name), scale=scale)
    entry, root = entry_of(name), data_folder(data)
    folder = entry.locate(root)
    if folder is None:
        raise entry.missing(root)
    module, function = entry.reader.split(":")
    found: Judgements = getattr(import_module(module), function)(folder)
    return found


def installed(data: str | Path | None = None) -> list[str]:
    """Names of the data sets that are there."""
    root = data_folder(data)
    return [entry.name for entry in ENTRIES if entry.locate(root) is not None]


def listing(data: str | Path | None = None) -> Table:
    """All known data sets: which are here, how large they are, their licence, where they come from."""
    root = data_folder(data)
    table = Table(["data set", "here", "size", "licence", "source"], title=f"judgement data sets ({root})")
    for entry in ENTRIES:
        table.add(entry.name, entry.locate(root) is not None, entry.size, entry.licence, entry.source)
    return table

"""Words about files that are not there: where they were looked for, and what is called like them."""

from __future__ import annotations

import os
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

_LISTED = 5000  # names of a folder that are compared


def no_such_file(path: str | Path) -> str:
    """What to say of a file that is not there: which folder is missing, or which name of the folder is near.

    Examples
    --------
    >>> no_such_file("no-such-folder/captions.json")
    'no-such-folder/captions.json: no such file, because there is no folder no-such-folder; check the path'
    """
    wanted = Path(path)
    folder = wanted.parent
    if not folder.is_dir():
        return f"{path}: no such file, because there is no folder {folder}; check the path"
    try:
        names = [entry.name for entry in islice(os.scandir(folder), _LISTED)]
    except OSError:
        names = []
    stems = {Path(name).stem: name for name in names}
    near = get_close_matches(wanted.stem, stems, n=1, cutoff=0.65)
    advice = f"did you mean {folder / stems[near[0]]}?" if near else "check the name"
    return f"{path}: no such file in {folder.resolve()}; {advice}"

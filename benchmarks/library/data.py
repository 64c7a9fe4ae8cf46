"""Where the repository and the real data are: the environment variable alone names the data folder."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def data_folder(variable: str = "VERICAP_DATA") -> Path:
    """The folder a variable names; the program ends with what to do where it names none.

    >>> import os
    >>> os.environ["VERICAP_DATA"] = "."
    >>> data_folder().name
    ''
    """
    named = os.environ.get(variable)
    if not named:
        raise SystemExit(f"no data folder is named; set {variable} to the one that holds coco/, flickr8k/ and others")
    if not Path(named).is_dir():
        raise SystemExit(f"there is no folder {named}; {variable} names it")
    return Path(named)

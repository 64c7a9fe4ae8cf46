"""What is known about a judgement data set before it is read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vericap.core.errors import MissingPart

READERS = "vericap.meta.datasets"
UNSTATED = "not stated; ask the authors"


@dataclass(frozen=True)
class Entry:
    """A data set: its reader, its home, its layout and size."""

    name: str
    title: str
    reader: str
    folders: tuple[str, ...]
    files: tuple[str, ...]  # one of these must be there; `*` stands for anything
    source: str
    citation: str
    layout: str
    size: str
    licence: str
    lang: str = "en"
    telling: bool = True  # whether the names of its files tell it from other data sets

    def locate(self, data: Path) -> Path | None:
        """The folder that holds the data set, or None."""
        # A file called dev.jsonl says nothing of whose it is: without its folder's name it is not taken.
        alone = [data] if self.telling or data.name in self.folders else []
        for folder in [*(data / name for name in self.folders), *alone]:
            if any(found.is_file() for name in self.files for found in folder.glob(name)):
                return folder
        return None

    def missing(self, data: Path) -> MissingPart:
        return MissingPart(
            f"data set '{self.name}' ({self.title}) is not in {data}\n"
            f"  source:  {self.source}\n"
            f"  cite:    {self.citation}\n"
            f"  size:    {self.size}\n"
            f"  licence: {self.licence}\n"
            f"  layout:  {self.layout}\n"
            f"  put it in {data / self.folders[0]}, or name another folder with `data_folder=DIR` or VERICAP_DATA"
        )

"""A run of `meta` or `verify` that can be taken up again, by the manifest that `score --resume` has too.

The folder holds the manifest (what was judged, how, with which models) and the scores of every metric that is done. A
run is taken up only where all of that agrees; where it was finished, what it printed is printed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.batch import Batch
from vericap.core.errors import InputError, VericapError
from vericap.core.keys import content_key
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.table import Table
from vericap.meta.scoring import KeptScores
from vericap.run.manifest import Manifest, identity, locked

_AGAIN = "name another folder, or remove this one, to start again"


@dataclass
class KeptRun:
    """A run and what is kept of it; without a folder nothing is.

    Attributes
    ----------
    manifest : of the folder; None where nothing is kept.
    store : scores of metrics that are done.
    tables, text : what a run printed that is done; None where there is work to do.
    """

    manifest: Manifest | None = None
    store: KeptScores | None = None
    tables: list[Table] | None = None
    text: str = ""
    form: Mapping[str, Any] | None = None  # how tables were printed

    def finish(self, tables: Sequence[Table], files: Iterable[Path] = (), text: str = "") -> None:
        """Note that the run is done, what it printed, and which files it wrote."""
        if self.manifest is not None:
            sizes = {str(file): _size(file) for file in files}
            kept = [table.as_dict() for table in tables]
            self.manifest.finish({"tables": kept, "files": sizes, "text": text, "form": self.form})


@contextmanager
def kept_run(
    folder: Path | None,
    data: Any,
    plan: Mapping[str, Any],
    metrics: Sequence[Metric],
    settings: Settings,
    *,
    form: Mapping[str, Any] | None = None,
) -> Iterator[KeptRun]:
    """Take up what is kept in a folder, or start there; no other process may work in it meanwhile.

    Parameters
    ----------
    folder : where the run is kept; None: nowhere.
    data : what is judged.
    plan : the options that move a number.
    metrics, settings : whose signatures name models and tables.
    form : how tables are printed; those of a finished run in another form are made again, from its scores.
    """
    if folder is None:
        yield KeptRun()
        return
    if folder.exists() and not folder.is_dir():
        raise InputError(f"`resume={folder}`: is a file; name a folder for the run's state")
    folder.mkdir(parents=True, exist_ok=True)
    whole = {**plan, "metrics": [metric.label for metric in metrics], "settings": settings.choices()}
    manifest = Manifest(folder, identity(digest(data), whole, _signatures(metrics, settings)), _AGAIN)
    with locked(folder):
        summary = manifest.take_up(there=lambda found: found["form"] == form and _files_are_there(found["files"]))
        done = None if summary is None else [Table.from_dict(table) for table in summary["tables"]]
        yield KeptRun(manifest, KeptScores(folder), done, "" if summary is None else summary["text"], form)


def _signatures(metrics: Sequence[Metric], settings: Settings) -> dict[str, str]:
    """Signatures on a made sample: they name models and tables with their digests."""
    batch = Batch.of([Sample("1", "a dog", ("a dog",), "1")], settings)
    found = {}
    for metric in metrics:
        try:
            found[metric.label] = metric.signature(batch)
        except VericapError as error:  # a model that is not here: the run itself says so
            found[metric.label] = str(error)
    return found


def _files_are_there(sizes: Mapping[str, int | None]) -> bool:
    return all(_size(Path(name)) == size for name, size in sizes.items())


def _size(file: Path) -> int | None:
    return file.stat().st_size if file.is_file() else None


def digest(data: Any) -> str:
    """A digest of everything a data set holds.

    Examples
    --------
    >>> digest({"a": [1.0, None]}) == digest({"a": (1.0, None)})
    True
    >>> digest(["ab", "c"]) == digest(["a", "bc"])
    False
    """
    return content_key(*_parts(data))


def _parts(value: Any) -> Iterator[bytes | str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, np.ndarray):
        yield from (repr((value.shape, value.dtype.str)), np.ascontiguousarray(value).tobytes())
    elif is_dataclass(value) and not isinstance(value, type):
        for item in fields(value):
            yield item.name
            yield from _parts(getattr(value, item.name))
    elif isinstance(value, Mapping):
        for key, own in value.items():
            yield repr(key)
            yield from _parts(own)
    elif isinstance(value, list | tuple):
        yield repr(len(value))
        for own in value:
            yield from _parts(own)
    else:
        yield repr(value)


def stamp(folders: Iterable[Path]) -> list[tuple[str, int, int]]:
    """Names, sizes and times of all files in some folders: cheaper than reading them."""
    files = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    return [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files]

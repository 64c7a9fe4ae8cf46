"""What a run is, on disk: the input's digest, the plan, the signatures. It is resumed only where they agree."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vericap.core.errors import VericapError
from vericap.core.version import __version__
from vericap.run.shards import read_record, write_record

NAME = "manifest.json"
BEGINNING = "lock-begin"  # of several shares of a run only one clears the folder and writes the manifest
INPUT, LOOK = "input.json", "lock-input"  # what the first share has found in the input; others wait for it
_PART = "part"  # rows of a shard
_PIECE = re.compile(  # what a run leaves, whole or half written; nothing else of a folder is ever removed
    r"\.?(survey|repeats|states|merged|merged-part|scored|bad|statistics|part)-\d{2,}(-\d{6})?"
    r"\.(json|jsonl|npz|npy|keys|numbers|states|csv|parquet)(\.[0-9a-f]{16})?"
)
_VERSION = 1
_RUNNING, _FINISHED, _CLEARING = "running", "finished", "clearing"
_SAID = {
    "input": "the input has changed",
    "plan": "other options are asked for",
    "signatures": "a model, a table or a version behind the scores has changed",
    "vericap": "another version of vericap made it",
}


@dataclass(frozen=True)
class Manifest:
    """The manifest of a run in its folder.

    `identity` is what must agree: `input`, `plan`, `signatures`, `vericap`.
    """

    folder: Path
    identity: Mapping[str, Any]
    again: str = "run without `resume=` to start again"  # what to do about a run that is another one

    @property
    def path(self) -> Path:
        return self.folder / NAME

    def stored(self) -> dict[str, Any] | None:
        """What an earlier run has left, or None."""
        try:
            return read_record(self.path)
        except ValueError:
            raise VericapError(f"{self.path}: is damaged; remove the folder {self.folder} to start again") from None

    def check(self, stored: Mapping[str, Any]) -> None:
        """Refuse to go on with a run that is another one, saying what differs."""
        for name, said in _SAID.items():
            ours, theirs = self.identity.get(name), stored.get(name)
            if ours != theirs:
                raise VericapError(
                    f"{self.folder}: cannot be resumed, because {said} ({_difference(ours, theirs)}); {self.again}"
                )

    def take_up(
        self, *, resume: bool = True, there: Callable[[dict[str, Any]], bool] = bool
    ) -> dict[str, Any] | None:  # fmt: skip
        """Go on with an earlier run, or start; the summary of a run that is done, and there is nothing to do.

        Parameters
        ----------
        resume : whether an earlier run is taken up at all.
        there : whether what a finished run has written, by its summary, is still there; else it is done again.
        """
        stored = self.stored() if resume else None
        if stored is not None and stored["state"] != _CLEARING:
            self.check(stored)
            if stored["state"] != _FINISHED:
                return None
            summary: dict[str, Any] = stored["summary"]
            if there(summary):
                return summary
        self.clear()
        self.begin()
        return None

    def begin(self) -> None:
        """Write the manifest of a run that starts."""
        write_record(self.path, {"version": _VERSION, "state": _RUNNING, **self.identity})

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Write that the run is done, and what came of it."""
        write_record(self.path, {"version": _VERSION, "state": _FINISHED, **self.identity, "summary": summary})

    def clear(self) -> None:
        """Remove what an earlier run has left, but nothing else that may lie in the folder."""
        if not self.path.exists():
            foreign = next(iter(sorted(path.name for path in self._pieces())), None)
            if foreign is not None:
                raise VericapError(
                    f"{self.folder}: holds {foreign}, which no run of vericap has left there; choose another folder"
                )
            return
        write_record(self.path, {"version": _VERSION, "state": _CLEARING})  # and so it stays if we are cut short
        for path in self._pieces():
            path.unlink(missing_ok=True)

    def _pieces(self) -> list[Path]:
        return [path for path in self.folder.iterdir() if _PIECE.fullmatch(path.name)]

    def tidy(self, *, parts: bool) -> None:
        """Remove what a finished run needs no longer; `parts`: its rows are elsewhere."""
        for path in self._pieces():
            if parts or path.name.startswith(".") or not path.name.startswith(_PART):
                path.unlink(missing_ok=True)
        beside = [self.folder / name for name in (f".{BEGINNING}", f".{LOOK}", INPUT)]
        for path in [*self.folder.glob(f".{NAME}.*"), *self.folder.glob(f".{INPUT}.*"), *beside]:
            path.unlink(missing_ok=True)


def identity(digest: str, plan: Mapping[str, Any], signatures: Mapping[str, str]) -> dict[str, Any]:
    """What must agree between a run and its continuation."""
    return {"input": digest, "plan": dict(plan), "signatures": dict(signatures), "vericap": __version__}


def _difference(ours: Any, theirs: Any) -> str:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
        return "; ".join(f"{name}: {theirs.get(name)} before, {ours.get(name)} now" for name in names[:3])
    return f"{str(theirs)[:12]} before, {str(ours)[:12]} now"


@contextmanager
def locked(folder: Path, name: str = "lock", *, wait: bool = False) -> Iterator[None]:
    """Keep other processes from the same work; the lock goes with the process, however it ends.

    With `wait` they come one after the other, and the file stays: who waits for one that is removed locks nothing.
    """
    path = folder / f".{name}"
    with path.open("a") as stream:
        try:
            import fcntl

            fcntl.flock(stream, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except ImportError:  # Windows: two runs of one output are the user's care
            pass
        except OSError:
            raise VericapError(
                f"{folder}: another process is at work there; wait for it, or choose another output"
            ) from None
        yield
    if not wait:
        path.unlink(missing_ok=True)

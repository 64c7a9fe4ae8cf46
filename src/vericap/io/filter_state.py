"""Where a filter keeps its decisions until all is written: beside the output, to be taken up with `resume`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from vericap.core.errors import InputError
from vericap.run.filter.stored import Stored
from vericap.run.manifest import Manifest, identity, locked


class FilterState:
    """The state of one filter on disk.

    Parameters
    ----------
    output : what is written; the state lies beside it, in `OUTPUT.state`.
    resume : None to start anew; "" to go on with the state beside the output, or its folder.
    digest, plan, signatures : of the input, of all options that move a byte, and of the metrics: a run is resumed only
        where they agree.
    """

    def __init__(
        self, output: Path, resume: str | None, digest: str, plan: Mapping[str, Any], signatures: Mapping[str, str]
    ) -> None:
        self.folder = Path(resume) if resume else output.with_name(f"{output.name}.state")
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"`resume={self.folder}`: is a file; name a folder for the filter's state")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.again = resume is not None
        self.manifest = Manifest(self.folder, identity(digest, plan, signatures))
        self.stored = Stored(self.folder)

    def locked(self) -> AbstractContextManager[None]:
        """Keep other processes from the same work."""
        return locked(self.folder)

    def begin(self) -> dict[str, Any] | None:
        """Take up an earlier run, or start; what came of a run that is done and whose files are still there."""
        done = self.manifest.take_up(
            resume=self.again,
            there=lambda summary: all(_size(Path(name)) == size for name, size in summary["files"].items()),
        )
        if done is not None:
            self.manifest.tidy(parts=True)  # it may have ended before it had tidied up
        return done

    def finish(self, summary: Mapping[str, Any], files: Sequence[Path]) -> None:
        """All is written: note it, and remove what is needed no longer."""
        sizes = {str(file): _size(file) for file in files}
        self.manifest.finish({**summary, "files": sizes})
        self.manifest.tidy(parts=True)


def _size(file: Path) -> int | None:
    return file.stat().st_size if file.is_file() else None

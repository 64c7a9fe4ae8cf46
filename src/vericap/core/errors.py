"""What can go wrong through input, in words a user can act on."""

from __future__ import annotations

from dataclasses import dataclass


class VericapError(Exception):
    """A mistake in input or usage. The message says what is wrong, where, and what to do."""


class InputError(VericapError):
    """A file or record that cannot be read."""


class UnknownName(VericapError):
    """A metric, data set, protocol or model that does not exist."""


class MissingPart(VericapError):
    """An optional part that is not installed; the message names the command that brings it."""


class VericapWarning(UserWarning):
    """Something a user should know of that does not stop the work."""


@dataclass(frozen=True)
class Problem:
    """Why one record could not be read or judged."""

    record: str
    reason: str
    source: str = ""

    def __str__(self) -> str:
        where = f"{self.source}: " if self.source else ""
        return f"{where}{self.record}: {self.reason}"


def require(module: str, group: str, purpose: str):  # type: ignore[no-untyped-def]
    """Import an optional module, or say which command installs it."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPart(
            f"{purpose} needs the Python package '{module.split('.')[0]}'; "
            f"install it with: pip install 'vericap[{group}]' ({error})"
        ) from error

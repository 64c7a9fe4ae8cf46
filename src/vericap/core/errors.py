"""What can go wrong through input, in words a user can act on."""

from __future__ import annotations

from dataclasses import dataclass


class VericapError(Exception):
    """A mistake in input or usage. The message says what is wrong, where, and what to do.

    The errors below are kinds of it: who catches this one catches them all.

    Examples
    --------
    >>> import vericap
    >>> try:
    ...     vericap.Settings(workers=0)
    ... except vericap.VericapError as error:
    ...     print(error)
    `workers=0` is not a whole number from 1 on
    """


class InputError(VericapError):
    """A file or record that cannot be read.

    Examples
    --------
    >>> import vericap
    >>> try:
    ...     vericap.score(["a dog", "a cat"], [["a dog"]], "rouge-l")
    ... except vericap.InputError as error:
    ...     print(error)
    2 candidates but 1 entries beside them; they must be parallel
    """


class UnknownName(VericapError):
    """A metric, data set, protocol or model that does not exist.

    Examples
    --------
    >>> import vericap
    >>> try:
    ...     vericap.Scorer("meteorr")
    ... except vericap.UnknownName as error:
    ...     print("did you mean" in str(error))
    True
    """


class MissingPart(VericapError):
    """An optional part that is not installed; the message names the command that brings it.

    Examples
    --------
    >>> import vericap
    >>> from vericap.core.errors import require
    >>> try:
    ...     require("no_such_package", "figures", "drawing figures")
    ... except vericap.MissingPart as error:
    ...     print(str(error).split(";")[0])
    drawing figures needs the Python package 'no_such_package'
    """


class VericapWarning(UserWarning):
    """Something a user should know of that does not stop the work.

    Examples
    --------
    >>> import warnings
    >>> import vericap
    >>> with warnings.catch_warnings(record=True) as shown:
    ...     warnings.simplefilter("always", vericap.VericapWarning)
    ...     result = vericap.score(["Un homme court sur la plage avec son chien"], [["a man"]], "rouge-l")
    >>> "another language (fr)" in str(shown[0].message)
    True
    """


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
            f"{purpose} needs the Python package '{module.split('.')[0]}'; install it with: {install(group)} ({error})"
        ) from error


def install(group: str) -> str:
    """The command that installs a group of optional packages, for how this vericap was installed.

    The name alone is looked up in the package index; who installed from a folder needs the folder.

    Examples
    --------
    >>> install("ja").startswith("pip install '") and install("ja").endswith("[ja]'")
    True
    """
    return f"pip install '{_origin()}[{group}]'"


def install_package(name: str) -> str:
    """The command that installs a package of models, which lies in the folder `packages` of a clone.

    Examples
    --------
    >>> install_package("vericap-gte-small").endswith("vericap-gte-small")
    True
    """
    origin = _origin()
    return f"pip install {name if origin == 'vericap' else f'{origin}/packages/{name}'}"


def _origin() -> str:
    """The folder this package was installed from, or its name where it came from an index."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote, urlparse
    from urllib.request import url2pathname

    try:
        record = json.loads(distribution("vericap").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return "vericap"
    url = urlparse(record.get("url", ""))
    if url.scheme != "file" or "dir_info" not in record:
        return "vericap"
    return url2pathname(unquote(url.path)) if not url.netloc else "vericap"

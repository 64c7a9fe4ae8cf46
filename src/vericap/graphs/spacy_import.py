"""spaCy, imported and opened without what a parse does not use.

`import spacy` takes along torch and others where they are installed (thinc can compute with them: two seconds) and
spaCy's own command line with its web client and templates (a third of the rest). Scoring uses neither.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

_COMMANDS = "spacy.cli"
_OTHERS = ("torch", "tensorflow", "mxnet", "h5py")


def import_spacy() -> Any:
    """The package `spacy`. What it was kept from importing can be imported by others afterwards, as ever."""
    if "spacy" not in sys.modules:
        with _hidden(*_OTHERS), _later(_COMMANDS, "info"):
            import spacy
        vars(spacy).pop("cli", None)
    return sys.modules["spacy"]


def load_english(folder: Path) -> Any:
    """An English pipeline from a folder, its tokeniser's exceptions too: spaCy's own are not read before them."""
    spacy = import_spacy()
    defaults = import_module("spacy.lang.en").English.Defaults
    kept, defaults.tokenizer_exceptions = defaults.tokenizer_exceptions, {}
    try:
        return spacy.load(folder)
    finally:
        defaults.tokenizer_exceptions = kept


@contextmanager
def _hidden(*names: str) -> Iterator[None]:
    """Packages that cannot be found for a while; those that are imported already stay."""
    hidden = [name for name in names if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


@contextmanager
def _later(package: str, name: str) -> Iterator[None]:
    """In place of a package's module with a function of the same name: a function that imports it when called."""

    def call(*args: Any, **options: Any) -> Any:
        return getattr(import_module(f"{package}.{name}"), name)(*args, **options)

    module = ModuleType(f"{package}.{name}")
    vars(module)[name] = call
    sys.modules |= {package: ModuleType(package), module.__name__: module}
    try:
        yield
    finally:
        del sys.modules[package], sys.modules[module.__name__]

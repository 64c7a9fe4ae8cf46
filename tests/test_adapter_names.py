"""What other programs use of vericap: adapters, the COCO tool's shapes, the metric check. Docstrings and examples."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from types import ModuleType
from typing import Any

import pytest

import vericap.integrations
from docstrings import section

# module -> what it needs beside vericap
MODULES = {
    "vericap.compat.coco": "",
    "vericap.integrations.batches": "",
    "vericap.integrations.data_juicer": "",
    "vericap.integrations.evaluate": "evaluate",  # brings `datasets`, which takes long to import
    "vericap.integrations.harness": "",
    "vericap.integrations.reward": "",
    "vericap.integrations.self_critical": "",
    "vericap.integrations.spark": "pandas",
    "vericap.integrations.torchmetrics": "torchmetrics",
    "vericap.testing": "",
}


def opened(name: str) -> ModuleType:
    if MODULES[name]:
        pytest.importorskip(MODULES[name], reason=f"needs {MODULES[name]}")
    return importlib.import_module(name)


def public(module: ModuleType) -> list[tuple[str, Any]]:
    """Functions and classes that a module defines and that others are to use."""
    chosen = getattr(module, "__all__", None)
    return [
        (name, value)
        for name, value in vars(module).items()
        if (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == module.__name__
        and (name in chosen if chosen is not None else not name.startswith("_"))
    ]


def test_no_module_is_forgotten() -> None:
    """A new adapter stands in the table above."""
    here = {f"vericap.integrations.{name}" for name in _modules()}
    assert here <= set(MODULES)
    for name in vericap.integrations.__all__:
        assert getattr(vericap.integrations, name).__module__ in MODULES


def _modules() -> list[str]:
    import pkgutil

    return [found.name for found in pkgutil.iter_modules(vericap.integrations.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_public_names_are_described_with_an_example(name: str) -> None:
    """Every name has a docstring with parameters, returns and an example; so have its methods, without the example."""
    module = opened(name)
    found = public(module)
    assert found
    for own, value in found:
        text = inspect.getdoc(value) or ""
        assert text, own
        assert doctest.DocTestParser().get_examples(text), f"{name}.{own} has no example"
        complete(f"{name}.{own}", value)
        for method, found_method in inspect.getmembers(value, inspect.isfunction):
            if (method == "__call__" or not method.startswith("_")) and found_method.__module__ == name:
                complete(f"{name}.{own}.{method}", found_method)


def complete(name: str, value: Any) -> None:
    """A docstring that tells of every parameter, with its type, and of what comes back."""
    text = inspect.getdoc(value) or ""
    told = section(text, "Parameters")
    for parameter in inspect.signature(value).parameters.values():
        stars = r"\*\*" if parameter.kind is parameter.VAR_KEYWORD else ""
        if parameter.name != "self":
            entry = rf"^(.*, )?{stars}{parameter.name}(,.*)? : [\w.|, ]+$"
            assert re.search(entry, told, re.MULTILINE), f"{name} does not tell of {parameter.name}"
    if not inspect.isclass(value) and inspect.signature(value).return_annotation not in ("None", None):
        assert section(text, "Returns"), f"{name} does not tell what comes back"


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.filterwarnings("ignore")
def test_examples_run(name: str) -> None:
    found = doctest.testmod(opened(name))
    assert found.attempted
    assert not found.failed

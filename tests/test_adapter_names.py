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
    """Every name has a docstring with parameters and an example; its methods say what they do."""
    module = opened(name)
    found = public(module)
    assert found
    for own, value in found:
        text = inspect.getdoc(value) or ""
        assert text, own
        assert doctest.DocTestParser().get_examples(text), f"{name}.{own} has no example"
        given = [p for p in inspect.signature(value).parameters if p not in ("self", "args", "kwargs")]
        told = re.search(r"^(Parameters|Attributes)\n-+\n", text, re.MULTILINE)
        assert told or not given, f"{name}.{own} does not tell of {', '.join(given)}"
        for method, found_method in inspect.getmembers(value, inspect.isfunction):
            if not method.startswith("_") and found_method.__module__ == name:
                assert inspect.getdoc(found_method), f"{name}.{own}.{method}"


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.filterwarnings("ignore")
def test_examples_run(name: str) -> None:
    found = doctest.testmod(opened(name))
    assert found.attempted
    assert not found.failed

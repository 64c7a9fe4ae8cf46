"""Examples in docstrings run as printed."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = (
    "vericap.api",
    "vericap.core.explanation",
    "vericap.core.settings",
    "vericap.graphs.english",
    "vericap.integrations.reward",
    "vericap.metrics.function",
    "vericap.run.cache",
    "vericap.run.compare",
    "vericap.run.diagnosis",
)


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.filterwarnings("ignore::vericap.VericapWarning")
def test_examples(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name))
    assert found.failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    counted = {name: sum(bool(t.examples) for t in finder.find(importlib.import_module(name))) for name in MODULES}
    assert sum(counted.values()) >= 8

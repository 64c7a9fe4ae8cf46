"""Compiled kernels, each with a Python twin that serves where no compiler was found."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from types import ModuleType

# As setup.py builds them.
KERNELS = ("ptb", "text", "meteor", "transport", "attention", "backbone", "dense", "regions", "resize")


def load(name: str) -> ModuleType | None:
    """The compiled kernel `vericap.native.<name>`, or None where it was not built or is switched off."""
    return None if os.environ.get("VERICAP_PURE_PYTHON") == "1" else _built(name)


def able(name: str) -> ModuleType | None:
    """The kernel as `load` finds it, where the processor has what it needs."""
    kernel = load(name)
    return kernel if kernel is not None and kernel.able() else None


@cache
def _built(name: str) -> ModuleType | None:
    try:
        return import_module(f"vericap.native._{name}")
    except ImportError:
        return None

"""Compiled kernels, each with a Python twin that serves where no compiler was found."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from types import ModuleType

KERNELS = ("ptb", "text", "meteor", "transport", "backbone", "dense", "regions", "resize")  # as setup.py builds them


def load(name: str) -> ModuleType | None:
    """The compiled kernel `vericap.native.<name>`, or None where it was not built or is switched off."""
    return None if os.environ.get("VERICAP_PURE_PYTHON") == "1" else _built(name)


@cache
def _built(name: str) -> ModuleType | None:
    try:
        return import_module(f"vericap.native._{name}")
    except ImportError:
        return None

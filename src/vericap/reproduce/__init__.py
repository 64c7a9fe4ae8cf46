"""Every experiment of the papers behind FAIEr, REO, VIFIDEL and JaSPICE by one command each, ours beside theirs.

from vericap.reproduce import reproduce
print(reproduce("faier-table-3").text())
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vericap.reproduce.catalogue import EXPERIMENTS as EXPERIMENTS
    from vericap.reproduce.catalogue import reproduce as reproduce
    from vericap.reproduce.experiment import Choices as Choices

_HOMES = {"Choices": "experiment", "EXPERIMENTS": "catalogue", "reproduce": "catalogue"}

__all__ = ["EXPERIMENTS", "Choices", "reproduce"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"vericap.reproduce.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'vericap.reproduce' has no attribute '{name}'")

"""vericap tells whether a caption is true to its image, says what matters, and reads well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from vericap.api import compare as compare
    from vericap.api import score as score
    from vericap.samples import Sample as Sample

_LAZY = {"score": "vericap.api", "compare": "vericap.api", "Sample": "vericap.samples"}

__all__ = ["Sample", "__version__", "compare", "score"]


def __getattr__(name: str) -> Any:
    # Importing the package stays light: parts load when used.
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'vericap' has no attribute '{name}'")

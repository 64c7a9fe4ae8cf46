"""vericap tells whether a caption is true to its image, says what matters, and reads well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vericap.core.version import __version__ as __version__

if TYPE_CHECKING:
    from vericap.api import Scorer as Scorer
    from vericap.api import compare as compare
    from vericap.api import score as score
    from vericap.core.errors import VericapError as VericapError
    from vericap.core.errors import VericapWarning as VericapWarning
    from vericap.core.explanation import Explanation as Explanation
    from vericap.core.metric import Metric as Metric
    from vericap.core.metric import Option as Option
    from vericap.core.samples import Sample as Sample
    from vericap.core.settings import Settings as Settings
    from vericap.core.statistics import Statistics as Statistics
    from vericap.run.results import Result as Result

_LAZY = {
    "Explanation": "vericap.core.explanation",
    "Metric": "vericap.core.metric",
    "Option": "vericap.core.metric",
    "Result": "vericap.run.results",
    "Sample": "vericap.core.samples",
    "Scorer": "vericap.api",
    "Settings": "vericap.core.settings",
    "Statistics": "vericap.core.statistics",
    "VericapError": "vericap.core.errors",
    "VericapWarning": "vericap.core.errors",
    "compare": "vericap.api",
    "score": "vericap.api",
}

__all__ = [
    "Explanation",
    "Metric",
    "Option",
    "Result",
    "Sample",
    "Scorer",
    "Settings",
    "Statistics",
    "VericapError",
    "VericapWarning",
    "__version__",
    "compare",
    "score",
]


def __getattr__(name: str) -> Any:
    # Importing the package stays light: parts load when used.
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'vericap' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__

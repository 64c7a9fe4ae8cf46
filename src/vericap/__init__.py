"""vericap tells whether a caption is true to its image, says what matters, and reads well.

Examples
--------
>>> import vericap
>>> result = vericap.score(["a dog runs"], [["a dog runs", "the dog is running"]], "rouge-l")
>>> print(result, end="")
metric    score  captions
-------  ------  --------
rouge-l  1.0000         1
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from vericap.core.version import __version__ as __version__

if TYPE_CHECKING:
    from vericap.api import Scorer as Scorer
    from vericap.api import check as check
    from vericap.api import compare as compare
    from vericap.api import load as load
    from vericap.api import score as score
    from vericap.core.errors import InputError as InputError
    from vericap.core.errors import MissingPart as MissingPart
    from vericap.core.errors import UnknownName as UnknownName
    from vericap.core.errors import VericapError as VericapError
    from vericap.core.errors import VericapWarning as VericapWarning
    from vericap.core.explanation import Explanation as Explanation
    from vericap.core.metric import Metric as Metric
    from vericap.core.metric import Option as Option
    from vericap.core.samples import Sample as Sample
    from vericap.core.settings import Settings as Settings
    from vericap.core.statistics import Statistics as Statistics
    from vericap.run.results import Result as Result

# In the order of the reference page; all but the last are public: `__all__` and tab completion show these.
_LAZY = {
    "score": "vericap.api",
    "compare": "vericap.api",
    "check": "vericap.api",
    "Scorer": "vericap.api",
    "Settings": "vericap.core.settings",
    "Metric": "vericap.core.metric",
    "Option": "vericap.core.metric",
    "Statistics": "vericap.core.statistics",
    "Explanation": "vericap.core.explanation",
    "Result": "vericap.run.results",
    "load": "vericap.api",
    "VericapError": "vericap.core.errors",
    "InputError": "vericap.core.errors",
    "UnknownName": "vericap.core.errors",
    "MissingPart": "vericap.core.errors",
    "VericapWarning": "vericap.core.errors",
    "Sample": "vericap.core.samples",
}

__all__ = [
    "Explanation",
    "InputError",
    "Metric",
    "MissingPart",
    "Option",
    "Result",
    "Scorer",
    "Settings",
    "Statistics",
    "UnknownName",
    "VericapError",
    "VericapWarning",
    "check",
    "compare",
    "load",
    "score",
]


def __getattr__(name: str) -> Any:
    # Importing the package stays light: parts load when used.
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    # With name and module Python adds what may have been meant.
    raise AttributeError(f"module 'vericap' has no attribute '{name}'", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return __all__

"""Parts of NumPy-style docstrings, for tests of public names."""

from __future__ import annotations

import inspect
import re


def section(text: str, title: str) -> str:
    """What stands under a title; empty where there is none.

    >>> section("Score.\\n\\nReturns\\n-------\\nResult\\n", "Returns")
    'Result'
    """
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w+\n-+$|\Z)", inspect.cleandoc(text), re.MULTILINE | re.DOTALL)
    return found[1] if found else ""

"""The Penn Treebank tokeniser."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vericap.text.tokens import Tokens

_TOKEN = re.compile(r"[a-z0-9&]+(?:[-./'][a-z0-9]+)*|[^\s\w]", re.I)
DROPPED = frozenset("'' ' `` ` -LRB- -RRB- -LCB- -RCB- . ? ! , : - -- ... ;".split())


def tokens(texts: Sequence[str]) -> Tokens:
    return Tokens.of([w for w in _TOKEN.findall(t.lower()) if w not in DROPPED] for t in texts)

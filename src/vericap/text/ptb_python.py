"""The tokeniser's automaton in Python, with tokens equal to the compiled one's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from vericap.text.ptb import DROP, NEXT_LINE, shape


def run(texts: Sequence[str], following: Sequence[int], table: dict[str, Any]) -> Iterator[list[str]]:
    """Tokens of each text."""
    machine = _Machine(table)
    for text, after in zip(texts, following):
        yield machine.tokens(text, NEXT_LINE if after < 0 else texts[after])


class _Machine:
    def __init__(self, table: dict[str, Any]) -> None:
        self.classes = table["classes"]
        self.moves: list[list[int]] = table["moves"].tolist()
        self.accepts: list[int] = table["accepts"].tolist()
        self.mains: list[int] = table["mains"].tolist()
        self.aheads: list[int] = table["aheads"].tolist()
        self.actions: list[int] = table["actions"].tolist()
        self.start = int(table["start"][0])

    def tokens(self, text: str, following: str) -> list[str]:
        data = text.encode("utf-16-le", "surrogatepass")
        length = len(data) // 2
        solid = len(text.rstrip().encode("utf-16-le", "surrogatepass"))  # the tool strips blanks off a line's end
        line = data + f"\n{following[:16]}".encode("utf-16-le", "surrogatepass")
        kinds: list[int] = self.classes[np.frombuffer(line, dtype="<u2")].tolist()
        found = []
        begin = 0
        while begin < length:
            end, rule = self.longest(kinds, begin)
            if rule >= 0 and self.mains[rule]:
                end = self.cut(kinds, begin, end, rule)
            action = self.actions[rule] if rule >= 0 else DROP
            if action != DROP:
                token = shape(action, data[2 * begin : min(2 * end, solid)].decode("utf-16-le", "surrogatepass"))
                if token:
                    found.append(token)
            begin = end
        return found

    def longest(self, kinds: list[int], begin: int) -> tuple[int, int]:
        """End and rule of the longest match; one unit and -1 where nothing matches."""
        state, end, rule = self.start, begin + 1, -1
        for place in range(begin, len(kinds)):
            state = self.moves[state][kinds[place]]
            if not state:
                break
            if self.accepts[state]:
                end, rule = place + 1, self.accepts[state] - 1
        return end, rule

    def cut(self, kinds: list[int], begin: int, end: int, rule: int) -> int:
        """Where a rule with a look ahead ends its token: the longest main part whose rest is a look ahead."""
        best, state = begin + 1, self.mains[rule]
        for place in range(begin, end):
            state = self.moves[state][kinds[place]]
            if not state:
                break
            if self.accepts[state] != rule + 1:
                continue
            other = self.aheads[rule]
            for kind in kinds[place + 1 : end]:
                other = self.moves[other][kind]
                if not other:
                    break
            if other and self.accepts[other] == rule + 1:
                best = place + 1
        return best

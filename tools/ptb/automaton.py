"""A small compiler from regular expressions to one deterministic automaton over UTF-16 code units.

Patterns are verbose (blanks outside classes mean nothing) and know: literals, `\\` escapes, `\\uXXXX`, classes with
ranges and `^`, `( )`, `|`, `* + ?`, `{m,n}`, `{name}` for a named pattern or set, `(?i: )` for either case of ASCII.
Sets of code units are Python integers used as bit masks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SIZE = 1 << 16
ANY = (1 << SIZE) - 1


def unit(code: int) -> int:
    return 1 << code


def span(first: int, last: int) -> int:
    return ((1 << (last - first + 1)) - 1) << first


@dataclass
class Rule:
    """The longest `pattern` followed by `ahead` wins; among equals the first rule. `action` says what is emitted."""

    pattern: str
    action: str
    ahead: str | None = None


class Parser:
    """Pattern -> tree of ('set', mask), ('cat', ...), ('or', ...), ('many', node, least, most)."""

    def __init__(self, text: str, names: dict[str, object]) -> None:
        self.text, self.place, self.names, self.fold = text, 0, names, False

    def parse(self):
        node = self.either()
        if self.place != len(self.text):
            raise ValueError(f"stray {self.text[self.place :]!r} in {self.text!r}")
        return node

    def peek(self) -> str:
        while self.place < len(self.text) and self.text[self.place] in " \n":
            self.place += 1
        return self.text[self.place] if self.place < len(self.text) else ""

    def either(self):
        branches = [self.row()]
        while self.peek() == "|":
            self.place += 1
            branches.append(self.row())
        return branches[0] if len(branches) == 1 else ("or", branches)

    def row(self):
        parts = []
        while self.peek() not in ("", "|", ")"):
            parts.append(self.repeated())
        return ("cat", parts)

    def repeated(self):
        node = self.atom()
        while True:
            sign = self.peek()
            if sign in ("*", "+", "?"):
                self.place += 1
                node = ("many", node, {"*": 0, "+": 1, "?": 0}[sign], 1 if sign == "?" else None)
            elif sign == "{" and self.text[self.place + 1].isdigit():
                end = self.text.index("}", self.place)
                low, _, high = self.text[self.place + 1 : end].partition(",")
                self.place = end + 1
                node = ("many", node, int(low), int(high or low))
            else:
                return node

    def atom(self):
        sign = self.peek()
        if sign == "(":
            self.place += 1
            before = self.fold
            if self.text.startswith("?i:", self.place):
                self.place += 3
                self.fold = True
            node = self.either()
            if self.peek() != ")":
                raise ValueError(f"missing ) in {self.text!r}")
            self.place += 1
            self.fold = before
            return node
        if sign == "[":
            return ("set", self.bracket())
        if sign == "{":
            end = self.text.index("}", self.place)
            name = self.text[self.place + 1 : end]
            self.place = end + 1
            found = self.names[name]
            if isinstance(found, int):
                return ("set", found)
            inner = Parser(str(found), self.names)
            inner.fold = self.fold
            return inner.parse()
        if sign == ".":
            raise ValueError(f"write \\. or a class, not '.', in {self.text!r}")
        return ("set", self.folded(unit(self.code())))

    def code(self) -> int:
        sign = self.text[self.place]
        self.place += 1
        if sign != "\\":
            return ord(sign)
        sign = self.text[self.place]
        self.place += 1
        if sign == "u":
            self.place += 4
            return int(self.text[self.place - 4 : self.place], 16)
        return ord({"t": "\t", "n": "\n", "r": "\r", "f": "\f"}.get(sign, sign))

    def folded(self, mask: int) -> int:
        if self.fold:
            upper, lower = span(65, 90), span(97, 122)
            mask |= (mask & upper) << 32 | (mask & lower) >> 32
        return mask

    def bracket(self) -> int:
        self.place += 1
        negated = self.text[self.place] == "^"
        self.place += negated
        mask = 0
        while self.text[self.place] != "]":
            if self.text[self.place] == "{" and self.text[self.place + 1].isalpha():
                end = self.text.index("}", self.place)
                mask |= int(self.names[self.text[self.place + 1 : end]])  # type: ignore[call-overload]
                self.place = end + 1
                continue
            first = self.code()
            last = first
            if self.text[self.place] == "-" and self.text[self.place + 1] != "]":
                self.place += 1
                last = self.code()
            mask |= span(first, last)
        self.place += 1
        mask = self.folded(mask)
        return ANY & ~mask if negated else mask


class Net:
    """A non-deterministic automaton: one outgoing set per state, or empty moves."""

    def __init__(self) -> None:
        self.sets: list[tuple[int, int] | None] = []
        self.empty: list[list[int]] = []

    def state(self) -> int:
        self.sets.append(None)
        self.empty.append([])
        return len(self.sets) - 1

    def add(self, node, start: int) -> int:
        """Build `node` from `start`; returns the end state."""
        kind = node[0]
        if kind == "set":
            end = self.state()
            middle = self.state()
            self.empty[start].append(middle)
            self.sets[middle] = (node[1], end)
            return end
        if kind == "cat":
            for part in node[1]:
                start = self.add(part, start)
            return start
        if kind == "or":
            end = self.state()
            for part in node[1]:
                begin = self.state()
                self.empty[start].append(begin)
                self.empty[self.add(part, begin)].append(end)
            return end
        _, inner, least, most = node
        for _ in range(least):
            start = self.add(inner, start)
        if most is None:
            loop = self.state()
            self.empty[start].append(loop)
            self.empty[self.add(inner, loop)].append(loop)
            return loop
        end = self.state()
        self.empty[start].append(end)
        for _ in range(most - least):
            start = self.add(inner, start)
            self.empty[start].append(end)
        return end


@dataclass
class Automaton:
    """`classes[unit]`, `moves[state, class]` (0: stop), `accepts[state]` (rule + 1, 0: none), start states."""

    classes: np.ndarray
    moves: np.ndarray
    accepts: np.ndarray
    starts: list[int]


def compile_rules(groups: list[list[tuple[str, int]]], names: dict[str, object]) -> Automaton:
    """One start state per group of (pattern, label); in a group the lowest label wins."""
    net = Net()
    heads, ends = [], {}
    for group in groups:
        head = net.state()
        heads.append(head)
        for pattern, label in group:
            begin = net.state()
            net.empty[head].append(begin)
            ends[net.add(Parser(pattern, names).parse(), begin)] = label
    classes, members = _classes({mask for found in net.sets if found for mask in (found[0],)})
    return _minimal(classes, *_subsets(net, heads, ends, members, int(classes.max()) + 1))


def _classes(masks: set[int]) -> tuple[np.ndarray, dict[int, list[int]]]:
    ordered = sorted(masks)
    rows = np.array(
        [np.unpackbits(np.frombuffer(m.to_bytes(SIZE // 8, "little"), np.uint8), bitorder="little") for m in ordered]
    )
    _, classes = np.unique(rows, axis=1, return_inverse=True)
    classes = classes.reshape(-1)
    members = {mask: sorted(set(classes[rows[i] == 1].tolist())) for i, mask in enumerate(ordered)}
    return classes, members


def _subsets(net: Net, heads, ends, members, width):
    def closure(states):
        seen, todo = set(states), list(states)
        while todo:
            for other in net.empty[todo.pop()]:
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return frozenset(s for s in seen if net.sets[s] is not None or s in ends)

    single = {}

    def closed(state):
        if state not in single:
            single[state] = closure([state])
        return single[state]

    numbers: dict[frozenset, int] = {frozenset(): 0}
    order = [frozenset()]
    starts = []
    for head in heads:
        found = closed(head)
        if found not in numbers:
            numbers[found] = len(order)
            order.append(found)
        starts.append(numbers[found])
    moves = []
    place = 0
    while place < len(order):
        targets: list[set] = [set() for _ in range(width)]
        for state in order[place]:
            if net.sets[state] is None:
                continue
            mask, end = net.sets[state]
            for kind in members[mask]:
                targets[kind].add(end)
        cache: dict[frozenset, int] = {}
        line = []
        for kind in range(width):
            key = frozenset(targets[kind])
            if key not in cache:
                found = frozenset().union(*(closed(s) for s in key)) if key else frozenset()
                if found not in numbers:
                    numbers[found] = len(order)
                    order.append(found)
                cache[key] = numbers[found]
            line.append(cache[key])
        moves.append(line)
        place += 1
    accepts = [min((ends[s] for s in states if s in ends), default=0) for states in order]
    return np.array(moves, dtype=np.int64), np.array(accepts, dtype=np.int64), starts


def _minimal(classes, moves, accepts, starts) -> Automaton:
    label = accepts.copy()
    count = 0
    while True:
        _, label = np.unique(np.column_stack([label, label[moves]]), axis=0, return_inverse=True)
        label = label.reshape(-1)
        if label.max() + 1 == count:
            break
        count = int(label.max()) + 1
    # state 0 must stay the dead state
    rename = np.full(count, -1)
    rename[label[0]] = 0
    rest = [x for x in dict.fromkeys(label.tolist()) if x != label[0]]
    for number, old in enumerate(rest, 1):
        rename[old] = number
    new = rename[label]
    first = np.zeros(count, dtype=np.int64)
    first[new[::-1]] = np.arange(len(new))[::-1]
    return Automaton(classes, new[moves[first]], accepts[first], [int(new[s]) for s in starts])

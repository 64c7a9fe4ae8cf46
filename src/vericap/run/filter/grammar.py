"""From the text of a condition to its tree; nothing is ever evaluated as code.

expression := stage ("then" stage)*
stage      := both ("|" both)*
both       := one ("&" one)*
one        := "!" one | "(" stage ")" | share | column [sign value]
share      := ("top" | "bottom") ":" NUMBER ["%" | "/" NUMBER] ":" column
column     := NAME [":" OPTION "=" VALUE]* ["." NAME] | "mean(" ... ")" | "any name in double quotes"
sign       := ">=" | "<=" | "==" | "!=" | ">" | "<"
value      := NUMBER | WORD | "text in quotes"
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from vericap.core.errors import VericapError
from vericap.run.filter.tree import NAME, NUMBER, All, Column, Comparison, Either, Expression, Flag, Node, Not, Share

DEEPEST = 50  # parentheses and marks of negation inside each other
LONGEST = 10_000  # characters

_QUOTED = r"\"(?:[^\"\\]|\\.)*\"|'[^']*'"
_TOKEN = re.compile(
    rf"(?P<blank>\s+)|(?P<sign>>=|<=|==|!=|>|<)|(?P<mark>[&|!()])|(?P<share>(?:top|bottom):)|(?P<quoted>{_QUOTED})"
    rf"|(?P<mean>mean\()|(?P<name>{NAME.pattern})|(?P<number>{NUMBER})"
)
_VALUE = re.compile(rf"\s*(?:(?P<quoted>{_QUOTED})|(?P<number>{NUMBER})(?![\w./-])|(?P<word>[^\s&|!()<>=\"']+))")
_SHARE = re.compile(rf"(?P<number>{NUMBER})(?:(?P<percent>\s*%)|/(?P<of>[1-9]\d*))?:")
_MEANT = {
    "&&": "&", "||": "|", "=": "==", "=>": ">=", "=<": "<=", "<>": "!=", "and": "&", "or": "|", "not": "!", ",": "&",
    ";": "then", "~": "!",
}  # fmt: skip


class ExpressionError(VericapError):
    """A condition that cannot be read; the message shows the place and, where one is near, what may be meant."""

    def __init__(self, reason: str, text: str, start: int, end: int | None = None) -> None:
        marks = " " * start + "^" * max(1, (start + 1 if end is None else end) - start)
        shown = text.replace("\n", " ").replace("\t", " ")
        super().__init__(f"`keep=`: {reason}\n    {shown}\n    {marks}")
        self.reason, self.start = reason, start


@dataclass(frozen=True)
class Token:
    kind: str  # sign, mark, share, quoted, mean, name, number, then, end
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def parse(text: str) -> Expression:
    """The tree of a condition; one that cannot be read is an ExpressionError that shows where.

    Examples
    --------
    >>> found = parse("vse>=0.3 & !url then top:30%:rouge-l")
    >>> [str(stage) for stage in found.stages]
    ['vse>=0.3 & !url', 'top:30%:rouge-l']
    >>> [column.name for column in found.columns]
    ['vse', 'url', 'rouge-l']
    >>> parse("vse=0.3")
    Traceback (most recent call last):
        ...
    vericap.run.filter.grammar.ExpressionError: `keep=`: '=' is not known here; did you mean '=='?
        vse=0.3
           ^
    """
    if len(text) > LONGEST:
        raise VericapError(f"`keep=`: a condition of {len(text)} characters; at most {LONGEST} are read")
    return _Parser(text).expression()


class _Parser:
    """Recursive descent, one method per rule."""

    def __init__(self, text: str) -> None:
        self.text, self.place, self.depth = text, 0, 0
        self.token = self._read()

    def expression(self) -> Expression:
        stages = [self._either()]
        while self.token.kind == "then":
            self._next()
            stages.append(self._either())
        if self.token.kind != "end":
            self._unexpected("& or | or 'then'")
        return Expression(tuple(stages), self.text)

    def _either(self) -> Node:
        parts = [self._both()]
        while self._takes("|"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else Either(_flat(parts, Either))

    def _both(self) -> Node:
        parts = [self._one()]
        while self._takes("&"):
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else All(_flat(parts, All))

    def _one(self) -> Node:
        opened = self.token
        self.depth += 1
        if self.depth > DEEPEST:
            self._fail(f"more than {DEEPEST} parentheses or '!' inside each other", opened)
        try:
            if self._takes("!"):
                return Not(self._one())
            if self._takes("("):
                found = self._either()
                if not self._takes(")"):
                    self._unexpected("')'", opened=opened)
                return found
            return self._share() if self.token.kind == "share" else self._condition()
        finally:
            self.depth -= 1

    def _share(self) -> Node:
        word = self.token
        found = _SHARE.match(self.text, self.place)
        if found is None:
            self._fail(f"say which share and of what: {word.text}0.3:METRIC", word)
        share = Fraction(found["number"]) / (100 if found["percent"] else int(found["of"] or 1))
        if not 0 < share <= 1:
            number = Token("number", found[0].rstrip(":"), found.start())
            self._fail("a share lies between 0 and 1 (0.3, 30% or 1/3)", number)
        self.place = found.end()
        self.token = self._read()
        column = self._column()
        return Share(word.text == "top:", share, column, found[0].rstrip(":").replace(" ", ""))

    def _condition(self) -> Node:
        column = self._column(followed=True)
        if self.token.kind != "sign":
            return Flag(column)
        sign = self.token.text
        start, value = self._value()
        if isinstance(value, str) and sign not in ("==", "!="):
            where = Token("value", self.text[start : self.place], start)
            self._fail(f"'{sign}' compares with a number; a text is equal (==) or not (!=)", where)
        self.token = self._read()
        return Comparison(column, sign, value, start)

    def _column(self, *, followed: bool = False) -> Column:
        token = self.token
        if token.kind == "number":
            self._fail(f"a column comes first: vse>={token.text}", token)
        if token.kind not in ("name", "quoted", "mean"):
            self._unexpected("a column" if not followed else "a condition")
        name = _unquoted(token.text) if token.kind == "quoted" else token.text
        if token.kind == "mean":
            name = self._mean(token)
        self._next()
        return Column(name, token.start)

    def _mean(self, token: Token) -> str:
        """mean(a,b): everything up to the parenthesis that belongs to it."""
        depth, place = 1, token.end
        while depth and place < len(self.text):
            depth += {"(": 1, ")": -1}.get(self.text[place], 0)
            place += 1
        if depth:
            self._fail("')' of mean( is missing", token)
        self.place = place
        return "".join(self.text[token.start : place].split())

    def _value(self) -> tuple[int, float | str]:
        """What stands behind a sign: read apart, because words of values are freer than names of columns."""
        found = _VALUE.match(self.text, self.place)
        if found is None:
            self._fail(f"a number or a word is missing after '{self.token.text}'", self.token)
        self.place = found.end()
        kind = str(found.lastgroup)
        text = found[kind]
        if kind == "number":
            return found.start(kind), float(text)
        return found.start(kind), _unquoted(text) if kind == "quoted" else text

    # --- tokens -------------------------------------------------------------------------------------------------

    def _read(self) -> Token:
        while self.place < len(self.text):
            found = _TOKEN.match(self.text, self.place)
            if found is None:
                self._strange()
            self.place = found.end()
            kind = str(found.lastgroup)
            if kind != "blank":
                return Token("then" if found[0] == "then" else kind, found[0], found.start())
        return Token("end", "", len(self.text))

    def _next(self) -> None:
        self.token = self._read()

    def _takes(self, mark: str) -> bool:
        if self.token.kind != "mark" or self.token.text != mark:
            return False
        self._next()
        return True

    def _strange(self) -> NoReturn:
        """A character that begins nothing."""
        rest = self.text[self.place :]
        if rest[0] in "\"'":
            self._fail("the quotation mark has no partner", Token("", rest[0], self.place))
        found = re.match(r"=>|=<|=+|&&|\|\||\W", rest)
        text = found[0] if found else rest[0]
        self._fail(f"'{text}' is not known here{_meant(text)}", Token("", text, self.place))

    def _unexpected(self, wanted: str, *, opened: Token | None = None) -> NoReturn:
        token = self.token
        if token.kind == "end":
            if opened is not None:
                self._fail("the parenthesis is not closed", opened)
            what = "nothing is said" if not self.text.strip() else f"the condition ends where {wanted} is expected"
            self._fail(f"{what}; for example: vse>=0.3 & !url", Token("end", "", len(self.text)))
        before = self.text[token.start - 1 : token.start]
        if token.text in ("&", "|") and before == token.text:  # && of other languages
            token = Token("mark", before * 2, token.start - 1)
        self._fail(f"{wanted} is expected, not '{token.text}'{_meant(token.text)}", token)

    def _fail(self, reason: str, token: Token) -> NoReturn:
        raise ExpressionError(reason, self.text, token.start, token.end)


def _flat(parts: list[Node], kind: type[All] | type[Either]) -> tuple[Node, ...]:
    """a & (b & c) is a & b & c."""
    return tuple(inner for part in parts for inner in (part.parts if isinstance(part, kind) else (part,)))


def _unquoted(text: str) -> str:
    if text[0] == "'":
        return text[1:-1]
    try:
        return str(json.loads(text))
    except ValueError:
        return text[1:-1]


def _meant(text: str) -> str:
    return f"; did you mean '{_MEANT[text.lower()]}'?" if text.lower() in _MEANT else ""

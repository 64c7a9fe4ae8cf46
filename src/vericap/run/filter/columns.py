"""What the names of a condition mean: text rules, metrics (with options) and their columns, columns of the input."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from vericap.core.errors import VericapError
from vericap.core.metric import Metric
from vericap.core.typing import Array
from vericap.run.filter.grammar import ExpressionError
from vericap.run.filter.tree import Column, Comparison, Expression, Flag, Share, leaves
from vericap.run.suspicious_texts import PATTERNS
from vericap.text.rules import RULES, Rule

INPUT = "input."  # before the name of an input column that a rule or a metric hides
Make = Callable[[str], Metric]

# Texts that are no captions: marks of a chat, refusals, code, wrong encodings. HTML and addresses are rules of `text`.
_HELP = {
    "thinking": "holds tags of a model's thinking",
    "code": "is code or JSON",
    "list-as-text": "is a list written as text",
    "chat-markup": "holds marks of a chat or a tokeniser",
    "refusal": "refuses, or asks for the image",
    "preamble": "begins by answering a prompt (Sure, here is ...)",
    "encoding": "was read with the wrong encoding",
    "placeholder": "stands for a missing value (nan, null, n/a)",
}


def _rule(name: str, pattern: re.Pattern[str]) -> Rule:
    return Rule(name, "flag", lambda text: pattern.search(text) is not None, _HELP[name])


TEXT_RULES: dict[str, Rule] = {
    **RULES,
    **{pattern.name: _rule(pattern.name, pattern.regex) for pattern in PATTERNS if pattern.name in _HELP},
}


@dataclass(frozen=True)
class Source:
    """Where the values of a column come from."""

    name: str  # as written
    kind: Literal["rule", "metric", "input"]
    key: str  # the rule, the metric's label, or the input column
    part: str = ""  # one of the metric's columns beside its score
    lower: bool = False  # whether lower is better


class Sources:
    """All columns of an expression with their sources, and the metrics they need.

    Parameters
    ----------
    expression : what was parsed.
    make : a metric from its written form (`vericap.metrics.registry.make`).
    names : names of all metrics, to suggest one for a name that is not known.
    fields : columns of the input.
    """

    def __init__(self, expression: Expression, make: Make, names: Iterable[str], fields: Sequence[str] = ()) -> None:
        self.expression, self.make = expression, make
        self.names, self.fields = list(names), list(fields)
        self.metrics: dict[str, Metric] = {}
        self.of: dict[str, Source] = {}
        for column in expression.columns:
            self.of[column.name] = self._source(column)
        for stage in expression.stages:
            for leaf in leaves(stage):
                self._check_kind(leaf)

    def add(self, name: str) -> Source:
        """One more column, which no condition reads: to sort by, or to be written."""
        self.of.setdefault(name, self._source(Column(name)))
        return self.of[name]

    def _source(self, column: Column) -> Source:
        name = column.name
        if name.startswith(INPUT) and name[len(INPUT) :] in self.fields:
            return Source(name, "input", name[len(INPUT) :])
        if name in TEXT_RULES:
            return Source(name, "rule", name)
        base = name.partition(":")[0].partition(".")[0]
        if base in self.names or name.startswith(("mean(", "py:")):
            return self._metric(column)
        if name in self.fields:
            return Source(name, "input", name)
        raise self._error(f"there is no column '{name}'{self._near(name)}", column)

    def _metric(self, column: Column) -> Source:
        """A metric, or one of its columns: spice.recall."""
        text, part = column.name, ""
        metric = self._made(text)
        if isinstance(metric, VericapError) and "." in text:
            text, _, part = text.rpartition(".")
            shorter = self._made(text)
            metric = shorter if isinstance(shorter, Metric) else metric
        if isinstance(metric, VericapError):
            raise self._error(str(metric), column)
        self.metrics[metric.label] = metric
        return Source(column.name, "metric", metric.label, part, metric.direction == "lower" and not part)

    def _made(self, text: str) -> Metric | VericapError:
        try:
            return self.make(text)
        except VericapError as error:
            return error

    def _check_kind(self, leaf: Comparison | Flag | Share) -> None:
        """Refuse what cannot be meant: `lang>=3`, `words`, `url==en`."""
        column = leaf.column
        source = self.of[column.name]
        kind = TEXT_RULES[source.key].kind if source.kind == "rule" else ("number" if source.kind == "metric" else "")
        if isinstance(leaf, Flag):
            if kind in ("number", "text"):
                example = f"{column.name}>=3" if kind == "number" else f"{column.name}==en"
                raise self._error(f"'{column.name}' is no mark but a {kind}; compare it: {example}", column)
        elif isinstance(leaf, Share):
            if kind in ("flag", "text"):
                raise self._error(f"'{column.name}' has no best and worst: a share needs numbers", column)
        elif kind == "flag":
            raise self._error(f"'{column.name}' is a mark: write {column.name} or !{column.name}", column)
        elif kind == "text" and not isinstance(leaf.value, str):
            raise self._error(f"'{column.name}' is a text: write {column.name}==en", column)
        elif kind == "number" and not source.part and isinstance(leaf.value, str):
            raise self._error(f"'{column.name}' is a number, not '{leaf.value}'", column)

    def _near(self, name: str) -> str:
        known = dict.fromkeys([*TEXT_RULES, *self.names, *self.fields])
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
        if near:
            return f"; did you mean {' or '.join(near)}?"
        shown = f"; the input has: {', '.join(self.fields)}" if self.fields else ""
        return f" (`vericap metrics` lists the metrics; text rules: {', '.join(RULES)}{shown})"

    def _error(self, reason: str, column: Column) -> ExpressionError:
        text = self.expression.text
        end = column.start + len(column.name)
        return ExpressionError(reason, text if text else column.name, column.start, end)


def input_column(name: str, items: Sequence[Mapping[str, Any]]) -> Array:
    """A column of the input as it was read; what it is compared with decides whether it is a number or a text."""
    found = np.empty(len(items), dtype=object)
    found[:] = [item.get(name) for item in items]
    return found

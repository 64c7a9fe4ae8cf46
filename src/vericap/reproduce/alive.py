"""`vericap reproduce grounding`: whether attention is alive, in one run."""

from __future__ import annotations

from vericap.core.errors import MissingPart
from vericap.core.table import Table
from vericap.reproduce.contestants import pointing_table
from vericap.reproduce.experiment import Choices, Outcome
from vericap.reproduce.faier_grounding import table_5
from vericap.reproduce.uniform import uniform_table


def _words(choices: Choices) -> Table:
    return table_5(choices).tables[0]


def grounding(choices: Choices) -> Outcome:
    """The pointing game, uniform attention (where judgements may be looked at), and the words of Table 5; parts without
    data say what they need."""
    parts = [pointing_table, *([uniform_table] if choices.judged else []), _words]
    tables = []
    for part in parts:
        try:
            tables.append(part(choices))
        except MissingPart as error:
            tables.append(Table(["not at hand"], [[str(error).splitlines()[0]]], notes=str(error).splitlines()[1:]))
    if all(table.columns == ["not at hand"] for table in tables):
        raise MissingPart("\n".join(dict.fromkeys(table.rows[0][0] for table in tables)))
    return Outcome(tables)

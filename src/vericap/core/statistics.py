"""Per-sample statistics of a metric: rows that add up, so that significance and shards need nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vericap.core.typing import Floats


@dataclass
class Statistics:
    """What a metric computes: one row of numbers per sample. Rows add up.

    Parameters
    ----------
    values : array
        One row per sample, or one number. NaN in column 0 marks a row without a score.
    problems : dict
        Row -> why it has no score; or, of a row with a score, what there is to say about it.
    columns : dict
        Further values per caption by name, shown beside the score.
    warnings : list of str
        What concerns the whole run.

    Examples
    --------
    >>> import vericap
    >>> found = vericap.Statistics([0.5, float("nan")], {1: "has no references"})
    >>> found.values.shape, found.undefined(1)
    ((2, 1), True)
    """

    values: Floats
    problems: dict[int, str] = field(default_factory=dict)
    columns: Mapping[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        values = np.asarray(self.values, dtype=np.float64)
        self.values = values[:, None] if values.ndim == 1 else values

    def undefined(self, row: int) -> bool:
        """Whether a row has no score; a reason in `problems` for any other row only explains its score.

        Parameters
        ----------
        row : int
            Number of the row.

        Returns
        -------
        bool

        Examples
        --------
        >>> import vericap
        >>> vericap.Statistics([0.5]).undefined(0)
        False
        """
        return bool(np.isnan(self.values[row, 0]))

    @staticmethod
    def concatenate(parts: Sequence[Statistics]) -> Statistics:
        """Join the statistics of consecutive samples.

        Parameters
        ----------
        parts : list of Statistics
            In the order of their samples.

        Returns
        -------
        Statistics

        Examples
        --------
        >>> import vericap
        >>> parts = [vericap.Statistics([1.0]), vericap.Statistics([0.0], {0: "empty"})]
        >>> vericap.Statistics.concatenate(parts).problems
        {1: 'empty'}
        """
        if len(parts) == 1:
            return parts[0]
        problems: dict[int, str] = {}
        start = 0
        for part in parts:
            problems.update({start + row: reason for row, reason in part.problems.items()})
            start += len(part.values)
        columns = {
            name: np.concatenate([np.asarray(part.columns[name]) for part in parts]) for name in parts[0].columns
        }
        warnings = list(dict.fromkeys(text for part in parts for text in part.warnings))
        return Statistics(np.concatenate([p.values for p in parts]), problems, columns, warnings)

    def take(self, rows: Sequence[int]) -> Statistics:
        """Some of the rows, in that order.

        Parameters
        ----------
        rows : list of int
            Numbers of the rows.

        Returns
        -------
        Statistics

        Examples
        --------
        >>> import vericap
        >>> vericap.Statistics([1.0, 0.5, 0.0]).take([2, 0]).values[:, 0].tolist()
        [0.0, 1.0]
        """
        which = np.asarray(rows, dtype=np.int64)
        problems = {place: self.problems[row] for place, row in enumerate(which.tolist()) if row in self.problems}
        columns = {name: np.asarray(values)[which] for name, values in self.columns.items()}
        return Statistics(self.values[which], problems, columns, list(self.warnings))

    def spread(self, rows: Sequence[int], total: int, problems: Mapping[int, str]) -> Statistics:
        """The same rows among more rows; the others have no score.

        Parameters
        ----------
        rows : list of int
            Where each row goes.
        total : int
            Rows in the end.
        problems : dict
            Row -> why it has no score.

        Returns
        -------
        Statistics

        Examples
        --------
        >>> import vericap
        >>> vericap.Statistics([1.0]).spread([1], 2, {0: "has no image"}).values[:, 0].tolist()
        [nan, 1.0]
        """
        values = np.full((total, self.values.shape[1]), np.nan)
        values[list(rows)] = self.values
        moved = {rows[row]: reason for row, reason in self.problems.items()}
        columns = {name: _widened(np.asarray(found), rows, total) for name, found in self.columns.items()}
        return Statistics(values, {**moved, **problems}, columns, self.warnings)


def _widened(column: Any, rows: Sequence[int], total: int) -> Any:
    """A column with gaps: NaN among numbers, "" among texts."""
    shape, gap = (total, *column.shape[1:]), "" if column.dtype == object else np.nan
    wide: Any = np.full(shape, gap, dtype=object if column.dtype == object else np.float64)
    wide[list(rows)] = column
    return wide

"""What a run gives back: corpus scores with signatures, one row per caption, and what went wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from vericap.core.errors import Problem, UnknownName, VericapError
from vericap.core.renders import Renders
from vericap.core.score import Score
from vericap.core.statistics import Statistics
from vericap.core.table import LOWER, Interval, Number, Table
from vericap.core.typing import Floats

if TYPE_CHECKING:
    from pathlib import Path

    import pandas
    import pyarrow

    from vericap.core.explanation import Explanation
    from vericap.core.metric import Metric


@dataclass(repr=False)
class Result(Renders):
    """Scores of one system: what `vericap.score` gives back.

    Attributes
    ----------
    ids, candidates : list of str
        The captions and their names.
    corpus : dict of Score
        By metric: `value`, `interval`, `count`, `signature`; `float(score)` is the value.
    metrics, statistics : dict
        By name, the metrics and what they computed of each caption.
    problems : list of Problem
        Records that cannot be read or judged, with the reason.
    warnings, notes : list of str
        What a user should know of the run.
    explanations : dict
        By metric the reasons for each caption, where they were asked for.

    Examples
    --------
    >>> import vericap
    >>> result = vericap.score(["a dog runs", "two cats"], [["a dog runs"], ["a cow"]], "rouge-l")
    >>> result["rouge-l"].tolist(), result.corpus["rouge-l"].value
    ([1.0, 0.0], 0.5)
    """

    ids: list[str]
    metrics: dict[str, Metric]
    statistics: dict[str, Statistics]
    corpus: dict[str, Score] = field(default_factory=dict)
    candidates: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    explanations: dict[str, list[Explanation | None]] = field(default_factory=dict)
    states: dict[str, Any] = field(default_factory=dict, repr=False)  # what metrics know of the whole corpus
    reporter: Callable[..., Path] | None = field(default=None, repr=False, compare=False)  # set by who has the captions
    _spelled: Callable[[str], str] = field(
        default=str, init=False, repr=False, compare=False
    )  # set by who knows names of metrics

    def __repr__(self) -> str:
        """The captions by number and the corpus scores: all captions would fill the screen."""
        known = {name: score.value for name, score in self.corpus.items() if score.value is not None}
        scores = ", ".join(f"{name}={value:.4g}" for name, value in known.items())
        return f"<Result: {len(self.ids)} captions{'; ' if scores else ''}{scores}>"

    def __getitem__(self, name: str) -> Floats:
        """Per-caption scores of a metric.

        Parameters
        ----------
        name : str
            The metric, as it was asked for or as the result names it (`CIDEr` or `cider-d`).

        Returns
        -------
        array
            One number per caption; NaN where there is no score.
        """
        label = name if name in self.statistics else self._spelled(name)
        if label not in self.statistics:
            raise UnknownName(f"there are no scores of '{name}'; there are: {', '.join(self.metrics)}")
        statistics = self.statistics[label]
        scores = self.metrics[label].captions(statistics.values)
        return np.where(np.isnan(statistics.values[:, 0]), np.nan, scores)

    def worst(self, count: int) -> list[int]:
        """Rows with the worst scores of the first metric; rows without a score are left out.

        Parameters
        ----------
        count : int
            Rows at the most.

        Returns
        -------
        list of int
            The worst first.

        Examples
        --------
        >>> import vericap
        >>> vericap.score(["a dog", "two cats"], [["a dog"], ["a cow"]], "rouge-l").worst(1)
        [1]
        """
        name, metric = next(iter(self.metrics.items()))
        scores = self[name] if metric.direction == "higher" else -self[name]
        order = np.argsort(np.where(np.isnan(scores), np.inf, scores), kind="stable")
        return [int(row) for row in order if not np.isnan(scores[row])][:count]

    @property
    def table(self) -> dict[str, Any]:
        """Column name -> one value per caption, with the columns that metrics add.

        Examples
        --------
        >>> import vericap
        >>> list(vericap.score(["a dog"], [["a dog"]], "rouge-l").table)
        ['id', 'candidate', 'rouge-l']
        """
        columns: dict[str, Any] = {"id": self.ids}
        if self.candidates:
            columns["candidate"] = self.candidates
        for name in self.metrics:  # in the order in which they were asked for
            columns[name] = self[name]
            columns.update({f"{name}.{suffix}": values for suffix, values in self.statistics[name].columns.items()})
        for column, undefined in (("problem", True), ("remark", False)):
            reasons = self.row_reasons(undefined)
            if reasons:
                columns[column] = [reasons.get(row) for row in range(len(self.ids))]
        for name, found in self.explanations.items():
            columns[f"{name}.explanation"] = [None if reason is None else reason.as_dict() for reason in found]
        return columns

    def row_reasons(self, undefined: bool) -> dict[int, str]:
        """Reasons of rows without a score, or of rows with one; a reason that several metrics share is said once.

        Parameters
        ----------
        undefined : bool
            Whether those of rows without a score are wanted.

        Returns
        -------
        dict
            Text by number of the row.

        Examples
        --------
        >>> import vericap
        >>> vericap.score(["a dog", "a cat"], [["a dog"], []], "rouge-l").row_reasons(True)
        {1: 'rouge-l: no reference to compare with'}
        """
        found: dict[int, dict[str, list[str]]] = {}
        for name, statistics in self.statistics.items():
            for row, reason in statistics.problems.items():
                if statistics.undefined(row) == undefined:
                    found.setdefault(row, {}).setdefault(reason, []).append(name)
        return {
            row: "; ".join(f"{', '.join(names)}: {reason}" for reason, names in reasons.items())
            for row, reasons in found.items()
        }

    # --- to look at ---------------------------------------------------------------------------------------------

    def scores(self, *, x100: bool = False, signatures: bool = False) -> Table:
        """Corpus scores as a table.

        Parameters
        ----------
        x100 : bool
            Whether scores are shown x100.
        signatures : bool
            Whether signatures stand below.

        Returns
        -------
        Table

        Examples
        --------
        >>> import vericap
        >>> vericap.score(["a dog"], [["a dog"]], "rouge-l").scores(x100=True).columns
        ['metric', 'score', 'captions']
        """
        table = corpus_table(self.corpus, x100=x100, signatures=signatures)
        if self.problems:
            table.notes.append(f"{len(self.problems)} caption(s) with a problem, the first: {self.problems[0]}")
        return table

    def __str__(self) -> str:
        return self.scores().text()

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.scores().html()

    def render(self, kind: str) -> str:
        """Corpus scores as text, markdown, latex or html; as csv or json the captions, a row each.

        Parameters
        ----------
        kind : str
            One of text, markdown, latex, csv, json, html.

        Returns
        -------
        str

        Examples
        --------
        >>> import vericap
        >>> print(vericap.score(["a dog runs"], [["a dog runs"]], "rouge-l").to_markdown(), end="")
        | metric | score | captions |
        | --- | ---: | ---: |
        | rouge-l | 1.0000 | 1 |
        """
        if kind == "csv":
            return self._rows().csv()
        if kind == "json":
            return json.dumps({**self.summary(), "rows": list(self.records())}, ensure_ascii=False, indent=1) + "\n"
        return self.scores().render(kind)

    def _rows(self) -> Table:
        """A row per caption, and in the last column of the first one the signatures."""
        table = Table([*self.table, "signatures"])
        said: str | None = json.dumps(self.signatures)
        for record in self.records():
            table.add(*(_cell(value) for value in record.values()), said)
            said = None
        return table

    def report(self, folder: str | Path, **options: Any) -> Path:
        """Write a report with photos and reasons, and give back the page to open in a browser.

        Parameters
        ----------
        folder : path
            Where to write; new, empty, or an older report.
        **options : Any
            title, copy_photos, as for `vericap.report.site.write_site`.

        Returns
        -------
        Path
            The page.

        Examples
        --------
        >>> import tempfile
        >>> import vericap
        >>> vericap.score(["a dog"], [["a dog"]], "rouge-l").report(tempfile.mkdtemp()).name
        'index.html'
        """
        if self.reporter is None:
            raise VericapError(
                "this result does not hold its captions; score them with `vericap.score` or `vericap.Scorer`, "
                "or run `vericap report` on the file"
            )
        return self.reporter(self, folder, **options)

    @property
    def signatures(self) -> dict[str, str]:
        """Signature by metric: every choice that moves the number.

        Examples
        --------
        >>> import vericap
        >>> vericap.score(["a dog"], [["a dog"]], "rouge-l").signatures["rouge-l"].split("|")[:2]
        ['metric:rouge-l', 'beta:1.2']
        """
        return {name: score.signature for name, score in self.corpus.items()}

    def records(self) -> Iterator[dict[str, Any]]:
        """The captions one by one, as plain data.

        Yields
        ------
        dict
            One per caption; an undefined score is None.

        Examples
        --------
        >>> import vericap
        >>> list(vericap.score(["a dog"], [["a dog"]], "rouge-l").records())
        [{'id': '0', 'candidate': 'a dog', 'rouge-l': 1.0}]
        """
        table = self.table
        names = list(table)
        for row in range(len(self.ids)):
            yield {name: plain(table[name][row]) for name in names}

    def summary(self) -> Mapping[str, Any]:
        """Corpus scores and what there is to say about them, as plain data.

        Returns
        -------
        dict
            captions, scores, warnings, notes, problems.

        Examples
        --------
        >>> import vericap
        >>> vericap.score(["a dog"], [["a dog"]], "rouge-l").summary()["captions"]
        1
        """
        return {
            "captions": len(self.ids),
            "scores": {name: score.as_dict() for name, score in self.corpus.items()},
            "warnings": self.warnings,
            "notes": self.notes,
            "problems": [str(problem) for problem in self.problems],
        }

    def to_arrow(self) -> pyarrow.Table:
        """One row per caption as an Arrow table, signatures in its metadata.

        Returns
        -------
        pyarrow.Table

        Examples
        --------
        >>> import vericap
        >>> vericap.score(["a dog"], [["a dog"]], "rouge-l").to_arrow().column_names
        ['id', 'candidate', 'rouge-l']
        """
        import pyarrow as pa

        columns = {}
        for name, values in self.table.items():
            if name.endswith(".explanation"):
                values = [None if v is None else json.dumps(v, ensure_ascii=False) for v in values]
            columns[name] = pa.array([plain(value) for value in values])
        return pa.table(columns).replace_schema_metadata({"vericap.signatures": json.dumps(self.signatures)})

    def to_pandas(self) -> pandas.DataFrame:
        """One row per caption as a pandas table; needs the group `pandas`.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> import vericap
        >>> vericap.score(["a dog"], [["a dog"]], "rouge-l").to_pandas()["rouge-l"].tolist()
        [1.0]
        """
        from vericap.core.errors import require

        require("pandas", "pandas", "a pandas table")
        return self.to_arrow().to_pandas()


def corpus_table(corpus: Mapping[str, Score], *, x100: bool = False, signatures: bool = False) -> Table:
    """Corpus scores with intervals; why a score is undefined, and signatures where they are asked for, stand below."""
    bounds = any(score.interval for score in corpus.values())
    table = Table(["metric", "score", *(["95 % interval"] if bounds else []), "captions"], x100=x100)
    for name, score in corpus.items():
        label = f"{name} {LOWER}" if score.direction == "lower" else name
        interval = [Interval(*score.interval) if score.interval else None] if bounds else []
        table.add(label, Number(score.value, instead="undefined"), *interval, score.count)
    reasons: dict[str, list[str]] = {}  # each told once
    for name, score in corpus.items():
        if score.value is None:
            reasons.setdefault(score.reason, []).append(name)
    table.notes = [f"{', '.join(names)}: undefined, {reason}" for reason, names in reasons.items()]
    table.notes += signature_notes({name: score.signature for name, score in corpus.items()}) if signatures else []
    return table


def signature_notes(signatures: Mapping[str, str]) -> list[str]:
    """Signatures as lines below a table."""
    return [signature for signature in signatures.values() if signature]


def _cell(value: Any) -> Any:
    """What is nested is JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


def plain(value: Any) -> Any:
    """A value as JSON knows it; NaN becomes None."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value]
    if isinstance(value, float) and value != value:
        return None
    return value

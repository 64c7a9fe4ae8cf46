"""What can be printed in several forms."""

from __future__ import annotations

from pathlib import Path


class Renders:
    """What can be printed in several forms, and written to a file."""

    def render(self, kind: str) -> str:
        """One of text, markdown, latex, csv, json, html."""
        raise NotImplementedError

    def to_csv(self, path: str | Path | None = None) -> str:
        """As CSV: of a result a row per caption, of a comparison a row per system and metric.

        Parameters
        ----------
        path : path
            File to write it to as well.

        Returns
        -------
        str

        Examples
        --------
        >>> import vericap
        >>> vericap.score(["a dog"], [["a dog"]], "rouge-l").to_csv().splitlines()[0]
        'id,candidate,rouge-l,signatures'
        """
        return _written(self.render("csv"), path)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """As a Markdown table.

        Parameters
        ----------
        path : path
            File to write it to as well.

        Returns
        -------
        str

        Examples
        --------
        >>> import vericap
        >>> vericap.score(["a dog"], [["a dog"]], "rouge-l").to_markdown().splitlines()[-1]
        '| rouge-l | 1.0000 | 1 |'
        """
        return _written(self.render("markdown"), path)

    def to_latex(self, path: str | Path | None = None) -> str:
        r"""As a LaTeX table to paste; it needs \usepackage{booktabs}.

        Parameters
        ----------
        path : path
            File to write it to as well.

        Returns
        -------
        str

        Examples
        --------
        >>> import vericap
        >>> "\\toprule" in vericap.score(["a dog"], [["a dog"]], "rouge-l").to_latex()
        True
        """
        return _written(self.render("latex"), path)


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text

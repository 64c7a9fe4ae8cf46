"""The metric base: per-sample statistics first, aggregation second, significance for free."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from vericap.core.analysis import Key, closure
from vericap.core.batch import Batch
from vericap.core.errors import UnknownName, VericapError
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.core.typing import Floats, Ints
from vericap.core.version import __version__

if TYPE_CHECKING:
    from vericap.core.explanation import Explanation

# Keys a signature may have besides a metric's options, and what each names.
SIGNATURE = {
    "metric": "the metric",
    "tok": "tokeniser",
    "refs": "references per caption",
    "df": "document frequencies",
    "graphs": "scene-graph parser and the version of its rules",
    "encoder": "sentence encoder",
    "vectors": "word vectors",
    "objects": "where the image's objects come from",
    "regions": "fingerprint of the region features",
    "model": "trained weights, with the first digits of their SHA-256",
    "words": "table of words for object classes",
    "wordnet": "synonyms",
    "scale": "human captions that scores of a mean are compared with",
    "version": "of the package and of the metric",
}


@dataclass(frozen=True)
class Option:
    """One option of a metric.

    Parameters
    ----------
    default : Any
        Its value where nobody sets it; it fixes the type.
    help : str
        What it does, for cards and messages.
    choices : tuple
        The values it may have; empty: any of its type.

    Examples
    --------
    >>> import vericap
    >>> vericap.Option(1.2, "weight of recall").parse("2", metric="rouge-l", name="beta")
    2.0
    """

    default: Any
    help: str
    choices: tuple[Any, ...] = ()

    def parse(self, text: str, *, metric: str, name: str) -> Any:
        """The value that a text stands for.

        Parameters
        ----------
        text : str
            As written in `rouge-l:beta=1`.
        metric, name : str
            Of the option, for the message where the text is no value of it.

        Returns
        -------
        Any
            A value of the type of the default.

        Examples
        --------
        >>> import vericap
        >>> vericap.Option(True, "synonyms count").parse("no", metric="spice", name="synonyms")
        False
        """
        kind = type(self.default)
        try:
            if kind is bool:
                value: Any = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[
                    text.lower()
                ]
            elif self.default is None:
                value = text
            else:
                value = kind(text)
        except (ValueError, KeyError):
            raise VericapError(
                f"metric '{metric}': option {name}={text} is not a valid {kind.__name__} ({self.help})"
            ) from None
        return self.check(value, metric=metric, name=name)

    def check(self, value: Any, *, metric: str, name: str) -> Any:
        """The value, or a VericapError where it is not among the choices.

        Parameters
        ----------
        value : Any
            To check.
        metric, name : str
            Of the option, for the message.

        Returns
        -------
        Any
            The same value.

        Examples
        --------
        >>> import vericap
        >>> vericap.Option("auto", "what to read", ("auto", "none")).check("none", metric="vifidel", name="references")
        'none'
        """
        if self.choices and value not in self.choices:
            allowed = ", ".join(map(str, self.choices))
            raise VericapError(f"metric '{metric}': option {name}={value} is not one of {allowed}")
        return value


class Metric(ABC):
    """A pure function from analyses to per-sample statistics, and from their sums to a corpus score.

    A subclass declares what it is on the class (name, range, needs, options), which analyses it reads (`requires`), and
    computes rows of statistics that add up. It keeps no state between calls: the same metric is used in several
    processes and inside `mean(...)`.

    Parameters
    ----------
    label : str
        Name of its column; by default the name with the options that were set.
    **options : Any
        Values of its options.

    Attributes
    ----------
    name, title : str
        What one types, and what a table says.
    direction : str
        "higher" or "lower": which is better.
    range : tuple of float
        Lowest and highest score.
    needs : tuple of str
        Of "references", "image", "objects": what a caption must bring.
    options : dict of Option
        By name.
    width : int
        Columns of its statistics.
    languages : tuple of str
        Languages it judges; empty: any.
    version : str
        Raised when its numbers change.

    Examples
    --------
    >>> import numpy as np
    >>> import vericap
    >>> class Words(vericap.Metric):
    ...     name, title, needs = "words", "Number of words", ()
    ...     range = (0.0, float("inf"))
    ...
    ...     def statistics(self, batch, state=None):
    ...         return vericap.Statistics(np.array([len(text.split()) for text in batch.candidate_texts()]))
    >>> vericap.score(["a dog runs", "two cats"], metrics=[Words()]).corpus["words"].value
    2.5
    """

    name: ClassVar[str]
    title: ClassVar[str] = ""
    direction: ClassVar[str] = "higher"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    needs: ClassVar[tuple[str, ...]] = ("references",)  # of: references, image, objects
    options: ClassVar[Mapping[str, Option]] = {}
    width: ClassVar[int] = 1  # columns of its statistics
    reads_references: ClassVar[bool] = True  # where they are at hand; names their number in the signature
    prepares_from: ClassVar[str] = "samples"  # or "references": systems with the same ones then share the state
    ordered_references: ClassVar[bool] = False  # whether the order of references moves the score
    languages: ClassVar[tuple[str, ...]] = ()  # empty: any
    other_languages: ClassVar[str] = ""  # what to do about captions in any other, for the message that refuses them
    version: ClassVar[str] = "1"
    card: ClassVar[str] = ""  # Markdown text, of a metric that comes from another package
    sets: ClassVar[tuple[str, ...]] = ()  # sets it joins, of a metric that comes from another package
    of_set: str = ""  # the set that brought it, if nobody named it: left out where the input lacks what it needs

    def __init__(self, *, label: str | None = None, **options: Any) -> None:
        for name in options:
            if name not in self.options:
                allowed = ", ".join(self.options) or "none"
                raise UnknownName(f"metric '{self.name}' has no option '{name}'; its options: {allowed}")
        values = {name: options.get(name, option.default) for name, option in self.options.items()}
        for name, value in values.items():
            self.options[name].check(value, metric=self.name, name=name)
        self.opt = SimpleNamespace(**values)
        self.label = label or self.spec  # the text as written is the column's name

    def __str__(self) -> str:
        return self.spec

    @property
    def spec(self) -> str:
        """The name with the options that differ from their defaults; it reads back as the same metric.

        Examples
        --------
        >>> from vericap.metrics.rouge import RougeL
        >>> RougeL(beta=1.0).spec
        'rouge-l:beta=1.0'
        """
        chosen = [
            f"{name}={getattr(self.opt, name)}"
            for name, option in self.options.items()
            if getattr(self.opt, name) != option.default
        ]
        return ":".join([self.name, *chosen])

    # --- what it reads ------------------------------------------------------------------------------------------

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        """Keys of the analyses that `prepare` and `statistics` read.

        Parameters
        ----------
        settings : Settings
            Of the run.

        Returns
        -------
        tuple of Key
            `vericap metrics --analyses` lists them; a metric that reads another one fails.
        """
        return ()

    def explain_requires(self, settings: Settings) -> tuple[Key, ...]:
        """Keys that only `explain` reads, besides those above."""
        return ()

    # --- scores -------------------------------------------------------------------------------------------------

    @abstractmethod
    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        """The numbers of a batch; rows must add up.

        Parameters
        ----------
        batch : Batch
            Texts, images and the analyses that `requires` named, as `batch[key]`.
        state : Any
            What `prepare` gave.

        Returns
        -------
        Statistics
            One row per sample; NaN with a reason in `problems` where there is no score.
        """

    def prepare(self, batch: Batch) -> Any:
        """What must be known of the whole corpus before scoring (document frequencies); None if nothing.

        Parameters
        ----------
        batch : Batch
            The whole corpus, or a shard of it.

        Returns
        -------
        Any
            Given to `statistics` and `explain` as `state`.
        """
        return None

    def merge(self, states: Sequence[Any]) -> Any:
        """Join the states of several shards."""
        return states[0]

    @property
    def prepares(self) -> bool:
        """Whether the corpus must be seen before a caption can be scored."""
        return type(self).prepare is not Metric.prepare

    def captions(self, values: Floats) -> Floats:
        """Rows of statistics -> score per caption."""
        return values[:, 0]

    def corpus(self, sums: Floats, count: Floats) -> Floats:
        """Sums of rows (..., k) and numbers of rows (...) -> corpus scores (...)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(sums[..., 0] / count)

    def kind(self, values: Floats) -> Ints:
        """On which of the metric's scales each row lies, where it has several that must not be mixed; 0 elsewhere."""
        return np.zeros(len(values), dtype=np.int64)

    def beside(self, sums: Floats, count: int) -> Mapping[str, float]:
        """Numbers that belong beside the corpus score (a recall, a mean length), from sums of rows and their number."""
        return {}

    # --- reasons ------------------------------------------------------------------------------------------------

    @property
    def explains(self) -> bool:
        """Whether the metric gives reasons."""
        return type(self).explain is not Metric.explain

    def explain(
        self, batch: Batch, rows: Sequence[int], state: Any = None, *, full: bool = False
    ) -> list[Explanation | None]:
        """Reasons for some rows of a batch.

        Parameters
        ----------
        batch : Batch
            As for `statistics`, with what `explain_requires` named.
        rows : list of int
            Rows to explain.
        state : Any
            What `prepare` gave.
        full : bool
            Whether matrices and graphs are wanted too, which a picture needs.

        Returns
        -------
        list of Explanation
            In the order of the rows; None where there is nothing to say.
        """
        return [None] * len(rows)

    # --- signature ----------------------------------------------------------------------------------------------

    def signature_parts(self, batch: Batch) -> dict[str, str]:
        """What moves the number besides options and analyses; keys are those of SIGNATURE."""
        return {}

    def signature(self, batch: Batch) -> str:
        """Every choice that moves the number, in one line: options, analyses, versions."""
        parts: dict[str, str] = {"metric": self.name}
        values = {name: str(getattr(self.opt, name)) for name in self.options}
        parts.update({name: value for name, value in values.items() if value})
        for key in closure(self.requires(batch.settings), batch.settings):
            parts.update(key.signature(batch))
        if self.reads_references:
            parts["refs"] = batch.reference_summary()
        parts.update(self.signature_parts(batch))
        parts["version"] = f"{__version__}/{self.version}"
        return "|".join(f"{key}:{value}" for key, value in parts.items())

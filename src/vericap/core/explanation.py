"""Why a caption got its score: the same few parts for every metric, JSON in and out.

A metric fills the parts it has evidence for and leaves the others empty. Matrices (heat maps) and graphs are filled
only where a picture is drawn, so that a row of explanation stays small.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

VERSION = 1  # of the JSON form; raised when a field changes its meaning

Box = tuple[float, float, float, float]  # x0, y0, x1, y1 as shares of the image's sides


@dataclass(frozen=True)
class WordEvidence:
    """One word of the caption, where it stands, and how well it is supported (None: not judged)."""

    text: str
    start: int
    end: int
    support: float | None = None
    source: str = ""  # what the support comes from: image, references, language
    region: Box | None = None


@dataclass(frozen=True)
class SentenceEvidence:
    """One sentence of the caption and how well it is supported."""

    text: str
    start: int
    end: int
    support: float | None = None


@dataclass(frozen=True)
class MissingContent:
    """Something the image shows or the references say and the caption does not."""

    text: str
    weight: float = 1.0
    source: str = ""
    region: Box | None = None


@dataclass(frozen=True)
class Match:
    """What the candidate says beside what it was matched with; an empty reference: nothing fitted."""

    candidate: tuple[str, ...]
    reference: tuple[str, ...] = ()
    grade: float = 1.0
    kind: str = ""  # a METEOR matcher, a kind of tuple, ...
    region: Box | None = None


@dataclass(frozen=True)
class Move:
    """One step of a transport plan: so much of an object moved to a word at this cost."""

    object: str
    word: str
    mass: float
    cost: float


@dataclass(frozen=True)
class HeatMap:
    """A matrix of regions (rows) and words (columns)."""

    title: str
    columns: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    boxes: tuple[Box, ...] = ()


@dataclass(frozen=True)
class Graph:
    """A scene graph to draw; attributes and relations name objects by their place."""

    title: str
    objects: tuple[str, ...]
    attributes: tuple[tuple[int, str], ...] = ()
    relations: tuple[tuple[int, str, int], ...] = ()


@dataclass(frozen=True)
class Explanation:
    """Reasons for one caption's score by one metric.

    Parameters
    ----------
    metric : str
        The metric.
    words, sentences : tuple
        Words and sentences of the caption with their support: `WordEvidence`, `SentenceEvidence`.
    missing : tuple of MissingContent
        What the image shows or the references say and the caption does not.
    matches : tuple of Match
        What the caption says beside what it was matched with.
    transport : tuple of Move
        Steps of a transport plan.
    heatmaps, graphs : tuple
        Matrices and scene graphs to draw; filled only where a picture is drawn.
    notes : tuple of str
        What else there is to say.
    facts : dict
        Numbers and short lists of one metric's own.
    version : int
        Of the JSON form.
    promised : tuple of str
        Parts that the metric always tells: they are written also where there is nothing in them.

    Examples
    --------
    >>> import vericap
    >>> found = vericap.Explanation("chair", words=(WordEvidence("dog", 2, 5, 0.0, "image"),), facts={"mentions": 1})
    >>> vericap.Explanation.from_dict(found.as_dict()) == found
    True
    """

    metric: str
    words: tuple[WordEvidence, ...] = ()
    sentences: tuple[SentenceEvidence, ...] = ()
    missing: tuple[MissingContent, ...] = ()
    matches: tuple[Match, ...] = ()
    transport: tuple[Move, ...] = ()
    heatmaps: tuple[HeatMap, ...] = ()
    graphs: tuple[Graph, ...] = ()
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)  # numbers and short lists of one metric's own
    version: int = VERSION
    promised: tuple[str, ...] = field(default=(), compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON; empty parts are left out unless they are promised.

        Returns
        -------
        dict

        Examples
        --------
        >>> import vericap
        >>> vericap.Explanation("lm", notes=("reads well",)).as_dict()
        {'metric': 'lm', 'version': 1, 'notes': ['reads well']}
        """
        found: dict[str, Any] = {"metric": self.metric, "version": self.version}
        for name in (*PARTS, "notes"):
            values = getattr(self, name)
            if values or name in self.promised:
                found[name] = [_plain(value) for value in values]
        if self.facts:
            found["facts"] = _plain(dict(self.facts))
        return found

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Explanation:
        """The inverse of `as_dict`; a record of a later version is refused.

        Parameters
        ----------
        record : dict
            What `as_dict` gave.

        Returns
        -------
        Explanation

        Examples
        --------
        >>> import vericap
        >>> vericap.Explanation.from_dict({"metric": "lm", "notes": ["reads well"]}).notes
        ('reads well',)
        """
        version = int(record.get("version", VERSION))
        if version > VERSION:
            raise ValueError(f"the explanation has version {version}; this program reads up to {VERSION}")
        parts = {name: tuple(_read(kind, item) for item in record.get(name, ())) for name, kind in PARTS.items()}
        return cls(
            str(record["metric"]),
            **parts,
            notes=tuple(record.get("notes", ())),
            facts=dict(record.get("facts", {})),
            version=version,
            promised=tuple(name for name in PARTS if record.get(name) == []),
        )


# Parts of an explanation that are lists of dataclasses.
PARTS: dict[str, type[Any]] = {
    "words": WordEvidence,
    "sentences": SentenceEvidence,
    "missing": MissingContent,
    "matches": Match,
    "transport": Move,
    "heatmaps": HeatMap,
    "graphs": Graph,
}
_BOXES = {"region", "boxes"}  # a thousandth of a side is enough for a frame
_TUPLES = {"region", "candidate", "reference", "columns", "values", "boxes", "objects", "attributes", "relations"}


def _plain(value: Any, digits: int = 4) -> Any:
    """Lists, dicts, texts and short numbers; fields that hold their default are left out."""
    if isinstance(value, float):
        return round(value, digits)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, digits) for item in value]
    if hasattr(value, "__dataclass_fields__"):
        evidence = isinstance(value, WordEvidence | SentenceEvidence | MissingContent)
        found = {
            part.name: (_plain(getattr(value, part.name), 3 if part.name in _BOXES else 4), part.default)
            for part in fields(value)
        }
        return {name: said for name, (said, default) in found.items() if evidence or said != _plain(default)}
    if hasattr(value, "item"):  # a NumPy number
        return _plain(value.item(), digits)
    return value


def _read(kind: type[Any], record: Mapping[str, Any]) -> Any:
    known = {part.name for part in fields(kind)}
    values = {name: _frozen(value) if name in _TUPLES else value for name, value in record.items() if name in known}
    return kind(**values)


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list | tuple) else value

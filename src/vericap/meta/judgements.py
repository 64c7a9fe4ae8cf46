"""What people said about captions: ratings, preferences, wrong passages, scene graphs; retrieval sets, systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from vericap.core.errors import InputError, Problem
from vericap.core.typing import Floats, Ints


@dataclass
class Ratings:
    """Captions with a number from one or more raters. A missing rating is NaN."""

    name: str
    candidates: list[str]
    references: list[tuple[str, ...]]
    ratings: Floats  # (captions, raters)
    scale: tuple[float, float]
    images: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    systems: list[str] | None = None
    sources: list[str] | None = None  # which collection a caption comes from, where the data set joins several
    raters: list[list[str]] | None = None  # who gave the rating, same shape as `ratings`
    seconds: Floats | None = None  # how long it took
    aspects: dict[str, Floats] = field(default_factory=dict)  # other ratings, each (captions, raters)
    votes: Ints | None = None  # (captions, 2): yes and no
    own: list[int] | None = None  # place of the caption among its own references, -1 where it is none
    lang: str = "en"
    problems: list[Problem] = field(default_factory=list)
    image_folder: Path | None = None

    def __post_init__(self) -> None:
        self.ratings = _columns(self.ratings)
        self.ids = self.ids or [str(row) for row in range(len(self.candidates))]
        self.images = self.images or list(self.ids)
        self.aspects = {name: _columns(values) for name, values in self.aspects.items()}
        self._check_lengths()
        self._check_range(self.ratings, "rating")
        if self.own is None:
            self.own = [r.index(c) if c in r else -1 for c, r in zip(self.candidates, self.references)]

    def __len__(self) -> int:
        return len(self.candidates)

    def aspect(self, name: str) -> Floats:
        """The ratings of one aspect; 'rating' is the overall one."""
        if name == "rating":
            return self.ratings
        if name not in self.aspects:
            allowed = ", ".join(["rating", *self.aspects])
            raise InputError(f"data set '{self.name}' has no aspect '{name}'; it has: {allowed}")
        return self.aspects[name]

    def _check_lengths(self) -> None:
        if not self.candidates:
            raise InputError(f"data set '{self.name}' has no usable record" + _first(self.problems))
        lengths = {len(self.candidates), len(self.references), len(self.ratings), len(self.images)}
        if len(lengths) != 1:
            raise InputError(f"data set '{self.name}': columns differ in length ({sorted(lengths)})")

    def _check_range(self, values: Floats, what: str) -> None:
        """A rating outside the scale is left out and named; the others stay."""
        low, high = self.scale
        with np.errstate(invalid="ignore"):
            outside = (values < low) | (values > high)
        for row, rater in zip(*np.nonzero(outside)):
            reason = f"{what} {values[row, rater]:g} is outside the scale {low:g}..{high:g}; it is left out"
            self.problems.append(Problem(self.ids[row], reason, self.name))
        values[outside] = np.nan
        for row in np.flatnonzero(np.isnan(values).all(axis=1)):
            if not outside[row].any():
                self.problems.append(Problem(self.ids[row], "no rater judged it; it is left out", self.name))
        if np.isnan(values).all():
            raise InputError(
                f"data set '{self.name}' has no rating inside its scale {low:g}..{high:g}" + _first(self.problems)
            )


@dataclass
class Pairs:
    """Two captions of one image and which one people prefer.

    A preference is 0 (the first), 1 (the second), 0.5 (neither) or NaN (unknown).
    """

    name: str
    images: list[str]
    first: list[str]
    second: list[str]
    references: list[tuple[str, ...]]
    preferences: dict[str, Floats]  # by kind of label
    ids: list[str] = field(default_factory=list)
    groups: list[str] | None = None
    fixed_references: list[tuple[str, ...]] | None = None  # those the data set itself chose for each pair
    objects: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # gold objects by image
    systems: list[tuple[str, str]] | None = None  # who wrote the two captions
    lang: str = "en"
    problems: list[Problem] = field(default_factory=list)
    image_folder: Path | None = None

    def __post_init__(self) -> None:
        self.ids = self.ids or [str(row) for row in range(len(self.first))]
        lengths = {len(self.images), len(self.first), len(self.second), len(self.references), len(self.ids)}
        lengths |= {len(values) for values in self.preferences.values()}
        if not self.first:
            raise InputError(f"data set '{self.name}' has no usable pair" + _first(self.problems))
        if len(lengths) != 1:
            raise InputError(f"data set '{self.name}': columns differ in length ({sorted(lengths)})")
        for label, values in self.preferences.items():
            with np.errstate(invalid="ignore"):
                wrong = np.flatnonzero((values < 0) | (values > 1))
            if wrong.size:
                raise InputError(
                    f"data set '{self.name}', pair {self.ids[wrong[0]]}: {label} is {values[wrong[0]]:g}, "
                    "not 0 (first), 1 (second) or 0.5 (neither)"
                )
            for row in np.flatnonzero(np.isnan(values)):
                reason = f"no preference ({label}); the pair is left out"
                self.problems.append(Problem(self.ids[row], reason, self.name))

    def __len__(self) -> int:
        return len(self.first)

    def preference(self, label: str) -> Floats:
        if label not in self.preferences:
            allowed = ", ".join(self.preferences)
            raise InputError(f"data set '{self.name}' has no label '{label}'; it has: {allowed}")
        return self.preferences[label]


@dataclass
class Spans:
    """Captions in which people marked what is wrong: `wrong` has (start, end) of every marked passage."""

    name: str
    captions: list[str]
    wrong: list[tuple[tuple[int, int], ...]]
    references: list[tuple[str, ...]]
    images: list[str]
    ids: list[str] = field(default_factory=list)
    lang: str = "en"
    problems: list[Problem] = field(default_factory=list)
    image_folder: Path | None = None

    def __post_init__(self) -> None:
        self.ids = self.ids or [str(row) for row in range(len(self.captions))]
        if not self.captions:
            raise InputError(f"data set '{self.name}' has no usable caption" + _first(self.problems))
        lengths = {len(self.captions), len(self.wrong), len(self.references), len(self.images), len(self.ids)}
        if len(lengths) != 1:
            raise InputError(f"data set '{self.name}': columns differ in length ({sorted(lengths)})")
        for row, caption in enumerate(self.captions):
            for start, end in self.wrong[row]:
                if not 0 <= start < end <= len(caption):
                    raise InputError(
                        f"data set '{self.name}', caption {self.ids[row]}: the passage {start}-{end} does not lie "
                        f"inside its {len(caption)} characters"
                    )

    def __len__(self) -> int:
        return len(self.captions)


@dataclass
class GoldGraphs:
    """Captions with the scene graph that a person drew: tuples of one, two or three parts."""

    name: str
    captions: list[str]
    graphs: list[tuple[tuple[str, ...], ...]]
    images: list[str]
    ids: list[str] = field(default_factory=list)
    lang: str = "en"
    problems: list[Problem] = field(default_factory=list)
    image_folder: Path | None = None

    def __post_init__(self) -> None:
        self.ids = self.ids or [str(row) for row in range(len(self.captions))]
        if not self.captions:
            raise InputError(f"data set '{self.name}' has no usable caption" + _first(self.problems))
        lengths = {len(self.captions), len(self.graphs), len(self.images), len(self.ids)}
        if len(lengths) != 1:
            raise InputError(f"data set '{self.name}': columns differ in length ({sorted(lengths)})")

    def __len__(self) -> int:
        return len(self.captions)


@dataclass
class Retrieval:
    """Images and captions; `owner[i]` is the image that caption i was written for."""

    name: str
    images: list[str]
    captions: list[str]
    owner: Ints
    domains: list[str] | None = None
    lang: str = "en"
    problems: list[Problem] = field(default_factory=list)
    image_folder: Path | None = None

    def __post_init__(self) -> None:
        if len(self.captions) != len(self.owner) or not self.captions:
            found = f"{len(self.captions)} captions, {len(self.owner)} owners"
            raise InputError(f"data set '{self.name}': {found}")


@dataclass
class Systems:
    """Outputs of several captioning systems for the same images."""

    name: str
    references: dict[str, tuple[str, ...]]
    outputs: dict[str, dict[str, str]]  # system -> image -> caption
    lang: str = "en"
    problems: list[Problem] = field(default_factory=list)
    image_folder: Path | None = None

    def images(self) -> list[str]:
        """Images that every system described, in the order of the references."""
        shared = set(self.references).intersection(*self.outputs.values())
        return [image for image in self.references if image in shared]


Judgements = Ratings | Pairs | Spans | GoldGraphs | Retrieval | Systems
Rows = Ratings | Pairs | Spans | GoldGraphs  # a row for each judged caption or pair
AnyRows = TypeVar("AnyRows", bound=Rows)


def first_images(data: AnyRows, count: int) -> AnyRows:
    """The judgements of the first `count` images; what was wrong with others is not repeated."""
    kept = set(list(dict.fromkeys(data.images))[:count])
    return selected(data, [row for row, image in enumerate(data.images) if image in kept])


def selected(data: AnyRows, rows: Sequence[int]) -> AnyRows:
    """Some rows of a data set."""
    columns: dict[str, Any] = {name: _taken(value, rows, len(data)) for name, value in vars(data).items()}
    known = {data.ids[row] for row in rows}
    # Checks that run again while the part is made would name the same rows twice.
    columns["problems"] = []
    part = type(data)(**columns)
    part.problems = [problem for problem in data.problems if problem.record in known]
    return part


def _taken(value: Any, rows: Sequence[int], length: int) -> Any:
    """Rows of a column, or of every column of a table of them; anything else as it is."""
    if isinstance(value, np.ndarray) and len(value) == length:
        return value[list(rows)]
    if isinstance(value, list) and len(value) == length:
        return [value[row] for row in rows]
    if isinstance(value, dict) and value and all(isinstance(own, np.ndarray) for own in value.values()):
        return {name: _taken(own, rows, length) for name, own in value.items()}
    return value


def cluster_index(keys: Sequence[str]) -> Ints:
    """A number per distinct key, counted from 0 in order of appearance."""
    seen: dict[str, int] = {}
    return np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.int64)


def ragged(rows: Iterable[Sequence[float]]) -> Floats:
    """Rows of different length as one array padded with NaN (raters who did not judge)."""
    found = [list(row) for row in rows]
    width = max((len(row) for row in found), default=0)
    return np.array([row + [float("nan")] * (width - len(row)) for row in found], dtype=np.float64)


def _columns(values: Floats) -> Floats:
    values = np.array(values, dtype=np.float64)
    return values[:, None] if values.ndim == 1 else values


def _first(problems: Sequence[Problem]) -> str:
    return f"; the first problem: {problems[0]}" if problems else ""

"""A protocol applied to judgements: which captions are scored, with which references, against what."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from vericap.core.errors import InputError, VericapError
from vericap.core.samples import Sample
from vericap.core.typing import Floats, Ints
from vericap.meta.agreement import (
    Agreement,
    MeanOfAgreements,
    MeanOverClusters,
    SystemAgreement,
    agreement,
    correlation,
    why_undefined,
)
from vericap.meta.detection import AreaUnderCurve, right_by_threshold
from vericap.meta.judgements import GoldGraphs, Judgements, Pairs, Ratings, Spans, cluster_index
from vericap.meta.protocols import DECISIONS, Protocol


@dataclass
class Task:
    """Rows to score and rows to judge them by. `entry` points from a judgement to its scored caption."""

    data: Ratings | Pairs
    protocol: Protocol
    rows: Ints  # kept rows of the data
    entry: Ints
    judgement: Floats
    notes: list[str] = field(default_factory=list)
    seed: int = 0

    def __post_init__(self) -> None:
        self.cluster = cluster_index([self.data.images[row] for row in self.rows])[self.entry]
        self.clusters = int(self.cluster.max()) + 1 if len(self.cluster) else 0
        self._judged: dict[str, set[str]] = {}
        if self.protocol.remove == "judged" and isinstance(self.data, Ratings):
            for row in self.rows:
                self._judged.setdefault(self.data.images[row], set()).add(self.data.candidates[row])

        self.notes = [*self.notes, *self._too_few()]

    def _too_few(self) -> list[str]:
        """A note where captions have fewer references than the protocol draws; none where there is nothing to draw."""
        wanted = self.protocol.references
        if not wanted or self.protocol.fixed:
            return []
        counts = [len(self.data.references[row]) for row in self.rows]
        few = [count for count in counts if count < wanted]
        if not few:
            return []
        span = f"{min(few)}" if min(few) == max(few) else f"{min(few)}-{max(few)}"
        return [
            f"{wanted} references were asked for: {len(few)} of {len(counts)} have fewer ({span}), which are all used"
        ]

    # -- what is scored ----------------------------------------------------------------------------

    def samples(self, run: int = 0, *, gold_objects: bool = False) -> list[Sample]:
        """The captions to score in one run; pairs give two, symmetric protocols both directions."""
        found = []
        for side, (candidates, references) in enumerate(self._sides(run)):
            for place, row in enumerate(self.rows):
                image = self.data.images[row]
                objects = self.data.objects.get(image) if gold_objects and isinstance(self.data, Pairs) else None
                found.append(
                    Sample(
                        id=f"{self.data.ids[row]}~{side}",
                        candidate=candidates[place],
                        references=references[place],
                        image=image,
                        objects=objects,
                    )
                )
        return found

    def items(self) -> list[Sample]:
        """All captions that a metric has to score, each with an id of its own; with several draws of references the
        run is part of the id. Scores from elsewhere come in this order, or by these ids."""
        runs = self.protocol.runs
        found: list[Sample] = []
        seen: dict[str, int] = {}
        for run in range(runs):
            for sample in self.samples(run):
                name = sample.id.removesuffix("~0") if self.one_sided else sample.id
                name = f"{name}@{run}" if runs > 1 else name
                seen[name] = seen.get(name, 0) + 1
                found.append(replace(sample, id=name if seen[name] == 1 else f"{name}+{seen[name]}"))
        return found

    @property
    def one_sided(self) -> bool:
        """Whether a judgement is about one caption; pairs and symmetric protocols have two."""
        return not isinstance(self.data, Pairs) and not self.protocol.symmetric

    def _sides(self, run: int) -> list[tuple[list[str], list[tuple[str, ...]]]]:
        data = self.data
        if isinstance(data, Pairs):
            both = [[data.first[row], data.second[row]] for row in self.rows]
            references = self._drawn(both, run)
            return [([pair[side] for pair in both], references) for side in (0, 1)]
        candidates = [data.candidates[row] for row in self.rows]
        references = self._drawn([[candidate] for candidate in candidates], run)
        sides = [(candidates, references)]
        if self.protocol.symmetric:
            if any(len(found) != 1 for found in references):
                raise VericapError(f"protocol '{self.protocol.name}' needs exactly one reference per caption")
            sides.append(([found[0] for found in references], [(c,) for c in candidates]))
        return sides

    def _drawn(self, candidates: Sequence[Sequence[str]], run: int) -> list[tuple[str, ...]]:
        return [self._references(int(row), own, run) for row, own in zip(self.rows, candidates)]

    def _references(self, row: int, own: Sequence[str], run: int) -> tuple[str, ...]:
        """The references of one caption. Draws are per image and nested: 2 references hold the 1 before."""
        if self.protocol.fixed:
            fixed = self.data.fixed_references if isinstance(self.data, Pairs) else None
            if fixed is None:
                raise InputError(f"data set '{self.data.name}' does not choose references of its own")
            return fixed[row]
        texts, image = self.data.references[row], self.data.images[row]
        places = list(range(len(texts)))
        if self.protocol.references is not None:
            key = zlib.crc32(image.encode())
            places = np.random.default_rng([self.seed, run, key]).permutation(len(texts)).tolist()
        if self.protocol.remove == "candidate":
            places = [place for place in places if texts[place] not in own]
        elif self.protocol.remove == "judged":
            # One occurrence per judged caption: an image's second, equal caption stays a reference.
            taken = {texts.index(text) for text in self._judged[image] if text in texts}
            places = [place for place in places if place not in taken]
        return tuple(texts[place] for place in places[: self.protocol.references])

    # -- what is judged ----------------------------------------------------------------------------

    def scores(self, raw: Floats) -> Floats:
        """One score per kept row, or two columns for pairs."""
        if isinstance(self.data, Pairs):
            return raw.reshape(2, -1).T
        return raw.reshape(2, -1).mean(axis=0) if self.protocol.symmetric else raw

    def mean_judgement(self) -> Floats:
        """The mean of what people said about each kept row."""
        total = np.bincount(self.entry, self.judgement, len(self.rows))
        return np.asarray(total / np.bincount(self.entry, minlength=len(self.rows)))

    def agreement(self, runs: Sequence[Floats]) -> Agreement:
        """Agreement over all judgements: the mean over runs, and over groups where there are some."""
        parts = [self._one(scores) for scores in runs]
        return parts[0] if len(parts) == 1 else MeanOfAgreements(parts)

    def _one(self, scores: Floats) -> Agreement:
        if isinstance(self.data, Pairs):
            by_group = [self._accuracy(scores, group) for group in self.groups()]
            return by_group[0] if len(by_group) == 1 else MeanOfAgreements(list(by_group))
        return self._correlation(scores)

    def groups(self) -> list[str]:
        """Group names in order, or one empty name."""
        if isinstance(self.data, Pairs) and self.data.groups and self.protocol.grouped:
            kept = [self.data.groups[row] for row in self.rows]
            return sorted(set(kept), key=lambda name: (_ORDER.get(name, 9), name))
        return [""]

    def group_agreement(self, runs: Sequence[Floats], group: str) -> Agreement:
        parts: list[Agreement] = [self._accuracy(scores, group) for scores in runs]
        return parts[0] if len(parts) == 1 else MeanOfAgreements(parts)

    def _accuracy(self, scores: Floats, group: str) -> Agreement:
        credit = pair_credit(scores, self.judgement, tie=self.protocol.tie)
        if group and isinstance(self.data, Pairs) and self.data.groups:
            inside = np.array([self.data.groups[row] == group for row in self.rows])
            credit = np.where(inside, credit, np.nan)
        return MeanOverClusters(credit, self.cluster, clusters=self.clusters)

    def _correlation(self, scores: Floats) -> Agreement:
        x, y, cluster = scores[self.entry], self.judgement, self.cluster
        usable = ~np.isnan(x)
        x, y, cluster = x[usable], y[usable], cluster[usable]
        if self.protocol.level == "system":
            if not isinstance(self.data, Ratings) or not self.data.systems:
                raise InputError(f"data set '{self.data.name}' names no systems; system level is impossible")
            system = cluster_index([self.data.systems[row] for row in self.rows])[self.entry][usable]
            if system.max() < 2:
                raise InputError(f"data set '{self.data.name}' has fewer than 3 systems")
            statistic = self.protocol.statistic
            return SystemAgreement(x, y, cluster, system, statistic=statistic, clusters=self.clusters)
        reason = why_undefined(x, y)
        if reason:
            raise Undefined(reason)
        if self.protocol.statistic in DECISIONS:
            return self._decision(x, y, cluster)
        if self.protocol.level == "image":
            values = within_clusters(self.protocol.statistic, x, y, cluster, self.clusters)
            return MeanOverClusters(values, np.arange(self.clusters), clusters=self.clusters)
        return agreement(self.protocol.statistic, x, y, cluster, clusters=self.clusters)

    def _decision(self, x: Floats, y: Floats, cluster: Ints) -> Agreement:
        """True statements against false ones."""
        true = y > 0.5
        if self.protocol.statistic == "auc":
            return AreaUnderCurve(x, true, cluster, clusters=self.clusters)
        return MeanOverClusters(right_by_threshold(x, true, cluster).astype(float), cluster, clusters=self.clusters)


class Undefined(VericapError):
    """A statistic that does not exist on these numbers; the message says why."""


_ORDER = {"HC": 0, "HI": 1, "HM": 2, "MM": 3}


def pair_credit(scores: Floats, preference: Floats, *, tie: float = 0.5) -> Floats:
    """1 where the preferred caption scores higher, 0 where lower, `tie` where equal; NaN where unscored."""
    gap = scores[:, 1] - scores[:, 0]
    wanted = np.where(preference > 0.5, 1.0, -1.0)
    credit = np.where(gap == 0, tie, (np.sign(gap) == wanted).astype(np.float64))
    return np.where(np.isnan(gap), np.nan, credit)


def within_clusters(statistic: str, x: Floats, y: Floats, cluster: Ints, clusters: int) -> Floats:
    """The statistic inside every cluster; NaN where a side is constant."""
    values = np.full(clusters, np.nan)
    order = np.argsort(cluster, kind="stable")
    edges = np.flatnonzero(np.diff(cluster[order])) + 1
    for rows in np.split(order, edges):
        if len(rows) > 1 and not why_undefined(x[rows], y[rows]):
            values[cluster[rows[0]]] = correlation(statistic, x[rows], y[rows])
    return values


def make_task(data: Judgements, protocol: Protocol, *, seed: int = 0) -> Task:
    """Apply a protocol: drop rows, filter and combine raters, lay out judgements."""
    if isinstance(data, Pairs):
        return _pair_task(data, protocol, seed)
    if not isinstance(data, Ratings):
        other = {Spans: "; use `vericap.meta.evaluate_spans`", GoldGraphs: "; use `vericap.meta.evaluate_parser`"}
        hint = other.get(type(data), "")
        raise VericapError(f"data set '{data.name}' has no judgements of whole captions{hint}")
    if protocol.statistic == "accuracy":
        raise VericapError(f"protocol '{protocol.name}' is for pairs; data set '{data.name}' has ratings")
    notes: list[str] = []
    ratings = _filtered(data, protocol, notes)
    kept = ~np.isnan(ratings).all(axis=1)
    if protocol.drop_own:
        own = np.array(data.own) >= 0
        notes.append(f"{int((own & kept).sum())} captions of the image itself left out")
        kept &= ~own
    rows = np.flatnonzero(kept)
    if not len(rows):
        raise InputError(f"data set '{data.name}': protocol '{protocol.name}' leaves no caption")
    entry, judgement = _combined(ratings[rows], protocol.raters)
    return Task(data, protocol, rows, entry, judgement, notes, seed)


def _pair_task(data: Pairs, protocol: Protocol, seed: int) -> Task:
    if protocol.statistic != "accuracy":
        raise VericapError(f"protocol '{protocol.name}' is for ratings; data set '{data.name}' has pairs")
    preference = data.preference(protocol.label)
    decided = ~np.isnan(preference) & (preference != 0.5)
    notes = [f"{int((~decided).sum())} pairs without a preference left out"] if not decided.all() else []
    rows = np.flatnonzero(decided)
    if not len(rows):
        raise InputError(f"data set '{data.name}': no pair has a preference ({protocol.label})")
    return Task(data, protocol, rows, np.arange(len(rows)), preference[rows], notes, seed)


def _filtered(data: Ratings, protocol: Protocol, notes: list[str]) -> Floats:
    """Ratings without answers that came too fast and without raters who never varied."""
    ratings = data.aspect(protocol.aspect).copy()
    if protocol.minimum_seconds and data.seconds is not None:
        with np.errstate(invalid="ignore"):
            fast = (data.seconds < protocol.minimum_seconds) & ~np.isnan(ratings)
        if fast.any():
            notes.append(f"{int(fast.sum())} answers given in under {protocol.minimum_seconds:g} s left out")
        ratings[fast] = np.nan
    if protocol.drop_constant_raters and data.raters is not None:
        names = np.array(data.raters)
        constant = [
            name
            for name in np.unique(names[names != ""])
            if (given := ratings[names == name])[~np.isnan(given)].size > 2 and np.nanstd(given) == 0
        ]
        if constant:
            notes.append(f"{len(constant)} raters who always gave the same answer left out")
        ratings[np.isin(names, constant)] = np.nan
    return ratings


def _combined(ratings: Floats, how: str) -> tuple[Ints, Floats]:
    if how == "flat":
        entry, rater = np.nonzero(~np.isnan(ratings))
        return entry.astype(np.int64), ratings[entry, rater]
    if how not in ("mean", "median"):
        raise VericapError(f"raters can be combined as flat, mean or median, not '{how}'")
    values = np.nanmean(ratings, axis=1) if how == "mean" else np.nanmedian(ratings, axis=1)
    return np.arange(len(ratings)), np.asarray(values, dtype=np.float64)

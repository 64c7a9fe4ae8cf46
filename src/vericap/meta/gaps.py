"""What a difference of scores means: in how many pairs of captions people agree with a gap of that size.

A gap of one size says much with one metric and nothing with another. Here the pairs of captions of a judged set are
sorted by how far a metric sets them apart, and the share is taken in which people prefer the one it prefers. Pairs that
people do not tell apart are left out and counted. The share rises with the gap (isotonic over bins), and is one half
where there is no gap.

These are shares of pairs of single captions. Two systems differ by a mean over many captions: whether that difference
is there is for the paired test to say; the share says how visible a gap of its size is to people in one caption.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vericap.core.metric import Metric
from vericap.core.typing import Floats
from vericap.core.version import __version__
from vericap.meta.caption_pairs import CaptionPairs, caption_pairs

if TYPE_CHECKING:
    from vericap.meta.evaluation import Agreements

FEWEST = 200  # pairs that people and the metric tell apart, below which nothing is said
SHOWN = 0.02  # the gap whose meaning tables print
WANTED = 0.75  # and the share of agreement whose gap they print
CAVEAT = (
    "Shares are of pairs of single captions of one image, human ties left out. Systems differ by means over many "
    "captions: p says whether the difference is there, the share how visible such a gap is to people."
)
_CURVES, _PLAIN = ("sizes", "shares", "low", "high"), ("pairs", "same_image", "mean", "signature")
_BINS = 20
_DRAWS = 200  # bootstrap draws where pairs lie across images, which takes a pass over all pairs for each
_ACROSS = 200_000  # pairs across images that are enough
_ORDER = ("flickr8k-expert", "thumb", "composite", "polaris", "pascal50s", "flickr8k-cf")  # whose word counts first


@dataclass(frozen=True)
class Gap:
    """A curve: sizes of gaps, the share of pairs in which people agree, and its 95 % interval by images."""

    metric: str
    dataset: str
    sizes: tuple[float, ...]
    shares: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    pairs: int  # that people and metric tell apart
    ties: float  # share of pairs that people do not tell apart
    same_image: bool = True
    mean: bool = True  # whether a system's score is the mean of its captions' scores, so that gaps have one unit
    signature: str = ""

    def agree(self, gap: float) -> tuple[float, float, float]:
        """Share of caption pairs with such a gap in which people agree, and its interval."""
        at = [0.0, *self.sizes]
        share, low, high = (
            float(np.interp(abs(gap), at, [0.5, *curve])) for curve in (self.shares, self.low, self.high)
        )
        return share, low, high

    def needed(self, share: float = WANTED) -> float | None:
        """The smallest gap with which people agree in such a share of pairs; None where no gap is enough."""
        at, curve = np.array([0.0, *self.sizes]), np.array([0.5, *self.shares])
        above = np.flatnonzero(curve >= share)
        if not above.size:
            return None
        place = int(above[0])
        if place == 0:
            return 0.0
        rise = curve[place] - curve[place - 1]
        return float(at[place - 1] + (share - curve[place - 1]) / rise * (at[place] - at[place - 1]))

    def as_dict(self) -> dict[str, Any]:
        """Plain data, rounded: a curve is no better known than that."""
        found: dict[str, Any] = {"sizes": [float(f"{size:.4g}") for size in self.sizes]}
        found |= {name: [round(x, 4) for x in getattr(self, name)] for name in _CURVES[1:]}
        return {**found, "ties": round(self.ties, 4), **{name: getattr(self, name) for name in _PLAIN}}


def gap_of(found: Agreements, metric: str) -> Gap | None:
    """The curve of a metric from what `evaluate` gave; None where there are too few judgements or no bootstrap."""
    pairs = _pairs(found)
    return None if pairs is None or metric not in found.scores else curve(found, metric, pairs)


def gaps_of(found: Agreements) -> dict[str, Gap]:
    """The curves of all metrics that have one."""
    pairs = _pairs(found)
    curves = {} if pairs is None else {name: curve(found, name, pairs) for name in found.scores}
    return {name: own for name, own in curves.items() if own is not None}


def _pairs(found: Agreements) -> CaptionPairs | None:
    # That a caption was written by a person is no judgement of people.
    return None if found.protocol.label == "human" else caption_pairs(found.task, most=_ACROSS, seed=found.seed)


def curve(found: Agreements, metric: str, pairs: CaptionPairs) -> Gap | None:
    """The curve over some pairs."""
    gaps = pairs.gaps(found.scores[metric])
    usable = ~np.isnan(gaps) & (gaps != 0) & ~pairs.tied
    if usable.sum() < FEWEST:
        return None
    size, agree = np.abs(gaps[usable]), np.sign(gaps[usable]) == np.sign(pairs.lead[usable])
    edges = np.unique(np.quantile(size, np.linspace(0, 1, min(_BINS, len(size) // 50) + 1)[1:-1]))
    own = np.searchsorted(edges, size, side="left")
    bins = len(edges) + 1
    count = np.bincount(own, minlength=bins)
    own = np.cumsum(count > 0)[own] - 1  # a bin without a pair is none
    bins, count = int(own.max()) + 1, count[count > 0]
    hits = np.asarray(np.bincount(own, agree, bins), dtype=np.float64)
    share = isotonic(hits[None], count[None].astype(np.float64))[0]
    low, high = _interval(found, pairs, usable, own, agree, bins)
    centre = np.bincount(own, size, bins) / count
    judge = found.metrics.get(metric)
    return Gap(
        metric,
        found.dataset,
        sizes=tuple(centre.tolist()),
        shares=tuple(share.tolist()),
        low=tuple(low.tolist()),
        high=tuple(high.tolist()),
        pairs=int(usable.sum()),
        ties=float(pairs.tied[~np.isnan(gaps)].mean()),
        mean=judge is None or type(judge).corpus is Metric.corpus,
        same_image=pairs.same_image,
        signature=found[metric].signature,
    )


def _interval(
    found: Agreements, pairs: CaptionPairs, usable: Any, own: Any, agree: Any, bins: int
) -> tuple[Floats, Floats]:
    """Percentiles of the curves of drawn images; the bins stay where they are."""
    weights = found.weights()
    if weights is None:
        return np.full(bins, np.nan), np.full(bins, np.nan)
    one, two = (side[usable] for side in pairs.cluster)
    if pairs.same_image:
        place = one * bins + own
        shape = (pairs.clusters, bins)
        hits = weights @ np.bincount(place, agree, pairs.clusters * bins).reshape(shape)
        count = weights @ np.bincount(place, minlength=pairs.clusters * bins).reshape(shape)
    else:
        drawn = [row[one] * row[two] for row in weights[:_DRAWS]]
        hits = np.stack([np.bincount(own, row * agree, bins) for row in drawn])
        count = np.stack([np.bincount(own, row, bins) for row in drawn])
    low, high = np.nanquantile(isotonic(hits, count), [0.025, 0.975], axis=0)
    return low, high


def isotonic(hits: Floats, count: Floats) -> Floats:
    """Rising shares nearest to hits / count in every row: the best of the least means of runs of bins around a bin."""
    rows, bins = hits.shape
    zero = np.zeros((rows, 1))
    hit, all_ = (np.concatenate([zero, np.cumsum(values, axis=1)], axis=1) for values in (hits, count))
    with np.errstate(invalid="ignore", divide="ignore"):
        # means[:, j, k]: of the bins j to k
        means = (hit[:, None, 1:] - hit[:, :-1, None]) / (all_[:, None, 1:] - all_[:, :-1, None])
    means = np.where(np.isnan(means) | (np.arange(bins)[:, None] > np.arange(bins)), np.inf, means)
    least = np.minimum.accumulate(means[:, :, ::-1], axis=2)[:, :, ::-1]
    least = np.where(np.arange(bins)[:, None] > np.arange(bins), -np.inf, least)
    return np.asarray(np.diagonal(np.maximum.accumulate(least, axis=1), axis1=1, axis2=2))


# --- curves that ship with vericap ------------------------------------------------------------------------------


def save(found: Agreements, path: str | Path) -> Path:
    """Write the curves of one data set as a JSON table, the form that `meaning` reads."""
    curves = gaps_of(found)
    lines = [f"  {json.dumps(name)}: {json.dumps(own.as_dict())}" for name, own in sorted(curves.items())]
    head = {"dataset": found.dataset, "protocol": found.protocol.name, "version": __version__, "draws": found.resamples}
    text = json.dumps(head)[:-1] + ', "metrics": {\n' + ",\n".join(lines) + "\n}}\n"
    Path(path).write_text(text, "utf-8")
    return Path(path)


def read(text: str) -> list[Gap]:
    """The curves of a written table."""
    data = json.loads(text)
    found = []
    for metric, own in data["metrics"].items():
        fields: dict[str, Any] = {name: tuple(own[name]) for name in _CURVES}
        fields |= {name: own[name] for name in ("ties", *_PLAIN)}
        found.append(Gap(metric, data["dataset"], **fields))
    return found


@cache
def shipped() -> tuple[Gap, ...]:
    """All curves in the package, those of data sets whose word counts most first."""
    folder = files("vericap.meta") / "gap_tables"
    tables = [path.read_text(encoding="utf-8") for path in folder.iterdir() if path.name.endswith(".json")]
    found = [gap for text in tables for gap in read(text)]
    return tuple(sorted(found, key=_rank))


def _rank(gap: Gap) -> tuple[int, str]:
    return (_ORDER.index(gap.dataset) if gap.dataset in _ORDER else len(_ORDER), gap.dataset)


def known(metric: str, curves: Iterable[Gap] | None = None) -> Gap | None:
    """The first known curve of a metric, as it is written (options make another metric)."""
    return next((gap for gap in (shipped() if curves is None else curves) if gap.metric == metric), None)


def meaning(metric: str, difference: float, curves: Sequence[Gap] | None = None) -> str:
    """In words, what a difference of a metric's scores means to people; empty where it is not known.

    The curves are of single captions (`CAVEAT` says so in words that can be printed once below a table). Of a metric
    whose corpus score is no mean of caption scores (BLEU, METEOR, CHAIR) nothing is said: its two kinds of score have
    different units.
    """
    gap = known(metric, curves)
    if gap is None or not gap.mean or difference != difference or difference == 0:
        return ""
    share, low, _ = gap.agree(difference)
    chance = ", hardly more than chance" if low <= 0.5 or round(share, 2) <= 0.51 else ""
    return f"people agree in {100 * share:.0f} % of caption pairs with such a gap{chance} ({gap.dataset})"

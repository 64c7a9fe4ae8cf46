"""From the numbers of claims to support, fidelity, adequacy and the verdict. Every weight is in data/verdict.

Support of a claim is the calibrated probability that it is right:
    s = sigmoid(w_k . x + c_k)   for its kind k, x being `features` of what photo and references say of it.
A relation is judged by how its two things lie to each other; a word has the least support of the claims that say it.
Of a sentence with log odds l of its claims, those of the things it is the first to name (n) and of the rest (o) apart:
    right = u_k sigmoid(a . (mean l_n, mean l_o, min l, r, 1) + p),   the probability that nothing in it is wrong,
    fidelity = ((1 - m) mean right + m min right) mean U_k over sentences, and .5 where nothing can be judged,
r being the log odds that its things lie to each other as it says, p such that people's captions have .97 on average,
U_k the chance that a sentence after k others has no error that the photo does not show (machines' long descriptions go
wrong towards their end and where they go on to details, and plausibly so), u_k the same for a sentence by itself, which
lets one of another photo show anywhere.
Adequacy adds up what is supported, every content word once, t being the support from which a word counts in earnest, f
what it counts at most below; what is said of a thing that is more likely not there counts no more than that thing:
    adequacy = 1 - exp(-sum_w ((1 - f) (s_w - t)+ / (1 - t) + f s_w) / c),
with references the mean of this and of the share of what they say that the caption says.
The verdict is the human rating (0 to 1) expected from these and from how the sentences fit photo and references; below
a threshold of fluency it falls with fluency, and below one of adequacy by up to a share, since a caption that says next
to nothing is true but of little use.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from vericap.core import shipped
from vericap.core.typing import Array, Floats, Ints
from vericap.metrics.verdict.claims import OBJECT, RELATION, content_form
from vericap.metrics.verdict.lexicon import PART
from vericap.metrics.verdict.parts import CLAIM, GEOMETRY, CaptionParts
from vericap.metrics.verdict.rating import RATING, rating_features

IMAGE, BOTH = "image", "both"
SEEN = ("evidence", "best", "phrase", "local", "prior", "likeness", "sentence", "against", "faint", "rival", "lost",
        "rival there", "lost there", "counted", "adds", "spoils")  # fmt: skip
SAID = ("said", "near", "any", "most", "unsaid", "covered", "instead")
FEATURES = {IMAGE: SEEN, BOTH: (*SEEN, *SAID)}
RIGHT = ("new", "others", "least", "lying", "constant")
_AT = {name: place for place, name in enumerate(CLAIM)}
_REFERENCES = 5.0  # of so many, silence of all is full evidence
_SURE = {IMAGE: 6.0, BOTH: 3.0}  # log odds beyond which nothing becomes surer
_GOOD = 1.0  # from which the least is no worry
_HALF = 0.5  # support below which a thing is more likely not there, and what nobody knows anything of has
_FAINT = 0.05  # what a word counts at most of which it is not clear that it is right: leaving it out says less
_LONG = 3  # sentences besides the first from which a text is long: people's captions of two are seldom wrong in details
_NONE = 4.0  # of a sentence that says nothing of a kind


def features(numbers: Array, way: str) -> Floats:
    """(claims, features): what the weights of support belong to."""
    own: dict[str, Floats] = {name: numbers[:, place].astype(np.float64) for name, place in _AT.items()}
    evidence: Array = np.clip(own["evidence"], -6, 8)
    best: Array = np.clip(own["best"], -2, 10)
    rival, there = np.clip(own["rival"], -4, 6), np.clip(own["rival there"], -4, 6)
    adds: Array = np.clip(own["adds"], -0.3, 0.3)
    seen: list[Array] = [evidence, best, np.clip(own["phrase"], -6, 8) - evidence, np.clip(own["local"], -3, 6)]
    seen += [own["prior"], own["likeness"], own["sentence"], np.minimum(evidence, 0), np.minimum(best, 2)]
    seen += [rival, np.maximum(rival, 0), there, np.maximum(there, 0), own["counted"], adds, np.minimum(adds, 0)]
    if way == BOTH:
        said: Array = own["said"]
        few: Array = np.minimum(own["references"], _REFERENCES) / _REFERENCES
        seen += [said, own["near"], said > 0, said > 0.6, (said == 0) * few, own["covered"], own["instead"]]
    return np.stack(seen, axis=1)


@dataclass(frozen=True, slots=True)
class Judged:
    """One caption, judged."""

    support: Floats  # (claims,)
    right: Floats  # (sentences,): the probability that nothing in it is wrong
    fidelity: float
    adequacy: float


class Judge:
    """The weights."""

    def __init__(self, weights: Mapping[str, Any]) -> None:
        self.weights = weights
        self._support = {
            way: {kind: _vector(own, (*FEATURES[way], "constant")) for kind, own in weights["support"][way].items()}
            for way in (IMAGE, BOTH)
        }
        self._lying = {word: _vector(own, (*GEOMETRY, "constant")) for word, own in weights["relations"].items()}
        self.threshold = float(weights["threshold"])

    @property
    def left_out(self) -> Mapping[str, float]:
        """The share of people who say a thing, from which it counts as left out, by what tells so."""
        found: Mapping[str, float] = self.weights["left out"]
        return found

    def doubted(self, way: str) -> float:
        """Support below which a word is called not supported."""
        return float(self.weights["doubted"][way])

    def reads(self, fluency: float) -> float:
        """What a caption's rating is multiplied with: 1 where it reads as written by a person."""
        return min(1.0, fluency / float(self.weights["fluency"]["threshold"]))

    def tells(self, adequacy: float) -> float:
        """What a caption's rating is multiplied with: 1 where it says as much as people's captions do."""
        bland = self.weights["bland"]
        return 1.0 - float(bland["share"]) * (1.0 - min(1.0, adequacy / float(bland["below"])))

    # --- captions together ----------------------------------------------------------------------------------------

    def judged(self, captions: Sequence[CaptionParts], way: str) -> list[Judged]:
        """Every caption, judged for itself."""
        if not captions:
            return []
        support, placed = self.support(captions, way), self.placed(captions)
        right = self.right(captions, support, placed, way)
        content = self.content(captions, support)
        least, scale = float(self.weights["fidelity"]["least"]), self.weights["adequacy"]["scale"]
        counts = [len(parts.sentences) for parts in captions]
        shown = (1 - least) * means(right, counts) + least * np.minimum.reduceat(right, starts(counts))
        fidelity = shown * means(self.unseen(captions, "text"), counts)
        fidelity[[parts.says_nothing for parts in captions]] = _HALF
        adequacy = 1 - np.exp(-content / scale)
        if way == BOTH:
            adequacy = (adequacy + np.array([parts.recall for parts in captions])) / 2
        claims = np.split(support, np.cumsum([len(parts.owners) for parts in captions])[:-1])
        rows = zip(claims, np.split(right, np.cumsum(counts)[:-1]), fidelity.tolist())
        return [Judged(*row, adequate) for row, adequate in zip(rows, adequacy.tolist())]

    def ratings(self, captions: Sequence[CaptionParts], judged: Sequence[Judged], way: str) -> Floats:
        """The human ratings (0 to 1) that are expected of captions."""
        if not captions:
            return np.zeros(0)
        weights = _vector(self.weights["rating"][way], (*RATING[way], "constant"))
        odds = (rating_features(captions, judged, way) * weights[:-1]).sum(axis=1) + weights[-1]
        return np.asarray(1 / (1 + np.exp(-odds)))

    def support(self, captions: Sequence[CaptionParts], way: str) -> Floats:
        """The probability that each claim is right, caption after caption."""
        table = self._support[way]
        kinds = [claim.kind for parts in captions for claim in parts.claims]
        if not kinds:
            return np.zeros(0)
        given = features(np.concatenate([parts.numbers for parts in captions]), way)
        names = list(table)
        place = {name: number for number, name in enumerate(names)}
        weights = np.stack([table[name] for name in names])[[place.get(kind, place[""]) for kind in kinds]]
        odds = (given * weights[:, :-1]).sum(axis=1) + weights[:, -1]
        return np.asarray(1 / (1 + np.exp(-odds - self.placed(captions))))

    def placed(self, captions: Sequence[CaptionParts]) -> Floats:
        """Log odds of every claim from how its two things lie to each other; 0 where that says nothing."""
        how = np.concatenate([parts.lying for parts in captions])
        found = np.zeros(len(how))
        rows = np.flatnonzero(how.any(axis=1))
        if len(rows):
            claims = [claim for parts in captions for claim in parts.claims]
            none = np.zeros(len(GEOMETRY) + 1)
            weights = np.stack([self._lying.get(relation_group(claims[row].text), none) for row in rows.tolist()])
            found[rows] = (how[rows] * weights[:, :-1]).sum(axis=1) + weights[:, -1]
        return found

    def right(self, captions: Sequence[CaptionParts], support: Floats, placed: Floats, way: str) -> Floats:
        """The probability that nothing in a sentence is wrong, caption after caption."""
        weights, own = _vector(self.weights["right"][way], RIGHT), self.weights["fidelity"]
        odds = (sentence_features(captions, support, placed, way) * weights).sum(axis=1) + float(own["before"][way])
        return np.asarray(self.unseen(captions, "sentence") / (1 + np.exp(-odds)))

    def unseen(self, captions: Sequence[CaptionParts], of: str) -> Floats:
        """The chance that a sentence of a longer text has no error that the photo does not show, by those that stand
        before it and by the kinds of details it goes on to."""
        own = self.weights["fidelity"]["unseen"][of]
        counts = [len(parts.sentences) for parts in captions]
        rows = [
            (place, sentence.details() * min((count - 1) / _LONG, 1.0) if count > 1 else 0.0)
            for parts, count in zip(captions, counts)
            for place, sentence in enumerate(parts.sentences)
        ]
        wrong = np.array(rows, dtype=np.float64).reshape(-1, 2) @ (float(own["each"]), float(own["details"]))
        return np.asarray(1 - np.minimum(wrong, float(own["most"])))

    def content(self, captions: Sequence[CaptionParts], support: Floats) -> Floats:
        """The sum of what is supported: every content word once, wherever it stands."""
        said_of = np.concatenate([parts.subjects for parts in captions])
        first = np.repeat(starts([len(parts.owners) for parts in captions]), [len(parts.owners) for parts in captions])
        subject = support[np.where(said_of >= 0, said_of + first, np.arange(len(support)))]
        limited = np.where(subject < _HALF, np.minimum(support, subject), support)
        clear = np.maximum(limited - self.threshold, 0.0) / (1 - self.threshold)
        counts = iter(((1 - _FAINT) * clear + _FAINT * limited).tolist())
        return np.array([_content(parts, counts) for parts in captions])


def _content(parts: CaptionParts, counts: Iterator[float]) -> float:
    """What a caption's words count, each as its least claim does and as it counts most where it is said again."""
    found = dict[str, float]()
    for sentence in parts.sentences:
        least = dict[int, float]()
        for claim, count in zip(sentence.claims, counts):
            if claim.kind != RELATION:
                for word in claim.words:
                    least[word] = min(least.get(word, 1.0), count)
        for word, count in least.items():
            form = content_form(sentence.words[word][0])
            found[form] = max(found.get(form, 0.0), count)
    found.pop("", None)
    return sum(found.values())


def starts(counts: Sequence[int]) -> Ints:
    """Where groups of so many rows begin."""
    ends = np.cumsum(counts)
    return np.asarray(ends - counts, dtype=np.int64)


def means(values: Array, counts: Sequence[int]) -> Floats:
    """Means over the first counts[0] rows, over the next counts[1], and so on; every group has rows."""
    sums = np.add.reduceat(values, starts(counts), axis=0)
    return np.asarray(sums / np.reshape(counts, (-1, *[1] * (values.ndim - 1))))


def sentence_features(captions: Sequence[CaptionParts], support: Floats, placed: Floats, way: str) -> Floats:
    """(sentences, RIGHT): mean log odds of the things a sentence is the first to name and of all else it says of
    things, the least of all, and how likely its things lie as it says."""
    bounded = np.clip(support, 1e-6, 1 - 1e-6)
    odds = iter(np.clip(np.log(bounded / (1 - bounded)), -_SURE[IMAGE], _SURE[way]).tolist())
    lying = iter(placed.tolist())
    return np.array([row for parts in captions for row in _told(parts, odds, lying, min(_NONE, _SURE[way]))])


def _told(parts: CaptionParts, odds: Iterator[float], lying: Iterator[float], none: float) -> list[list[float]]:
    """The features of a caption's sentences; means are those of the claims and of one more that is right, so that a
    claim more or less moves them little."""
    rows, named = [], set[str]()
    for sentence in parts.sentences:
        new, others, least, placed = [none], [none], _GOOD, 0.0
        for claim, own, place in zip(sentence.claims, odds, lying):
            placed += place
            if claim.kind == RELATION:
                continue
            least = min(least, own)
            if claim.kind != OBJECT:
                others.append(own)
            elif claim.text not in named:
                new.append(own)
                named.add(claim.text)
        rows.append([sum(new) / len(new), sum(others) / len(others), least, placed, 1.0])
    return rows


_GROUPS = {
    "left": ("left", "left of", "to the left of", "at the left side of", "on the left of"),
    "right": ("right", "right of", "to the right of", "at the right side of", "on the right of"),
    "on": ("on", "on top of", "atop", "upon", "onto", "over", "above"),
    "under": ("under", "below", "beneath", "underneath"),
    "in": ("in", "inside", "into", "within", "inside of"),
    "behind": ("behind", "at the back of", "in back of"),
    "in front of": ("in front of", "before"),
    "near": (
        "near",
        "next to",
        "beside",
        "by",
        "close to",
        "at",
        "alongside",
        "adjacent to",
        "at the side of",
        "along",
    ),
    "far": ("far from", "away from", "far away from"),
    "with": ("with", "of"),
}
_GROUP_OF = {word: group for group, words in _GROUPS.items() for word in words}


def relation_group(relation: str) -> str:
    """Relations that mean much the same."""
    return _GROUP_OF.get(relation, "")


def word_supports(parts: CaptionParts, support: Floats) -> list[tuple[str, int, int, float | None, int]]:
    """Every word of a caption with its place, the least support of the claims that say it, and which claim that is."""
    found, first = [], 0
    for sentence in parts.sentences:
        least: dict[int, tuple[float, int]] = {}
        for number, claim in enumerate(sentence.claims, first):
            for word in claim.words:
                if claim.kind != RELATION or len(claim.words) == 1:
                    least[word] = min(least.get(word, (2.0, -1)), (float(support[number]), number))
        first += len(sentence.claims)
        for place, (text, start, end) in enumerate(sentence.words):
            value, number = least.get(place, (None, -1))
            found.append((text, start, end, value, number))
    return found


def _vector(named: Mapping[str, float], names: Sequence[str]) -> Floats:
    return np.array([named[name] for name in names], dtype=np.float64)


@lru_cache(maxsize=1)
def shipped_judge() -> Judge:
    """The weights that ship."""
    return Judge(json.loads(shipped.path(PART, "weights.json").read_text("utf-8")))

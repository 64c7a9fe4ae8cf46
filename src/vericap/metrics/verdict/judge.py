"""From the numbers of claims to support, fidelity, adequacy and the verdict. Every weight is in data/verdict.

Support of a claim is the calibrated probability that it is right:
    s = sigmoid(w_k . x + c_k)   for its kind k, x being `features` of what photo and references say of it.
A relation is judged by how its two things lie to each other; a word has the least support of the claims that say it.
Of a sentence with log odds l of its claims, those of the things it is the first to name (n) and of the rest (o) apart:
    right = sigmoid(a . (mean l_n, mean l_o, min l, r, 1) + p),   the probability that nothing in it is wrong,
    fidelity = (1 - m) mean right + m min right over sentences,
r being the log odds that its things lie to each other as it says, p such that people's captions have .95 on average.
Adequacy adds up what is supported, every content word once, t being the support from which a word counts:
    adequacy = 1 - exp(-sum_w (s_w - t)+ / (1 - t) / c),
with references the mean of this and of the share of what they say that the caption says.
The verdict is the human rating (0 to 1) expected from these and from how the sentences fit photo and references; below
a threshold of fluency it falls with fluency, and below one of adequacy by up to a share, since a caption that says next
to nothing is true but of little use.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from vericap.core import shipped
from vericap.core.typing import Array, Floats
from vericap.metrics.evidence import base_forms
from vericap.metrics.verdict.claims import OBJECT, RELATION, is_content
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
_NONE = 4.0  # of a sentence that says nothing of a kind
# Of machines' long descriptions 1 % of the first sentences are wrong and 40 % of the fourth ones: a fraction of that is
# taken from the log odds of every later sentence, up to the sixth.
_LATER, _LAST = 0.3, 5


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


@dataclass(frozen=True)
class Judged:
    """One caption, judged."""

    support: Floats  # (claims,)
    right: Floats  # (sentences,): the probability that nothing in it is wrong
    content: float  # the sum of what is supported
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

    def judged(self, parts: CaptionParts, way: str) -> Judged:
        support = self.support(parts, way)
        right = self.right(parts, support, way)
        content = self.content(parts, support)
        least = float(self.weights["fidelity"]["least"])
        fidelity = (1 - least) * float(right.mean()) + least * float(right.min())
        adequacy = 1 - float(np.exp(-content / self.weights["adequacy"]["scale"]))
        if way == BOTH:
            adequacy = (adequacy + parts.recall) / 2
        return Judged(support, right, content, fidelity, adequacy)

    def rating(self, parts: CaptionParts, judged: Judged, way: str) -> float:
        """The human rating (0 to 1) that is expected of a caption."""
        weights = _vector(self.weights["rating"][way], (*RATING[way], "constant"))
        return float(1 / (1 + np.exp(-(weights[:-1] @ rating_features(parts, judged, way) + weights[-1]))))

    def support(self, parts: CaptionParts, way: str) -> Floats:
        """The probability that each claim is right."""
        claims, table = parts.claims, self._support[way]
        given = np.concatenate([features(parts.numbers, way), np.ones((len(claims), 1))], axis=1)
        weights = np.stack([table[claim.kind if claim.kind in table else ""] for claim in claims] or [table[""]])
        odds = np.einsum("cf,cf->c", given, weights[: len(claims)])
        return 1 / (1 + np.exp(-odds - self.placed(parts)))

    def placed(self, parts: CaptionParts) -> Floats:
        """Log odds of every claim from how its two things lie to each other; 0 where that says nothing."""
        found = np.zeros(len(parts.claims))
        for place, claim in enumerate(parts.claims):
            if claim.kind == RELATION and parts.lying[place].any():
                found[place] = self.lying(claim.text, parts.lying[place])
        return found

    def lying(self, relation: str, how: Array) -> float:
        """Log odds of a relation from how its two things lie to each other."""
        own = self._lying.get(relation_group(relation))
        return 0.0 if own is None else float(own @ np.append(how, 1.0))

    def right(self, parts: CaptionParts, support: Floats, way: str) -> Floats:
        """The probability that nothing in a sentence is wrong."""
        weights = _vector(self.weights["right"][way], RIGHT)
        odds = sentence_features(parts, support, self.placed(parts), way) @ weights
        odds -= _LATER * np.minimum(np.arange(len(odds)), _LAST)
        return 1 / (1 + np.exp(-odds - float(self.weights["fidelity"]["before"][way])))

    def content(self, parts: CaptionParts, support: Floats) -> float:
        """The sum of what is supported: every content word once, wherever it stands."""
        counted = dict[str, float]()
        for text, _, _, value, _ in word_supports(parts, support):
            if value is not None and is_content(text):
                word = min(base_forms(text.lower()), key=lambda form: (len(form), form))
                counted[word] = max(counted.get(word, 0.0), max(value - self.threshold, 0.0) / (1 - self.threshold))
        return sum(counted.values())


def sentence_features(parts: CaptionParts, support: Floats, placed: Floats, way: str) -> Floats:
    """(sentences, RIGHT): mean log odds of the things a sentence is the first to name and of all else it says of
    things, the least of all, and how likely its things lie as it says."""
    bounded = np.clip(support, 1e-6, 1 - 1e-6)
    odds = np.clip(np.log(bounded / (1 - bounded)), -_SURE[IMAGE], _SURE[way])
    rows, named, start = [], set[str](), 0
    for sentence in parts.sentences:
        new, others, least = list[float](), list[float](), _GOOD
        for claim, own in zip(sentence.claims, odds[start:].tolist()):
            if claim.kind == RELATION:
                continue
            least = min(least, own)
            if claim.kind != OBJECT:
                others.append(own)
            elif claim.text not in named:
                new.append(own)
                named.add(claim.text)
        start += len(sentence.claims)
        own = placed[start - len(sentence.claims) : start]
        rows.append([_mean(new, way), _mean(others, way), least, float(own.sum()), 1.0])
    return np.array(rows, dtype=np.float64).reshape(-1, len(RIGHT))


def _mean(values: Sequence[float], way: str) -> float:
    """The mean of log odds and of one more claim that is right, so that a claim more or less moves it little."""
    return (sum(values) + min(_NONE, _SURE[way])) / (len(values) + 1)


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

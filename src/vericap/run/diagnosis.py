"""What is suspicious about captions and scores, and what to do: mistakes of input that no metric complains about.

A finding is suspicious where a mistake is likely: tags of a chat, references of other images, frequencies of too few
images. What four published systems on COCO do (long captions, "the image features ...", ends without a noun) is a habit
and at most a note; the limits stand above what they show. Everything here reads texts: no metric is run again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from vericap.core.languages import UNSPACED
from vericap.core.samples import Sample, has_word
from vericap.core.typing import Bools, Floats
from vericap.run.other_languages import SENTENCE, least_share, other_language
from vericap.run.results import Result
from vericap.run.suspicious_texts import ANNOUNCED, ENGLISH, PATTERNS, UNFINISHED, Pattern

SHOWN = 5  # lines under a table
EXAMPLES = 2  # ids of a finding
MOST = 500  # captions that are looked at, spread evenly: enough for a share, and no time anyone notices
FEW = 20  # captions from which on something can be said of all together

Words = tuple[str, ...]
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


@dataclass(frozen=True)
class Finding:
    """Something that looks like a mistake (`suspicious`), or a habit of the system that moves its scores.

    `share` is that of captions; of `length` the ratio and of `frequencies` the share of words that the sentence names.
    `ids` are examples.
    """

    name: str
    share: float
    ids: tuple[str, ...]
    sentence: str
    suspicious: bool = True

    def __str__(self) -> str:
        return f"{self.sentence} (id {', '.join(self.ids)})" if self.ids else self.sentence

    def as_dict(self) -> dict[str, Any]:
        """The finding as plain data."""
        found = {"name": self.name, "share": self.share, "ids": list(self.ids), "sentence": self.sentence}
        return {**found, "suspicious": self.suspicious}


def diagnose(
    samples: Sequence[Sample], result: Result | None = None, *, lang: str = "en", habits: bool = False
) -> list[Finding]:
    """What is suspicious about captions, their references and their scores; the likeliest cause first.

    Parameters
    ----------
    samples : the captions as they were scored.
    result : their scores, where there are any.
    lang : language the captions should be in.
    habits : tell also what is no mistake but moves the scores: long captions, "the image shows", unfinished ends.

    Examples
    --------
    >>> found = diagnose([Sample("1", "<think>A dog?</think> a dog", ("a dog",)), Sample("2", "a cat", ("a cat",))])
    >>> found[0].name, found[0].share, found[0].ids
    ('thinking', 0.5, ('1',))
    """
    captions = Captions.of(samples, lang)
    found, odd = _patterns(captions)
    # What is no caption is told once: it would look like another language, too long, of another image.
    rest = captions.only([row for row in range(len(captions)) if row not in odd])
    if len(rest):
        found += [finding for check in CHECKS if (finding := check(rest)) is not None]
        found += [] if result is None else _cider(rest, result)
    return [finding for finding in found if habits or finding.suspicious]


def lines(findings: Mapping[str, Sequence[Finding]], *, most: int = SHOWN) -> list[str]:
    """Findings by system as lines to print; what several systems share is said once, and the rest is counted."""
    systems: dict[str, list[str]] = {}
    for system, own in findings.items():
        for finding in own:
            systems.setdefault(str(finding), []).extend([system] if system else [])
    every = [f"{', '.join(names)}: {text}" if names else text for text, names in systems.items()]
    if len(every) <= most:
        return every
    return [*every[: most - 1], f"and {len(every) - most + 1} more"]


# --- the captions as the checks see them ------------------------------------------------------------------------


@dataclass(frozen=True)
class Captions:
    """Some of the captions, spread evenly, with their words and those of their references."""

    samples: list[Sample]
    every: list[Sample] = field(repr=False)  # all that can be read, in the order given
    rows: list[int]  # places of `samples` among them
    lang: str

    @classmethod
    def of(cls, samples: Sequence[Sample], lang: str) -> Captions:
        every = [sample for sample in samples if not sample.problem]
        rows = sorted(set(np.linspace(0, len(every) - 1, min(MOST, len(every))).astype(int).tolist())) if every else []
        return cls([every[row] for row in rows], every, rows, lang)

    def only(self, places: Sequence[int]) -> Captions:
        """Some of them; `every` stays, so that neighbours are the same."""
        return Captions([self.samples[i] for i in places], self.every, [self.rows[i] for i in places], self.lang)

    def __len__(self) -> int:
        return len(self.samples)

    def of_text(self, text: str) -> Words:
        """Words in lower case; pairs of letters where a language writes no blanks."""
        found = _WORD.findall(text.lower())
        if self.lang not in UNSPACED:
            return tuple(found)
        return tuple(word[i : i + 2] for word in found for i in range(max(1, len(word) - 1)))

    @cached_property
    def words(self) -> list[Words]:
        return [self.of_text(sample.candidate) for sample in self.samples]

    @cached_property
    def references(self) -> list[list[Words]]:
        return [[self.of_text(text) for text in sample.references] for sample in self.samples]

    @cached_property
    def said(self) -> list[frozenset[str]]:
        """Words of each caption's references together."""
        return [frozenset().union(*refs) for refs in self.references]

    @cached_property
    def length_ratio(self) -> float:
        """Words of the captions to those of the references; 1 without references."""
        pairs = [(len(own), np.mean([len(r) for r in refs])) for own, refs in zip(self.words, self.references) if refs]
        own, other = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
        return float(own / other) if other else 1.0

    @cached_property
    def overlap(self) -> float:
        """Mean share of a caption's words that its references have."""
        shares = [
            len(said.intersection(own)) / len(set(own)) for own, said in zip(self.words, self.said) if own and said
        ]
        return float(np.mean(shares)) if shares else 0.0

    def finding(self, name: str, hits: Sequence[bool], limit: float, sentence: str) -> Finding | None:
        """A finding where the share of captions that `hits` names is above the limit."""
        share = sum(hits) / len(hits) if hits else 0.0
        if share <= limit:
            return None
        ids = tuple(sample.id for sample, hit in zip(self.samples, hits) if hit)[:EXAMPLES]
        return Finding(name, share, ids, sentence.format(share=percent(share)))

    def images(self) -> int:
        """How many images they are of, as far as one can tell."""
        return len({sample.references or sample.image or sample.id for sample in self.samples})


def percent(share: float) -> str:
    """A share for a sentence.

    Examples
    --------
    >>> percent(0.5), percent(0.004)
    ('50 %', '0.4 %')
    """
    return f"{100 * share:.0f} %" if share >= 0.095 else f"{100 * share:.1f} %"


# --- checks -----------------------------------------------------------------------------------------------------


def _patterns(captions: Captions) -> tuple[list[Finding], set[int]]:
    """What a single text shows: tags, refusals, lists as text; and the rows, each of which counts for one of them."""
    found: list[Finding] = []
    odd: set[int] = set()
    for pattern in PATTERNS:
        if pattern.english and captions.lang != "en":
            continue
        hits = [row not in odd and _fits(pattern, sample) for row, sample in enumerate(captions.samples)]
        finding = captions.finding(pattern.name, hits, pattern.limit, pattern.sentence)
        if finding is not None:
            found.append(finding)
            odd.update(row for row, hit in enumerate(hits) if hit)
    return found, odd


def _fits(pattern: Pattern, sample: Sample) -> bool:
    texts = sample.references if pattern.references else (sample.candidate,)
    return any(pattern.regex.search(text) for text in texts)


def _empty(captions: Captions) -> Finding | None:
    hits = [not has_word(sample.candidate) for sample in captions.samples]
    return captions.finding("empty", hits, 0.01, "{share} of the captions hold no word: did the generation fail?")


def _announced(captions: Captions) -> Finding | None:
    """ "The image shows ..." in most captions: suspicious where it makes up a quarter of what is said."""
    if captions.lang != "en" or len(captions) < FEW:
        return None
    starts = [ANNOUNCED.match(sample.candidate) for sample in captions.samples]
    hits = [start is not None for start in starts]
    said = sum(len(captions.of_text(start[0])) for start in starts if start)
    weight = said / max(1, sum(map(len, captions.words)))
    sentence = (
        '{share} of the captions begin like "the image shows", ' + percent(weight) + " of their words: references do "
        "not, so that n-gram scores fall; ask the model for a plain caption or cut the opening"
    )
    found = captions.finding("announced", hits, 0.5, sentence)
    return None if found is None else replace(found, suspicious=weight > 0.25)


def _unfinished(captions: Captions) -> Finding | None:
    """Ends in an article, a preposition or a part of a word: suspicious where these captions stop at one length."""
    if captions.lang != "en" or len(captions) < FEW:
        return None
    known = {word for said in captions.said for word in said}.union(*(own[:-1] for own in captions.words))
    starts = {word[:size] for word in known for size in range(1, len(word))}
    last = [own[-1] if own else "" for own in captions.words]
    hits = [word in UNFINISHED or (word not in known and word in starts) for word in last]
    sentence = "{share} of the captions end in the middle of a phrase: is the limit of new tokens too low?"
    found = captions.finding("unfinished", hits, 0.05, sentence)
    return None if found is None else replace(found, suspicious=_at_a_limit(captions, np.array(hits)))


def _at_a_limit(captions: Captions, hits: Bools) -> bool:
    """Whether most of these captions are as long as captions get, in words or in letters."""
    if hits.sum() < 10:
        return False
    lengths = (np.array([len(own) for own in captions.words]), np.array([len(s.candidate) for s in captions.samples]))
    return any(bool(np.mean(own[hits] >= np.quantile(own, 0.98) - step) > 0.9) for own, step in zip(lengths, (1, 2)))


def _repeated(captions: Captions) -> Finding | None:
    """One caption for many images."""
    texts = [sample.candidate.strip().lower() for sample in captions.samples]
    text, count = Counter(texts).most_common(1)[0]
    if captions.images() < FEW or count < 10 or not has_word(text):
        return None
    sentence = "{share} of the captions are the same text: does the model see the image?"
    return captions.finding("repeated", [own == text for own in texts], 0.1, sentence)


def _looping(captions: Captions) -> Finding | None:
    """A caption that says the same words again and again."""
    hits = [len(own) >= 12 and len(set(own)) <= 0.3 * len(own) for own in captions.words]
    sentence = "{share} of the captions repeat the same words over and over: did the decoding run into a loop?"
    return captions.finding("looping", hits, 0.01, sentence)


def _copied(captions: Captions) -> Finding | None:
    if len(captions) < FEW:
        return None
    hits = [bool(own) and own in refs for own, refs in zip(captions.words, captions.references)]
    sentence = "{share} of the captions are one of their own references: leave a caption out of its references"
    return captions.finding("copied", hits, 0.5, sentence)


def _foreign(captions: Captions) -> Finding | None:
    """In another language than the one asked for; or, in English, without any of the words that most captions have."""
    codes = [other_language(sample.candidate, captions.lang) for sample in captions.samples]
    if any(codes):
        code = Counter(filter(None, codes)).most_common(1)[0][0]
        sentence = SENTENCE.format(share="{share}", code=code, lang=captions.lang)
        found = captions.finding("foreign", list(map(bool, codes)), least_share(captions.lang), sentence)
        if found is not None:
            return found
    if captions.lang != "en" or len(captions) < FEW:
        return None
    hits = [len(own) >= 3 and not ENGLISH.intersection(own) for own in captions.words]
    sentence = "{share} of the captions have no common English word: set `lang=...`, or write sentences"
    return captions.finding("foreign", hits, 0.5, sentence)


def _length(captions: Captions) -> Finding | None:
    if len(captions) < FEW:
        return None
    ratio = captions.length_ratio
    if 0.5 <= ratio <= 2.0:
        return None
    order = np.argsort([len(own) for own in captions.words], kind="stable").tolist()
    ids = tuple(captions.samples[row].id for row in (order[:EXAMPLES] if ratio < 1 else order[: -EXAMPLES - 1 : -1]))
    side = "shorter" if ratio < 1 else "longer"
    sentence = (
        f"the captions are {ratio:.1f} times as long as their references, which n-gram scores punish: {side} captions "
        "need references of their kind, or a metric without any (vse, clipscore)"
    )
    return Finding("length", ratio, ids, sentence, ratio < 1 / 3 or ratio > 6.0)


def _wrong_images(captions: Captions) -> Finding | None:
    """References of other images fit as well as, or those of the next image better than, a caption's own."""
    if len(captions) < FEW:
        return None
    often = Counter(word for own in captions.words for word in set(own))
    rare = {word for word, count in often.items() if count <= 0.1 * len(captions)}
    own = _fit(captions, rare, captions.said)
    strangers = np.mean([_fit(captions, rare, _strangers(captions, part)) for part in (2, 3, 5)], axis=0)
    for step, where in ((1, "next"), (-1, "previous")):
        near = _fit(captions, rare, _neighbours(captions, step))
        if _better(near, own, errors=3.0):
            sentence = (
                f"captions fit the references of the {where} record better than their own: is one record missing?"
            )
            return _fitting(captions, near > own, sentence)
    # Captions that share no word with any reference are another matter.
    usable = ~np.isnan(own + strangers)
    if usable.sum() < FEW or (own + strangers)[usable].mean() < 0.01 or _better(own, strangers):
        return None
    sentence = "references of other images fit as well as the captions' own: are the ids joined rightly?"
    return _fitting(captions, strangers >= own, sentence)


Said = Sequence[frozenset[str]]
NOTHING: frozenset[str] = frozenset()


def _fit(captions: Captions, rare: set[str], said: Said) -> Floats:
    """Share of each caption's rare words among some other words; NaN where there is nothing to compare."""
    chosen = [rare.intersection(own) for own in captions.words]
    return np.array([len(own & other) / len(own) if own and other else np.nan for own, other in zip(chosen, said)])


def _strangers(captions: Captions, part: int) -> Said:
    """Words of the references of a caption far away."""
    samples, said, step = captions.samples, captions.said, len(captions) // part
    far = [(place + step) % len(samples) for place in range(len(samples))]
    return [NOTHING if _one_image(own, samples[other]) else said[other] for own, other in zip(samples, far)]


def _neighbours(captions: Captions, step: int) -> Said:
    """Words of the references of the next caption, or of the one before."""
    every = captions.every
    near = [every[(row + step) % len(every)] for row in captions.rows]
    return [
        NOTHING if _one_image(own, other) else frozenset(w for text in other.references for w in captions.of_text(text))
        for own, other in zip(captions.samples, near)
    ]


def _one_image(one: Sample, two: Sample) -> bool:
    """Captions that share a reference are of one image."""
    return not set(one.references).isdisjoint(two.references)


def _better(one: Floats, two: Floats, *, errors: float = 2.0) -> bool:
    """Whether one fits better on average, by more than so many standard errors."""
    gaps = (one - two)[~np.isnan(one - two)]
    return len(gaps) >= FEW and bool(gaps.mean() > errors * gaps.std() / np.sqrt(len(gaps)))


def _fitting(captions: Captions, hits: Any, sentence: str) -> Finding:
    ids = tuple(captions.samples[row].id for row in np.flatnonzero(hits)[:EXAMPLES])
    return Finding("wrong-images", float(np.mean(hits)), ids, sentence)


def _cider(captions: Captions, result: Result) -> Iterator[Finding]:
    """CIDEr near 0 although words and lengths agree: frequencies of the corpus give every word the weight 0."""
    for name, score in result.corpus.items():
        if not name.startswith("cider") or "df:corpus" not in score.signature or score.value is None:
            continue
        if score.value >= 0.1 or captions.overlap < 0.3 or not 0.5 <= captions.length_ratio <= 2.0:
            continue
        ids = tuple(sample.id for sample in captions.samples[:EXAMPLES])
        sentence = (
            f"{name} is {score.value:.4f} although captions and references share {percent(captions.overlap)} of their "
            f"words: its document frequencies are those of {captions.images()} image(s); bring some with `df=coco-val`"
        )
        yield Finding("frequencies", captions.overlap, ids, sentence)


Check = Callable[[Captions], Finding | None]
# Causes before their symptoms: what stands first is printed first.
CHECKS: tuple[Check, ...] = (
    _empty,
    _wrong_images,
    _foreign,
    _repeated,
    _looping,
    _copied,
    _unfinished,
    _announced,
    _length,
)

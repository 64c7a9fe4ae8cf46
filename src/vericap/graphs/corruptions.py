"""Wrong captions out of right ones: one claim of the caption is changed, everything else stays.

>>> from vericap.graphs.english import parse
>>> caption = "A man rides a brown horse ."
>>> corrupt(caption, parse(caption), "attribute", random.Random(1))
'A man rides a red horse .'

Kinds: `object`, `attribute`, `relation` (preposition or verb), `number`, `order` (content words shuffled), `swap`
(subject and object of a relation exchanged). What is put in is neither a synonym nor a hypernym of what was taken out
nor said in the texts to avoid, so that the new caption is wrong as far as these texts tell.
"""

from __future__ import annotations

import random
import re
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate

from vericap.graphs.corruption_words import (
    INTRANSITIVE,
    KIND_OF_ATTRIBUTE,
    LONGEST_PREPOSITION,
    MASS,
    NEW_PREPOSITIONS,
    NOUNS,
    NUMBERS,
    OTHER_VERBS,
    PLAIN_ATTRIBUTES,
    PREPOSITION_GROUPS,
    TRANSITIVE,
    VAGUE,
    article,
    inflect,
    noun_kind,
    plural,
    resembles,
    same_verb,
)
from vericap.graphs.english_words import PLURAL_ONLY, noun_lemma, verb_lemma
from vericap.graphs.scene_graph import SceneGraph
from vericap.text.stopwords import ENGLISH

KINDS = ("object", "attribute", "relation", "number", "order", "swap")
_WORD = re.compile(r"[A-Za-z]+(?:[-'][A-Za-z]+)*")
_TRIES = 24
# Where a kind of noun is taken from; a person of no stated sex becomes an animal.
_INSTEAD = {"male": "female", "female": "male", "generic": "animal"}
_SECOND_CHOICE = {"male": "animal", "female": "animal", "role": "animal"}


@dataclass
class _Draw:
    """(lemma, surface) with how often each was seen."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def freeze(self) -> tuple[list[tuple[str, str]], list[int]]:
        items = sorted(self.counts.items())
        return [item for item, _ in items], list(accumulate(count for _, count in items))


class Pools:
    """Nouns to put in, by kind and form (`one`, `many`, `mass`), drawn as often as captions use them."""

    def __init__(self, counts: dict[tuple[str, str], _Draw]) -> None:
        self._pools = {key: draw.freeze() for key, draw in counts.items()}

    @classmethod
    def of(cls, captions: Iterable[str], graphs: Iterable[SceneGraph], *, minimum: int = 3) -> Pools:
        """From parsed captions; nouns seen less than `minimum` times in a form are left out."""
        counts: dict[tuple[str, str], _Draw] = {}
        for caption, graph in zip(captions, graphs, strict=True):
            for lemma, surface, form in _nouns([word.group().lower() for word in _WORD.finditer(caption)], graph):
                kind = noun_kind(lemma)
                if kind:
                    counts.setdefault((kind, form), _Draw()).counts[lemma, surface] += 1
        for draw in counts.values():
            draw.counts = Counter({key: count for key, count in draw.counts.items() if count >= minimum})
        return cls({key: draw for key, draw in counts.items() if draw.counts})

    def draw(self, kind: str, form: str, rng: random.Random) -> tuple[str, str] | None:
        """A (lemma, surface); None where the pool is empty."""
        items, sums = self._pools.get((kind, form), ([], []))
        return items[bisect(sums, rng.randrange(sums[-1]))] if items else None


@lru_cache(maxsize=1)
def built_in() -> Pools:
    """A small list of common nouns."""
    counts: dict[tuple[str, str], _Draw] = {}
    for lemma in sorted(NOUNS):
        kind = noun_kind(lemma)
        forms = [("mass", lemma)] if lemma in MASS else [("one", lemma), ("many", plural(lemma))]
        for form, surface in forms:
            counts.setdefault((kind, form), _Draw()).counts[lemma, surface] += 1
    counts.pop(("", "one"), None)
    counts.pop(("", "many"), None)
    return Pools(counts)


@lru_cache(maxsize=1 << 16)
def _singular(word: str) -> str:
    return noun_lemma(word, "NNS")


def _nouns(words: Sequence[str], graph: SceneGraph) -> list[tuple[str, str, str]]:
    """(lemma, surface, form) of each word that names an object of the graph; lemma "" for the other words' places."""
    objects = set(graph.objects)
    found = []
    for word in words:
        if word in objects:
            form = "many" if word in PLURAL_ONLY else "mass" if word in MASS else "one"
            found.append((word, word, form))
        elif _singular(word) in objects:
            found.append((_singular(word), word, "many"))
        else:
            found.append(("", word, ""))
    return found


@lru_cache(maxsize=1 << 16)
def _readings(word: str) -> frozenset[str]:
    """A word with the base forms it may have as a noun or a verb."""
    return frozenset({word, _singular(word), verb_lemma(word, "VBZ")})


class _Caption:
    """One caption taken apart; an edit replaces a span of words."""

    def __init__(self, text: str, graph: SceneGraph, avoid: Iterable[str]) -> None:
        self.text, self.graph = text, graph
        matches = list(_WORD.finditer(text))
        self.spans = [match.span() for match in matches]
        self.words = [match.group().lower() for match in matches]
        self.nouns = _nouns(self.words, graph)
        self.said: set[str] = set()
        for part in (text, *avoid):
            for word in _WORD.findall(part.lower()):
                self.said |= _readings(word)

    def replace(self, edits: dict[int, str], *, length: int = 1) -> str:
        """Words put in place of those at the given positions; a capital that opens the caption stays one."""
        out, end = [], 0
        for place in sorted(edits):
            start, stop = self.spans[place][0], self.spans[place + length - 1][1]
            new = edits[place]
            out += [self.text[end:start], new.capitalize() if not place and self.text[start].isupper() else new]
            end = stop
        return "".join((*out, self.text[end:]))

    def fits(self, place: int, surface: str) -> bool:
        """Whether "a" or "an" in front still sounds right."""
        before = self.words[place - 1] if place else ""
        return before not in ("a", "an") or before == article(surface)


def _object(caption: _Caption, rng: random.Random, pools: Pools) -> str | None:
    places = [place for place, (lemma, _, _) in enumerate(caption.nouns) if lemma and noun_kind(lemma)]
    rng.shuffle(places)
    for place in places:
        lemma, _, form = caption.nouns[place]
        kind = noun_kind(lemma)
        for source in (_INSTEAD.get(kind, kind), _SECOND_CHOICE.get(kind, "artifact")):
            for _ in range(_TRIES):
                drawn = pools.draw(source, form, rng)
                if drawn is None:
                    break
                if _is_wrong(drawn[0], lemma, caption.said) and caption.fits(place, drawn[1]):
                    return caption.replace({place: drawn[1]})
    return None


def _is_wrong(new: str, old: str, said: set[str]) -> bool:
    if resembles(new, old) or resembles(old, new):
        return False
    return not any(resembles(new, word) for word in said if word == new or noun_kind(word))


def _attribute(caption: _Caption, rng: random.Random, pools: Pools) -> str | None:
    claimed = {attribute for _, attribute in caption.graph.attributes}
    places = [p for p, word in enumerate(caption.words) if word in claimed and word in KIND_OF_ATTRIBUTE]
    rng.shuffle(places)
    for place in places:
        kind = KIND_OF_ATTRIBUTE[caption.words[place]][0][0]
        said = {g for word in caption.said for k, g in KIND_OF_ATTRIBUTE.get(word, ()) if k == kind}
        new = [w for w in PLAIN_ATTRIBUTES[kind] if all(g not in said for k, g in KIND_OF_ATTRIBUTE[w] if k == kind)]
        new = [word for word in new if caption.fits(place, word)]
        if new:
            return caption.replace({place: rng.choice(new)})
    return None


def _relation(caption: _Caption, rng: random.Random, pools: Pools) -> str | None:
    ways: list[Callable[[_Caption, random.Random], str | None]] = [_preposition, _verb]
    if rng.random() < 0.5:
        ways.reverse()
    return ways[0](caption, rng) or ways[1](caption, rng)


def _preposition(caption: _Caption, rng: random.Random) -> str | None:
    claimed = {tuple(relation.split()) for _, relation, _ in caption.graph.relations}
    claimed |= {relation[1:] for relation in claimed}  # without the verb
    found: list[tuple[int, tuple[str, ...]]] = []
    place = 0
    while place < len(caption.words):
        spans = (tuple(caption.words[place : place + n]) for n in range(LONGEST_PREPOSITION, 0, -1))
        phrase = next((span for span in spans if span in PREPOSITION_GROUPS), None)
        if phrase in claimed and phrase is not None:
            found.append((place, phrase))
        place += len(phrase) if phrase else 1
    if not found:
        return None
    place, phrase = found[rng.randrange(len(found))]
    groups = PREPOSITION_GROUPS[phrase]
    new = [word for word in NEW_PREPOSITIONS if not groups & PREPOSITION_GROUPS[tuple(word.split())]]
    if phrase == ("with",):
        new = ["without"]
    elif "without" in new:
        new.remove("without")
    return caption.replace({place: rng.choice(new)}, length=len(phrase)) if new else None


def _verb(caption: _Caption, rng: random.Random) -> str | None:
    graph = caption.graph
    direct = {relation for _, relation, _ in graph.relations if " " not in relation}
    alone = {verb for _, verb in graph.actions} | {verb for _, verb in graph.attributes}
    places = []
    for place, word in enumerate(caption.words):
        form = _verb_form(word)
        if not form or caption.nouns[place][0]:
            continue
        lemma = verb_lemma(word, "VBG" if form == "ing" else "VBZ")
        for lines, claimed in ((TRANSITIVE, direct), (INTRANSITIVE, alone - direct)):
            if lemma in claimed and any(lemma in line for line in (*TRANSITIVE, *INTRANSITIVE, OTHER_VERBS)):
                places.append((place, form, lemma, lines))
    if not places:
        return None
    place, form, lemma, lines = places[rng.randrange(len(places))]
    new = [v for v in _verbs(lines) if not same_verb(v, lemma) and v not in caption.said]
    return caption.replace({place: inflect(rng.choice(new), form)}) if new else None


@lru_cache(maxsize=4)
def _verbs(lines: tuple[frozenset[str], ...]) -> tuple[str, ...]:
    return tuple(sorted(frozenset().union(*lines)))


@lru_cache(maxsize=1 << 14)
def _verb_form(word: str) -> str:
    lemma = verb_lemma(word, "VBG" if word.endswith("ing") else "VBZ")
    if lemma == word:
        return "base"
    return "ing" if word.endswith("ing") else "s" if word.endswith("s") else "past" if word.endswith("ed") else ""


def _number(caption: _Caption, rng: random.Random, pools: Pools) -> str | None:
    options: list[dict[int, str]] = []
    new = [word for word in NUMBERS[:4] if word not in caption.said]
    for place, word in enumerate(caption.words):
        if word in NUMBERS:
            options += [{place: other} for other in new]
            options += _to_one(caption, place)
        elif word in ("a", "an", "one") and new:
            options += _to_many(caption, place, rng.choice(new))
    return caption.replace(rng.choice(options)) if options else None


def _head(caption: _Caption, place: int) -> int | None:
    """Position of the noun that a determiner belongs to: only its attributes stand between."""
    for ahead in range(place + 1, min(place + 5, len(caption.words))):
        lemma = caption.nouns[ahead][0]
        if lemma:
            own = {text for o, text in caption.graph.attributes if caption.graph.objects[o] == lemma}
            between = caption.words[place + 1 : ahead]
            return ahead if lemma not in VAGUE and noun_kind(lemma) and all(word in own for word in between) else None
    return None


def _to_many(caption: _Caption, place: int, number: str) -> list[dict[int, str]]:
    head = _head(caption, place)
    if head is None or caption.nouns[head][2] != "one":
        return []
    return [{place: number, head: plural(caption.words[head]), **_agreement(caption, place, head, "s")}]


def _to_one(caption: _Caption, place: int) -> list[dict[int, str]]:
    head = _head(caption, place)
    if head is None or caption.nouns[head][2] != "many" or caption.nouns[head][1] in PLURAL_ONLY:
        return []
    return [{place: "one", head: caption.nouns[head][0], **_agreement(caption, place, head, "base")}]


_BE = {"s": {"is": "are", "has": "have", "was": "were"}, "base": {"are": "is", "have": "has", "were": "was"}}


def _agreement(caption: _Caption, place: int, head: int, form: str) -> dict[int, str]:
    """The verb of a noun whose number changes: right behind it, or anywhere behind the caption's first noun."""
    for ahead in range(head + 1, len(caption.words) if not place else min(head + 2, len(caption.words))):
        word = caption.words[ahead]
        if caption.words[ahead - 1] in ("that", "which", "who", "and") or caption.nouns[ahead][0]:
            continue
        if word in _BE[form] and not place:
            return {ahead: _BE[form][word]}
        if _verb_form(word) == form and _is_said_of(caption, head, verb_lemma(word, "VBZ")):
            return {ahead: verb_lemma(word, "VBZ") if form == "s" else inflect(word, "s")}
    return {}


def _is_said_of(caption: _Caption, head: int, verb: str) -> bool:
    """Whether the graph says the verb of the noun: agreement is mended for these alone."""
    graph, lemma = caption.graph, caption.nouns[head][0]
    said = [(o, text) for o, text in (*graph.actions, *graph.attributes)]
    said += [(s, relation.split()[0]) for s, relation, _ in graph.relations if relation]
    return any(graph.objects[o] == lemma and text == verb for o, text in said)


def _swap(caption: _Caption, rng: random.Random, pools: Pools) -> str | None:
    names = caption.graph.objects
    where: dict[str, list[int]] = {}
    for place, (lemma, _, _) in enumerate(caption.nouns):
        if lemma:
            where.setdefault(lemma, []).append(place)
    pairs = []
    for subject, relation, target in caption.graph.relations:
        first, second = where.get(names[subject], []), where.get(names[target], [])
        if len(first) == len(second) == 1 and relation not in ("have", "of") and subject != target:
            one, two = first[0], second[0]
            same_form = (caption.nouns[one][2] == "many") == (caption.nouns[two][2] == "many")
            if same_form and caption.fits(one, caption.words[two]) and caption.fits(two, caption.words[one]):
                pairs.append((one, two))
    if not pairs:
        return None
    one, two = pairs[rng.randrange(len(pairs))]
    return caption.replace({one: caption.words[two], two: caption.words[one]})


def _order(caption: _Caption, rng: random.Random, pools: Pools) -> str | None:
    places = [place for place, word in enumerate(caption.words) if word not in ENGLISH]
    words = [caption.words[place] for place in places]
    if len(set(words)) < 2:
        return None
    for _ in range(_TRIES):
        mixed = rng.sample(words, len(words))
        if mixed != words:
            return caption.replace(dict(zip(places, mixed)))
    return None


_MAKERS: dict[str, Callable[[_Caption, random.Random, Pools], str | None]] = {
    "object": _object,
    "attribute": _attribute,
    "relation": _relation,
    "number": _number,
    "order": _order,
    "swap": _swap,
}


def corrupt(
    caption: str,
    graph: SceneGraph,
    kind: str,
    rng: random.Random,
    *,
    avoid: Iterable[str] = (),
    pools: Pools | None = None,
) -> str | None:
    """The caption with one claim made wrong, or None where it has no claim of this kind.

    `avoid` are texts known to be true of the image (other captions): what they say is not put in.
    """
    if kind not in _MAKERS:
        raise ValueError(f"unknown kind of corruption {kind!r}; there are: {', '.join(KINDS)}")
    return _MAKERS[kind](_Caption(caption, graph, avoid), rng, pools or built_in())


def corruptions(
    captions: Sequence[str],
    graphs: Sequence[SceneGraph],
    kinds: Sequence[str] = KINDS,
    *,
    seed: int = 0,
    avoid: Sequence[Iterable[str]] | None = None,
    pools: Pools | None = None,
) -> list[dict[str, str]]:
    """For each caption the wrong ones that can be made, by kind; each depends on seed, place and kind alone."""
    found: list[dict[str, str]] = []
    for place, (caption, graph) in enumerate(zip(captions, graphs, strict=True)):
        taken_apart = _Caption(caption, graph, avoid[place] if avoid is not None else ())
        made: dict[str, str] = {}
        for kind in kinds:
            rng = random.Random(f"{seed} {place} {kind}")
            wrong = _MAKERS[kind](taken_apart, rng, pools or built_in())
            if wrong is not None:
                made[kind] = wrong
        found.append(made)
    return found

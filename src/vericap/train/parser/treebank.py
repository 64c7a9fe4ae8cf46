"""Dependency trees of captions to tune the shipped spaCy pipeline on.

Nobody drew these trees. They are the pipeline's own, where something better than its own word says that they are right:

- FACTUAL captions: of several ways to write a caption (rare nouns exchanged for plain ones, articles put in, "there is"
  before it), the tree whose scene graph is nearest to the one that people drew;
- COCO and Flickr8k captions: the repaired trees, and two rewritings whose trees are known because the sentence they
  come from is read well: a finite verb for a participle ("a girl with a hat plays" from "playing"), articles left out
  ("girl swinging racket").
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from vericap.graphs import english_compounds as compounds
from vericap.graphs.english import clean, columns
from vericap.graphs.english_repairs import repair
from vericap.graphs.english_rules import Rules
from vericap.graphs.english_words import is_verb, kind, noun_lemma, verb_lemma
from vericap.graphs.labels import Labels, base
from vericap.train.parser.alignment import Example, align

_ARTICLES = frozenset({"a", "an", "the"})
_STARTS = _ARTICLES | {"his", "her", "its", "their", "two", "three", "some", "of", "'s"}
_PLAIN = {"person": ("man", "men"), "animal": ("dog", "dogs")}  # nouns no tagger takes for a verb
_THING = ("box", "boxes")
_GOOD = 0.3  # a tree whose graph agrees less with people's is not learnt from
_LIVING = ("person", "animal")


class Tree(NamedTuple):
    """Words with tags, labels and heads."""

    words: list[str]
    tags: list[str]
    deps: list[str]
    heads: list[int]

    def copy(self) -> Tree:
        return Tree(list(self.words), list(self.tags), list(self.deps), list(self.heads))

    def repaired(self) -> Tree:
        found = self.copy()
        repair(*found, compounds.find(found.words))
        return found

    def without(self, dropped: set[int]) -> Tree | None:
        """The tree less some leaves; None where one of them has something hang on it."""
        kept = [place for place in range(len(self.words)) if place not in dropped]
        if not kept or any(self.heads[place] in dropped for place in kept):
            return None
        new = {place: number for number, place in enumerate(kept)}
        words, tags, deps = ([column[place] for place in kept] for column in (self.words, self.tags, self.deps))
        return Tree(words, tags, deps, [new[self.heads[place]] for place in kept])


# ---- FACTUAL: the tree whose graph people would draw ----------------------------------------------------------------

Rewriting = tuple[list[str], list[int]]  # words to parse, and which of them are the caption's own


def factual_trees(nlp: Any, data: Sequence[Example]) -> list[Tree]:
    """The best tree of each caption whose labels are known."""
    pairs = [(item, labels) for item, (labels, complete) in ((item, align(item)) for item in data) if complete]
    best: list[tuple[float, Tree | None]] = [(-1.0, None)] * len(pairs)
    gold = [_loose(item.graph) for item, _ in pairs]
    for rewrite in (_as_it_is, _plain, _with_articles, _there_is, _plain_with_articles):
        todo = [place for place, (score, _) in enumerate(best) if score < 1]
        texts = [rewrite(*pairs[place]) for place in todo]
        for place, (_, own), tree in zip(todo, texts, parsed(nlp, [words for words, _ in texts])):
            made = _restricted(tree, own)._replace(words=list(pairs[place][0].words))
            score = _agreement(_loose(Rules(*made.copy()).tuples()), gold[place])
            if score > best[place][0]:
                best[place] = score, made
    return [tree.repaired() for score, tree in best if tree is not None and score >= _GOOD]


def parsed(nlp: Any, texts: Iterable[Sequence[str]]) -> Iterator[Tree]:
    """Trees of tokenised texts."""
    from spacy.tokens import Doc

    docs = (Doc(nlp.vocab, words=list(words)) for words in texts)
    return (Tree(*columns(doc)) for doc in nlp.pipe(docs, batch_size=256))


def _as_it_is(example: Example, labels: Labels) -> Rewriting:
    return list(example.words), list(range(len(example.words)))


def _plain(example: Example, labels: Labels) -> Rewriting:
    """Objects exchanged for nouns that are read well."""
    words = list(example.words)
    for place in labels.objects:
        plural = words[place].endswith("s") and not words[place].endswith("ss")
        what = kind(noun_lemma(words[place], "NNS" if plural else "NN"))
        words[place] = _PLAIN.get(what, _THING)[plural]
    return words, list(range(len(words)))


def _with_articles(example: Example, labels: Labels) -> Rewriting:
    return _articled(list(example.words), labels)


def _plain_with_articles(example: Example, labels: Labels) -> Rewriting:
    return _articled(_plain(example, labels)[0], labels)


def _articled(words: list[str], labels: Labels) -> Rewriting:
    starts = set()
    for noun in labels.objects:
        before = [word for word, head in labels.parts if head == noun]
        before += [word for word, head in labels.attributes if head == noun and word < noun]
        starts.add(min([*before, noun]))
    found: list[str] = []
    own: list[int] = []
    for place, word in enumerate(words):
        if place in starts and (place == 0 or words[place - 1] not in _STARTS):
            found.append("the")
        own.append(len(found))
        found.append(word)
    return found, own


def _there_is(example: Example, labels: Labels) -> Rewriting:
    return ["there", "is", *example.words], list(range(2, len(example.words) + 2))


def _restricted(tree: Tree, own: list[int]) -> Tree:
    """The tree over a caption's own words; what hung on others hangs on the nearest own word above."""
    new = {place: number for number, place in enumerate(own)}
    deps, heads = [], []
    for place in own:
        above, steps = tree.heads[place], 0
        while above not in new and tree.heads[above] != above and steps < len(tree.words):
            above, steps = tree.heads[above], steps + 1
        rooted = above not in new or tree.heads[place] == place
        deps.append("ROOT" if rooted else tree.deps[place])
        heads.append(new[place] if rooted else new[above])
    return Tree([tree.words[place] for place in own], [tree.tags[place] for place in own], deps, heads)


def _loose(tuples: Iterable[Sequence[str]]) -> set[tuple[str, ...]]:
    """Tuples without matters of convention: last words of names, relations as pairs."""
    found: set[tuple[str, ...]] = set()
    for item in tuples:
        ends = [base(part.split()[-1]) for part in item]
        if len(item) == 3 and ends[0] != ends[2]:
            found.add(("between", *sorted((ends[0], ends[2]))))
        elif len(item) == 2:
            found.add((ends[0], "is", ends[1]))
        elif len(item) == 1:
            found.add((ends[0],))
    return found


def _agreement(one: set[tuple[str, ...]], two: set[tuple[str, ...]]) -> float:
    return 2 * len(one & two) / max(len(one) + len(two), 1)


# ---- captions without graphs ----------------------------------------------------------------------------------------


def caption_trees(nlp: Any, captions: Iterable[str], *, seed: int = 0) -> dict[str, list[Tree]]:
    """Repaired trees, and rewritings with finite verbs and without articles."""
    draw = random.Random(seed)
    found: dict[str, list[Tree]] = {"plain": [], "finite": [], "bare": []}
    for doc in nlp.pipe((clean(text) for text in captions), batch_size=256):
        tree = Tree(*columns(doc))
        if len(tree.words) < 3:
            continue
        tree = tree.repaired()
        if _suspicious(tree):
            continue
        found["plain"].append(tree)
        finite = finite_verb(tree)
        if finite is not None:
            found["finite"].append(finite)
        for one, share in ((tree, 0.5), (finite, 0.3)):
            bare = without_articles(one) if one is not None and draw.random() < share else None
            if bare is not None:
                found["bare"].append((_without_stop(bare) or bare) if draw.random() < 0.7 else bare)
    return found


def _suspicious(tree: Tree) -> bool:
    """ "a red dress smiles at": a plural after "a" that could be a verb is likely to be one."""
    for place, (word, tag) in enumerate(zip(tree.words, tree.tags)):
        if tag != "NNS" or tree.tags[place + 1 : place + 2] not in (["IN"], ["DT"], ["TO"]) or not is_verb(word, tag):
            continue
        own = [kid for kid in range(place) if tree.heads[kid] in (place, place - 1)]
        if any(tree.words[kid] in ("a", "an") for kid in own):
            return True
    return False


def finite_verb(tree: Tree) -> Tree | None:
    """ "a girl with a hat playing" -> "plays"; None where the caption has no such participle."""
    roots = [place for place, head in enumerate(tree.heads) if head == place]
    if len(roots) != 1 or tree.tags[roots[0]] not in ("NN", "NNS"):
        return None
    noun = roots[0]
    verb = _participle_of(tree, noun)
    own = [place for place, head in enumerate(tree.heads) if head == noun and place != noun]
    if verb < 0 or any(tree.deps[place] in ("conj", "cc", "relcl", "appos") for place in own):
        return None
    if any(place > verb and tree.deps[place] != "punct" for place in own):
        return None
    found = tree.copy()
    several = tree.tags[noun] == "NNS"
    lemma = verb_lemma(tree.words[verb], "VBG")
    found.words[verb], found.tags[verb] = (lemma, "VBP") if several else (third_person(lemma), "VBZ")
    found.deps[verb], found.heads[verb] = "ROOT", verb
    found.deps[noun], found.heads[noun] = "nsubj", verb
    for place in own:
        if place > verb:
            found.heads[place] = verb
    return found


def _participle_of(tree: Tree, noun: int) -> int:
    """The participle said of a noun, also where the tree has it hang on what the noun wears; -1 if there is none."""
    living = kind(noun_lemma(tree.words[noun], tree.tags[noun])) in _LIVING
    for place in range(noun + 1, len(tree.words)):
        if tree.deps[place] != "acl" or tree.tags[place] != "VBG":
            continue
        head = tree.heads[place]
        if head == noun:
            return place
        worn = tree.deps[head] == "pobj" and tree.heads[tree.heads[head]] == noun
        if living and worn and kind(noun_lemma(tree.words[head], tree.tags[head])) == "thing":
            return place
    return -1


def third_person(lemma: str) -> str:
    """ "watch" -> "watches"."""
    if lemma in ("be", "have"):
        return {"be": "is", "have": "has"}[lemma]
    if re.search("(s|x|z|ch|sh|o)$", lemma):
        return f"{lemma}es"
    return f"{lemma[:-1]}ies" if re.search("[^aeiou]y$", lemma) else f"{lemma}s"


def without_articles(tree: Tree) -> Tree | None:
    return _dropping(tree, lambda place: tree.deps[place] == "det" and tree.words[place] in _ARTICLES)


def _without_stop(tree: Tree) -> Tree | None:
    return _dropping(tree, lambda place: place == len(tree.words) - 1 and tree.words[place] == ".")


def _dropping(tree: Tree, which: Callable[[int], bool]) -> Tree | None:
    dropped = {place for place in range(len(tree.words)) if which(place)}
    return tree.without(dropped) if dropped else None


def joined(trees: Sequence[Tree]) -> Tree:
    """Several sentences as one text: ends of sentences must be kept in mind."""
    found = Tree([], [], [], [])
    for tree in trees:
        first = len(found.words)
        for column, own in zip(found[:3], tree[:3]):
            column.extend(own)
        found.heads.extend(first + head for head in tree.heads)
    return found

"""A caption's dependency tree: which tokens are objects, who takes part in what, what prepositions link."""

from __future__ import annotations

from collections.abc import Iterator

from vericap.graphs import english_compounds as compounds
from vericap.graphs import english_words as lexicon
from vericap.graphs.english_pronouns import antecedent
from vericap.graphs.english_repairs import repair
from vericap.graphs.english_talk import talk_of
from vericap.graphs.english_words import ADJECTIVE_TAGS, NOUN_TAGS, VERB_TAGS, noun_lemma, verb_lemma

MODIFIER = frozenset({"compound", "nmod", "amod", "npadvmod", "nummod", "quantmod"})
SUBJECT = frozenset({"nsubj", "nsubjpass"})
PREPOSITION = frozenset({"prep", "agent", "dative"})
RELATIVE = frozenset({"WDT", "WP", "WP$"})
LIVING = frozenset({"person", "animal"})
DEEPEST = 100  # words below each other; nobody writes so, but "coffee coffee coffee ..." is parsed so


class Tree:
    """One caption's tree with the names of its objects; with `talk`, talk about the picture names objects too."""

    def __init__(
        self, words: list[str], tags: list[str], deps: list[str], heads: list[int], *, talk: bool = False
    ) -> None:
        self.compounds = compounds.find(words)  # last word -> name
        repair(words, tags, deps, heads, self.compounds)
        if len(words) > DEEPEST:
            _shallow(heads)
        self.words, self.tags, self.deps, self.heads = words, tags, deps, heads
        self.kids: list[list[int]] = [[] for _ in words]
        for token, head in enumerate(heads):
            if head != token:
                self.kids[head].append(token)
        self.negative = not lexicon.NEGATIONS.isdisjoint(words)
        self.names: list[str] = [""] * len(words)  # of tokens that are objects
        self.quantified: dict[int, int] = {}  # "couple" -> "kids" in "a couple of kids"
        self._subjects: dict[int, list[str]] = {}
        self.about: set[int] = set() if talk else talk_of(self)
        for token, tag in enumerate(tags):
            if tag in NOUN_TAGS or (tag in ADJECTIVE_TAGS and deps[token] in ("pobj", "dobj")):
                self._name(token, tag)

    # ---- which tokens are objects -------------------------------------------------------------------------

    def _name(self, token: int, tag: str) -> None:
        deps, words = self.deps, self.words
        if deps[token] in MODIFIER and not (deps[token] == "npadvmod" and self._is_place(token)):
            return
        word = words[token]
        if len(word) < 2 or not word[0].isalnum() or token + 1 in self.compounds:
            return
        if token in self.about:
            self._shown_by(token)
            return
        if word == "place" and words[token - 1] in ("take", "takes", "taking", "took"):
            return
        if tag in ADJECTIVE_TAGS and word in ("other", "such", "same"):
            return
        if word in lexicon.QUANTITIES:
            whole = self.of_what(token)
            if whole >= 0:
                self.quantified[token] = whole
                return
        if self._inside_preposition(token) or (self.negative and self.denied(token)):
            return
        if word == "close" and words[token + 1 : token + 2] == ["up"]:
            word = "close-up"
        self.names[token] = self.compounds.get(token) or self._singular(token, word, tag)

    def _shown_by(self, picture: int) -> None:
        """ "a picture of a dog" stands for the dog."""
        whole = self.of_what(picture)
        if whole < 0:
            up = [kid for kid in self.kids[picture] if self.words[kid] == "up"]  # "a close up of"
            whole = self.of_what(up[0]) if up else -1
        if whole >= 0 and self.deps[picture] not in ("pobj", "dobj"):
            self.quantified[picture] = whole

    def _singular(self, token: int, word: str, tag: str) -> str:
        if word == "glasses" and self._worn(token):
            return "glasses"
        return noun_lemma(word, tag)

    def _worn(self, token: int) -> bool:
        """Glasses on somebody's nose, not on a table: "wearing glasses", "a man with glasses", "his glasses"."""
        head = self.heads[token]
        if self.deps[token] == "conj":
            return self._worn(head) if head != token else False
        if self.deps[token] == "dobj" and verb_lemma(self.words[head], self.tags[head]) in ("wear", "adjust", "have"):
            return self.of_what(token) < 0
        if any(self.deps[kid] == "poss" or self.words[kid] in lexicon.WORN for kid in self.kids[token]):
            return True
        if self.deps[token] == "pobj" and self.words[head] in ("with", "in") and self.of_what(token) < 0:
            holder = self.heads[head]
            return lexicon.kind(noun_lemma(self.words[holder], self.tags[holder])) == "person"
        return self.words[token - 2 : token] == ["pair", "of"]

    def _is_place(self, token: int) -> bool:
        """An adverbial noun that is a thing after all: not "one day", "five feet tall"."""
        lemma = noun_lemma(self.words[token], self.tags[token])
        return self.tags[self.heads[token]] in VERB_TAGS and not lexicon.is_measure(lemma)

    def of_what(self, token: int) -> int:
        """The noun after "of"; -1 if there is none."""
        for prep in self.kids[token]:
            if self.words[prep] == "of" and self.deps[prep] == "prep":
                for noun in self.kids[prep]:
                    if self.deps[noun] == "pobj":
                        return noun
        return -1

    def _inside_preposition(self, token: int) -> bool:
        """ "front" of "in front of" and "bottom" of "at the bottom of the hill" are no objects."""
        head = self.heads[token]
        if self.deps[token] == "pobj" and self.words[token] in lexicon.SIDES and self.words[head] in lexicon.SIDED:
            return self.of_what(token) >= 0
        if (self.words[head], self.words[token]) not in lexicon.COMPOUND_PREPOSITIONS:
            return False
        return self.deps[token] == "pobj" and not any(self.deps[kid] == "det" for kid in self.kids[token])

    def denied(self, token: int) -> bool:
        """Said not to be there: "no people", "without a shirt", "is not wearing a hat"."""
        for kid in self.kids[token]:
            if self.deps[kid] == "neg" or (self.deps[kid] == "det" and self.words[kid] in ("no", "neither")):
                return True
        head, dep = self.heads[token], self.deps[token]
        if head == token or dep in SUBJECT:
            return self.words[token] in ("nobody", "none", "nothing", "noone")
        if dep == "pobj":
            if self.words[head] == "without":
                return True
            governor = self.heads[head]
            return governor != head and self.tags[governor] in VERB_TAGS and self._negated(governor)
        if dep == "conj" and self.tags[head] in NOUN_TAGS:  # "no people or cars", but "no people and a table"
            return self.denied(head) and not any(self.deps[kid] == "det" for kid in self.kids[token])
        return dep in ("dobj", "attr") and self._negated(head)

    def _negated(self, verb: int) -> bool:
        return self.negative and any(self.deps[kid] == "neg" for kid in self.kids[verb])

    # ---- participants -------------------------------------------------------------------------------------

    def entities(self, token: int, *, apart_from: int = -1, until: int = 1 << 30) -> list[str]:
        """Names of the objects a token stands for, with those coordinated to it before `until`."""
        if token in self.quantified:
            found = self.entities(self.quantified[token])
        elif self.names[token]:
            found = [self.names[token]]
        else:
            found = self._stands_for(token, apart_from)
        for kid in self.kids[token]:
            if self.deps[kid] == "conj" and kid < until and (self.names[kid] or kid in self.quantified):
                found = found + self.entities(kid, until=until)
        return found

    def _stands_for(self, token: int, apart_from: int) -> list[str]:
        tag = self.tags[token]
        if tag in ("PRP", "PRP$"):
            place = antecedent(self, token, apart_from)
            found = self._chain(place) if place >= 0 else []
            return [name for name in found if name not in self._doers(apart_from)]  # nothing is on itself
        if tag in RELATIVE:
            return self._relative(token)
        if tag == "CD" or self.words[token] in ("one", "each", "some", "all", "both", "most", "many", "several"):
            whole = self.of_what(token)  # "two of the dogs"
            return self.entities(whole) if whole >= 0 else []
        return []

    def _doers(self, token: int) -> list[str]:
        """Names that a pronoun in a verb's or noun's phrase cannot stand for."""
        if token < 0:
            return []
        return self.subjects(token) if self.tags[token] in VERB_TAGS else [self.names[token]]

    def _relative(self, token: int) -> list[str]:
        """What "who", "that", "which" point back to: the noun their clause hangs on."""
        while self.heads[token] != token:
            if self.deps[token] == "relcl":
                return self._holder(token)
            token = self.heads[token]
        return []

    def _chain(self, token: int, until: int = 1 << 30) -> list[str]:
        """A noun with the nouns it is coordinated with, from the first one on."""
        while self.deps[token] == "conj" and self.names[self.heads[token]]:
            token = self.heads[token]
        return self.entities(token, until=until)

    def _holder(self, verb: int) -> list[str]:
        """The noun a participle or relative clause says something of."""
        noun = self.heads[verb]
        noun = self.quantified.get(noun, noun)
        if self.deps[verb] == "acl" and self.tags[verb] == "VBG" and self.names[noun]:
            actor = self._actor(noun, verb)
            if actor is not None:
                return actor
        if self.deps[noun] == "conj":
            return self._chain(noun, verb) if self._is_shared(noun, verb) else self.entities(noun, until=verb)
        return self.entities(noun, until=verb)

    def _is_shared(self, noun: int, verb: int) -> bool:
        """Whether a clause after the last of several nouns is said of all: "a man and a woman standing", but not
        "a plate and a cup filled with tea", "a dog and a man wearing a hat"."""
        first = noun
        while self.deps[first] == "conj" and self.names[self.heads[first]]:
            first = self.heads[first]
        if self.kids[verb] and self.words[self.kids[verb][0]] in ("is", "has", "was"):
            return False
        lemma = verb_lemma(self.words[verb], self.tags[verb])
        kinds = {lexicon.kind(self.names[noun]), lexicon.kind(self.names[first])}
        if self.tags[verb] == "VBN" or "thing" in kinds or "vehicle" in kinds:
            return len(kinds) == 1 and lemma in lexicon.SHARED_STATES
        return len(kinds) == 1 or lemma in lexicon.SHARED_DOINGS

    def _actor(self, noun: int, verb: int) -> list[str] | None:
        """The living being nearby that acts, where the tree has an -ing clause hang on a place or garment."""
        if lexicon.kind(self.names[noun]) != "thing" or self.deps[noun] not in ("pobj", "dobj", "conj"):
            return None
        while self.deps[noun] == "conj":
            noun = self.heads[noun]
        head = self.heads[noun]
        if self.deps[noun] == "pobj":
            if self.words[head] in ("of", "like", "at", "showing") or self.deps[head] not in PREPOSITION:
                return None
            carried = self.words[head] == "with"  # "sits with light coming in": the light comes
            head = self.heads[head]
            if carried and self.tags[head] in VERB_TAGS:
                return None
        if self.tags[head] in VERB_TAGS and (self.deps[noun] == "pobj" or self.names[noun] in lexicon.SPENT):
            found = self.subjects(head)
        elif self.names[head] or head in self.quantified:
            found = self.entities(head, until=verb)
        else:
            return None
        living = bool(found) and lexicon.kind(found[0]) in LIVING
        return found if living else None

    def subjects(self, verb: int) -> list[str]:
        """Who or what does the verb (or undergoes it, in the passive)."""
        if verb not in self._subjects:
            self._subjects[verb] = []  # a verb that is its own subject's verb ends here
            self._subjects[verb] = self._find_subjects(verb)
        return self._subjects[verb]

    def _find_subjects(self, verb: int) -> list[str]:
        deps = self.deps
        existential = False
        for kid in self.kids[verb]:
            if deps[kid] in SUBJECT:
                return self.entities(kid, apart_from=verb)
            existential |= deps[kid] == "expl"
        if existential:
            return [name for kid in self.kids[verb] if deps[kid] == "attr" for name in self.entities(kid)]
        head, dep = self.heads[verb], deps[verb]
        if dep in ("acl", "relcl"):
            return self._holder(verb)
        if dep == "pcomp":  # "after jumping": who the preposition's phrase is about
            governor = self.heads[head]
            return self.subjects(governor) if self.tags[governor] in VERB_TAGS else self.entities(governor)
        if dep in ("xcomp", "ccomp"):
            given = [kid for kid in self.kids[head] if deps[kid] == "dobj"]
            if given and self.tags[verb] in ("VB", "VBG") and self.tags[head] in VERB_TAGS:
                return self.entities(given[0])
        if head != verb and self.tags[head] in VERB_TAGS:
            shown = self.shown(head) if dep == "advcl" and verb > head else []
            return self._acting(shown, head, verb) if shown else self.subjects(head)
        if dep in ("advcl", "conj", "xcomp", "dep", "oprd") and head != verb:
            return self.subjects(head) if self.deps[head] == "acomp" else self._chain_or_none(head)
        return []

    def _acting(self, shown: list[str], head: int, verb: int) -> list[str]:
        """ "features a room with a dog on a chair, looking out": the dog looks."""
        if any(lexicon.kind(name) in LIVING for name in shown):
            return shown
        names = (self.names[place] for place in range(verb - 1, head, -1))
        living = next((name for name in names if name and lexicon.kind(name) in LIVING), "")
        return [living] if living else shown

    def shown(self, verb: int) -> list[str]:
        """What "the image features" features: later phrases are about that, not about the image."""
        if verb_lemma(self.words[verb], self.tags[verb]) not in lexicon.DEPICTING:
            return []
        talking = any(kid in self.about and self.deps[kid] in SUBJECT for kid in self.kids[verb])
        if not talking and lexicon.DEPICTIONS.isdisjoint(self.subjects(verb)):
            return []
        return [name for kid in self.kids[verb] if self.deps[kid] == "dobj" for name in self.entities(kid)]

    def _chain_or_none(self, token: int) -> list[str]:
        if self.deps[token] in ("acomp", "advmod") and self.tags[self.heads[token]] in VERB_TAGS:
            return self.subjects(self.heads[token])
        return self._chain(token) if self.names[token] else []

    # ---- prepositions -------------------------------------------------------------------------------------

    def links(self, token: int) -> Iterator[tuple[str, list[str]]]:
        """(preposition, objects) of every prepositional phrase that hangs on a noun, verb or adjective."""
        for kid in self.kids[token]:
            dep = self.deps[kid]
            if dep in PREPOSITION:
                if dep != "dative" or self.tags[kid] in ("IN", "TO", "RP"):
                    yield from self._phrase(kid, token)
            elif dep in ("advmod", "prt", "acomp", "nmod", "amod") and self.kids[kid]:
                yield from self._chained(kid, token)

    def _chained(self, adverb: int, governor: int) -> Iterator[tuple[str, list[str]]]:
        """ "next to", "out of", "away from": an adverb with a preposition."""
        word = self.words[adverb]
        if word not in lexicon.CHAINING and word not in lexicon.SILENT_CHAIN:
            return
        for kid in self.kids[adverb]:
            if self.deps[kid] == "prep":
                for name, targets in self._phrase(kid, governor):
                    silent = word in lexicon.SILENT_CHAIN or self.deps[adverb] == "prt"
                    yield (name if silent else f"{word} {name}"), targets

    def _phrase(self, prep: int, governor: int) -> Iterator[tuple[str, list[str]]]:
        word, deps = self.words[prep], self.deps
        if word == "without":
            return
        stranded = True
        for kid in self.kids[prep]:
            dep = deps[kid]
            if dep == "pobj":
                stranded = False
                yield from self._object_of(prep, kid, governor)
            elif dep == "prep":  # "out of", "from behind", "next to" where "next" is the preposition
                stranded = False
                for name, targets in self._phrase(kid, governor):
                    yield (f"{word} {name}" if kid == prep + 1 else name), targets
            elif dep == "conj" and deps[prep] in PREPOSITION and self.tags[kid] in ("IN", "TO", "RP"):
                yield from self._phrase(kid, governor)
            elif dep == "pcomp":
                stranded = False
                subjects = [own for own in self.kids[kid] if deps[own] in SUBJECT]
                if subjects:  # "with his legs raised"
                    yield word, self.entities(subjects[0])
        if stranded and deps[governor] == "relcl":  # "the bench he sits on"
            yield word, self._holder(governor)

    def _object_of(self, prep: int, noun: int, governor: int) -> Iterator[tuple[str, list[str]]]:
        word = self.words[prep]
        if not self.names[noun] and self._inside_preposition(noun):
            side = " ".join(self.words[kid] for kid in self.kids[noun] if self.deps[kid] == "amod")
            place = f"{word} {side} {self.words[noun]}" if side else f"{word} {self.words[noun]}"
            for kid in self.kids[noun]:
                if self.deps[kid] == "prep":
                    for name, targets in self._phrase(kid, governor):
                        yield (f"{place} {name}" if self.words[kid] == "of" else name), targets
            return
        yield word, self.entities(noun, apart_from=governor)


def _shallow(heads: list[int]) -> None:
    """Let words that lie deeper than DEEPEST begin trees of their own: trees are walked by recursion."""
    depth = [-1] * len(heads)
    for token in range(len(heads)):
        path = [token]
        while depth[path[-1]] < 0 and heads[path[-1]] != path[-1] and len(path) <= len(heads):
            path.append(heads[path[-1]])
        for own in reversed(path):
            if depth[own] < 0:
                depth[own] = 0 if heads[own] == own else depth[heads[own]] + 1
                if depth[own] > DEEPEST:
                    heads[own], depth[own] = own, 0

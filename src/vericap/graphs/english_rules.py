"""Dependency trees of English captions -> scene-graph tuples.

The rules read plain lists (words in lower case, Penn tags, ClearNLP dependency labels as spaCy's English
pipelines give them, head positions), so they know nothing of spaCy and run on any parser with these labels.
"""

from __future__ import annotations

from collections.abc import Iterator

from vericap.graphs import english_words as lexicon
from vericap.graphs.english_pronouns import antecedent
from vericap.graphs.english_repairs import repair
from vericap.graphs.english_words import ADJECTIVE_TAGS, NOUN_TAGS, VERB_TAGS, noun_lemma, verb_lemma

_MODIFIER = frozenset({"compound", "nmod", "amod", "npadvmod", "nummod", "quantmod"})
_SUBJECT = frozenset({"nsubj", "nsubjpass"})
_PREPOSITION = frozenset({"prep", "agent", "dative"})
_NO_CLAIM_VERBS = frozenset({"be", "have", "do"})
_RELATIVE = frozenset({"WDT", "WP", "WP$"})


class Rules:
    """One caption's tree, and the tuples it claims."""

    def __init__(self, words: list[str], tags: list[str], deps: list[str], heads: list[int]) -> None:
        repair(words, tags, deps, heads)
        self.words, self.tags, self.deps, self.heads = words, tags, deps, heads
        self.kids: list[list[int]] = [[] for _ in words]
        for token, head in enumerate(heads):
            if head != token:
                self.kids[head].append(token)
        self.negative = not lexicon.NEGATIONS.isdisjoint(words)
        self.names: list[str] = [""] * len(words)  # of tokens that are objects
        self.quantified: dict[int, int] = {}  # "couple" -> "kids" in "a couple of kids"
        self._subjects: dict[int, list[str]] = {}
        self.found: dict[tuple[str, ...], None] = {}
        self.actions: dict[tuple[str, str], None] = {}

    def tuples(self) -> dict[tuple[str, ...], None]:
        """All tuples, objects first."""
        tags = self.tags
        for token, tag in enumerate(tags):
            if tag in NOUN_TAGS or (tag in ADJECTIVE_TAGS and self.deps[token] in ("pobj", "dobj")):
                self._name(token, tag)
        for token, name in enumerate(self.names):
            if name:
                self.found[(name,)] = None
        for token, tag in enumerate(tags):
            if self.names[token]:
                self._noun(token)
            elif tag in VERB_TAGS and self.deps[token] not in ("aux", "auxpass", "amod", "compound"):
                self._verb(token)
        return self.found

    # ---- which tokens are objects -------------------------------------------------------------------------

    def _name(self, token: int, tag: str) -> None:
        deps, words = self.deps, self.words
        if deps[token] in _MODIFIER and not (deps[token] == "npadvmod" and self._is_place(token)):
            return
        word = words[token]
        if tag in ADJECTIVE_TAGS and word in ("other", "such", "same"):
            return
        if word in lexicon.QUANTITIES:
            whole = self._of_what(token)
            if whole >= 0:
                self.quantified[token] = whole
                return
        if self._inside_preposition(token) or (self.negative and self.denied(token)):
            return
        self.names[token] = noun_lemma(word, tag)

    def _is_place(self, token: int) -> bool:
        """An adverbial noun that is a thing after all: "walking a dog", never "one day", "five feet tall"."""
        return (
            self.tags[self.heads[token]] in VERB_TAGS
            and lexicon.kind(noun_lemma(self.words[token], self.tags[token])) != "thing"
        )

    def _of_what(self, token: int) -> int:
        """The noun after "of"; -1 if there is none."""
        for prep in self.kids[token]:
            if self.words[prep] == "of" and self.deps[prep] == "prep":
                for noun in self.kids[prep]:
                    if self.deps[noun] == "pobj":
                        return noun
        return -1

    def _inside_preposition(self, token: int) -> bool:
        """ "front" of "in front of" is no object."""
        head = self.heads[token]
        if (self.words[head], self.words[token]) not in lexicon.COMPOUND_PREPOSITIONS:
            return False
        return self.deps[token] == "pobj" and not any(self.deps[kid] == "det" for kid in self.kids[token])

    def denied(self, token: int) -> bool:
        """Said not to be there: "no people", "without a shirt", "is not wearing a hat"."""
        for kid in self.kids[token]:
            if self.deps[kid] == "neg" or (self.deps[kid] == "det" and self.words[kid] in ("no", "neither")):
                return True
        head, dep = self.heads[token], self.deps[token]
        if head == token or dep in _SUBJECT:
            return self.words[token] in ("nobody", "none", "nothing", "noone")
        if dep == "pobj":
            if self.words[head] == "without":
                return True
            governor = self.heads[head]
            return governor != head and self.tags[governor] in VERB_TAGS and self._negated(governor)
        if dep == "conj" and self.tags[head] in NOUN_TAGS:
            return self.denied(head)
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
            return self._chain(place) if place >= 0 else []
        if tag in _RELATIVE:
            return self._relative(token)
        if tag == "CD" or self.words[token] in ("one", "each", "some", "all", "both", "most", "many", "several"):
            whole = self._of_what(token)  # "two of the dogs"
            return self.entities(whole) if whole >= 0 else []
        return []

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
        if self.deps[noun] == "conj":  # "a man and a woman standing ...": both
            plural = self.words[self.kids[verb][0]] in ("is", "has", "was") if self.kids[verb] else False
            return self.entities(noun, until=verb) if plural else self._chain(noun, verb)
        return self.entities(noun, until=verb)

    def _actor(self, noun: int, verb: int) -> list[str] | None:
        """The living being nearby that acts, where the tree has an -ing clause hang on a place or garment."""
        if lexicon.kind(self.names[noun]) != "thing" or self.deps[noun] not in ("pobj", "dobj", "conj"):
            return None
        while self.deps[noun] == "conj":
            noun = self.heads[noun]
        head = self.heads[noun]
        if self.deps[noun] == "pobj":
            if self.words[head] in ("of", "like", "at", "showing") or self.deps[head] not in _PREPOSITION:
                return None
            head = self.heads[head]
        if self.tags[head] in VERB_TAGS and self.deps[noun] == "pobj":
            found = self.subjects(head)
        elif self.names[head] or head in self.quantified:
            found = self.entities(head, until=verb)
        else:
            return None
        living = bool(found) and lexicon.kind(found[0]) in ("person", "animal")
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
            if deps[kid] in _SUBJECT:
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
            return shown or self.subjects(head)
        if dep in ("advcl", "conj", "xcomp", "dep", "oprd") and head != verb:
            return self.subjects(head) if self.deps[head] == "acomp" else self._chain_or_none(head)
        return []

    def shown(self, verb: int) -> list[str]:
        """What "the image features" features: later phrases are about that, not about the image."""
        if verb_lemma(self.words[verb], self.tags[verb]) not in lexicon.DEPICTING:
            return []
        if lexicon.DEPICTIONS.isdisjoint(self.subjects(verb)):
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
            if dep in _PREPOSITION:
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
                    yield f"{word} {name}", targets
            elif dep == "conj" and deps[prep] in _PREPOSITION and self.tags[kid] in ("IN", "TO", "RP"):
                yield from self._phrase(kid, governor)
            elif dep == "pcomp":
                stranded = False
                subjects = [own for own in self.kids[kid] if deps[own] in _SUBJECT]
                if subjects:  # "with his legs raised"
                    yield word, self.entities(subjects[0])
        if stranded and deps[governor] == "relcl":  # "the bench he sits on"
            yield word, self._holder(governor)

    def _object_of(self, prep: int, noun: int, governor: int) -> Iterator[tuple[str, list[str]]]:
        word = self.words[prep]
        if (word, self.words[noun]) in lexicon.COMPOUND_PREPOSITIONS and not self.names[noun]:
            for kid in self.kids[noun]:
                if self.deps[kid] == "prep":
                    for name, targets in self._phrase(kid, governor):
                        yield f"{word} {self.words[noun]} {name}", targets
            return
        yield word, self.entities(noun, apart_from=governor)

    # ---- what nouns and verbs claim -----------------------------------------------------------------------

    def _noun(self, token: int) -> None:
        name = self.names[token]
        if self.kids[token]:
            self._modifiers(token, token, name)
            for preposition, targets in self.links(token):
                self._relate([name], preposition, targets)
        for quantity, whole in self.quantified.items():
            if whole == token:
                self.found[(name, self.words[quantity])] = None
                self._modifiers(quantity, quantity, name)
                for preposition, targets in self.links(quantity):
                    if preposition != "of":
                        self._relate([name], preposition, targets)

    def _modifiers(self, token: int, noun: int, name: str) -> None:
        """Adjectives, participles, noun modifiers, numbers, owners of a noun."""
        for kid in self.kids[token]:
            dep, word = self.deps[kid], self.words[kid]
            if dep in ("amod", "compound", "nmod", "npadvmod", "advmod"):
                self._attribute(kid, noun, name, dep)
            elif dep == "nummod":
                if kid < noun and (word not in ("one", "1") or self.tags[noun] in ("NNS", "NNPS")):
                    self.found[(name, word)] = None
            elif dep == "poss":
                self._relate(self.entities(kid, apart_from=noun), "have", [name])
            elif dep == "conj" and token != noun and self.deps[token] in ("amod", "compound", "nmod"):
                self._attribute(kid, noun, name, "amod")

    def _attribute(self, token: int, noun: int, name: str, dep: str) -> None:
        word, tag = self.words[token], self.tags[token]
        if tag in VERB_TAGS:
            word = lexicon.participle(word, tag)
        elif tag in NOUN_TAGS:
            word = noun_lemma(word, tag)
        elif tag == "CD":
            pass
        elif tag not in ADJECTIVE_TAGS:  # adverbs, determiners, foreign words
            word = ""
        if word and word not in lexicon.NO_ATTRIBUTE and word[0].isalnum():
            if token < noun or tag in ADJECTIVE_TAGS or (tag in VERB_TAGS and dep == "amod"):
                self.found[(name, word)] = None
            if token > noun and tag in ADJECTIVE_TAGS:  # "a plate full of snacks"
                for preposition, targets in self.links(token):
                    self._relate([name], f"{word} {preposition}", targets)
            if self.kids[token]:
                self._modifiers(token, noun, name)

    def _relate(self, subjects: list[str], relation: str, targets: list[str]) -> bool:
        for subject in subjects:
            for target in targets:
                self.found[(subject, relation, target)] = None
        return bool(subjects and targets)

    def _verb(self, verb: int) -> None:
        if self._negated(verb):
            return
        lemma = verb_lemma(self.words[verb], self.tags[verb])
        subjects = self.subjects(verb)
        if lemma == "be":
            self._copula(verb, subjects)
        else:
            self._action(verb, lemma, subjects)

    def _copula(self, verb: int, subjects: list[str]) -> None:
        existential = any(self.deps[kid] == "expl" for kid in self.kids[verb])
        for kid in self.kids[verb]:
            dep = self.deps[kid]
            if dep in ("acomp", "oprd"):
                self._predicate(kid, subjects)
            elif dep == "attr" and not existential and self.names[kid]:
                for subject in subjects:
                    if subject != self.names[kid]:
                        self.found[(subject, self.names[kid])] = None
        for preposition, targets in self.links(verb):
            self._relate(subjects, preposition, targets)

    def _predicate(self, token: int, subjects: list[str]) -> None:
        """An adjective said of the subject: "is brown", "looks full of people"."""
        word, tag = self.words[token], self.tags[token]
        if tag in VERB_TAGS:
            word = verb_lemma(word, tag)
        elif tag in NOUN_TAGS:
            word = noun_lemma(word, tag)
        elif tag not in ADJECTIVE_TAGS:
            return
        related = False
        for preposition, targets in self.links(token):
            related |= self._relate(subjects, f"{word} {preposition}", targets)
        if not related and word not in lexicon.NO_ATTRIBUTE:
            for subject in subjects:
                self.found[(subject, word)] = None
        for kid in self.kids[token]:
            if self.deps[kid] == "conj":
                self._predicate(kid, subjects)

    def _action(self, verb: int, lemma: str, subjects: list[str]) -> None:
        deps, kids = self.deps, self.kids[verb]
        passive = self._is_passive(verb)
        name = lemma
        for kid in kids:
            if deps[kid] == "prt":
                name = f"{lemma} {self.words[kid]}"
        said = False
        opens = False  # another verb says what it is about
        for kid in kids:
            dep = deps[kid]
            if dep in ("dobj", "dative") and self.tags[kid] not in ("IN", "TO"):
                said |= self._relate(subjects, name, self.entities(kid, apart_from=verb))
            elif dep in ("acomp", "oprd") and self.tags[kid] != "RB":
                self._predicate(kid, subjects)
                said |= dep == "acomp"
            elif dep in ("xcomp", "ccomp"):
                opens = True
                if dep == "ccomp" and self.tags[kid] in ("VB", "VBG", "VBN"):  # "watching a dog run"
                    for own in self.kids[kid]:
                        if deps[own] in _SUBJECT:
                            said |= self._relate(subjects, name, self.entities(own))
        if deps[verb] == "relcl" and not said and not passive:
            said = self._gap(verb, name, subjects)
        for kid in kids:
            if deps[kid] == "agent":
                said |= self._agent(verb, kid, lemma, subjects)
        shown = self.shown(verb) if lemma in lexicon.DEPICTING else []
        for preposition, targets in self.links(verb):
            if shown:  # "shows a man on a horse": the man is on it, not the picture
                self._relate(shown, preposition, targets)
            elif not (passive and preposition == "by" and said):
                if self._relate(subjects, f"{name} {preposition}", targets):
                    said = True
                    self.actions.update(((subject, lemma), None) for subject in subjects)
        if not said and lemma not in _NO_CLAIM_VERBS and not (opens and lemma in lexicon.RAISING):
            for subject in subjects:
                self.found[(subject, lemma)] = None

    def _is_passive(self, verb: int) -> bool:
        return self.tags[verb] == "VBN" and not any(
            self.deps[kid] == "aux" and self.words[kid] in ("has", "have", "had") for kid in self.kids[verb]
        )

    def _agent(self, verb: int, by: int, lemma: str, subjects: list[str]) -> bool:
        """ "is chased by a dog" is turned round; "surrounded by trees" stays as it is said."""
        doers = [name for kid in self.kids[by] if self.deps[kid] == "pobj" for name in self.entities(kid)]
        if any(self.deps[kid] == "nsubjpass" for kid in self.kids[verb]):
            return self._relate(doers, lemma, subjects)
        return self._relate(subjects, f"{lemma} by", doers)

    def _gap(self, verb: int, name: str, subjects: list[str]) -> bool:
        """ "the bike a man is riding": the clause's own noun is the object."""
        own = [kid for kid in self.kids[verb] if self.deps[kid] in _SUBJECT]
        if not own or self.tags[own[0]] in _RELATIVE:
            return False
        if any(self.deps[kid] == "prep" for kid in self.kids[verb]):
            return False
        return self._relate(subjects, name, self.entities(self.heads[verb]))


def tuples(words: list[str], tags: list[str], deps: list[str], heads: list[int]) -> list[tuple[str, ...]]:
    """Scene-graph tuples of one parsed caption."""
    return list(Rules(words, tags, deps, heads).tuples())

"""Dependency trees of English captions -> scene-graph tuples.

The rules read plain lists (words in lower case, Penn tags, ClearNLP dependency labels as spaCy's English
pipelines give them, head positions), so they know nothing of spaCy and run on any parser with these labels.
"""

from __future__ import annotations

from vericap.graphs import english_words as lexicon
from vericap.graphs.english_talk import hushed
from vericap.graphs.english_tree import RELATIVE, SUBJECT, Tree
from vericap.graphs.english_words import ADJECTIVE_TAGS, NOUN_TAGS, VERB_TAGS, noun_lemma, verb_lemma

_NO_CLAIM_VERBS = frozenset({"be", "have", "do"})


class Rules(Tree):
    """One caption's tree, and the tuples it claims."""

    def __init__(
        self, words: list[str], tags: list[str], deps: list[str], heads: list[int], *, talk: bool = False
    ) -> None:
        super().__init__(words, tags, deps, heads, talk=talk)
        self.found: dict[tuple[str, ...], None] = {}
        self.actions: dict[tuple[str, str], None] = {}

    def tuples(self) -> dict[tuple[str, ...], None]:
        """All tuples, objects first."""
        self.found.update(((name,), None) for name in self.names if name)
        for token, tag in enumerate(self.tags):
            if self.names[token]:
                self._noun(token)
            elif tag in VERB_TAGS and self.deps[token] not in ("aux", "auxpass", "amod", "compound"):
                self._verb(token)
        return self.found

    def _noun(self, token: int) -> None:
        name = self.names[token]
        if self.kids[token]:
            self._modifiers(token, token, name)
            for preposition, targets in self.links(token):
                if name == "close-up":
                    preposition = preposition.removeprefix("up ")
                self._relate([name], preposition, targets)
        for quantity, whole in self.quantified.items():
            if whole == token:
                if quantity not in self.about:
                    self._quantity(quantity, name)
                for preposition, targets in self.links(quantity):
                    if preposition not in ("of", "up of"):
                        self._relate([name], preposition, targets)

    def _quantity(self, token: int, name: str) -> None:
        if self.words[token] not in lexicon.NO_QUANTITY:
            self.found[(name, self.words[token])] = None
        self._modifiers(token, token, name)

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
        if token + 1 in self.compounds or token in self.about:
            return
        if token in self.compounds:
            word = self.compounds[token]
        elif tag in VERB_TAGS:
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
                    self._relate([name], self._of_adjective(word, preposition), targets)
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
        if self.about and hushed(self, verb, lemma):
            return
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
        for preposition, targets in self.links(token):
            self._relate(subjects, self._of_adjective(word, preposition), targets)
        if word not in lexicon.NO_ATTRIBUTE:
            self.found.update(((subject, word), None) for subject in subjects)
        for kid in self.kids[token]:
            if self.deps[kid] == "conj" and self.tags[kid] not in VERB_TAGS:  # a verb speaks for itself
                self._predicate(kid, subjects)

    def _of_adjective(self, word: str, preposition: str) -> str:
        return f"{word} {preposition}" if preposition in lexicon.GOVERNED else preposition

    def _action(self, verb: int, lemma: str, subjects: list[str]) -> None:
        deps, kids = self.deps, self.kids[verb]
        passive = self._is_passive(verb)
        name = lemma
        for kid in kids:
            if deps[kid] == "prt":
                name = f"{lemma} {self.words[kid]}"
        prefix = lemma if any(deps[kid] == "dobj" for kid in kids) else name  # "ride down a street past cars"
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
                        if deps[own] in SUBJECT:
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
            elif passive and preposition == "by" and said:
                continue  # the agent, said already
            elif self._relate(subjects, f"{prefix} {preposition}", targets):
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
        own = [kid for kid in self.kids[verb] if self.deps[kid] in SUBJECT]
        if not own or self.tags[own[0]] in RELATIVE:
            return False
        if any(self.deps[kid] == "prep" for kid in self.kids[verb]):
            return False
        return self._relate(subjects, name, self.entities(self.heads[verb]))

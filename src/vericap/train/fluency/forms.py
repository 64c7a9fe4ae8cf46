"""Wrong forms of words: number, agreement, forms of verbs."""

from __future__ import annotations

from vericap.models.fluency import AGREEMENT
from vericap.models.fluency_words import begins_with_vowel
from vericap.text import wordnet
from vericap.train.fluency.maker import Made, Maker

_WORDS = {
    "plural": "two three four five six seven eight several many few both these those",
    # "a group of people is" and "are" are both said.
    "many in one": "group bunch couple pair lot lots number herd crowd team family variety flock row set some",
}
_PLURAL, _MANY_IN_ONE = (frozenset(_WORDS[name].split()) for name in ("plural", "many in one"))
_FLIPPED = {
    "is": "are", "are": "is", "was": "were", "were": "was", "has": "have", "have": "has", "this": "these",
    "these": "this", "that": "those", "those": "that", "a": "an", "an": "a", "does": "do", "do": "does",
}  # fmt: skip
_VERBS = frozenset(("is", "are", "was", "were", "has", "have"))
_IRREGULAR = {
    "man": "men", "woman": "women", "child": "children", "person": "people", "foot": "feet", "mouse": "mice",
    "goose": "geese", "tooth": "teeth", "knife": "knives", "leaf": "leaves", "shelf": "shelves", "wolf": "wolves",
}  # fmt: skip
_SINGULAR = {many: one for one, many in _IRREGULAR.items()}
_VOWELS = "aeiouy"
_SUBJECT = ("NN.", "NN|", "JJ", "NNS", "VBN")  # classes of words before a verb that belong to its subject


class Forms(Maker):
    """Errors that leave every word in its place."""

    def wrong_number(self, words: list[str]) -> Made | None:
        """ "a dogs", "two dog": the noun after an article or a number."""

        def counted(i: int) -> bool:
            before = words[max(i - 2, 0) : i]
            one = any(word in ("a", "an") for word in before) and self.name(words[i]) == "NN.c"
            many = any(word in _PLURAL for word in before) and self.name(words[i]) == "NNS"
            head = i + 1 == len(words) or self.own(words[i + 1]) or self.name(words[i + 1]).startswith("VBG")
            return (one or many) and head

        at = self.pick(words, counted)
        other = "" if at is None else self.other_number(words[at])
        if at is None or not other:
            return None
        return self.labelled([*words[:at], other, *words[at + 1 :]], at, AGREEMENT)

    def wrong_agreement(self, words: list[str]) -> Made | None:
        """ "the man are", "these dog", "a apple"."""

        articles = self.dice.random() < 0.4  # there are more of them than of verbs

        def flips(i: int) -> bool:
            if (words[i] in ("a", "an")) != articles:
                return False
            first = i == 0 and words[i] in ("is", "are", "do", "does")
            that = words[i] == "that" and not self.noun_after(words, i)
            article = words[i] in ("a", "an") and not self.certain_article(words, i)
            either = words[i] in _VERBS and bool(_MANY_IN_ONE & set(words[:i]))
            return words[i] in _FLIPPED and not (first or that or article or either)

        at = self.pick(words, flips)
        if at is None:
            return None
        if words[at] in ("have", "do", "does", "has") and self.dice.random() < 0.5:
            return None
        return self.labelled([*words[:at], _FLIPPED[words[at]], *words[at + 1 :]], at, AGREEMENT)

    def wrong_verb(self, words: list[str]) -> Made | None:
        """ "a man wear a hat", "two dogs runs", "a dog is run", "she want to eating"."""
        at = self.pick(words, lambda i: bool(self.wrong_forms(words, i)))
        if at is None:
            return None
        other = self.dice.choice(self.wrong_forms(words, at))
        return self.labelled([*words[:at], other, *words[at + 1 :]], at, AGREEMENT)

    def wrong_forms(self, words: list[str], i: int) -> list[str]:
        """Forms of a verb that cannot stand in its place; none where it is not sure."""
        before, name = words[i - 1] if i else "", self.name(words[i])
        if name.startswith("VBG") and before in ("is", "are", "was", "were"):
            return self.known([self.base(words[i]), self.third(self.base(words[i]))])
        if before == "to" and name.startswith("VB") and not name.startswith("VBN"):
            return self.known([self.third(words[i])])
        return self.known([self.disagreeing(words[:i], words[i], name.partition(".")[0])])

    def disagreeing(self, before: list[str], verb: str, name: str) -> str:
        """ "wear" for "a man wears", "wears" for "two men wear"; empty where all before is not plainly the subject."""
        subject, *rest = before or [""]
        if not all(self.name(word).startswith(_SUBJECT) for word in rest):
            return ""
        many = subject == "they" or (subject in _PLURAL and bool(rest) and self.name(rest[-1]) == "NNS")
        one = subject in ("he", "she", "it") or (subject in ("a", "an") and bool(rest) and self.is_noun(rest[-1]))
        if many and name in ("VB", "NN|VB"):
            return self.third(verb)
        return self.base(verb) if one and name in ("VBZ", "NNS|VBZ") else ""

    def base(self, verb: str) -> str:
        return next((form for form in wordnet.base_forms(verb, "v") if form != verb), "")

    def third(self, verb: str) -> str:
        found = self.with_s(verb) if verb else ""
        return found if "VBZ" in self.name(found) else ""

    def known(self, forms: list[str]) -> list[str]:
        names = {form: self.name(form) for form in forms if form}
        return [form for form, name in names.items() if "VB" in name and not name.endswith((".NN", ".NNS"))]

    # --- helpers ------------------------------------------------------------------------------------------------------

    def noun_after(self, words: list[str], i: int) -> bool:
        return i + 1 < len(words) and self.is_noun(words[i + 1])

    def certain_article(self, words: list[str], i: int) -> bool:
        after = words[i + 1] if i + 1 < len(words) else ""
        return after in self.lexicon.words and begins_with_vowel(after) == (words[i] == "an")

    def other_number(self, word: str) -> str:
        """The plural of a singular and the other way round; empty where it is not sure.

        A form that the lexicon does not know as such is not made.
        """
        irregular = _IRREGULAR.get(word) or _SINGULAR.get(word)
        if irregular:
            return irregular
        if self.name(word) == "NNS":
            forms = [word[: -len(e)] + new for e, new in (("ies", "y"), ("es", ""), ("s", "")) if word.endswith(e)]
            return next((form for form in forms if self.name(form).startswith("NN") and form != word), "")
        plural = self.with_s(word)
        return plural if self.name(plural).startswith("NNS") else ""

    def with_s(self, word: str) -> str:
        if word.endswith(("s", "x", "ch", "sh")):
            return word + "es"
        return word[:-1] + "ies" if word[-1] == "y" and word[-2:-1] not in _VOWELS else word + "s"

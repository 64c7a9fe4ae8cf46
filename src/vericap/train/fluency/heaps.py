"""Texts that are no sentence: lists, chains without end, hashtags, letters."""

from __future__ import annotations

from vericap.models.fluency import CUT, GOOD, LIST, UNKNOWN
from vericap.models.fluency_words import begins_with_vowel
from vericap.train.fluency.maker import INSERTED, NOT_TOLD, Made, Maker

_CONSONANTS, _VOWELS = "bcdfghjklmnpqrstvwxz", "aeiouy"
_PLACES = (
    "on", "in", "near", "with", "by", "behind", "under", "beside", "at", "above", "next to", "in front of",
    "on top of", "sitting on", "standing next to", "holding", "looking at", "that is near",
)  # fmt: skip
_SYMBOLS = tuple("|<>{}=\\^~*+_")
_NUMBERS, _MARKS = ("1", "2", "30", "4", "517"), (",", "-", ".", "/", "1")
CHAIN, LISTED, BARE_LISTED = 7, 9, 4  # links, things and things without "and" from which on people would have stopped


class Heaps(Maker):
    """Heaps of words."""

    def word_list(self, words: list[str]) -> Made | None:
        """Nouns of the sentence and others, with commas or without; "best quality, red car, sun"."""
        own = [word for word in words if self.is_noun(word) or self.name(word).startswith("JJ")]
        many = self.dice.randint(2, 10)
        items = (own + self.dice.choices(self.nouns, k=many))[:many]
        self.dice.shuffle(items)
        mark = self.dice.choice((",", "", "", "|", ";"))
        phrases = [self.phrase(item) if mark and self.dice.random() < 0.4 else [item] for item in items]
        made = [part for phrase in phrases for part in ((*phrase, mark) if mark else phrase)]
        made = made[:-1] if mark else made
        return Made(made, [NOT_TOLD] + [LIST] * (len(made) - 1) + [NOT_TOLD])

    def phrase(self, noun: str) -> list[str]:
        return [self.dice.choice(self.adjectives if self.dice.random() < 0.7 else self.nouns), noun]

    def thing(self) -> list[str]:
        """A noun with its article, some with an adjective."""
        noun = self.dice.choice(self.objects)
        made = [self.dice.choice(self.adjectives), noun] if self.dice.random() < 0.2 else [noun]
        if self.dice.random() < 0.2:
            return ["the", *made]
        return ["two", *made] if self.name(noun) == "NNS" else ["an" if begins_with_vowel(made[0]) else "a", *made]

    def chain(self, words: list[str]) -> Made | None:
        """ "a dog on a sofa next to a table near a cat ...": more places than anybody names in one breath."""
        made = self.thing()
        labels = [NOT_TOLD] * len(made)
        for link in range(self.dice.randint(CHAIN, 2 * CHAIN)):
            part = [*self.dice.choice(_PLACES).split(), *self.thing()]
            made += part
            labels += [NOT_TOLD if link < CHAIN - 1 else LIST] * len(part)
        return Made(made, [*labels, NOT_TOLD])

    def things(self, words: list[str]) -> Made | None:
        """ "a dog and a sofa and a table and ...", "a dog, a sofa, a table, a cat"."""
        link = self.dice.choice((",", "and", ", and"))
        most = LISTED if link == ", and" else BARE_LISTED
        many = self.dice.randint(most, most + 6)
        made = list(self.dice.choice(((), ("there", "is"), ("a", "room", "with"), ("this", "is"))))
        labels = [NOT_TOLD] * len(made)
        for place in range(many):
            last = place == many - 1 and link == ", and"
            part = ([",", "and"] if last else [link.partition(" ")[0]] if place else []) + self.thing()
            made += part
            labels += [NOT_TOLD if place < most - 1 else LIST] * len(part)
        return Made(made, [*labels, NOT_TOLD])

    def hashtags(self, words: list[str]) -> Made | None:
        said = [word for word in words if word.isalpha()] or ["dog"]
        tags = [f"#{word}" for word in self.dice.choices(said, k=self.dice.randint(2, 8))]
        lead = words if self.dice.random() < 0.3 else []
        return Made([*lead, *tags], [GOOD] * len(lead) + [LIST] * len(tags) + [NOT_TOLD])

    def symbols(self, words: list[str]) -> Made | None:
        """Signs of markup between the words."""
        made, labels = list(words), [GOOD] * len(words)
        for _ in range(self.dice.randint(2, 6)):
            at = self.dice.randint(0, len(made))
            made.insert(at, self.dice.choice(_SYMBOLS))
            labels.insert(at, LIST)
        return Made(made, [*labels, NOT_TOLD])

    def unknown_words(self, words: list[str]) -> Made | None:
        """Some words of a sentence become letters: at least two, and a third of them."""
        least = max(2, len(words) // 3)
        if len(words) < least:
            return None
        places = set(self.dice.sample(range(len(words)), self.dice.randint(least, max(least, len(words) * 2 // 3))))
        made = [self.letters() if i in places else word for i, word in enumerate(words)]
        return Made(made, [*(UNKNOWN if i in places else NOT_TOLD for i in range(len(made))), NOT_TOLD])

    def gibberish(self, words: list[str]) -> Made | None:
        """Letters, with a few words that other languages share with English between them."""
        many = self.dice.randint(1, 12)
        made = [self.dice.choice(words) if self.dice.random() < 0.15 else self.letters() for _ in range(many)]
        return Made(made, [*(NOT_TOLD if word in self.lexicon.words else UNKNOWN for word in made), NOT_TOLD])

    def function_words(self, words: list[str]) -> Made | None:
        """ "a", "the of", "in a the", "1 2 3", ", - ,": words that need others."""
        pool = self.dice.choice((INSERTED, INSERTED, INSERTED, _NUMBERS, _MARKS))
        made = self.dice.choices(pool, k=self.dice.choice((1, 1, 2, 3, 4, 6)))
        return Made(made, [NOT_TOLD] * len(made) + [CUT])

    def random_words(self, words: list[str]) -> Made | None:
        """Words of every kind in a heap."""
        pools = (self.closed, self.closed, self.everything, self.everything, self.everything)
        made = [self.dice.choice(self.dice.choice(pools)) for _ in range(self.dice.randint(3, 14))]
        return Made(made, [NOT_TOLD] * (len(made) + 1))

    def one_word(self, words: list[str]) -> Made | None:
        """ "dogs": a label, no caption."""
        if len(words) < 2:
            return None
        return Made([self.dice.choice((self.dice.choice(words), self.dice.choice(self.nouns)))], [NOT_TOLD, CUT])

    def letters(self) -> str:
        syllables = ["".join((self.dice.choice(_CONSONANTS), self.dice.choice(_VOWELS))) for _ in range(3)]
        word = "".join(syllables)[: self.dice.randint(2, 6)] + self.dice.choice((*_CONSONANTS, "", "", "qz", "rf"))
        return word if word not in self.lexicon.words else "xqz"

"""Errors that machines make, made from good sentences: each with the tokens that are wrong and the kind of error.

Only errors that leave a wrong sentence are made: of "a dog sitting on a bench" the participle is never dropped, since
"a dog on a bench" is good English.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from vericap.models.fluency import CUT, GOOD, MISSING, ORDER, REPEATED
from vericap.models.fluency_words import Lexicon
from vericap.train.fluency.forms import Forms
from vericap.train.fluency.heaps import Heaps
from vericap.train.fluency.maker import DETERMINERS, INSERTED, NOT_TOLD, PREPOSITIONS, Made

_OPEN = "a an the their my your our every of with at from into onto in on by and or is are while has very"
_OPEN_END = frozenset(_OPEN.split())


class Errors(Forms, Heaps):
    """Makes errors of every kind."""

    def __init__(self, lexicon: Lexicon, nouns: Sequence[str], dice: random.Random) -> None:
        super().__init__(lexicon, nouns, dice)
        self.kinds: dict[str, Callable[[list[str]], Made | None]] = {
            "scrambled": self.scrambled,
            "scrambled part": self.scrambled_part,
            "swapped words": self.swapped,
            "neighbours": self.neighbours,
            "moved word": self.moved,
            "inserted word": self.inserted,
            "doubled word": self.doubled,
            "repeated phrase": self.repeated,
            "looped": self.looped,
            "dropped article": self.no_article,
            "dropped articles": self.no_articles,
            "dropped noun": self.no_noun,
            "dropped verb": self.no_verb,
            "dropped preposition": self.no_preposition,
            "dropped word": self.no_word,
            "cut off": self.cut,
            "wrong number": self.wrong_number,
            "wrong agreement": self.wrong_agreement,
            "wrong verb": self.wrong_verb,
            "word list": self.word_list,
            "list of things": self.things,
            "chain": self.chain,
            "hashtags": self.hashtags,
            "symbols": self.symbols,
            "unknown words": self.unknown_words,
            "gibberish": self.gibberish,
            "function words": self.function_words,
            "one word": self.one_word,
            "random words": self.random_words,
        }

    # --- order ----------------------------------------------------------------------------------------------------

    def scrambled(self, words: list[str]) -> Made | None:
        if len(words) < 4:
            return None
        made = self.dice.sample(words, len(words))
        return Made(made, [NOT_TOLD] * (len(made) + 1)) if self.differs(made, words) else None

    def scrambled_part(self, words: list[str]) -> Made | None:
        size = min(len(words), self.dice.randint(3, 6))
        if size < 3:
            return None
        at = self.dice.randrange(len(words) - size + 1)
        part = self.dice.sample(words[at : at + size], size)
        made = [*words[:at], *part, *words[at + size :]]
        labels = [GOOD] * at + [NOT_TOLD] * (len(words) + 1 - at)
        return Made(made, labels) if self.differs(made, words) else None

    def swapped(self, words: list[str]) -> Made | None:
        """Two neighbours, one of them a function word: "a dog a on sofa"."""
        at = self.pick(words, lambda i: i + 1 < len(words) and self.own(words[i]) != self.own(words[i + 1]))
        if at is None or "and" in words[at : at + 2]:
            return None
        made = [*words[:at], words[at + 1], words[at], *words[at + 2 :]]
        labels = [GOOD] * (len(words) + 1)
        labels[at] = ORDER
        labels[at + 1 : at + 3] = [NOT_TOLD] * len(labels[at + 1 : at + 3])
        return Made(made, labels) if self.differs(made, words) else None

    def neighbours(self, words: list[str]) -> Made | None:
        """Any two neighbours: "a man young on a sofa"."""
        if len(words) < 3:
            return None
        at = self.dice.randrange(len(words) - 1)
        made = [*words[:at], words[at + 1], words[at], *words[at + 2 :]]
        return Made(made, [NOT_TOLD] * (len(made) + 1)) if self.differs(made, words) else None

    def moved(self, words: list[str]) -> Made | None:
        at = self.pick(words, lambda i: words[i] in DETERMINERS | PREPOSITIONS)
        if at is None or len(words) < 5:
            return None
        rest = words[:at] + words[at + 1 :]
        to = self.dice.choice([i for i in range(len(words)) if abs(i - at) > 1])
        made = [*rest[:to], words[at], *rest[to:]]
        return Made(made, [NOT_TOLD] * (len(made) + 1)) if self.differs(made, words) else None

    def inserted(self, words: list[str]) -> Made | None:
        word = self.dice.choice(INSERTED)
        at = self.pick(words, lambda i: words[i] in DETERMINERS or self.own(words[i]))
        if at is None or word == words[at] or (word in PREPOSITIONS | {"and"} and words[at] in DETERMINERS):
            return None
        if word in PREPOSITIONS and words[at] in PREPOSITIONS | {"and", "while", "as"}:
            return None  # "looked at by", "stands by and"
        labels = [GOOD] * (len(words) + 2)
        labels[at], labels[at + 1] = ORDER, NOT_TOLD
        return Made([*words[:at], word, *words[at:]], labels)

    # --- repetition -----------------------------------------------------------------------------------------------

    def doubled(self, words: list[str]) -> Made | None:
        at = self.pick(words, lambda i: words[i].isalpha())
        return None if at is None else self.again(words, at, at + 1, 1)

    def repeated(self, words: list[str]) -> Made | None:
        size = self.dice.randint(2, 5)
        if len(words) < size + 1:
            return None
        at = self.dice.randrange(len(words) - size + 1)
        return self.again(words, at, at + size, 1, self.dice.choice(("", "", "and", ",")))

    def looped(self, words: list[str]) -> Made | None:
        size = self.dice.randint(1, min(8, len(words)))
        at = self.dice.randrange(len(words) - size + 1)
        made = self.again(words[: at + size], at, at + size, self.dice.randint(2, 6))
        over = self.dice.randrange(size)  # a loop is cut somewhere
        return Made(made.words[: len(made.words) - over], [*made.labels[: len(made.words) - over], NOT_TOLD])

    def again(self, words: list[str], start: int, end: int, times: int, between: str = "") -> Made:
        part = ([between] if between else []) + words[start:end]
        made = [*words[:end], *(part * times), *words[end:]]
        labels = [GOOD] * end + [REPEATED] * (len(part) * times) + [GOOD] * (len(words) - end + 1)
        if between:
            labels[end] = NOT_TOLD
        return Made(made, labels)

    # --- missing words --------------------------------------------------------------------------------------------

    def no_article(self, words: list[str]) -> Made | None:
        def missed(i: int) -> bool:  # people write "Man riding a horse", so the first one may go
            after = words[i + 1 : i + 2]
            return i > 0 and words[i] in ("a", "an", "the") and bool(after) and self.name(after[0]) == "NN.c"

        at = self.pick(words, missed)
        return None if at is None else self.without(words, at, at + 1)

    def no_articles(self, words: list[str]) -> Made | None:
        kept = [(w, words[i - 1] in ("a", "an") if i else False) for i, w in enumerate(words)]
        made = [(word, MISSING if after else GOOD) for word, after in kept if word not in ("a", "an", "the")]
        if len(words) - len(made) < 2 or not made:
            return None
        return Made([word for word, _ in made], [*(label for _, label in made), GOOD])

    def no_noun(self, words: list[str]) -> Made | None:
        """ "a brown on the sofa": what follows cannot be the noun."""

        def headed(i: int) -> bool:
            before = words[i - 1] if i else ""
            after = words[i + 1] if i + 1 < len(words) else ""
            closed = after in PREPOSITIONS or after in ("is", "are", "and") or not after
            return self.is_noun(words[i]) and closed and (before in ("a", "an", "the", "his", "her", "their"))

        at = self.pick(words, headed)
        return None if at is None else self.without(words, at, at + 1, CUT if at == len(words) - 1 else MISSING)

    def no_verb(self, words: list[str]) -> Made | None:
        """ "a man a horse": a verb between a noun and its object."""

        def between(i: int) -> bool:
            after = words[i + 1] if i + 1 < len(words) else ""
            before = words[i - 1] if i else ""
            verb = self.name(words[i]).startswith(("VBG", "VBZ", "VB."))
            return verb and after in DETERMINERS and (self.is_noun(before) or before in ("is", "are"))

        at = self.pick(words, between)
        if at is None:
            return None
        return self.without(words, at - (words[at - 1] in ("is", "are")), at + 1)

    def no_preposition(self, words: list[str]) -> Made | None:
        def inside(i: int) -> bool:
            after = words[i + 1] if i + 1 < len(words) else ""
            before = words[i - 1] if i else ""
            plain = self.is_noun(before) or self.name(before).endswith(".i")
            return words[i] in PREPOSITIONS and after in DETERMINERS and plain

        at = self.pick(words, inside)
        return None if at is None else self.without(words, at, at + 1)

    def no_word(self, words: list[str]) -> Made | None:
        """Any word: what is left may be good, but it is a little less often what people write."""
        if len(words) < 4:
            return None
        at = self.dice.randrange(len(words))
        return Made(words[:at] + words[at + 1 :], [NOT_TOLD] * len(words))

    def without(self, words: list[str], start: int, end: int, kind: int = MISSING) -> Made:
        return self.labelled(words[:start] + words[end:], start, kind)

    def cut(self, words: list[str]) -> Made | None:
        at = self.pick(words, lambda i: i > 1 and words[i] in _OPEN_END)
        if at is None:
            return None
        end = at + 1
        if words[at] in DETERMINERS and self.name(words[at + 1] if end < len(words) else "") == "JJ":
            end += self.dice.random() < 0.5
        return Made(words[:end], [GOOD] * end + [CUT])

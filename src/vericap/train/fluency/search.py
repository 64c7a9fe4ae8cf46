"""Texts that a network takes for good although nobody would write them, found by search: how a reward would be gamed.

Random words, and captions with some words replaced by random ones, are changed word by word for as long as the network
likes them better. What it then believes in is trained against; so what is left to be found gets ever nearer to English.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from vericap.models.fluency import FluencyModel
from vericap.models.fluency_words import Lexicon, Sentence

ROUNDS, PROPOSALS = 12, 10  # changes of a text, and how many are tried for each
BELIEVED = 0.6  # a text of this value is changed no further: not the best texts are looked for but wrong ones
HARD = 0.15  # least value of a text that is worth training against
_FUNCTION = 0.4  # share of function words among random ones
_SHORT, _LONG = 5, 18


class Search:
    """Finds texts; `dice` decides how.

    Parameters
    ----------
    lexicon : its words are what texts are made of, each as likely as any other.
    captions : good ones, some of whose words are replaced.
    """

    def __init__(self, lexicon: Lexicon, captions: Sequence[Sequence[str]], dice: random.Random) -> None:
        self.captions, self.dice = captions, dice
        owned = [word for word in lexicon.words if lexicon.classes[lexicon.words[word]].startswith("=")]
        self.function, self.words = owned, list(lexicon.words)

    def word(self) -> str:
        return self.dice.choice(self.function if self.dice.random() < _FUNCTION else self.words)

    def start(self) -> list[str]:
        """Random words, or a caption with a third of its words replaced."""
        if self.dice.random() < 0.5:
            return [self.word() for _ in range(self.dice.randint(_SHORT, _LONG))]
        words = list(self.dice.choice(self.captions))
        for place in self.dice.sample(range(len(words)), max(2, len(words) // 3) if len(words) > 1 else 1):
            words[place] = self.word()
        return words

    def change(self, words: Sequence[str]) -> list[str]:
        """One word replaced, two exchanged, or one moved."""
        made, drawn = list(words), self.dice.random()
        one, two = self.dice.randrange(len(made)), self.dice.randrange(len(made))
        if drawn < 0.6:
            made[one] = self.word()
        elif drawn < 0.8:
            made[one], made[two] = made[two], made[one]
        else:
            made.insert(two, made.pop(one))
        return made

    def found(self, model: FluencyModel, count: int) -> list[list[str]]:
        """Of `count` texts those that the model believes in after the search."""
        texts = [self.start() for _ in range(count)]
        values = _values(model, texts)
        for _ in range(ROUNDS):
            live = [row for row in range(count) if values[row] < BELIEVED]
            tried = [self.change(texts[row]) for row in live for _ in range(PROPOSALS)]
            scores = _values(model, tried)
            for place, row in enumerate(live):
                best = max(range(place * PROPOSALS, (place + 1) * PROPOSALS), key=scores.__getitem__)
                if scores[best] > values[row]:
                    texts[row], values[row] = tried[best], scores[best]
        return [text for text, value in zip(texts, values) if value >= HARD]


def _values(model: FluencyModel, texts: Sequence[Sequence[str]]) -> list[float]:
    return [sentence.value for sentence in model.sentences([Sentence(0, 0, tuple(words), ()) for words in texts])]

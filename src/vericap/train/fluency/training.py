"""Good sentences against made errors: the chance that no token is wrong, and which one is wrong and why."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from vericap.core.typing import Floats
from vericap.models.fluency import GOOD, FluencyModel
from vericap.models.fluency_seen import Seen
from vericap.models.fluency_words import (
    NAME,
    UNKNOWN,
    Lexicon,
    Sentence,
    content_classes,
    dictionary_class,
    repetition,
    sentences,
)
from vericap.train.fluency.errors import Errors
from vericap.train.fluency.lexicon import plainer
from vericap.train.fluency.maker import NOT_TOLD, Made
from vericap.train.fluency.network import FluencyNetwork, arrays, sentence_log
from vericap.train.fluency.search import Search
from vericap.train.fluency.texts import Phrases

_TOKEN_WEIGHT = 0.3  # of the tokens' loss beside the sentences'
_COARSER = 0.12  # share of content words whose class is replaced by a plainer one, as rare words have it
_STRANGE = 0.06  # share of good sentences in which one noun is an unknown word or a name
_PEOPLE = 0.06  # share of good sentences in which a noun and its article become a name of two words
_HARD = 0.2  # share of errors that were found by search against the network of some steps before
_FRAMED = 40_000  # sentences of descriptions whose pairs and triples are counted
_SEARCHED, _EVERY, _KEPT = 192, 64, 8000  # texts of one search, steps between two, texts that are kept
_POWERS = tuple(number / 50 for number in range(10, 101))
_NAMED = 0.25  # share of errors whose unknown words are written with a capital
# Kinds that are hard to see come more often; captions without any article are also written by people.
_OFTEN = {"wrong number": 1.5, "wrong agreement": 2.0, "dropped article": 1.5, "dropped articles": 0.4}
_OFTEN |= {"swapped words": 1.5, "scrambled part": 1.5, "hashtags": 0.4, "looped": 0.5, "function words": 0.5}
_OFTEN |= {"wrong verb": 1.2, "chain": 0.5, "list of things": 0.5, "symbols": 0.3, "one word": 0.3}


@dataclass(frozen=True)
class Sources:
    """Good English as words: captions, sentences that are no captions."""

    captions: list[list[str]]
    others: list[list[str]]
    held: list[list[str]] = field(default_factory=list)  # captions that are not trained on: values are fitted to them


@dataclass(frozen=True)
class Example:
    """What the network reads, and what it should say."""

    classes: list[int]
    flags: list[int]
    labels: list[int]  # of the start, the tokens and the end
    good: bool


class Examples:
    """An endless stream of good sentences and errors, half of each."""

    def __init__(self, lexicon: Lexicon, sources: Sources, seed: int, seen: Seen | None = None) -> None:
        self.dice = random.Random(seed)
        self.lexicon, self.sources, self.seen = lexicon, sources, seen
        names = {word: lexicon.classes[number] for word, number in lexicon.words.items()}
        self.nouns = [word for word, name in names.items() if name.startswith("NN") and "|" not in name]
        self.errors = Errors(lexicon, self.nouns, self.dice)
        self.phrases = Phrases(lexicon, self.dice)
        self.kinds = list(self.errors.kinds.values())
        self.shares = [_OFTEN.get(name, 1.0) for name in self.errors.kinds]
        self.hard: list[list[str]] = []  # texts that the network took for good
        self.content = content_classes(lexicon.classes)
        self.plain = [self._plainer(name) for name in lexicon.classes]

    def _plainer(self, name: str) -> int:
        return self.lexicon.number.get(plainer(name), self.lexicon.number[name]) if "." in name else -1

    def sentence(self) -> list[str]:
        """A good sentence: a caption, a phrase, a sentence of a description, or one that is no caption."""
        drawn = self.dice.random()
        caption = self.dice.choice(self.sources.captions)
        if drawn < 0.28 and self.sources.others:
            return self.dice.choice(self.sources.others)
        if drawn < 0.34:
            return self.phrases.noun_phrase(caption) or caption
        if drawn < 0.40:
            return self.phrases.beginning(caption) or caption
        if drawn < 0.54:
            return self.phrases.framed(self.dice.choices(self.sources.captions, k=3)) or caption
        return caption

    def __iter__(self) -> Iterator[Example]:
        while True:
            words = self.sentence()
            yield self.example(Made(words, [GOOD] * (len(words) + 1)), good=True)
            yield self.example(self.error(), good=False)

    def error(self, words: list[str] | None = None) -> Made:
        """An error made of a good sentence, or a text that was found by search."""
        if self.hard and self.dice.random() < _HARD:
            hard = self.dice.choice(self.hard)
            return Made(hard, [NOT_TOLD] * (len(hard) + 1))
        made = None
        while made is None or not made.words:
            made = self.dice.choices(self.kinds, self.shares)[0](words or self.sentence())
        return made

    def example(self, made: Made, *, good: bool) -> Example:
        sentence = Sentence(0, 0, tuple(made.words), ())
        classes = self.lexicon.encode(sentence)
        flags = [0, *repetition(made.words, [self.content[number] for number in classes[1:-1]]), 0]
        self._blur(classes, made.words)
        if good:
            self._name(classes, made.words)
        elif self.dice.random() < _NAMED:
            unknown, name = self.lexicon.number[UNKNOWN], self.lexicon.number[NAME]
            classes = [name if number == unknown else number for number in classes]
        if self.seen is not None:
            flags = [said | rare for said, rare in zip(flags, self.seen.flags(classes))]
        return Example(classes, flags, [NOT_TOLD, *made.labels], good)

    def _name(self, classes: list[int], words: Sequence[str]) -> None:
        """Some nouns become unknown words or names."""
        drawn = self.dice.random()
        nouns = [i for i, number in enumerate(classes) if self.lexicon.classes[number].startswith("NN")]
        if drawn > _STRANGE + _PEOPLE or not nouns:
            return
        at, name = self.dice.choice(nouns), self.lexicon.number[NAME]
        if drawn < _STRANGE:
            classes[at] = self.dice.choice((self.lexicon.number[UNKNOWN], name, name))
        elif at > 1 and words[at - 2] in ("a", "an", "the"):
            classes[at - 1] = classes[at] = name

    def _blur(self, classes: list[int], words: Sequence[str]) -> None:
        """Some content words get the class that a rare word would have."""
        for place, word in enumerate(words, 1):
            if self.content[classes[place]] and self.dice.random() < _COARSER:
                rare = self.lexicon.number.get(dictionary_class(word), -1) if self.dice.random() < 0.5 else -1
                chosen = rare if rare >= 0 else self.plain[classes[place]]
                classes[place] = chosen if chosen >= 0 else classes[place]


def seen(lexicon: Lexicon, sources: Sources, seed: int) -> Seen:
    """Pairs and triples of classes that two good sentences have.

    One sentence is not enough: it would not be told for itself from what no other has, and nothing would be learned
    from those that are rare.
    """
    found = Seen(len(lexicon.classes), (), ())
    examples = Examples(lexicon, sources, seed)
    framed = (examples.phrases.framed(examples.dice.choices(sources.captions, k=3)) for _ in range(_FRAMED))
    pairs: Counter[int] = Counter()
    triples: Counter[int] = Counter()
    for words in (*sources.captions, *sources.others, *filter(None, framed)):
        good = Made(words, [GOOD] * (len(words) + 1))
        numbers = [found.numbers(examples.example(good, good=True).classes) for _ in range(2)]
        numbers.append(found.numbers(lexicon.encode(Sentence(0, 0, tuple(words), ()))))
        pairs.update({number for two, _ in numbers for number in two})
        triples.update({number for _, three in numbers for number in three})
    kept = [[number for number, count in counted.items() if count > 1] for counted in (pairs, triples)]
    print(f"{len(kept[0]):,} pairs and {len(kept[1]):,} triples of classes", flush=True)
    return Seen(len(lexicon.classes), *kept)


def batch(examples: Sequence[Example]) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Classes, flags, labels and which places are filled (sentences, tokens); which sentences are good."""
    length = max(len(example.classes) for example in examples)
    table = np.zeros((4, len(examples), length), dtype=np.int64)
    table[2] = NOT_TOLD
    for row, example in enumerate(examples):
        size = len(example.classes)
        table[0, row, :size], table[1, row, :size], table[2, row, :size], table[3, row, :size] = (
            example.classes, example.flags, example.labels, 1,
        )  # fmt: skip
    classes, flags, labels, inside = torch.from_numpy(table)
    return classes, flags, labels, inside.float(), torch.tensor([example.good for example in examples])


def loss(network: FluencyNetwork, made: tuple[Tensor, Tensor, Tensor, Tensor, Tensor]) -> Tensor:
    """Cross-entropy of whole sentences, plus that of the tokens whose error is known."""
    classes, flags, labels, inside, good = made
    found = network(classes, flags, inside)
    log = sentence_log(found, inside)
    wrong = torch.log(-torch.expm1(torch.clamp(log, max=-1e-5)))
    whole = -torch.where(good, log, wrong).mean()
    told = (labels >= 0) & ~good[:, None]
    tokens = -found.gather(2, labels.clamp(min=0)[..., None])[..., 0][told].sum() / len(good)
    return whole + _TOKEN_WEIGHT * tokens


def train(
    lexicon: Lexicon, sources: Sources, *, steps: int, size: int = 256, rate: float = 3e-3, seed: int = 0
) -> FluencyModel:
    """A trained model."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    network = FluencyNetwork(len(lexicon.classes))
    optimiser = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=1e-4)
    plan = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=steps, pct_start=0.1)
    known = seen(lexicon, sources, seed)
    examples, mean = Examples(lexicon, sources, seed, known), 0.0
    stream, search = iter(examples), Search(lexicon, sources.captions, random.Random(seed))
    for step in range(steps):
        if step and step % _EVERY == 0:
            examples.hard = (examples.hard + search.found(_model(lexicon, network, known), _SEARCHED))[-_KEPT:]
        # Sentences of about equal length share a batch: little is filled up.
        if step % 8 == 0:
            waiting = sorted((next(stream) for _ in range(8 * size)), key=lambda one: len(one.classes))
            order = random.Random(step).sample(range(8), 8)
        part = order[step % 8]
        value = loss(network, batch(waiting[part * size : (part + 1) * size]))
        optimiser.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        plan.step()
        mean += (float(value.detach()) - mean) / min(step + 1, 200)
        if (step + 1) % 200 == 0:
            print(f"step {step + 1}/{steps}: loss {mean:.4f}, {len(examples.hard):,} texts found", flush=True)
    return calibrated(_model(lexicon, network, known), sources, seed)


def _model(lexicon: Lexicon, network: FluencyNetwork, known: Seen) -> FluencyModel:
    return FluencyModel(lexicon, arrays(network), known)


def calibrated(model: FluencyModel, sources: Sources, seed: int) -> FluencyModel:
    """The model with the power that makes its values shares of people's captions, where as many are spoilt."""
    if not sources.held:
        return model
    examples = Examples(model.lexicon, Sources(sources.held, []), seed + 1)
    spoilt = [examples.error(words) for words in sources.held]
    logs = [_logs(model, texts) for texts in (sources.held, [made.words for made in spoilt])]
    power = min(_POWERS, key=lambda one: -(one * logs[0]).sum() - np.log(-np.expm1(one * logs[1])).sum())
    print(f"power {power:.2f}", flush=True)
    weights = {**model.weights, "power": np.array([power], dtype=np.float32)}
    return FluencyModel(model.lexicon, weights, model.seen)


def _logs(model: FluencyModel, texts: Sequence[Sequence[str]]) -> Floats:
    found = model.sentences([Sentence(0, 0, tuple(words), ()) for words in texts])
    even = [float(sentence.good.prod(dtype=np.float64)) for sentence in found]  # as many are spoilt here as are not
    return np.log(np.clip(even, 1e-6, 1 - 1e-4))


def words_of(text: str) -> list[list[str]]:
    """Sentences of a text as words."""
    return [list(sentence.words) for sentence in sentences(text)]

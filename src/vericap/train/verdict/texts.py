"""Texts of several sentences: with things that are in the photo or not, and with captions of other photos."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vericap.core.typing import Floats
from vericap.graphs.corruption_words import plural
from vericap.train.data import Captioned
from vericap.train.ratings import photo_name
from vericap.train.verdict.cases import Case
from vericap.train.words.boxes import PhotoBoxes
from vericap.vision.mentions import mentions

FOREIGN = "foreign"  # kind of a case with a sentence of another photo, whose words are not known to be wrong
_ONE = (
    "There is a {} in the background.",
    "A {} is visible in the scene.",
    "A {} can be seen on the side of the image.",
    "In addition, there is a {} nearby.",
    "There is also a {} in the image.",
)
_MANY = (
    "There are {} {} in the scene.",
    "{} {} can be seen in the background.",
    "In addition, there are {} {} nearby.",
    "There are also {} {} in the image.",
)
_NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five"}
_SMALL = 0.004  # of the photo: smaller boxes are not asked for


class _Thing(NamedTuple):
    name: str
    number: int


def there_or_not(
    captions: Captioned, boxes: Mapping[int, PhotoBoxes], classes: Sequence[str], *, seed: int
) -> list[Case]:
    """A caption of each photo, followed by a sentence on something else that is there, not there, or miscounted.

    What is not there is drawn from what often is where the photo's other things are, as machines invent it.
    """
    generator = random.Random(seed)
    together = _together(boxes, len(classes))
    found = []
    for key, own in zip(captions.keys, captions.captions):
        photo = boxes.get(int(key))
        if photo is None or not len(photo.classes):
            continue
        caption = generator.choice(own).strip().rstrip(".") + "."
        said = {name for text in own for mention in mentions(text, evidence=True) for name in mention.classes}
        there = _there(photo, classes)
        for sentence, wrong in (
            _true([thing for thing in there if thing.name not in said] or there, generator),
            _false(photo, together, classes, said, generator),
            _miscounted(there, generator),
        ):
            if sentence:
                text = f"{caption} {sentence}"
                spans = tuple(_place(text, len(caption), word) for word in wrong)
                found.append(Case(photo_name(key), text, wrong=spans, kind="there"))
    return found


def _place(text: str, after: int, word: str) -> tuple[int, int]:
    start = text.lower().index(word.lower(), after)
    return start, start + len(word)


def _together(boxes: Mapping[int, PhotoBoxes], count: int) -> Floats:
    """(classes, classes): how often the second is in a photo with the first."""
    found = np.zeros((count, count))
    for photo in boxes.values():
        there = np.unique(photo.classes)
        found[np.ix_(there, there)] += 1
    return np.asarray(found / np.maximum(found.diagonal()[:, None], 1))


def _there(photo: PhotoBoxes, classes: Sequence[str]) -> list[_Thing]:
    areas = (photo.boxes[:, 2:] - photo.boxes[:, :2]).prod(axis=1)
    names, counts = np.unique(photo.classes, return_counts=True)
    large = {int(name) for name, area in zip(photo.classes, areas) if area >= _SMALL}
    return [_Thing(classes[name], int(count)) for name, count in zip(names, counts) if int(name) in large]


def _sentence(name: str, count: int, generator: random.Random) -> tuple[str, str, str]:
    """A sentence, the noun and the number in it."""
    if count == 1:
        text = generator.choice(_ONE).format(name)
        return re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", text), name, ""
    number, noun = _NUMBERS.get(count, "several"), name if name.endswith("s") else plural(name)
    text = generator.choice(_MANY).format(number, noun)
    return text[0].upper() + text[1:], noun, number


def _true(things: Sequence[_Thing], generator: random.Random) -> tuple[str, tuple[str, ...]]:
    if not things:
        return "", ()
    thing = generator.choice(things)
    return _sentence(thing.name, thing.number, generator)[0], ()


def _false(
    photo: PhotoBoxes, together: Floats, classes: Sequence[str], said: set[str], generator: random.Random
) -> tuple[str, tuple[str, ...]]:
    there = np.unique(photo.classes)
    likely = together[there].sum(axis=0)
    likely[there] = 0
    likely[[place for place, name in enumerate(classes) if name in said]] = 0
    if not likely.any():
        return "", ()
    (name,) = generator.choices(classes, weights=likely.tolist())
    text, noun, _ = _sentence(name, generator.choice((1, 1, 2, 6)), generator)
    return text, (noun,)


def _miscounted(things: Sequence[_Thing], generator: random.Random) -> tuple[str, tuple[str, ...]]:
    few = [thing for thing in things if thing.number <= 3]
    if not few:
        return "", ()
    thing = generator.choice(few)
    number = generator.choice([other for other in (2, 3, 4, 5) if abs(other - thing.number) > 1 - (thing.number == 1)])
    text, _, said = _sentence(thing.name, number, generator)
    return text, (said,)


def with_foreign(captions: Captioned, *, seed: int) -> list[Case]:
    """Some captions of each photo as one text, one of them from another photo, at any place."""
    generator = random.Random(seed)
    found = []
    for key, own in zip(captions.keys, captions.captions):
        sentences = [text.strip().rstrip(".") + "." for text in generator.sample(own, min(3, len(own)))]
        other = generator.choice(generator.choice(captions.captions)).strip().rstrip(".") + "."
        sentences.insert(generator.randrange(len(sentences) + 1), other)
        text = " ".join(sentences)
        start = len(" ".join(sentences[: sentences.index(other)])) + (sentences.index(other) > 0)
        found.append(Case(photo_name(key), text, wrong=((start, start + len(other)),), kind=FOREIGN))
    return found

"""Good English to train on: captions, sentences, and the phrases and longer sentences made of them."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from vericap.models.fluency_words import Lexicon
from vericap.train.encoder import corpus

_NUMBERS = ("two", "three", "four", "several", "some", "many")
_OPENERS = frozenset(("a", "an", "the", "his", "her", "their", *_NUMBERS))
_AFTER_NOUN = "in on at with by near behind under over of and while next as from for that who is are"
_CLOSERS = frozenset(_AFTER_NOUN.split())
# How long descriptions speak; {} is a noun phrase, {s} a caption, {n} a noun, the same wherever it stands.
FRAMES = (
    "the image features {}", "the image shows {}", "the scene features {}", "there is {} in the background",
    "in the background , there is {}", "in addition to {} , there is {} in the scene", "the image is of {}",
    "{} can be seen in the background", "{} is visible in the scene", "he is holding {}", "she is looking at {}",
    "they are standing near {}", "on the left side of the image , there is {}", "the room also contains {}",
    "{s} , and {} is visible behind it", "{s} , while {} is in the background", "{s} , which is next to {}",
    "there is {} and {} on the table", "in the foreground , {s}", "the scene also includes {} , {} , and {}",
    "this is a photo of {}", "a picture of {}", "a close up of {}", "{} , {} , and {} are on the table",
    "the overall scene suggests that the people are enjoying {}", "it appears to be {}", "a view of {} from {}",
    "some of the people are standing closer to {} , while others are farther away", "it is located next to {}",
    "one of them is near {} , and the other is close to {}", "this creates a relaxed atmosphere in {}",
    "there is also {} nearby", "there is also {} , adding to the scene", "additionally , {} is placed on the table",
    "there are also a few people in the background , likely waiting for {}", "the {n} appears to be enjoying {}",
    "one {n} is on the left side of the image , while another {n} is on the right side", "he seems focused on {}",
    "the first {n} is closer to {} , while the second {n} is closer to {}", "one {n} on top of another {n}",
    "{} in the foreground and {} in the background", "one in front of {} and one in front of {}",
    "{} next to another {n} that is next to {}", "the {n} is positioned in front of {} , suggesting that it is new",
    "she is wearing {} and holding {}", "they also have {} with them", "the {n} is surrounded by {} and {}",
    "{s} , possibly because of {}", "{s} , giving the impression of {}", "the presence of {} indicates that it is cold",
    "overall , the image conveys a sense of calm", "the {n} is the main focus of the image",
    "the {n} is placed in the middle of the table , and {} is on top of the {n}", "i like this {n} very much",
    "one {n} is on the left , another {n} in the middle , and the third {n} on the right side of the image",
    "there are two of them , one standing close to the {n} and the other standing far from the {n}",
    "there are two , with one {n} being closer to {} and the other {n} being closer to {}",
    "{} , making it a popular place",
    "{} hangs above it , and it is decorated with {}", "the {n} is large , and there is {} in front of the {n}",
    "the {n} is covered in {} , and it is surrounded by {}", "he is looking down at it , as he is about to eat it",
    "they are looking at each other , as they are waiting for {}", "the meal consists of {} and {}",
    "the whole scene is lit by {} , which makes it look warm", "her hand is on {} , as if she is about to take it",
    "the sign is next to another sign , and there is {} under the sign", "it seems that they have come to see {}",
    "there are other people in the background", "there are several other people around the {n}", "it is likely {}",
    "the {n} appears to be new and is placed on the table", "the {n} is the main focus of the scene and is next to {}",
    "there are also two people in the scene , one on the left and the other on the right side of the image",
    "he is standing in line , as there are other people near the {n}", "{} , likely {} , is in the background",
    "one person is holding {} , and the other is holding {}", "he stands by and watches {}", "{} is looked at by {}",
    "there are four of them , one on the left side , one in the middle , and two on the right side of the image",
    "the {n} stands on the other side of the street", "{} , as well as {} , can be seen",
    "we can see {} and {} here", "this {n} looks very old", "do you see the {n} near {}", "it is used for cutting {}",
)  # fmt: skip
_PHRASE = re.compile(r"(?:an?|the|any|one|someone|something) [a-z ,'-]{12,120}")


def other_sentences(wordnet: str) -> list[str]:
    """Example sentences of WordNet, and its definitions that are noun phrases."""
    sources = corpus.Sources((), wordnet=wordnet)
    examples = [text for text in corpus.examples(sources) if len(text.split()) > 3]
    phrases = [text for text in corpus.glosses(sources) if _PHRASE.fullmatch(text)]
    return [text for text in (*examples, *phrases[: len(examples) // 2]) if text.isascii()]


class Phrases:
    """Phrases of captions, found by the classes of their words."""

    def __init__(self, lexicon: Lexicon, dice: random.Random) -> None:
        self.lexicon, self.dice = lexicon, dice
        self.nouns = [word for word in lexicon.words if self.name(word) == "NN.c"] or ["dog"]

    def name(self, word: str) -> str:
        number = self.lexicon.words.get(word)
        return self.lexicon.classes[number] if number is not None else ""

    def noun_phrase(self, words: Sequence[str]) -> list[str]:
        """An article, adjectives and nouns up to a word that cannot be one: "a small brown dog"; empty if none is."""
        starts = [place for place, word in enumerate(words) if word in _OPENERS]
        self.dice.shuffle(starts)
        for start in starts:
            for end in range(start + 1, min(start + 6, len(words) + 1)):
                after = words[end] if end < len(words) else ""
                if end > start + 1 and self.name(words[end - 1])[:2] == "NN" and (not after or after in _CLOSERS):
                    return list(words[start:end])
                if end < len(words) and not self.name(words[end]).startswith(("NN", "JJ", "VBN", "VBG")):
                    break
        return []

    def beginning(self, words: Sequence[str]) -> list[str]:
        """The caption up to a noun that another phrase follows: "a man riding a horse"; empty if there is none."""
        ends = [
            end for end in range(2, len(words))
            if words[end] in ("in", "on", "at", "with", "near", "while", "and", "next", "as", "behind")
            and self.name(words[end - 1])[:2] == "NN"
        ]  # fmt: skip
        return list(words[: self.dice.choice(ends)]) if ends else []

    def framed(self, captions: Sequence[Sequence[str]]) -> list[str]:
        """A sentence of a long description, with phrases of captions in it; empty if they have none."""
        frame = self.dice.choice(FRAMES).replace("{n}", self.dice.choice(self.nouns)).split()
        made: list[str] = []
        for part in frame:
            if part not in ("{}", "{s}"):
                made.append(part)
                continue
            caption = self.dice.choice(captions)
            phrase = list(caption) if part == "{s}" else self.noun_phrase(caption)
            if not phrase or phrase[-1] in made:  # what is said twice reads as an error
                return []
            made += phrase
        return made if "is" not in made or not set(made) & set(_NUMBERS) else []

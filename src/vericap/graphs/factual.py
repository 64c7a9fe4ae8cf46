"""FACTUAL's way of writing scene graphs (Li et al. 2023), read and written.

`( boats , tie to , dock ) , ( boats , is , 5 )`: objects keep the caption's own form, also the plural, and their
compounds ("tennis racket"); attributes stand after "is", counts as digits; relations are base forms with their
preposition, parts of things are had ("leg of the man": man have leg), passives are turned round, and a few words are
always the same ones.

>>> read("( boats , tie to , dock ) , ( boats , is , 5 )")
(('boats',), ('dock',), ('boats', 'tie to', 'dock'), ('boats', '5'))
"""

from __future__ import annotations

import re
from collections.abc import Iterable

Tuple = tuple[str, ...]

ATTRIBUTE = "is"  # `( stove , is , white )` says what an object is like
_TUPLE = re.compile(r"\(([^()]*)\)")

# What a phrase of the caption is called in the graphs, by base forms; found in the training part (at least three times,
# and in at least a quarter of the captions that have the phrase).
NAMES = {
    "guy": "person", "dude": "person", "someone": "person", "somebody": "person", "they": "people", "he": "man",
    "she": "woman", "him": "man", "cell phone": "cellphone", "side walk": "sidewalk", "surf board": "surfboard",
    "snow board": "snowboard", "counter top": "countertop", "wet suit": "wetsuit", "t shirt": "t-shirt",
    "tee shirt": "t-shirt", "tshirt": "t-shirt", "head band": "headband", "streetlight": "street light",
    "hotdog": "hot dog", "storefront": "store front", "ad": "advertisement", "stove top": "stovetop",
    "haired": "hair", "sleeved": "sleeve", "legged": "leg", "snowy": "snow", "raquet": "racket",
}  # fmt: skip
QUALITIES = {
    "wood": "wooden", "blond": "blonde", "rust": "rusty", "multi color": "multi-colored",
    "multicolored": "multi-colored", "multi colored": "multi-colored", "different color": "multi-colored",
    "both": "2", "trio": "3",
}  # fmt: skip
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
DIGITS = {word: str(number) for number, word in enumerate(_NUMBERS)}


def read(text: str) -> tuple[Tuple, ...]:
    """Objects, (object, attribute) and (subject, relation, object) of a graph as FACTUAL writes it."""
    found: dict[Tuple, None] = {}
    for inside in _TUPLE.findall(text):
        parts = tuple(part.strip() for part in inside.split(" , "))
        if len(parts) not in (1, 3) or not all(parts):
            continue
        found[parts[0],] = None
        if len(parts) == 3 and parts[1] == ATTRIBUTE:
            found[parts[0], parts[2]] = None
        elif len(parts) == 3:
            found[parts[2],] = None
            found[parts] = None
    return tuple(found)


def write(tuples: Iterable[Tuple]) -> str:
    """Tuples as one line; objects that no longer tuple names stand alone.

    >>> write([("dog",), ("cat",), ("dog", "brown")])
    '( cat ) , ( dog , is , brown )'
    """
    given = list(dict.fromkeys(tuples))
    named = {part for item in given if len(item) > 1 for part in (item[0], item[-1] if len(item) == 3 else item[0])}
    lines = [(item[0], ATTRIBUTE, item[1]) if len(item) == 2 else item for item in given]
    kept = [item for item in lines if len(item) > 1 or item[0] not in named]
    return " , ".join(f"( {' , '.join(item)} )" for item in kept)

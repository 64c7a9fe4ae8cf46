"""Compounds that name one thing: a hot dog is no dog, a traffic light not a light with the attribute "traffic".

The list holds the two-word classes of COCO's objects and what people drew as one object in FACTUAL's scene graphs
(Li et al. 2023, MIT) at least four times and nine times of ten, without places, persons and sides of things.
"""

from __future__ import annotations

from collections.abc import Sequence

from vericap.graphs.english_words import noun_lemma

# head: first words
_BY_HEAD = {
    "bag": "trash garbage shoulder sleeping", "ball": "tennis soccer", "bat": "baseball", "bear": "teddy gummy",
    "bench": "park", "bin": "trash garbage recycling", "board": "cutting surf snow skate ironing",
    "bottle": "wine water", "bowl": "toilet", "brush": "tooth hair paint", "bus": "school",
    "cabinet": "medicine filing", "can": "trash garbage", "car": "train", "cart": "shopping golf",
    "center": "entertainment", "chair": "lawn office high", "cream": "ice whipped sour", "court": "tennis basketball",
    "cup": "coffee", "cutter": "pizza", "dispenser": "soap", "dog": "hot corn chili", "dryer": "hair",
    "drier": "hair", "engine": "fire", "fan": "ceiling", "field": "soccer baseball", "fries": "french",
    "fry": "french", "gear": "landing", "glass": "wine", "glove": "baseball", "hydrant": "fire", "jacket": "life",
    "juice": "orange apple", "lamp": "street", "lens": "contact", "lift": "ski", "light": "traffic street stop",
    "line": "power", "lot": "parking", "meter": "parking", "mouse": "computer", "mug": "coffee", "oven": "microwave",
    "pan": "frying baking", "paper": "toilet wrapping", "park": "skate", "phone": "cell mobile", "pin": "bowling",
    "plant": "potted house", "plate": "license home", "player": "dvd cd", "pole": "ski telephone", "post": "lamp sign",
    "pot": "flower", "racket": "tennis badminton", "racquet": "tennis", "room": "living dining", "seat": "toilet",
    "shirt": "t tee", "sign": "stop street traffic road", "signal": "traffic", "skate": "roller ice",
    "station": "train gas", "stump": "tree", "suit": "wet bathing", "table": "coffee dining picnic side",
    "tie": "bow", "top": "tank counter", "towel": "paper", "track": "train railroad", "truck": "fire",
    "trunk": "tree", "vest": "life", "hall": "town city", "butter": "peanut", "cane": "candy", "stand": "night",
    "horse": "rocking sea", "lion": "sea", "fish": "star gold jelly", "pig": "guinea", "set": "television",
    "chip": "potato", "candy": "cotton", "control": "remote", "controller": "game", "shade": "lamp",
}  # fmt: skip
COMPOUNDS = frozenset((first, head) for head, firsts in _BY_HEAD.items() for first in firsts.split())
# Heads that are not meant: a teddy bear is no bear, home plate no plate.
_HEADS_NOT_MEANT = frozenset(
    ("dog", "bear", "horse", "lion", "fish", "pig", "cream", "candy", "butter", "cane", "top", "plate", "tie", "stand",
     "lift", "gear", "player")
)  # fmt: skip


def find(words: Sequence[str]) -> dict[int, str]:
    """Position of a compound's last word -> its name in the singular, for each compound of a caption."""
    found: dict[int, str] = {}
    for place in range(1, len(words)):
        last = words[place]
        head = last if last in _BY_HEAD else noun_lemma(last, "NNS")
        if (words[place - 1], head) in COMPOUNDS:
            found[place] = f"{words[place - 1]} {head}"
    return found


def kind_of(phrase: str) -> str:
    """The last word of a compound that is a kind of it ("racket" of "tennis racket"); "" where it is none."""
    first, _, head = phrase.rpartition(" ")
    known = (first, head) in COMPOUNDS
    return head if known and head not in _HEADS_NOT_MEANT else ""


def not_kinds_of(head: str) -> list[str]:
    """Compounds that end with a word and are no kind of it: "hot dog" for "dog"."""
    if head not in _HEADS_NOT_MEANT:
        return []
    return [f"{first} {head}" for first in _BY_HEAD[head].split()]

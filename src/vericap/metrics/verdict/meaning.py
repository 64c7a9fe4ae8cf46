"""Whether two words of captions mean the same thing of a photo."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from vericap.graphs.corruption_words import VAGUE, covers

# What people say of the same thing although WordNet keeps it apart, the plainest word first.
_PLAIN = {
    word: line.split()[0]
    for line in """
    cat kitten
    cow calf cattle
    horse foal colt
    sheep lamb
    bear cub
    flower tulip rose daisy sunflower lily orchid daffodil carnation blossom bouquet wildflower
    people person crowd audience spectator onlooker bystander
    """.strip().splitlines()
    for word in line.split()
}


def plain_name(word: str) -> str:
    """What people call a thing: "tulip" is a "flower"; other words are their own."""
    return _PLAIN.get(word, word)


@lru_cache(maxsize=1 << 18)
def same_thing(word: str, said: str) -> bool:
    """Whether what is said means the same, a kind of it ("puppy": "dog"), or what it is a kind of, if no vague one."""
    if said in VAGUE:
        return word == said
    if plain_name(word) == plain_name(said):
        return True
    word, said = ("person" if one == "people" else one for one in (word, said))
    return covers(word, said, 1) or covers(said, word, 1)  # "cat" is a guy too, but seldom


def said_otherwise(word: str, said: Iterable[str]) -> bool:
    """Whether one of some words that are said means the same as a word."""
    return any(same_thing(word, other) for other in said)

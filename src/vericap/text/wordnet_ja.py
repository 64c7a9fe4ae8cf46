"""Japanese WordNet: synsets and synonyms of a word, over all its parts of speech."""

from __future__ import annotations

from functools import lru_cache

from vericap.core import shipped
from vericap.text import wordnet


@lru_cache(maxsize=1)
def lexicon() -> wordnet.Lexicon:
    """The table, read at first use."""
    return wordnet.Lexicon(shipped.path("wordnet_ja", "lexicon.npz"))


@lru_cache(maxsize=1 << 16)
def numbers(word: str) -> frozenset[int]:
    """Synset numbers of a word; of the noun inside a する-verb the table does not list (ジャンプする -> ジャンプ)."""
    found = lexicon().numbers(word)
    if not found and word.endswith("する") and len(word) > 2:
        found = lexicon().numbers(word[:-2])
    return frozenset(found)


def synsets(word: str) -> list[str]:
    """Synset names ("02084071-n"), the same as in the English WordNet."""
    return sorted(wordnet.synset_name(number) for number in numbers(word))


def synonyms(word: str) -> set[str]:
    """Words that share a synset with `word`, without itself."""
    found = {lemma for number in numbers(word) for lemma in lexicon().lemmas(number)}
    return found - {word}


@lru_cache(maxsize=1 << 16)
def ancestors(word: str, depth: int) -> dict[int, int]:
    """Hypernyms of all senses up to `depth` steps: synset number -> fewest steps (the word's own synsets: 0)."""
    english = wordnet.english()
    steps = dict.fromkeys(numbers(word), 0)
    level = list(steps)
    for step in range(1, depth + 1):
        level = [parent for number in level for parent in english.hypernym_numbers(number) if parent not in steps]
        steps.update({parent: step for parent in level if parent not in steps})
    return steps


def hypernym_steps(one: str, other: str, depth: int = 3) -> int | None:
    """Steps from one word up to the other, either way round; 0 for synonyms, None where neither is above."""
    up = [steps for number, steps in ancestors(one, depth).items() if number in numbers(other)]
    down = [steps for number, steps in ancestors(other, depth).items() if number in numbers(one)]
    return min(up + down, default=None)

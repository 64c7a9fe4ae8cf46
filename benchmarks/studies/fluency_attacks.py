"""Can `fluency` be gamed as a reward? Texts nobody would write, by hand and by search for what scores high.

    python -m benchmarks.studies.fluency_attacks [--model default] [--texts 40] [--steps 60] [--save]

By hand: repeated phrases, chains of places, lists, filler, moulds filled again and again, foreign and made-up words, at
growing length. By search: random words, and captions some of whose words were replaced, are changed word by word (48
changes tried at each step, the best kept) until the score rises no more; the search of the training is weaker (10
changes, 12 steps). Printed are values before and after, `lm` of the result beside that of human captions, and texts.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator

import numpy as np

from benchmarks.library.results import add_save, tell
from benchmarks.studies.fluency import human_captions, score
from vericap.core.table import Number, Table
from vericap.models import fluency
from vericap.train.fluency.search import Search

NOUNS = "dog sofa table cat lamp window car street tree house man chair vase clock bench".split()  # noqa: SIM905
PLACES = ("on", "next to", "near", "with", "under", "by", "in front of", "behind", "beside", "above")
TRIES = 48


def families() -> Iterator[tuple[str, list[str]]]:
    """Name of a trick -> texts that use it more and more."""
    sizes = (2, 4, 8, 14)
    caption = "a man riding a wave on a surfboard"
    yield "caption again", [" ".join([caption] * size) for size in sizes]
    yield "caption again, with stops", [". ".join([caption] * size) for size in sizes]
    yield "phrase again", ["a dog " + " ".join(["on a sofa"] * size) for size in sizes]
    yield (
        "chain of places",
        [f"a dog {' '.join(f'{PLACES[i % 10]} a {NOUNS[i + 1]}' for i in range(n))}" for n in sizes],
    )
    yield "a and a and a", ["a " + " and a ".join(NOUNS[:size]) for size in sizes]
    yield "a, a, a", ["a " + ", a ".join(NOUNS[:size]) for size in sizes]
    yield "list", [" ".join(NOUNS[:size]) for size in sizes]
    yield "list with commas", [", ".join(NOUNS[:size]) for size in sizes]
    yield "hashtags", [" ".join(f"#{noun}" for noun in NOUNS[:size]) for size in sizes]
    yield "list as sentences", [" ".join(f"A {noun}." for noun in NOUNS[:size]) for size in sizes]
    yield "one mould", [" ".join(f"There is a {noun} in the image." for noun in NOUNS[:size]) for size in sizes]
    yield "photo of a photo", ["a photo of " * size + "a dog" for size in sizes]
    yield "adjectives", [f"a {' '.join(('big red old wet tall nice new dark ' * 2).split()[:n])} dog" for n in sizes]
    yield "made-up words", [" ".join(("xqz blorf wug zzt fnord " * 3).split()[:size]) for size in sizes]
    yield "one made-up word again", ["xqz " * 10 * size for size in sizes]
    yield "two made-up words again", ["zzt fnord " * 5 * size for size in sizes]
    yield "one name again", ["Bob " * 10 * size for size in sizes]
    yield "made-up names", [" ".join(("Xqz Blorf Wug Zzt Fnord " * 3).split()[:size]) for size in sizes]
    yield "made-up nouns", [f"a xqz {' '.join(f'{PLACES[i % 10]} a blorf' for i in range(size))}" for size in sizes]
    yield "function words", [" ".join(("of the is in a with and on " * 2).split()[:size]) for size in sizes]
    yield "one word", ["dog", "dogs", "running", "beautiful"]
    yield "foreign", ["ein Hund liegt auf dem Sofa", "un chien court sur la plage", "un perro en la playa", "犬が走る"]
    yield "one foreign word again", ["人 " * size * 10 for size in sizes]


def climbed(model: fluency.FluencyModel, search: Search, start: list[str], steps: int) -> tuple[float, float, str]:
    """Value of a text before and after a search, and the text found."""

    def values(texts: list[list[str]]) -> list[float]:
        return [one.value for one in model.texts([" ".join(words) for words in texts])]

    words, (first,) = start, values([start])
    best = first
    for _ in range(steps):
        tried = [search.change(words) for _ in range(TRIES)]
        scores = values(tried)
        place = int(np.argmax(scores))
        if scores[place] > best:
            words, best = tried[place], scores[place]
    return first, best, " ".join(words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="default")
    parser.add_argument("--texts", type=int, default=40)
    parser.add_argument("--steps", type=int, default=60)
    add_save(parser)
    args = parser.parse_args()
    model, human = fluency.load(args.model), human_captions(1000)
    tricks = Table(["trick", "twice", "4 times", "8 times", "14 times"], digits=3)
    for name, texts in families():
        tricks.add(name, *(Number(one.value) for one in model.texts(texts)))
    tricks.notes.append("one word, foreign: four texts instead")
    search = Search(model.lexicon, human, random.Random(5))
    found = [climbed(model, search, search.start(), args.steps) for _ in range(args.texts)]
    before, after, texts = (list(column) for column in zip(*found))
    usual = score("lm", [" ".join(words) for words in human])
    judged = score("lm", texts)
    searched = Table(
        ["texts", "mean before", "mean after", "`lm` of what was found", "`lm` of human captions"], digits=3
    )
    searched.add(len(found), *(Number(float(np.mean(one))) for one in (before, after, judged, usual)))
    tell("benchmarks.studies.fluency_attacks", {"tricks": tricks, "search": searched}, save=args.save)
    for value, text in sorted(zip(after, texts))[:: max(1, len(texts) // 12)]:
        print(f"  {value:.3f} {text}")


if __name__ == "__main__":
    main()

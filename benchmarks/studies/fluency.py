"""Does `fluency` tell good captions from spoilt ones, whatever they speak of? Beside `lm` and the length alone.

    python -m benchmarks.studies.fluency [--captions 2000] [--metrics fluency lm lm:form=logprob] [--pascal]
        [--save]

Human captions are those of photos that neither model was trained on: Flickr8k's dev photos and COCO's val2014 photos
outside `never_train_image_ids.txt`. Spoilt ones are made from them. Per kind of error: the area under the curve of all
human captions against the spoilt ones, x100, and the share of pairs, x100, in which a caption scores above its own
spoilt copy (ties 1/2). Then whether the value is what it says (human and spoilt captions in equal numbers, every kind
of error as often: the share of human ones by value), what must not move the score (objects, capitals, stops), texts of
several sentences, machine captions, special cases and speed. PASCAL-50S pairs of a human and a machine caption only
where asked for.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from benchmarks.library.data import data_folder
from benchmarks.library.judged import GROUPS, pascal
from benchmarks.library.results import add_save, tell
from vericap.core.samples import Sample
from vericap.core.table import Number, Table
from vericap.metrics.registry import make
from vericap.models import fluency
from vericap.models.fluency_words import begins_with_vowel, sentences
from vericap.run.engine import Run
from vericap.train.data import coco, flickr8k, lines
from vericap.train.fluency.errors import Errors

Spoiler = Callable[[list[str]], list[str] | None]
_COMMON = (
    "dog cat horse cow sheep bird elephant bear zebra giraffe man woman boy girl car bus train truck boat bicycle "
    "motorcycle airplane bench table chair sofa couch bed laptop phone keyboard book clock vase umbrella kite "
    "skateboard surfboard frisbee bottle cup fork knife spoon bowl banana apple sandwich pizza cake toilet sink oven"
)
_RARE = (
    "zither quokka axolotl obelisk pergola trebuchet samovar theremin okapi narwhal astrolabe palanquin gargoyle "
    "harpsichord wombat yurt abacus scimitar sextant bagpipe pangolin marionette gramophone catapult gondola anvil "
    "lute mandrill tapestry ziggurat aardvark igloo ocarina"
)
COMMON, RARE = _COMMON.split(), _RARE.split()
PHRASES = ("with a grand piano", "next to a giraffe", "and a red fire truck", "under a purple umbrella")
CASES = (
    "a dog", "two dogs on a beach", "a man riding a wave on top of a surfboard", "a zither on a plinth",
    "I went to the store yesterday because we had run out of milk.", "What is the man in the red shirt doing?",
    "Eiffel Tower at night", "a", "a a a", "the of", "dog", "a dogs on a beach", "two dog on a beach",
    "the man are riding a horse", "man riding horse", "a man riding a", "a apple", "a cat on a sofa a cat on a sofa",
    "a group of people standing around a group of people standing around", "a dog a dog a dog a dog",
    "A dog runs. A dog runs. A dog runs.", "xqz blorf wug zzt fnord .", "Xqz Blorf Wug Zzt Fnord", "a xqz on a blorf",
    "#dog #beach #sun", "dog, beach, sun, sand", "dog beach sunset ocean", "ein Hund liegt auf dem Sofa",
    "un chien sur la plage avec un homme", "un perro en la playa", "een hond op het strand met een man",
    "犬が走っている", "???", "",
)  # fmt: skip


# --- spoilt captions ----------------------------------------------------------------------------------------------


def spoilers(seed: int) -> dict[str, Spoiler]:
    """Five plain errors made by place alone, then those that the model was trained against, by kind."""
    dice = random.Random(seed)
    lexicon = fluency.load().lexicon
    kinds = Errors(lexicon, [word for word in COMMON if word in lexicon], dice).kinds

    def made(kind: str) -> Spoiler:
        def spoil(words: list[str]) -> list[str] | None:
            found = kinds[kind](words)
            return None if found is None else found.words

        return spoil

    plain: dict[str, Spoiler] = {
        "two neighbours swapped": lambda words: swap(words, dice),
        "one word dropped": lambda words: drop(words, dice),
        "one word repeated": lambda words: repeat(words, dice),
        "all words scrambled": lambda words: dice.sample(words, len(words)),
        "cut in the middle": lambda words: cut(words, dice),
    }
    return {**plain, **{kind: made(kind) for kind in kinds}}


def swap(words: list[str], dice: random.Random) -> list[str]:
    place = dice.randrange(len(words) - 1)
    return [*words[:place], words[place + 1], words[place], *words[place + 2 :]]


def drop(words: list[str], dice: random.Random) -> list[str]:
    place = dice.randrange(len(words))
    return words[:place] + words[place + 1 :]


def repeat(words: list[str], dice: random.Random) -> list[str]:
    place = dice.randrange(len(words))
    return words[: place + 1] + words[place:]


def cut(words: list[str], dice: random.Random) -> list[str]:
    """Ends in the middle: after an article or preposition where there is one."""
    ends = [i for i, word in enumerate(words) if word in ("a", "the", "of", "in", "on", "with", "and") and i > 1]
    return words[: dice.choice(ends) + 1] if ends else words[:-1]


def exchanged(words: list[str], others: Sequence[str], dice: random.Random) -> list[str] | None:
    """One object replaced by another, with its article put right."""
    places = [place for place, word in enumerate(words) if word in COMMON]
    if not places:
        return None
    place, found = dice.choice(places), list(words)
    found[place] = dice.choice([word for word in others if word != words[place]])
    if place and found[place - 1] in ("a", "an"):
        found[place - 1] = "an" if begins_with_vowel(found[place]) else "a"
    return found


# --- captions -------------------------------------------------------------------------------------------------------


def human_captions(count: int) -> list[list[str]]:
    """Captions of one sentence as words in small letters, half of each set."""
    dice = random.Random(0)
    left_out = lines(data_folder() / "coco/never_train_image_ids.txt")
    pools = (
        flickr8k(data_folder() / "flickr8k", "dev").captions,
        coco([data_folder() / "coco/captions_val2014.json.gz"]).without(left_out).captions,
    )
    found = []
    for pool in pools:
        drawn = dice.sample([text for five in pool for text in five], count)
        split = (sentences(text) for text in drawn)
        found += [list(one[0].words) for one in split if len(one) == 1 and len(one[0].words) > 4][: count // 2]
    return found


def score(metric: str, texts: Sequence[str]) -> np.ndarray:
    if metric == "length":
        return np.array([float(len(text.split())) for text in texts])
    values = Run([make(metric)]).score([Sample(str(i), text) for i, text in enumerate(texts)])[metric]
    return np.nan_to_num(values, nan=-9.0)  # `lm` has no value for a text it cannot judge: the lowest


def area(good: np.ndarray, bad: np.ndarray) -> float:
    from scipy.stats import mannwhitneyu

    return 100 * float(mannwhitneyu(good, bad).statistic) / (len(good) * len(bad))


def pairs(good: np.ndarray, bad: np.ndarray) -> float:
    return 100 * float(np.where(good == bad, 0.5, good > bad).mean())


# --- tables ---------------------------------------------------------------------------------------------------------


def errors_table(human: list[list[str]], metrics: Sequence[str]) -> Table:
    texts = [" ".join(words) for words in human]
    good = {metric: score(metric, texts) for metric in metrics}
    about = "area under the curve, and the share of captions that score above their own spoilt copy, x100"
    table = Table(["error", "captions", *(f"`{metric}`" for metric in metrics)], notes=[about])
    for name, spoil in spoilers(1).items():
        made = [(row, found) for row, words in enumerate(human) if (found := spoil(words)) and found != words]
        rows, bad = [row for row, _ in made], [" ".join(words) for _, words in made]
        cells = []
        for metric in metrics:
            values = score(metric, bad)
            cells.append(f"{area(good[metric], values):.1f} ({pairs(good[metric][rows], values):.1f})")
        table.add(name, len(bad), *cells)
    return table


def reliability_table(human: list[list[str]]) -> Table:
    """Values against what they claim: the chance that a text is a person's, where the share is spoilt that the model
    expects."""
    dice, kinds = random.Random(3), list(spoilers(4).values())[5:]
    spoilt: list[list[str]] = []
    for words in human:
        made = None
        while not made or made == words:
            made = dice.choice(kinds)(words)
        spoilt.append(made)
    values = score("fluency", [" ".join(words) for words in (*human, *spoilt)])
    right = np.arange(len(values)) < len(human)
    weights = np.where(right, 1 - fluency.SPOILT, fluency.SPOILT)  # as many texts of both kinds are at hand
    table = Table(["value", "texts", "mean value", "share that people wrote"], digits=2)
    for low in np.arange(0, 1, 0.1):
        inside = (values >= low) & (values < low + 0.1 + (low > 0.85))
        if inside.any():
            claimed, true = (float(np.average(one[inside], weights=weights[inside])) for one in (values, right))
            table.add(f"{low:.1f} to {low + 0.1:.1f}", int(inside.sum()), Number(claimed), Number(true))
    brier = np.average((values - right) ** 2, weights=weights)
    table.notes.append(f"spoilt texts count as {100 * fluency.SPOILT:.0f} % of all; Brier score {brier:.3f}")
    return table


def style_table(human: list[list[str]]) -> Table:
    plain = [" ".join(words) for words in human]
    values = score("fluency", plain)
    styles: dict[str, Callable[[str], str]] = {
        "with a stop": lambda text: f"{text.capitalize()}.",
        "Title Case": str.title,
        "capitals": str.upper,
    }
    table = Table(["style", "mean absolute change", "above .1 in %"])
    for name, style in styles.items():
        change = np.abs(score("fluency", [style(text) for text in plain]) - values)
        table.add(name, Number(float(change.mean())), Number(100 * float((change > 0.1).mean()), digits=1))
    return table


def content_table(human: list[list[str]], metrics: Sequence[str]) -> Table:
    """How much a score moves, in units of itself and of its standard deviation over human captions."""
    dice = random.Random(2)
    edits: dict[str, Spoiler] = {
        "common object": lambda words: exchanged(words, COMMON, dice),
        "rare object": lambda words: exchanged(words, RARE, dice),
        "false phrase": lambda words: [*words, *dice.choice(PHRASES).split()],
    }
    columns = [
        "metric",
        "change",
        "captions",
        "mean absolute change",
        "in standard deviations",
        "mean",
        "falls by .1 in %",
    ]
    table = Table(columns, keys=2, notes=["standard deviations: those of the metric over human captions"])
    for metric in metrics:
        spread = score(metric, [" ".join(words) for words in human]).std()
        for name, edit in edits.items():
            made = [(" ".join(words), " ".join(found)) for words in human if (found := edit(words))]
            moved = score(metric, [two for _, two in made]) - score(metric, [one for one, _ in made])
            change, falls = float(np.abs(moved).mean()), 100 * float((moved < -0.1).mean())
            beside = [Number(change / spread, digits=2), Number(float(moved.mean())), Number(falls, digits=1)]
            table.add(f"`{metric}`", name, len(made), Number(change), *beside)
    return table


def long_descriptions() -> list[str]:
    """Texts of more than two sentences."""
    texts = [json.loads(line)["caption"] for line in (data_folder() / "mhal/dev.jsonl").read_text("utf-8").splitlines()]
    return [text for text in texts if len(sentences(text)) > 2]


def long_table() -> Table:
    """Long descriptions: whole, with one sentence scrambled, with one sentence said again."""
    texts = long_descriptions()
    whole = score("fluency", texts)
    table = Table(["spoilt", "lower in %", "mean"], notes=[f"{len(texts)} long descriptions (mhal/dev)"])
    table.add("nothing", None, Number(float(whole.mean()), digits=3))
    for name, place in (("first", 0), ("middle", None), ("last", -1)):
        spoilt = score("fluency", [scrambled_sentence(text, place) for text in texts])
        lower = Number(pairs(whole, spoilt), digits=1)
        table.add(f"{name} sentence scrambled", lower, Number(float(spoilt.mean()), digits=3))
    again = score("fluency", [f"{text} {text[sentences(text)[0].start : sentences(text)[0].end]}." for text in texts])
    lower = Number(pairs(whole, again), digits=1)
    table.add("first sentence again at the end", lower, Number(float(again.mean()), digits=3))
    return table


QUANTILES = (0.05, 0.25, 0.5, 0.75)


def scrambled_sentence(text: str, place: int | None) -> str:
    found = sentences(text)
    one = found[len(found) // 2 if place is None else place]
    words = text[one.start : one.end].split()
    return text[: one.start] + " ".join(random.Random(len(text)).sample(words, len(words))) + text[one.end :]


def writers_table(human: list[list[str]]) -> Table:
    """Values of captions that people and machines wrote."""
    table = Table(["captions of", "number", *(f"{100 * share:.0f} %" for share in QUANTILES)], digits=3)

    def add(who: str, texts: Sequence[str]) -> None:
        values = np.quantile(score("fluency", texts), QUANTILES).tolist()
        table.add(who, len(texts), *map(Number, values))

    add("people", [" ".join(words) for words in human])
    for name in ("m2_transformer", "blip2", "llava15_brief", "llava15_default"):
        rows = json.loads((data_folder() / f"coco/karpathy_test_{name}.json").read_text("utf-8"))[:1000]
        add(name, [row["caption"] for row in rows])
    add("long descriptions (mhal/dev)", long_descriptions())
    return table


def cases() -> Iterator[str]:
    values = zip(CASES, score("fluency", CASES), score("lm", CASES))
    for text, value, lm in values:
        yield f"{value:.3f}  (lm {'none' if lm == -9 else f'{lm:.2f}'})  {text!r}"


def speed(human: list[list[str]]) -> float:
    """Captions per second of processor time, cutting into words included."""
    model, texts = fluency.load(), [" ".join(words) for words in human]
    model.texts(texts)
    spent = []
    for _ in range(5):
        start = time.process_time()
        model.texts(texts)
        spent.append(time.process_time() - start)
    return len(texts) / min(spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captions", type=int, default=2000)
    parser.add_argument("--metrics", nargs="*", default=["fluency", "lm", "lm:form=logprob"])
    parser.add_argument("--pascal", action="store_true", help="PASCAL-50S too")
    add_save(parser)
    args = parser.parse_args()
    human = human_captions(args.captions)
    tables = {
        "errors": errors_table(human, [*args.metrics, "length"]),
        "reliability": reliability_table(human),
        "style": style_table(human),
        "content": content_table(human, args.metrics),
        "long": long_table(),
        "writers": writers_table(human),
    }
    tables["writers"].notes.append(f"{speed(human):,.0f} captions per core second")
    print(*cases(), sep="\n")
    if args.pascal:
        judged = pascal()
        tables["PASCAL-50S"] = Table(["metric", *GROUPS, "mean"], digits=1)
        for metric in args.metrics:
            found = judged.accuracy(score(metric, [sample.candidate for sample in judged.samples]))
            tables["PASCAL-50S"].add(f"`{metric}`", *map(Number, found.values()))
    tell("benchmarks.studies.fluency", tables, save=args.save)


if __name__ == "__main__":
    main()

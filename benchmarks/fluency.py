"""Which form of `lm` tells human captions from spoilt ones? And PASCAL-50S pairs of human and machine captions.

    python benchmarks/fluency.py [--model DIR ...] [--captions 2000]

Human captions are Flickr8k's dev captions (the default was chosen on these); spoilt ones are made from them. Share
of pairs, x100, in which the human caption scores higher (ties 1/2). PASCAL-50S only reports.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable

import numpy as np
from caption_sets import ROOT, pascal

from vericap.core.samples import Sample
from vericap.metrics.registry import make
from vericap.run.engine import Run


def swap(words: list[str], dice: random.Random) -> list[str]:
    place = dice.randrange(len(words) - 1)
    return [*words[:place], words[place + 1], words[place], *words[place + 2 :]]


def drop(words: list[str], dice: random.Random) -> list[str]:
    place = dice.randrange(len(words))
    return words[:place] + words[place + 1 :]


def repeat(words: list[str], dice: random.Random) -> list[str]:
    place = dice.randrange(len(words))
    return words[: place + 1] + words[place:]


def shuffle(words: list[str], dice: random.Random) -> list[str]:
    return dice.sample(words, len(words))


def cut(words: list[str], dice: random.Random) -> list[str]:
    """Ends in the middle: after an article or preposition where there is one."""
    ends = [i for i, word in enumerate(words) if word in ("a", "the", "of", "in", "on", "with", "and") and i > 1]
    return words[: dice.choice(ends) + 1] if ends else words[:-1]


SPOILERS: dict[str, Callable[[list[str], random.Random], list[str]]] = {
    "swap": swap, "drop": drop, "repeat": repeat, "shuffle": shuffle, "cut": cut,
}  # fmt: skip


def dev_captions(count: int) -> list[list[str]]:
    dev = set((ROOT / "flickr8k/Flickr_8k.devImages.txt").read_text().split())
    lines = (ROOT / "flickr8k/Flickr8k.token.txt").read_text("utf-8").splitlines()
    texts = [line.split("\t")[1].strip(" .").lower().split() for line in lines if line.split("#")[0] in dev]
    return [text for text in random.Random(0).sample(texts, count) if len(text) > 4]


def score(metric: str, texts: list[str]) -> np.ndarray:
    return Run([make(metric)]).score([Sample(str(i), text) for i, text in enumerate(texts)])[metric]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", nargs="*", default=["coco"])
    parser.add_argument("--captions", type=int, default=2000)
    args = parser.parse_args()
    human = dev_captions(args.captions)
    dice = random.Random(1)
    spoilt = {name: [spoil(words, dice) for words in human] for name, spoil in SPOILERS.items()}
    pairs = pascal()
    for model in args.model:
        for form in ("slor", "logprob"):
            metric = f"lm:form={form}:model={model}"
            good = score(metric, [" ".join(words) for words in human])
            shares = {}
            for name, texts in spoilt.items():
                bad = score(metric, [" ".join(words) for words in texts])
                shares[name] = 100 * np.where(good == bad, 0.5, good > bad).mean()
            shown = " ".join(f"{name} {share:.1f}" for name, share in shares.items())
            mean = np.mean(list(shares.values()))
            found = pairs.accuracy(score(metric, [sample.candidate for sample in pairs.samples]))
            beside = " ".join(f"{name} {share:.1f}" for name, share in found.items())
            print(f"{metric}: spoilt {shown} mean {mean:.1f} | PASCAL-50S {beside}", flush=True)


if __name__ == "__main__":
    main()

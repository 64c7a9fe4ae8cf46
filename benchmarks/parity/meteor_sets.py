"""Captions for the METEOR benchmarks: COCO val2014, the Karpathy-test systems, made-up odd lines."""

from __future__ import annotations

import gzip
import json
import random
from collections import defaultdict
from collections.abc import Iterator

from benchmarks.library.data import data_folder
from vericap.core.samples import Sample

SYSTEMS = ("m2_transformer", "blip2", "llava15_brief", "llava15_default")


def coco_split(split: str = "val") -> list[Sample]:
    """One human caption per image as candidate, the others as references."""
    with gzip.open(data_folder() / "coco" / f"captions_{split}2014.json.gz", "rt", encoding="utf-8") as stream:
        annotations = json.load(stream)["annotations"]
    captions = defaultdict(list)
    for item in annotations:
        captions[item["image_id"]].append(item["caption"])
    return [Sample(str(image), texts[0], tuple(texts[1:6])) for image, texts in sorted(captions.items())]


def karpathy(system: str) -> list[Sample]:
    """The outputs of a real system for the 5,000 Karpathy-test images."""
    captions = json.loads((data_folder() / "coco" / "karpathy_test_references.json").read_text("utf-8"))
    results = json.loads((data_folder() / "coco" / f"karpathy_test_{system}.json").read_text("utf-8"))
    return [Sample(str(r["image_id"]), r["caption"], tuple(captions[str(r["image_id"])])) for r in results]


PIECES = (
    "a dog it's '' ' `` ` 's 'd n't don't 3's 9' '90s 1,000 ,5 5, a,b , . .. ... .... ..a e.g. i.e. u.s. u.s.a. "
    "no. no.5 pp. 5 v. vs. st. mr. -- - – — well-lit a.-b x-y-z 4x4 w/ & @ # $5 $ % ( ) -lrb- -rrb- é ñ ž ж 犬 "
    "日本 1\u00a01/2 3/4 😀 👨‍👩‍👧 “ ” ‘ ’ rock'n'roll o'clock s' 'x' 9'9 a'9 9's * ~ ^ < > = + : ; ! ? / _ a_b "
    "c0 an men men's riding rides ridden children child happily running ran runner the of in on with to a a a"
)


def made_up(count: int, seed: int) -> Iterator[Sample]:
    """Odd lines from pieces of real captions and signs, and references that repeat parts of them."""
    rng = random.Random(seed)
    words = [word for sample in coco_split()[:400] for word in sample.candidate.lower().split()]
    pieces = PIECES.split(" ")

    def line() -> list[str]:
        return [rng.choice(words if rng.random() < 0.75 else pieces) for _ in range(rng.randint(0, 16))]

    def changed(tokens: list[str]) -> list[str]:
        kept = [token for token in tokens if rng.random() < 0.8] + line()[: rng.randint(0, 4)]
        if rng.random() < 0.5:
            rng.shuffle(kept)
        return kept + kept[: rng.randint(0, 5)]

    for number in range(count):
        tokens = line()
        references = [" ".join(changed(tokens)) for _ in range(rng.randint(1, 4))]
        yield Sample(str(number), " ".join(tokens), tuple(references))

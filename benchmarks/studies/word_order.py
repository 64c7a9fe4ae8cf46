"""Words in no order: which captions the verdict reads in another order than they have, and how near it comes.

    VERICAP_DATA=DIR python -m benchmarks.studies.word_order [--captions 4000] [--save]

Captions of COCO's validation photos, which the language model has not seen, as people wrote them and with their words
shuffled. Neighbours that are found again: pairs of words that stand side by side in the caption and in the order that
is found; "ms": processor time of finding it, one thread.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from benchmarks.library.data import data_folder
from benchmarks.library.results import add_save, tell
from vericap.core import shipped
from vericap.core.table import Number, Table
from vericap.metrics.toolbox import words_of
from vericap.metrics.verdict.split import out_of_order, reads_badly
from vericap.models import fluency
from vericap.text import ngram_lm
from vericap.text.word_order import likely_orders
from vericap.train import data


def drawn(count: int) -> list[list[str]]:
    """Words of captions of different photos."""
    texts = [own[0] for own in data.coco([data_folder() / "coco" / "captions_val2014.json.gz"]).captions]
    words = [[word for word, _, _ in words_of(text)] for text in random.Random(0).sample(texts, count)]
    return [own for own in words if len(own) > 3]


def shuffled(words: Sequence[str]) -> list[str]:
    return random.Random(" ".join(words)).sample(words, len(words))


def together(words: Sequence[str]) -> Counter[tuple[str, str]]:
    return Counter(pairwise(map(str.lower, words)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captions", type=int, default=4000)
    add_save(parser)
    args = parser.parse_args()
    model, reader = ngram_lm.load(shipped.folder("lm")), fluency.load()
    plain = drawn(args.captions)
    table = Table(["captions", "read badly, %", "read in another order, %", "neighbours found again, %", "ms"])
    for title, captions in (("as people wrote them", plain), ("shuffled", [shuffled(own) for own in plain])):
        texts = [" ".join(own) for own in captions]
        badly = [reads_badly(found, (0, len(text))) for text, found in zip(texts, reader.texts(texts))]
        order = [bad and out for bad, out in zip(badly, out_of_order(model, captions))]
        start = time.process_time()
        found = [[own[place] for place in places] for own, places in zip(captions, likely_orders(model, captions))]
        took = time.process_time() - start
        again = sum((together(own) & together(mended)).total() for own, mended in zip(plain, found))
        shares = (sum(badly) / len(plain), sum(order) / len(plain), again / sum(len(own) - 1 for own in plain))
        table.add(
            title, *(Number(100 * share, digits=1) for share in shares), Number(1000 * took / len(plain), digits=2)
        )
    table.notes.append(f"{len(plain)} captions of COCO's validation photos")
    tell("benchmarks.studies.word_order", {"order": table}, save=args.save)


if __name__ == "__main__":
    main()

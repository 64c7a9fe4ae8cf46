"""Make tests/metrics/golden/meteor.json: what the Java tool (pycocoevalcap 1.2) says of small made captions.

    python tools/make_meteor_golden.py

Needs Java and `pip install pycocoevalcap==1.2`. Lines are given to METEOR as they are, words joined by blanks.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

from pycocoevalcap.meteor.meteor import Meteor

OUTPUT = Path(__file__).resolve().parent.parent / "tests" / "metrics" / "golden" / "meteor.json"

WRITTEN = [
    ("a man riding a horse on the beach", ["a man rides a horse along the shore", "a person near the ocean"]),
    ("two kids are playing soccer with a ball", ["children play football in the park", "boys playing a game"]),
    ("a dog", ["a dog"]),
    ("", ["a dog runs"]),
    ("a cat", [""]),
    ("", [""]),
    ("a a a the the a man a", ["the a man a a the"]),
    ("the men 's dog is n't well-lit", ["the man 's dog is not lit well", "men 's dogs"]),
    ("c0 apple on the table", ["an apple on the table"]),
    ("it cost $ 1,000 at 5 p.m. on st. john 's day", ["it cost 1000 dollars at 5 pm on saint john s day"]),
    ("e.g. a u.s. flag ... and ..more", ["for example an american flag and more", "the us flag ... and more"]),
    ("a 犬 😀 and a café", ["a dog and a cafe", "犬 😀 café"]),
    ("rock'n'roll o'clock '90s 3's", ["rock 'n' roll at nine o'clock in the '90s"]),
    ("a large number of people are waiting", ["a lot of people wait", "many people are in line"]),
    ("she is running quickly through the woods", ["a woman quickly runs in the forest", "she ran fast"]),
    ("xyzzy plugh", ["a man and a woman"]),
    ("the the the the the the", ["the cat", "the the cat"]),
    ("a group of people standing in front of a building",
     ["several people stand outside of a building", "a crowd of persons in front of the house"]),
]  # fmt: skip

VOCABULARY = (
    "a a the the of in on with and man woman men dog dogs horse riding rides rode ride street road large big small "
    "little kid child children group people standing stands stood sitting sits table bench park field ball playing "
    "plays game of number a lot near next to front building house holding holds phone picture photo 's - . well-lit"
)


def mixed(count: int) -> list[tuple[str, list[str]]]:
    """Captions with many repeated words, where the search has choices."""
    rng, words = random.Random(15), VOCABULARY.split()
    found = []
    for _ in range(count):
        base = [rng.choice(words) for _ in range(rng.randint(3, 14))]
        references = []
        for _ in range(rng.randint(1, 3)):
            other = [w for w in base if rng.random() < 0.7] + [rng.choice(words) for _ in range(rng.randint(0, 6))]
            rng.shuffle(other)
            references.append(" ".join(other))
        found.append((" ".join(base), references))
    return found


def main() -> None:
    samples = WRITTEN + mixed(60)
    references = {row: listed for row, (_, listed) in enumerate(samples)}
    candidates = {row: [text] for row, (text, _) in enumerate(samples)}
    corpus, scores = Meteor().compute_score(references, candidates)
    rows = [{"candidate": c, "references": r, "meteor": s} for (c, r), s in zip(samples, scores)]
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    about = "python tools/make_meteor_golden.py (pycocoevalcap 1.2, meteor-1.5.jar)"
    text = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    OUTPUT.write_text(f'{{"made_by": "{about}", "corpus": {corpus!r}, "rows": [\n{text}\n]}}\n', "utf-8")
    print(f"{len(rows)} captions, corpus {corpus}")


if __name__ == "__main__":
    main()

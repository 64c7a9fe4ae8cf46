"""Golden values of the COCO tool for tests: python tools/make_golden.py   (needs Java and `pip install pycocoevalcap`)

Writes tests/text/golden_ptb.json (tokens of made-up captions) and tests/metrics/golden_coco.json (scores).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools" / "ptb"))

CAPTIONS = [
    "A man can't see the dog's bowl; it isn't there...",
    "Cannot, gonna, wanna, gimme: \"y'all\" said 'tis fine!",
    "The sign says \u201cSTOP\u201d \u2014 it\u2019s on Main St. near the U.S. Capitol.",
    "He paid $5.00 (or \u00a33.50, \u20ac4) for 1 1/2 cups at 12:30 p.m.",
    "Black-and-white photo w/ a 10-year-old boy and/or his mother-in-law",
    "Two dogs & a cat; AT&amp;T logo, R&B band, <b>bold</b> text",
    "Visit www.example.com or http://example.org/a?b=c, mail me@example.com!!",
    "A caf\u00e9 in \u6771\u4eac \U0001f600 with na\u00efve so\u00adft \uff46\uff55\uff4c\uff4c width",
    "Non-breaking\u00a0space\u3000and\ttabs\nand line breaks",
    "A bus.; the number 7, no. 5 and fig. 3",
    "the letter K.",
    "An X. A cat.",
    "rock 'n' roll in the '90s, o'clock, O'Brien's, 80's",
    "\u00bd a pizza, 3\u00bd stars, 1\u20442 off, 50% of H\u2082O m\u00b2",
    ":-) ;D ^_^ <3 (555) 555-1234 @name #tag C++ f# --- ----- ....",
    "Mr. and Mrs. Smith, Inc., etc., e.g. Ph.D. Jr. vs. Dr.",
    "",
    "   ",
    "?!",
    "...",
]

PAIRS = [
    ("a man riding a horse on the beach", ["A man rides a horse on a beach.", "Man on horse near the sea", "a rider"]),
    ("a dog", ["Two dogs play in the snow with a ball.", "dogs in snow"]),
    ("a cat sits on a cat on a cat on a mat", ["A cat sits on a mat.", "The cat is on the mat, a cat!"]),
    ("", ["An empty caption", "nothing"]),
    ("the the the the the", ["the", "the the cat", "a the dog the"]),
    ("1 1/2 cups of tea", ["1 1/2 cups of tea", "one and a half cups"]),
    ("a man riding a horse on the beach", ["a man riding a horse on the beach"]),
    ("two people", ["!!!", "two people"]),
    ("he can't see it's (very) big", ["He cannot see it is (very) big.", "can't see"]),
    ("?", ["...", "?"]),
    ("a group of people standing around a table with food on it", ["People at a table.", "A group of people eat"]),
    ("...", ["."]),
]


def main() -> None:
    from check import made_up

    captions = [caption.replace("\n", " ") for caption in CAPTIONS + made_up(400, 7)]
    tokens = PTBTokenizer().tokenize({0: [{"caption": caption} for caption in captions]})[0]
    command = "python tools/make_golden.py"
    write("tests/text/golden_ptb.json", {"command": command, "captions": captions, "tokens": tokens})
    tokenizer = PTBTokenizer()
    gts = tokenizer.tokenize({i: [{"caption": text} for text in pair[1]] for i, pair in enumerate(PAIRS)})
    res = tokenizer.tokenize({i: [{"caption": pair[0]}] for i, pair in enumerate(PAIRS)})
    corpus, each = Bleu(4).compute_score(gts, res, verbose=0)
    scores = {f"bleu-{n + 1}": {"corpus": corpus[n], "captions": each[n]} for n in range(4)}
    for name, scorer in (("rouge-l", Rouge()), ("cider-d", Cider())):
        value, captions_scores = scorer.compute_score(gts, res)
        scores[name] = {"corpus": float(value), "captions": [float(x) for x in captions_scores]}
    write("tests/metrics/golden_coco.json", {"command": command, "pairs": PAIRS, "scores": scores})


def write(name: str, content: object) -> None:
    (ROOT / name).write_text(json.dumps(content, ensure_ascii=True, indent=1) + "\n")
    print(name)


if __name__ == "__main__":
    main()

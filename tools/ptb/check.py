"""Compare the tokeniser with the Stanford program on made-up captions: python tools/ptb/check.py [--seed N] [--count N]

Needs Java and `pip install pycocoevalcap`. Prints the number of captions with different tokens, and the shortest.
"""

from __future__ import annotations

import argparse
import random

import numpy as np

from vericap.text import ptb

PIECES = """
a A s t n x U word Word WORD the The He In 1 12 123 1234 5 . .. ... - -- --- ' '' ’ ‘ ` “ ” " , ; : ! ? !! /
// \\ & &amp; &lt; &gt; &quot; &apos; &#39; &nbsp; &eacute; &mdash; $ US$ £ € ¢ ¥ # ## @ _ * ** + ++ = ~ ^ | <
<b> </b> <br/> > ( ) [ ] { } % ° ½ ⅓ 1/2 é É ñ ß 漢 日本語 ｆ ！ … — – ‐ ² ₂ 😀 👍🏽 n't 's 'S ’s 're 'll 'd 'm can't
cannot gonna Mr. Dr. St. U.S. e.g. a.m. etc. No. Inc. Ph.D. x.com www.x.org http://a.bc/d?e=f a@b.co foo.jpg
C++ AT&T O'Brien d'ye y'all 'n' 'em '90s 'tis rock 555 555-1234 (555) +1 :) :-( ;D ^_^ 12:30 1,000 3.5 -5
10/11/2012 black-and-white w/ and/or S&P-500
""".split()  # noqa: SIM905
BLANKS = [" ", " ", "  ", "\u00a0", "\u3000", "\u00ad", "\u200b", "\t"]


def made_up(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    pieces = PIECES + BLANKS
    return [
        "".join(draw.choice(pieces) + draw.choice(["", "", " "]) for _ in range(draw.randint(2, 6)))
        for _ in range(count)
    ]


def main() -> None:
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    captions = made_up(args.count, args.seed)
    theirs = PTBTokenizer().tokenize({0: [{"caption": caption} for caption in captions]})[0]
    ours = ptb.tokens(captions, following=np.append(np.arange(1, len(captions)), -1))
    different = [i for i, line in enumerate(theirs) if " ".join(ours[i]) != line]
    print(f"{len(different)} of {len(captions)} captions differ")
    for i in sorted(different, key=lambda i: len(captions[i]))[:20]:
        print(f"{captions[i]!r}\n  tool: {theirs[i]!r}\n  ours: {' '.join(ours[i])!r}")


if __name__ == "__main__":
    main()

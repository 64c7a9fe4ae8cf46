"""Precision of what jaspice-plus takes for a match by the encoder, from 150 pairs judged by hand.

    python -m benchmarks.studies.japanese_matches

`japanese_matches.tsv` has 25 pairs of tuples per tenth of the cosine, drawn from jsts_train. The threshold of
jaspice-plus is the first cosine from which three of four pairs of one length are right.
"""

from __future__ import annotations

from pathlib import Path

FILE = Path(__file__).with_suffix(".tsv")


def main() -> None:
    lines = [line.split("\t") for line in FILE.read_text("utf-8").splitlines() if line[:1] != "#"]
    rows = [(float(cosine), one.count("/") == other.count("/"), int(right)) for cosine, one, other, right in lines]
    print(f"{len(rows)} pairs\ncosine     right  of   precision | of one length: right  of   precision")
    for low in (0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
        here = [(same, right) for cosine, same, right in rows if low <= cosine < low + 0.1 or (low == 0.9 <= cosine)]
        alike = [right for same, right in here if same]
        every = [right for _, right in here]
        print(
            f"{low:.1f} - {low + 0.1:.1f}  {sum(every):5d}  {len(every):2d}   {sum(every) / len(every):9.2f} |"
            f"                {sum(alike):5d}  {len(alike):2d}   {sum(alike) / max(1, len(alike)):9.2f}"
        )


if __name__ == "__main__":
    main()

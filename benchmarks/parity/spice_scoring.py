"""Is SPICE's scoring stage equal to the original's, fed with the original's own proposals?

    python -m benchmarks.parity.spice_scoring [--save]

Every row of the golden sets is scored from the golden proposals of its candidate and references; counts, precision,
recall and F of all categories are compared.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from benchmarks.library.data import data_folder
from benchmarks.library.results import add_save, tell
from benchmarks.parity.spice_parser import golden
from vericap.core.table import Number, Table
from vericap.graphs.spice import ReferenceGraph, SpiceScore
from vericap.text.ptb import tokens

CATEGORY = {
    "All": "all", "Object": "object", "Attribute": "attribute", "Relation": "relation", "Color": "color",
    "Cardinality": "count", "Size": "size",
}  # fmt: skip


def flickr_captions() -> dict[str, str]:
    lines = (data_folder() / "flickr8k" / "Flickr8k.token.txt").read_text("utf-8").splitlines()
    return dict(line.split("\t", 1) for line in lines if "\t" in line)


def captions_of(name: str) -> dict[str, str]:
    records = json.loads((data_folder() / "coco" / f"karpathy_test_{name}.json").read_text("utf-8"))
    return {str(record["image_id"]): record["caption"] for record in records}


def rows(name: str) -> list[tuple[dict[str, Any], str, list[str]]]:
    """(golden row, candidate text, reference texts) of one golden set."""
    found = golden(name)
    if name == "flickr8k_expert":
        texts = flickr_captions()
        return [(r, texts[r["caption_id"]], [texts[f"{r['image']}#{i}"] for i in range(5)]) for r in found]
    if name == "pascal50s":
        lines = (data_folder() / "pascal50s" / "pairs.jsonl").read_text("utf-8").splitlines()
        pairs = [json.loads(line) for line in lines]
        return [(r, r["candidate"], pairs[r["pair"]]["references"]) for r in found]
    own = captions_of(name.removeprefix("coco_"))
    references = json.loads((data_folder() / "coco" / "karpathy_test_references.json").read_text("utf-8"))
    return [(r, own[str(r["image"])], references[str(r["image"])]) for r in found]


def proposals() -> dict[str, list[list[str]]]:
    """Golden proposals by tokenised caption."""
    return {r["tokenised"]: r["proposals"] for r in golden("captions") if "proposals" in r}


def same(score: SpiceScore, expected: dict[str, Any], category: str) -> bool:
    counts, want = score.counts[CATEGORY[category]], expected[category]
    if (counts.tp, counts.fp, counts.fn) != (want["tp"], want["fp"], want["fn"]):
        return False
    if want["f"] is None:
        return not counts.defined
    pairs = ((counts.f, want["f"]), (counts.precision, want["pr"]), (counts.recall, want["re"]))
    return all(abs(one - two) < 1e-6 for one, two in pairs)


def compare(name: str, known: dict[str, list[list[str]]]) -> tuple[int, int, int, int]:
    """Rows compared, equal in All, equal in every category, rows without golden proposals."""
    compared = equal = everywhere = lacking = 0
    merged: dict[tuple[str, ...], ReferenceGraph] = {}
    found = rows(name)
    texts = list(dict.fromkeys(text for _, own, theirs in found for text in (own, *theirs)))
    tokenised = {text: " ".join(words) for text, words in zip(texts, tokens(texts))}
    for row, candidate, references in found:
        own, *theirs = (known.get(tokenised[text]) for text in (candidate, *references))
        if own is None or None in theirs:
            lacking += 1
            continue
        key = tuple(references)
        if key not in merged:
            merged[key] = ReferenceGraph([tuples for tuples in theirs if tuples is not None])
        score = merged[key].score(own)
        compared += 1
        equal += same(score, row["spice"], "All")
        everywhere += all(same(score, row["spice"], category) for category in CATEGORY)
    return compared, equal, everywhere, lacking


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_save(parser)
    args = parser.parse_args()
    table = Table(["set", "rows", "equal %", "with all sub-scores %", "without golden proposals"], digits=2)
    known = proposals()
    for name in ("flickr8k_expert", "pascal50s", "coco_m2_transformer", "coco_llava15_default"):
        compared, equal, everywhere, lacking = compare(name, known)
        shares = [Number(100 * part / compared) for part in (equal, everywhere)]
        table.add(name, compared, *shares, lacking)
    tell("benchmarks.parity.spice_scoring", {"rows": table}, save=args.save)


if __name__ == "__main__":
    main()

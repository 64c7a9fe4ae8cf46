"""How well the English parser's tuples agree with the original SPICE's and with hand-checked ones.

Ours are written in the original's habits first: compounds apart, sides of things as objects, talk of the picture kept.

    python -m benchmarks.parity.spice_parser [--part dev|test] [--disagreements]

The golden captions (VERICAP_GOLDEN) are halved by a checksum of their ids. Rules were
developed on `dev`, and on 82 of the 6,687 captions of `test` (all COCO), none of them in the hand-checked set.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import zlib
from collections import Counter
from typing import Any

from benchmarks.library.data import ROOT, data_folder

sys.path.insert(0, str(ROOT / "tests" / "graphs"))

from tuple_sets import KINDS, Agreement, Tuples, comparable, complete, hand_checked, in_old_habits

from vericap.graphs.english import parse_many


def golden(name: str) -> list[dict[str, Any]]:
    with gzip.open(data_folder("VERICAP_GOLDEN") / "spice" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def part_of(record: dict[str, Any]) -> str:
    return "test" if zlib.crc32(f"{record['source']}:{record['id']}".encode()) % 2 else "dev"


def show(title: str, found: Agreement) -> None:
    for kind in (*KINDS, "all"):
        precision, recall, f1 = found.scores(kind)
        print(f"{title:<28} {kind:<10} P {precision:.3f}  R {recall:.3f}  F1 {f1:.3f}")


def against_original(part: str) -> list[tuple[dict[str, Any], Tuples, Tuples]]:
    records = [record for record in golden("captions") if part_of(record) == part]
    graphs = parse_many((record["caption"] for record in records), talk=True)
    found, by_source, pairs = Agreement(), {}, []
    for record, graph in zip(records, graphs):
        ours, theirs = in_old_habits(set(graph.tuples())), complete(record.get("proposals") or record["tuples"])
        found.add(ours, theirs)
        by_source.setdefault(record["source"], Agreement()).add(ours, theirs)
        pairs.append((record, ours, theirs))
    show(f"original, {part} ({len(records)})", found)
    for source, own in by_source.items():
        print(f"  {source:<26} all        F1 {own.scores()[2]:.3f}")
    return pairs


def hand_rows() -> list[tuple[str, Tuples, Tuples, Tuples]]:
    """(caption, our tuples, the original's, the true ones) without matters of convention."""
    original = {str(r["id"]): r for r in golden("captions") if r["source"] == "coco_val2014"}
    truth = list(hand_checked())
    graphs = parse_many((caption for _, caption, _ in truth), talk=True)
    return [
        (
            caption,
            comparable(set(graph.tuples()), caption),
            comparable(complete(original[str(number)]["proposals"]), caption),
            comparable(true, caption),
        )
        for (number, caption, true), graph in zip(truth, graphs)
    ]


def against_hand() -> None:
    ours, theirs = Agreement(), Agreement()
    rows = hand_rows()
    for _, mine, other, true in rows:
        ours.add(mine, true)
        theirs.add(other, true)
    show(f"hand-checked ({len(rows)}), ours", ours)
    show(f"hand-checked ({len(rows)}), original", theirs)


def who_is_right() -> None:
    """Of the tuples only one side has on the hand-checked captions, how many are true, by kind."""
    counts: Counter[tuple[str, str]] = Counter()
    right: Counter[tuple[str, str]] = Counter()
    for caption, mine, other, true in hand_rows():
        for side, extra, rest in (("ours", mine - other, other), ("original", other - mine, mine)):
            for item in extra:
                key = (kind_of_disagreement(item, caption, rest), side)
                counts[key] += 1
                right[key] += item in true
    print("\nWho is right, on the hand-checked captions (true tuples of those only one side has):")
    for kind in sorted({kind for kind, _ in counts}):
        parts = [f"{side} {right[kind, side]:>3} of {counts[kind, side]:>3}" for side in ("ours", "original")]
        print(f"  {kind:<56} {'   '.join(parts)}")


def kind_of_disagreement(item: tuple[str, ...], caption: str, other: Tuples) -> str:
    """A name for why a tuple is on one side only."""
    objects = {t[0] for t in other if len(t) == 1}
    text = caption.lower()
    if len(item) == 1:
        if item[0] in ("front", "top") and (f"in {item[0]} of" in text or f"on {item[0]} of" in text):
            return "object: noun inside a compound preposition (front, top)"
        if item[0] in ("couple", "bunch", "pair", "lot", "number"):
            return "object: quantity word (a couple of)"
        if item[0].endswith("ing"):
            return "object: -ing verb as an object"
        return "object: other"
    if len(item) == 2:
        if item[1] == "a" or item[1] in ("couple", "bunch", "pair", "lot", "lots"):
            return "attribute: quantity (a couple of)"
        if item[0] not in objects:
            return "attribute: of an object the other side does not have"
        if item[1] in ("appear", "seem"):
            return "attribute: appear / seem"
        if any(len(t) == 3 and t[0] == item[0] and t[1].split()[0] == item[1] for t in other):
            return "attribute here, relation there"
        return "attribute: other"
    if item[0] not in objects or item[2] not in objects:
        return "relation: of an object the other side does not have"
    if any(len(t) == 3 and t[1:] == item[1:] for t in other):
        return "relation: another subject"
    if any(len(t) == 3 and t[2] == item[2] and t[1].split()[-1] == item[1].split()[-1] for t in other):
        return "relation: preposition hung on verb or on noun"
    if item[1] == "have":
        return "relation: possessor (pronoun)"
    return "relation: other"


def disagreements(pairs: list[tuple[dict[str, Any], Tuples, Tuples]]) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], str] = {}
    for record, ours, theirs in pairs:
        for side, extra, other in (("ours", ours - theirs, theirs), ("original", theirs - ours, ours)):
            for item in sorted(extra):
                key = (kind_of_disagreement(item, record["caption"], other), side)
                counts[key] += 1
                examples.setdefault(key, f"{' | '.join(item)}  <-  {record['tokenised'][:80]}")
    print("\nOnly on one side, most frequent kinds:")
    for (kind, side), count in counts.most_common(24):
        print(f"{count:>6}  {side:<9} {kind}\n{'':>17} e.g. {examples[kind, side]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("dev", "test"), default="test")
    parser.add_argument("--disagreements", action="store_true")
    args = parser.parse_args()
    pairs = against_original(args.part)
    against_hand()
    if args.disagreements:
        disagreements(pairs)
        who_is_right()


if __name__ == "__main__":
    main()

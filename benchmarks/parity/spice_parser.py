"""How well the English parser's tuples agree with the original SPICE's and with hand-checked ones.

Ours are written in the original's habits first: compounds apart, sides of things as objects, talk of the picture kept.

    python -m benchmarks.parity.spice_parser [--part dev|test] [--disagreements] [--save]

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

from benchmarks.library.results import add_save, tell
from vericap.core.table import Number, Table
from vericap.graphs.english import parse_many


def golden(name: str) -> list[dict[str, Any]]:
    with gzip.open(data_folder("VERICAP_GOLDEN") / "spice" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def part_of(record: dict[str, Any]) -> str:
    return "test" if zlib.crc32(f"{record['source']}:{record['id']}".encode()) % 2 else "dev"


def show(table: Table, title: str, found: Agreement) -> None:
    for kind in (*KINDS, "all"):
        table.add(title, kind, *map(Number, found.scores(kind)))


def against_original(table: Table, part: str) -> list[tuple[dict[str, Any], Tuples, Tuples]]:
    records = [record for record in golden("captions") if part_of(record) == part]
    graphs = parse_many((record["caption"] for record in records), talk=True)
    found, by_source, pairs = Agreement(), {}, []
    for record, graph in zip(records, graphs):
        ours, theirs = in_old_habits(set(graph.tuples())), complete(record.get("proposals") or record["tuples"])
        found.add(ours, theirs)
        by_source.setdefault(record["source"], Agreement()).add(ours, theirs)
        pairs.append((record, ours, theirs))
    show(table, f"ours against the original, {part} ({len(records)})", found)
    for source, own in by_source.items():
        table.add(f"the same, {source}", "all", *map(Number, own.scores()))
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


def against_hand(table: Table) -> None:
    ours, theirs = Agreement(), Agreement()
    rows = hand_rows()
    for _, mine, other, true in rows:
        ours.add(mine, true)
        theirs.add(other, true)
    show(table, f"ours, hand-checked ({len(rows)})", ours)
    show(table, f"the original, hand-checked ({len(rows)})", theirs)


def who_is_right() -> Table:
    """Of the tuples only one side has on the hand-checked captions, how many are true, by kind."""
    counts: Counter[tuple[str, str]] = Counter()
    right: Counter[tuple[str, str]] = Counter()
    for caption, mine, other, true in hand_rows():
        for side, extra, rest in (("ours", mine - other, other), ("original", other - mine, mine)):
            for item in extra:
                key = (kind_of_disagreement(item, caption, rest), side)
                counts[key] += 1
                right[key] += item in true
    sides = ("ours", "original")
    table = Table(["kind", *sides], notes=["true ones of the tuples that only one side has, hand-checked captions"])
    for kind in sorted({kind for kind, _ in counts}):
        table.add(kind, *(f"{right[kind, side]} of {counts[kind, side]}" for side in sides))
    return table


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
    add_save(parser)
    args = parser.parse_args()
    table = Table(["tuples", "kind", "precision", "recall", "F1"], digits=3, keys=2)
    pairs = against_original(table, args.part)
    against_hand(table)
    tables = {"tuples": table}
    if args.disagreements:
        disagreements(pairs)
        tables["who is right"] = who_is_right()
    tell("benchmarks.parity.spice_parser", tables, save=args.save)


if __name__ == "__main__":
    main()

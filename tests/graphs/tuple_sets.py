"""Tuple sets of captions, from the hand-checked file and from SPICE's golden proposals, and how well they agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from vericap.graphs.english_compounds import COMPOUNDS
from vericap.graphs.english_words import QUANTITIES, SIDES
from vericap.text.wordnet import morphy

HAND_CHECKED = Path(__file__).with_name("hand_checked.txt")
Tuples = set[tuple[str, ...]]
KINDS = ("object", "attribute", "relation")
_QUANTITIES = QUANTITIES
_COMPOUNDS = {" ".join(pair): pair for pair in COMPOUNDS}
_SAME = {"sunglass": "sunglasses", "graffitus": "graffiti", "glasses": "glass"}


def hand_checked() -> Iterator[tuple[int, str, Tuples]]:
    """(COCO annotation id, caption, tuples)."""
    blocks = [block for block in HAND_CHECKED.read_text("utf-8").split("\n\n") if block.strip()]
    for block in blocks:
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if not lines:
            continue
        number, _, caption = lines[0].partition(" ")
        parts = [part for line in lines[1:] for part in line.partition(":")[2].split(";") if part.strip()]
        yield int(number), caption, {tuple(word.strip() for word in part.split("|")) for part in parts}


def complete(tuples: Iterable[Iterable[str]]) -> Tuples:
    """Proposals as a set, with the objects that only longer tuples name; a leading "be" of a relation dropped."""
    found: Tuples = set()
    for item in map(tuple, tuples):
        found.add(item if len(item) < 3 else (item[0], item[1].removeprefix("be "), item[2]))
        found.add((item[0],))
        if len(item) == 3:
            found.add((item[2],))
    return found


def in_old_habits(tuples: Tuples) -> Tuples:
    """Tuples as the original SPICE and the hand-checked file have them.

    ("tennis racket",) is (racket,) and (racket, tennis); (house, at bottom of, hill) is (house, at, bottom) and
    (bottom, of, hill).
    """
    found: Tuples = set()
    for item in tuples:
        parts = list(item)
        for place in (0, 2):
            if len(parts) > place and parts[place] in _COMPOUNDS:
                first, parts[place] = _COMPOUNDS[parts[place]]
                found |= {(parts[place],), (parts[place], first)}
        if len(parts) == 3 and (side := _side(parts[1])):
            subject, (before, noun), target = parts[0], side, parts[2]
            found |= {(noun,), (noun, "of", target), (subject, before, noun)}
        else:
            found.add(tuple(parts))
    return found


def _side(relation: str) -> tuple[str, str] | None:
    """ "stand at bottom of" -> ("stand at", "bottom"); None for other relations and "on top of", "in front of"."""
    words = relation.split()
    if len(words) < 3 or words[-1] != "of" or words[-2] not in SIDES:
        return None
    if words[-3] in ("on", "in") and words[-2] in ("top", "front", "back"):
        return None
    return " ".join(words[:-2]), words[-2]


def comparable(tuples: Tuples, caption: str) -> Tuples:
    """Without what is only a matter of convention: quantity words, "front" of "in front of", -ed and -ing forms."""
    text = caption.lower()
    tuples = in_old_habits(tuples)
    unnamed = {noun for noun, phrase in (("front", "in front of"), ("top", "on top of")) if phrase in text}
    found: Tuples = set()
    for item in tuples:
        if (item[0] in _QUANTITIES and f"{item[0]} of" in text) or (len(item) == 1 and item[0] in unnamed):
            continue
        if len(item) == 2:
            if item[1] in _QUANTITIES or item[1] == "a":
                continue
            item = (item[0], morphy(item[1], "v") or item[1])
        found.add(tuple(_SAME.get(word, word) for word in item))
    return found


class Agreement:
    """Counts of shared, proposed and true tuples, by kind."""

    def __init__(self) -> None:
        self.shared, self.proposed, self.true = [0, 0, 0], [0, 0, 0], [0, 0, 0]

    def add(self, proposed: Tuples, true: Tuples) -> None:
        for kind in range(3):
            mine = {item for item in proposed if len(item) == kind + 1}
            theirs = {item for item in true if len(item) == kind + 1}
            self.shared[kind] += len(mine & theirs)
            self.proposed[kind] += len(mine)
            self.true[kind] += len(theirs)

    def scores(self, kind: str = "all") -> tuple[float, float, float]:
        """Precision, recall, F1 of objects, attributes, relations or all."""
        which = slice(None) if kind == "all" else slice(KINDS.index(kind), KINDS.index(kind) + 1)
        shared, proposed, true = (sum(x[which]) for x in (self.shared, self.proposed, self.true))
        return shared / max(proposed, 1), shared / max(true, 1), 2 * shared / max(proposed + true, 1)

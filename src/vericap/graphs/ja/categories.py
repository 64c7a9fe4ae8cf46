"""What kind of thing a noun names, by JumanDIC's categories."""

from __future__ import annotations

from vericap.graphs.ja import lexicon
from vericap.text.jumandic import table

# "A の B" makes A an attribute of B when A is one of these (colour, shape, quantity, time, parts).
ATTRIBUTE_CATEGORIES = frozenset({"動物-部位", "植物-部位", "場所-施設部位", "形・模様", "色", "数量", "時間"})
_SAFE_ENDINGS = frozenset({"人", "動物", "色", "場所-施設", "場所-自然", "人工物-乗り物", "人工物-その他"})
_SHAPE_ENDINGS = ("形", "型", "柄", "模様", "身裸")
ANIMATE = frozenset({"人", "動物", "組織・団体"})
PLACES = frozenset({"場所-施設", "場所-施設部位", "場所-自然", "場所-機能", "場所-その他"})


def categories(noun: str) -> frozenset[str]:
    """Categories of a noun; of the longest known ending where the whole is unknown ("白猫" -> 猫)."""
    found = table()
    if noun in lexicon.COLOURS:
        return frozenset({"色"})
    if noun in lexicon.PATTERNS:
        return frozenset({"形・模様"})
    if len(noun) > 1 and noun.endswith(_SHAPE_ENDINGS) and not found.of(noun):
        return frozenset({"形・模様"})
    if any(noun != place and noun.endswith(place) for place in lexicon.MORE_PLACE_WORDS) and not found.of(noun):
        return frozenset({"場所-機能"})  # 道路わき: a place, not a part of the body
    for start in range(len(noun)):
        known = found.of(noun[start:])
        if start and start == len(noun) - 1:
            known &= _SAFE_ENDINGS  # one character says little: 球, 姿 would make parts and shapes of anything
        if known:
            return known
    return frozenset()

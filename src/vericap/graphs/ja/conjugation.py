"""Forms of a predicate that change what it says: 噛む -> 噛まない, 噛まれる, 噛ませる.

`kind` is the analyser's conjugation type ("五段-マ行", "下一段-バ行", "サ行変格", "カ行変格", "形容詞"), or "" for
nouns and adjectival nouns.

>>> negative("噛む", "五段-マ行"), passive("食べる", "下一段-バ行"), causative("放水する", "サ行変格")
('噛まない', '食べられる', '放水させる')
"""

from __future__ import annotations

_A_ROW = dict(zip("うくぐすつぬぶむる", "わかがさたなばまら"))


def _stem(verb: str, kind: str) -> str:
    """What stands before ない, れる, せる."""
    if kind.startswith("五段") and verb[-1] in _A_ROW:
        return verb[:-1] + _A_ROW[verb[-1]]
    return verb[:-1]


def negative(text: str, kind: str) -> str:
    """The negated form: 入る -> 入らない, 白い -> 白くない, 医者 -> 医者でない."""
    if text in ("ある", "有る"):
        return "ない"
    if kind.startswith("サ行変格") and text.endswith("する"):
        return text[:-2] + "しない"
    if kind.startswith(("五段", "上一段", "下一段", "カ行変格")):
        return _stem(text, kind) + "ない"
    if kind.startswith("形容詞"):
        return "ない" if text == "ない" else text[:-1] + "くない"
    return text + "でない"


def passive(text: str, kind: str) -> str:
    """The passive form: 洗う -> 洗われる, 見る -> 見られる, 展示する -> 展示される."""
    if kind.startswith("サ行変格") and text.endswith("する"):
        return text[:-2] + "される"
    return _stem(text, kind) + ("れる" if kind.startswith("五段") else "られる")


def causative(text: str, kind: str) -> str:
    """The causative form: 走る -> 走らせる, 食べる -> 食べさせる, 移動する -> 移動させる."""
    if kind.startswith("サ行変格") and text.endswith("する"):
        return text[:-2] + "させる"
    return _stem(text, kind) + ("せる" if kind.startswith("五段") else "させる")

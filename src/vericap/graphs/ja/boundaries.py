"""Morphemes -> bunsetsu: where a phrase begins."""

from __future__ import annotations

from vericap.graphs.ja import lexicon
from vericap.graphs.ja.pas import Morpheme
from vericap.text import jumandic, wordnet_ja

NOUNS = ("名詞", "代名詞", "記号", "接頭辞", "形状詞-一般", "形状詞-タリ")


def begins(before: list[Morpheme], word: Morpheme, earlier: Morpheme | None) -> bool:
    """Whether `word` opens a new bunsetsu after the words `before`."""
    last = before[-1]
    if word.part("補助記号-括弧開"):
        return True
    if last.part("補助記号-括弧開"):
        return False
    if word.surface in ("人", "方", "子") and is_man_or_woman(before):
        return False
    if word.surface in ("とも", "共") and last.surface == "と" and len(before) > 1:
        return False
    if word.surface == "まま" and last.inflection:
        return False  # 立ったまま食べる: how, not what
    if word.part("助詞", "助動詞", "接尾辞", "補助記号", "空白", "形状詞-助動詞語幹"):
        return False
    if last.part("補助記号", "空白"):
        return True
    if last.part("接頭辞"):
        return False
    if word.lemma in ("ちょうだい", "頂戴", "ください") and last.surface in ("て", "で"):
        return False
    if word.part("動詞", "形容詞-非自立可能"):
        return _verb_begins(before, word)
    if (
        word.part("形容詞")
        and last.part("名詞", "形容詞")
        and not last.inflection
        and last.surface not in lexicon.MANNERS
    ):
        return False  # 興味深い, 力強い
    if word.part(*NOUNS):
        return _noun_begins(before, word, earlier)
    return True


def is_man_or_woman(before: list[Morpheme]) -> bool:
    """ "男の-人": one person, not two nouns."""
    return [word.surface for word in before] in (["男", "の"], ["女", "の"])


def _verb_begins(before: list[Morpheme], word: Morpheme) -> bool:
    last = before[-1]
    if word.lemma in ("よい", "良い", "いい") and last.part("名詞"):
        return False  # 順序よく
    if last.surface in ("たり", "だり") and word.lemma == "する":
        return False
    if last.part("助詞-接続助詞") and last.surface in ("て", "で") and word.lemma in lexicon.HELPERS:
        return False
    if word.lemma in lexicon.DO_VERBS and last.part("名詞", "副詞", "接尾辞-名詞的", "形状詞-一般", "接尾辞-動詞的"):
        return False
    if last.part("動詞") and "連用形" in last.inflection:
        polite = word.lemma in ("くださる", "下さる", "いただく") or (before[0].part("接頭辞") and word.lemma == "する")
        return not (polite or word.lemma in lexicon.SECOND_VERBS)
    if word.lemma in ("なる", "成る", "する") and last.part("形容詞", "助動詞") and "連用形" in last.inflection:
        return last.surface == "で"
    if word.lemma in ("ある", "ない", "ござる") and _after_copula(before):
        return False
    if word.lemma == "ない" and [item.surface for item in before[-2:]] == ["で", "は"]:
        return False  # 犬ではなく猫
    if word.lemma == "ない":
        return not (last.part("助動詞", "形容詞", "動詞") or last.surface in ("て", "で"))
    if word.lemma == "する" and last.surface == "と" and before[0].part("副詞", "形状詞-タリ"):
        return False  # 青々とした
    willing = len(before) > 1 and "意志推量形" in before[-2].inflection
    if word.lemma in ("する", "思う") and last.surface == "と" and willing:
        return False
    # に-よって, と-して: verbs that have become particles
    return not (last.surface == "に" and word.lemma in ("よる", "依る", "因る", "対する", "おく") and len(before) > 1
                and word.surface in ("よっ", "より", "対し", "おい", "よる"))  # fmt: skip


def _after_copula(before: list[Morpheme]) -> bool:
    """ "で" of である, with は or も between."""
    rest = [word for word in before if word.surface not in ("は", "も")]
    return len(rest) > 1 and rest[-1].surface in ("で", "じゃ") and rest[-1].part("助動詞")


def _noun_begins(before: list[Morpheme], word: Morpheme, earlier: Morpheme | None) -> bool:
    last = before[-1]
    if last.part("動詞") and "連用形" in last.inflection and len(before) == 1:
        if _is_word(last.surface + word.surface):
            return False  # 消しゴム, whatever stands before it
        # "焼き魚" is one noun; "帽子を被り公園に" is a clause with an argument before it
        argued = earlier is not None and (
            (earlier.part("助詞-格助詞") and earlier.surface != "の") or earlier.surface == "、"
        )
        return argued or word.part("接頭辞")
    if last.part("形容詞") and "語幹" in last.inflection:
        return False  # 薄茶色
    if not last.part("名詞", "接尾辞-名詞的", "記号", "代名詞", "形状詞-一般"):
        return True
    if word.part("接頭辞") and word.surface in lexicon.HONORIFICS:
        return True
    if last.part("接尾辞") and last.surface in lexicon.PLURALS:
        return True
    if last.part("接尾辞-名詞的-助数詞") or (
        len(before) > 1 and before[-2].part("名詞-数詞") and not last.part("名詞-数詞")
    ):
        return not (word.part("名詞-数詞") or word.surface in ("半", "目", "分", "以上", "ほど", "前", "後", "頃"))
    alone = len(before) == 1
    if alone and (last.part("名詞-普通名詞-副詞可能") or last.surface in lexicon.QUANTITIES):
        return last.surface not in ("前", "後", "中", "上", "下", "夏", "冬", "春", "秋", "夜", "朝")
    return alone and last.part("代名詞")


def _is_word(text: str) -> bool:
    """Whether a dictionary has the two parts as one noun."""
    return text in jumandic.table() or text in jumandic.table().spellings or bool(wordnet_ja.numbers(text))

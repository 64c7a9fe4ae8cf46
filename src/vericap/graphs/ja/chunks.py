"""Morphemes -> bunsetsu: what each phrase is, and how it hangs on the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from vericap.graphs.ja import lexicon
from vericap.graphs.ja.boundaries import begins, is_man_or_woman
from vericap.graphs.ja.categories import categories
from vericap.graphs.ja.pas import Kind, Morpheme
from vericap.text.japanese_spelling import is_count, singular

_COUNTERS = ("接尾辞-名詞的-助数詞", "名詞-普通名詞-助数詞可能")
_REQUESTS = frozenset({"くださる", "下さる", "ちょうだい", "頂戴", "もらう", "ほしい", "欲しい", "くれる"})
_LINKS = ("助詞-接続助詞", "助詞-副助詞", "助詞-格助詞", "助詞-準体助詞")
_CLOSERS = frozenset("。！？!?．\n")


@dataclass(slots=True)
class Phrase:
    """One bunsetsu with everything the rules ask of it."""

    start: int
    words: list[Morpheme]
    kind: Kind = ""
    text: str = ""
    form: str = "other"  # adnominal, adverbial, case, joined, bare, final, adverb, other
    case: str = ""  # the particle that names the case: が を に ...
    topic: bool = False
    comma: bool = False
    copula: bool = False
    passive: bool = False
    result: bool = False  # 置いてある: what was done to it is how it is now
    causative: bool = False
    benefactive: bool = False  # 磨いてもらう: the に does it
    negated: bool = False
    inflection: str = ""  # conjugation type of the predicate: 五段-マ行, 形容詞 ...
    imperative: bool = False
    quantity: bool = False
    nominalized: bool = False
    count: str = ""  # a number said after the noun in the same phrase: 男性-2人
    sahen: bool = False
    categories: frozenset[str] = field(default_factory=frozenset)

    @property
    def surface(self) -> str:
        return "".join(word.surface for word in self.words)

    @property
    def predicate(self) -> bool:
        return self.kind in ("VP", "AD") or self.copula

    @property
    def adverb(self) -> bool:
        """An adjective in its adverbial form says how, not what: 大きく跳ぶ."""
        return self.form == "adverb"


def sentences(words: Sequence[Morpheme]) -> list[tuple[int, int]]:
    """Spans of sentences, cut after 。！？ and line breaks."""
    spans, start = [], 0
    for place, word in enumerate(words):
        if word.surface in _CLOSERS or "\n" in word.surface:
            spans.append((start, place + 1))
            start = place + 1
    spans.append((start, len(words)))
    return [(low, high) for low, high in spans if any(not w.part("補助記号", "空白") for w in words[low:high])]


def chunk(words: Sequence[Morpheme], offset: int = 0) -> list[Phrase]:
    """The bunsetsu of one sentence; `offset` is added to their word positions."""
    rows: list[list[int]] = []
    for place, word in enumerate(words):
        before = [words[i] for i in rows[-1]] if rows else []
        if not rows or begins(before, word, words[rows[-2][-1]] if len(rows) > 1 else None):
            rows.append([])
        rows[-1].append(place)
    phrases = [Phrase(offset + row[0], [words[i] for i in row]) for row in rows]
    for place, phrase in enumerate(phrases):
        describe(phrase, last=place == len(phrases) - 1)
    for place, phrase in enumerate(phrases):
        after = phrases[place + 1] if place + 1 < len(phrases) else None
        if phrase.adverb and phrase.kind == "AD" and after is not None and _describes_too(phrase, after):
            phrase.form = "adverbial"
        if _is_place_with_de(phrase) and not any(p.case == "が" or p.topic for p in phrases[:place]):
            phrase.copula, phrase.case, phrase.form = False, "で", "case"
    return [phrase for phrase in phrases if phrase.kind or phrase.form == "adverb"]


def _describes_too(phrase: Phrase, after: Phrase) -> bool:
    """ "高く白い塔": two adjectives of one noun; すごく大きい says how large."""
    inflected = phrase.words[-1].part("形容詞") and not phrase.comma
    return inflected and after.kind == "AD" and not after.adverb and phrase.text not in lexicon.DEGREES


def _is_place_with_de(phrase: Phrase) -> bool:
    """ "公園で、": the tagger takes で before a comma for the copula; without a subject before it, it is the case."""
    tail = [word.surface for word in phrase.words if word.part("助詞", "助動詞")]
    return phrase.copula and phrase.form == "adverbial" and tail == ["で"]


def describe(phrase: Phrase, *, last: bool) -> None:
    """Fill in what the phrase is from its words."""
    words = phrase.words
    content = [word for word in words if not word.part("補助記号", "空白")]
    if not content:
        return
    phrase.comma = any(word.surface in ("、", "，", ",") for word in words)
    split = _content_length(content)
    head, tail = content[:split], content[split:]
    _name(phrase, head, tail)
    _particles(phrase, head, tail)
    _shape(phrase, head, tail, last=last or words[-1].surface in _CLOSERS)
    if phrase.kind == "NP":
        phrase.categories = categories(phrase.text)
        phrase.quantity = _is_quantity(head) or phrase.text in lexicon.QUANTITIES


def _content_length(words: list[Morpheme]) -> int:
    """How many leading words name the thing or deed: everything before particles and auxiliaries."""
    if len(words) > 2 and is_man_or_woman(words[:2]) and words[2].surface in ("人", "方", "子"):
        return 3
    for place, word in enumerate(words):
        if word.part("助詞", "助動詞", "形状詞-助動詞語幹", "接尾辞-形容詞的") and place:
            return place
        if place and word.part("接尾辞-動詞的"):
            return place
    return len(words)


def _name(phrase: Phrase, head: list[Morpheme], tail: list[Morpheme]) -> None:
    """Kind and dictionary form."""
    final = head[-1]
    first = head[0]
    looks = final.part("副詞", "形状詞-タリ") and any(word.lemma == "する" for word in tail)  # 青々とした
    if looks or final.part("連体詞"):
        phrase.kind, phrase.text = "AD", final.lemma
    elif final.part("副詞", "接続詞", "感動詞", "助詞", "助動詞"):
        phrase.form = "adverb" if final.part("副詞") else "other"
        phrase.text = final.lemma
        phrase.quantity = final.lemma in lexicon.QUANTITIES
        phrase.kind = "NP" if phrase.quantity else ""
    elif final.part("形容詞"):
        phrase.kind, phrase.text = "AD", _joined(head[:-1]) + final.lemma
    elif final.part("動詞"):
        _name_verb(phrase, head, tail)
    elif final.part("形状詞", "接尾辞-形状詞的") and final.lemma not in lexicon.QUANTITIES:
        phrase.kind, phrase.text = "AD", _joined(head)
    else:
        named = _without_count(head)
        if len(named) < len(head):
            phrase.count = _joined(head[len(named) :])
        text = _joined(named)
        phrase.kind, phrase.text = "NP", lexicon.PLACE_SPELLINGS.get(text, text)
        phrase.sahen = final.part("名詞-普通名詞-サ変") and not first.part("接頭辞")
        phrase.nominalized = first.part("動詞")


def _without_count(words: list[Morpheme]) -> list[Morpheme]:
    """The noun's words before a number that follows it: 男性-2人, 男女-ふたり."""
    for place in range(1, len(words)):
        rest = words[place:]
        whole = "".join(word.surface for word in rest)
        counted = rest[0].part("名詞-数詞") and len(rest) > 1 and rest[-1].part(*_COUNTERS)
        if "".join(word.surface for word in words[:place]) in lexicon.ALL_PLACES:
            continue  # 横一列
        if not words[0].part("名詞-数詞") and (whole in lexicon.QUANTITIES or is_count(whole) or counted):
            return words[:place]
    return words


def _name_verb(phrase: Phrase, head: list[Morpheme], tail: list[Morpheme]) -> None:
    final = head[-1]
    after = tail[0] if tail else None
    if "連用形" in final.inflection and after is not None and after.part("助詞-格助詞") and after.surface in "がをの":
        phrase.kind, phrase.text, phrase.nominalized = "NP", _joined(head), True  # 釣りを, 乗り降りを
        return
    phrase.kind = "VP"
    stem = [word for word in head[:-1] if not (word.part("接頭辞") and word.surface in lexicon.HONORIFICS)]
    if final.lemma in ("なる", "成る", "する") and stem and stem[-1].part("形容詞"):
        phrase.kind, phrase.text = "AD", _joined(stem[:-1]) + stem[-1].lemma  # 少なくなる -> 少ない
        return
    if stem and stem[-1].part("動詞") and final.lemma in ("くださる", "下さる", "いただく", "する"):
        phrase.text = stem[-1].lemma  # お取りください
        phrase.imperative = final.lemma != "する"
        return
    if final.lemma in ("くださる", "下さる") and stem and stem[-1].part("名詞"):
        phrase.text, phrase.imperative = _joined(stem) + "する", True  # お戻しください, ご確認ください
        return
    phrase.sahen = bool(stem) and final.lemma in lexicon.DO_VERBS
    phrase.text = _joined(stem) + ("する" if phrase.sahen else final.lemma)


def _joined(words: Sequence[Morpheme]) -> str:
    """A noun's text: its parts without お, ご and without たち, さん."""
    related = bool(words) and words[-1].surface in ("さん", "ちゃん")  # お父さん keeps its お
    kept = [
        word.surface
        for place, word in enumerate(words)
        if not (word.part("接尾辞") and word.surface in lexicon.PLURALS)
        and (place or related or len(words) == 1 or not _is_honorific(word))
        and not word.part("補助記号")
    ]
    return singular("".join(kept).strip() or "".join(word.surface for word in words).strip())


def _is_honorific(word: Morpheme) -> bool:
    return word.part("接頭辞") and word.surface in lexicon.HONORIFICS


def _particles(phrase: Phrase, head: list[Morpheme], tail: list[Morpheme]) -> None:
    """The case particle, and whether the phrase is a topic."""
    for word in tail:
        if word.part("助詞-係助詞") and word.surface in ("は", "も"):
            phrase.topic = True
        elif word.part("助詞-格助詞", "助詞-副助詞", "助詞-接続助詞") and word.surface in lexicon.CASE_OF:
            if not (phrase.kind in ("VP", "AD") and word.part("助詞-接続助詞")):
                phrase.case = word.surface
        elif word.surface == "の" and word.part("助詞-格助詞"):
            phrase.case = "の"
        elif word.surface in lexicon.JOINING and not phrase.case:
            phrase.case = word.surface
        elif word.surface == "にて":
            phrase.case = "で"
        elif word.part("助詞-準体助詞"):
            phrase.nominalized = True
    rest = "".join(word.surface for word in tail)
    if phrase.kind == "NP" and rest.startswith(("とともに", "と共に")):
        phrase.case = "と"
    elif phrase.kind == "NP" and rest.startswith(("によっ", "により", "に対し")):
        phrase.case = "に"
    elif phrase.kind == "NP" and rest.startswith("におい"):
        phrase.case = "で"


def _shape(phrase: Phrase, head: list[Morpheme], tail: list[Morpheme], *, last: bool) -> None:
    """How the phrase hangs on what follows."""
    surfaces = [word.surface for word in tail]
    phrase.passive = any(word.lemma in ("れる", "られる") and word.part("助動詞") for word in tail)
    # 置い-て-ある: what was put is the subject, as in a passive
    phrase.result = any(one.surface == "て" and two.lemma == "ある" for one, two in pairwise(tail))
    phrase.passive |= phrase.result
    phrase.causative = any(word.lemma in ("せる", "させる") and word.part("助動詞") for word in tail)
    phrase.benefactive = any(
        one.surface in ("て", "で") and two.lemma in ("もらう", "貰う", "いただく") for one, two in pairwise(tail)
    )
    phrase.negated = _is_negated(tail)
    phrase.inflection = next((word.inflection.split(";")[0] for word in reversed(head) if word.inflection), "")
    if phrase.kind == "VP" and last and _is_command_of_su(tail):
        # 動か-せ: the tagger reads the command of 動かす as a causative of 動く
        phrase.text = phrase.text[: -len(head[-1].lemma)] + head[-1].surface + "す"
        phrase.causative, phrase.imperative, phrase.inflection = False, True, "五段-サ行"
    if phrase.kind == "NP":
        _shape_noun(phrase, tail, last=last)
        return
    if not phrase.kind:
        return
    if head[-1].part("連体詞"):
        phrase.form = "adnominal"
        return
    inflected = [word for word in head[-1:] + tail if word.inflection]
    ending = inflected[-1] if inflected else None
    request = any(word.lemma in _REQUESTS for word in tail) or phrase.text == "お願いする"
    command = ending is not None and ("命令形" in ending.inflection or "意志推量形" in ending.inflection)
    phrase.imperative = phrase.imperative or request or command
    conjunction = next((word for word in reversed(tail) if word.part(*_LINKS)), None)
    helped = conjunction is not None and tail and tail[-1].inflection and tail[-1] is not conjunction
    if last and not (phrase.kind == "AD" and phrase.case == "の"):
        phrase.form = "final"
        phrase.imperative |= phrase.kind == "VP" and surfaces[-1:] in (["て"], ["で"])
    elif phrase.kind == "AD" and phrase.case == "の":
        phrase.form = "adnominal"
    elif phrase.kind == "AD" and (surfaces[-1:] == ["に"] or (not head[-1].part("形容詞") and not ending)):
        phrase.form = "adverb"
    elif (conjunction is not None and not helped) or "まま" in surfaces:
        phrase.form = "adverbial"
    elif ending is not None and "連用形" in ending.inflection:
        bare = phrase.kind == "AD" and not tail and len(head) == 1
        phrase.form = "adverb" if bare and not phrase.comma else "adverbial"
    elif ending is not None and "仮定形" in ending.inflection:
        phrase.form = "adverbial"
    else:
        phrase.form = "adnominal"


def _is_negated(tail: Sequence[Morpheme]) -> bool:
    """ない, ぬ, ん, ず after the predicate; かもしれない and なければならない deny nothing."""
    text = "".join(word.surface for word in tail)
    if any(phrase in text for phrase in ("しれない", "しれません", "ばならない", "ばなりません", "ではないか")):
        return False
    return any((word.lemma in ("ない", "ぬ", "ず", "ん") and word.part("助動詞", "形容詞-非自立可能")) for word in tail)


def _is_command_of_su(tail: Sequence[Morpheme]) -> bool:
    return [word.surface for word in tail if not word.part("補助記号")] == ["せ"] and tail[0].lemma == "せる"


def _shape_noun(phrase: Phrase, tail: list[Morpheme], *, last: bool) -> None:
    verbal = [word for word in tail if word.part("助動詞") and word.lemma in ("だ", "です")]
    like = any(word.part("形状詞-助動詞語幹") for word in tail)
    if [word.surface for word in tail[:2]] == ["で", "は"] and phrase.negated:
        phrase.copula, phrase.case, phrase.topic = True, "", False
        phrase.form = "final" if last else "adverbial"
    elif verbal and not like:
        phrase.copula = True
        phrase.form = "final" if last else "adverbial" if "連用形" in verbal[-1].inflection else "adnominal"
        if not last and any(word.inflection and "連体形" in word.inflection for word in tail[-1:]):
            phrase.form = "adnominal"
        phrase.case = ""
    elif like:
        phrase.case, phrase.form = ("の", "adnominal") if verbal and verbal[-1].surface == "な" else ("", "adverb")
    elif phrase.case == "の":
        phrase.form = "adnominal"
    elif phrase.text in lexicon.MANNERS and phrase.case in ("に", ""):
        phrase.kind, phrase.form = "", "adverb"
    elif phrase.case in lexicon.JOINING and phrase.case != "と":
        phrase.form = "joined"
    elif phrase.case or phrase.topic:
        phrase.form = "case"
    else:
        phrase.form = "final" if last else "bare"


def _is_quantity(words: list[Morpheme]) -> bool:
    """A number with or without its counter: 2人, 三匹, 数台."""
    text = "".join(word.surface for word in words)
    if is_count(text):
        return True
    if words[0].part("名詞-数詞") or (words[0].part("接頭辞") and words[0].surface in ("数", "両", "全")):
        return (
            len(words) <= 2
            or words[-1].part("接尾辞-名詞的-助数詞", "名詞-普通名詞-助数詞可能", "名詞-数詞", "接尾辞")
            or (words[-1].surface in ("つ", "人", "ほど", "半", "以上"))
        )
    return False

"""Which bunsetsu depends on which: the parser's tree as a hint, Japanese word order as the law.

Dependencies run to the right and do not cross, so the possible heads of a phrase are the next phrase and that one's
own chain of heads. Among those that fit (a noun for an adnominal form, a predicate for a case), the parser's choice
stands unless a rule knows better; the rules repair the slips a general parser makes on captions.
"""

from __future__ import annotations

from collections.abc import Sequence

from vericap.graphs.ja import lexicon
from vericap.graphs.ja.categories import ANIMATE, ATTRIBUTE_CATEGORIES, PLACES
from vericap.graphs.ja.chunks import Phrase
from vericap.text.japanese_spelling import is_count
from vericap.text.jumandic import table


def resolve(phrases: Sequence[Phrase], hints: Sequence[int]) -> list[int]:
    """Head of every phrase (-1 for the last). `hints` are the parser's heads in the same numbering, -1 if none."""
    heads = [-1] * len(phrases)
    for place in range(len(phrases) - 2, -1, -1):
        chain = [place + 1]
        while heads[chain[-1]] >= 0:
            chain.append(heads[chain[-1]])
        heads[place] = _choose(phrases, heads, place, chain, hints[place])
    return heads


def _choose(phrases: Sequence[Phrase], heads: list[int], place: int, chain: list[int], hint: int) -> int:
    phrase = phrases[place]
    if phrase.adverb:  # says nothing in the graph and must not stand in anyone's way
        return chain[0]
    nouns = [i for i in chain if phrases[i].kind == "NP"]
    predicates = [i for i in chain if _takes_arguments(phrases[i])]
    if phrase.form == "adnominal":
        return _adnominal_head(phrases, heads, place, nouns, predicates, hint) if nouns else chain[0]
    if phrase.form in ("joined", "bare") or (phrase.form == "case" and phrase.case == "と" and not phrase.topic):
        joined = _joined_head(phrases, heads, place, nouns, hint)
        if joined >= 0:
            return joined
    if not predicates:
        return chain[0] if phrase.form != "case" else chain[-1]
    if phrase.form in ("case", "bare", "joined"):
        return _case_head(phrases, heads, place, predicates, hint)
    if phrase.kind == "AD" and phrases[place + 1].kind == "AD" and not phrases[place + 1].adverb:
        return place + 1  # 白くて大きい犬
    verbs = [i for i in predicates if phrases[i].kind == "VP" or phrases[i].form == "final"] or predicates
    if _has_own_subject(phrases, place):  # 自転車が置いてあり新聞を読む人がいる: no part of the clause about the person
        verbs = [i for i in verbs if phrases[i].form != "adnominal"] or verbs
    return hint if hint in verbs else verbs[0]


def _has_own_subject(phrases: Sequence[Phrase], place: int) -> bool:
    for before in reversed(phrases[:place]):
        if before.predicate and not before.adverb:
            return False
        if before.case == "が":
            return True
    return False


def _takes_arguments(phrase: Phrase) -> bool:
    """A predicate, but not the nominal one of "... ところです", which says nothing of anybody."""
    silent = phrase.copula and phrase.kind == "NP" and phrase.text in lexicon.OUTER_NOUNS
    return phrase.predicate and not phrase.adverb and not silent and not _is_bare_adnominal(phrase)


def _is_bare_adnominal(phrase: Phrase) -> bool:
    """連体詞, and adjectival nouns before の: look like adjectives, take no arguments."""
    return phrase.kind == "AD" and (phrase.words[0].part("連体詞") or phrase.case == "の")


def _adnominal_head(
    phrases: Sequence[Phrase], heads: list[int], place: int, nouns: list[int], predicates: list[int], hint: int
) -> int:
    phrase = phrases[place]
    if phrase.kind == "NP" and phrase.case == "の" and _is_clause_subject(phrases, place, hint):
        return hint if hint in predicates else place + 1
    head = hint if hint in nouns else nouns[0]
    if phrases[head].text in lexicon.ALL_PLACES and phrase.kind != "NP":
        head = nouns[0]  # 囲まれた柵の内側: the fence is described, not its inside
    if phrase.kind == "NP" and phrase.quantity and hint not in nouns:
        return nouns[0]
    # 水色の-, 2匹の-, 右上の- between a modifier and its noun are modifiers themselves
    while (
        phrases[head].case in ("の", "と", "や")
        and heads[head] in nouns
        and (
            ((phrase.kind != "NP" or phrase.quantity) and _says_how(phrases[head]))
            or (phrase.case == "の" and phrases[head].categories & {"色"} and phrases[head].case == "の")
        )
    ):
        head = heads[head]
    return head


def _says_how(phrase: Phrase) -> bool:
    """A noun before の that describes the next noun rather than being a thing of its own."""
    marks = phrase.categories & ATTRIBUTE_CATEGORIES
    return phrase.quantity or bool(marks & {"色", "数量", "形・模様", "時間"}) or phrase.text in lexicon.PLACE_WORDS


def _is_clause_subject(phrases: Sequence[Phrase], place: int, hint: int) -> bool:
    """ "海の見えるベンチ": の marks the subject of the adnominal clause that follows at once."""
    after = phrases[place + 1]
    if after.form != "adnominal" or after.kind not in ("VP", "AD") or _is_bare_adnominal(after):
        return False
    if phrases[place].text.endswith(("人", "名")) and is_count(phrases[place].text) and after.kind == "VP":
        noun = phrases[place + 2] if place + 2 < len(phrases) else after
        return noun.kind == "NP" and not noun.categories & ANIMATE  # 二人の乗ったボート
    if phrases[place].quantity or "色" in phrases[place].categories:
        return False
    if phrases[place].text in lexicon.PLACE_WORDS or phrases[place].text.endswith(lexicon.MANNER_ENDINGS):
        return False
    if after.kind == "AD":  # "顔の白い牛" against "女性の白い帽子": a part of the body or plant is the subject
        return bool(phrases[place].categories & {"動物-部位", "植物-部位", "数量"}) or hint == place + 1
    return hint == place + 1 or (after.kind == "VP" and not phrases[place].quantity)


def _beyond_modifiers(phrases: Sequence[Phrase], heads: list[int], place: int, head: int) -> int:
    """男性と-2人の-女性: joined to the woman, not to the number; 黒と-青色の-バス: two colours are joined."""
    beyond = heads[head]
    owned = phrases[head].form == "adnominal" and phrases[head].case == "の" and beyond >= 0
    likes = owned and _alike(phrases[place], phrases[beyond]) and not phrases[beyond].quantity
    if likes and not _alike(phrases[place], phrases[head]):
        return beyond  # 男性と-年配の-女性
    while (
        phrases[head].form == "adnominal"
        and phrases[head].case == "の"
        and _says_how(phrases[head])
        and not (_says_how(phrases[place]) or phrases[place].text in lexicon.ALL_PLACES)
        and heads[head] >= 0
        and phrases[heads[head]].kind == "NP"
    ):
        head = heads[head]
    return head


def _joined_head(phrases: Sequence[Phrase], heads: list[int], place: int, nouns: list[int], hint: int) -> int:
    """The noun this one is joined to ("A と B"), or -1 where it is not coordination."""
    phrase = phrases[place]
    if phrase.kind != "NP" or not nouns or (phrase.form == "bare" and phrase.text in lexicon.ALL_PLACES):
        return -1
    after = phrases[place + 1]
    if after.adverb and after.text in lexicon.MANNERS:
        return -1  # 犬と一緒に
    if phrase.form == "joined":
        return _beyond_modifiers(phrases, heads, place, hint if hint in nouns else nouns[0])
    if phrase.quantity and (place == 0 or phrases[place - 1].form != "case"):
        return nouns[0] if phrase.form == "bare" and nouns[0] == place + 1 else -1
    if phrase.quantity or "時間" in phrase.categories:
        return -1
    if after.kind == "NP" and _alike(phrase, after) and not after.quantity:
        return place + 1
    settings = {i for i in nouns if phrases[i].case in ("に", "で") and phrases[i].categories & PLACES}
    things = [i for i in nouns if i not in settings] or nouns
    clause = next((i for i in range(place + 1, nouns[-1]) if _is_adnominal_verb(phrases[i])), nouns[-1])
    if phrase.comma:  # かぼちゃと、赤い帽子をかぶった人形: beyond the clause
        things = [i for i in things if i > clause] or things
    used = [i for i in things if heads[i] >= 0 and phrases[i].case in ("が", "を", "に", "")]
    same = [i for i in used if _alike(phrase, phrases[i]) and not _alike(phrase, phrases[things[0]])]
    if (
        same
        and after.kind == "NP"
        and after.case in ("を", "が", "に", "で")
        and phrase.form == "case"
        and same[0] > clause
    ):
        return same[0]  # 帽子の男性と眼鏡をかけた女性
    best = _beyond_modifiers(phrases, heads, place, hint if hint in things else things[0])
    if phrase.form == "bare":
        dropped = phrase.categories & ANIMATE and not phrases[best].categories & ANIMATE  # 少年(が)サッカーをする
        return best if phrase.comma or (hint in nouns and not dropped) else -1
    if after.predicate and after.form != "adnominal":
        return -1
    if after.kind == "VP" and (hint not in nouns or after.text in lexicon.SAYING):
        return -1  # 犬と歩く人, PEACEと書かれた紙
    if hint in nouns or _alike(phrase, phrases[best]) or phrase.text in lexicon.PLACE_WORDS:
        return best
    subject = any(p.form == "case" and (p.case == "が" or p.topic) for p in phrases[:place])
    return -1 if subject else best


def _is_adnominal_verb(phrase: Phrase) -> bool:
    return phrase.kind == "VP" and phrase.form == "adnominal"


def _alike(one: Phrase, other: Phrase) -> bool:
    return bool(one.categories & other.categories) or bool(one.categories & ANIMATE and other.categories & ANIMATE)


def _case_head(phrases: Sequence[Phrase], heads: list[int], place: int, predicates: list[int], hint: int) -> int:
    """The predicate a case phrase belongs to; see `_fits_inner` for what stays inside a clause."""
    phrase = phrases[place]
    guess = hint if hint in predicates else predicates[0]
    if len(predicates) == 1:
        return predicates[0]
    if phrase.topic and phrase.case in ("", "が"):
        main = [i for i in predicates if phrases[i].form != "adnominal"]
        return main[-1] if main and phrase.comma else main[0] if main else guess
    last = phrases[predicates[-1]]
    if phrase.case == "で" and phrase.comma and last.form == "final" and last.text not in lexicon.EXISTENCE:
        return predicates[-1]  # 道路で、...を被り、...に乗っている: the scene of it all
    for nearer, inner in enumerate(predicates[:-1]):
        if phrases[inner].form != "adnominal":
            near = inner == place + 1 and phrases[inner].kind == "VP" and not phrase.comma and not phrase.topic
            if near and phrase.case in ("を", "に", "へ", "から"):
                return inner  # 杖をついて: whatever the dictionary says of the verb
            places = [i for i in predicates[nearer:] if phrases[i].text in lexicon.TAKES_NI]
            if phrase.case == "に" and places and phrases[inner].kind == "VP" and not phrase.topic:
                return places[0]
            if phrase.case == "を":
                rest = [i for i in predicates[nearer:] if _takes_wo(phrases[i])]
                sure = [i for i in rest if _surely_takes_wo(phrases[i])]  # 手紙をベンチに座って読む: not 座る
                return (sure or rest or [inner])[0]
            return guess if hint in predicates[nearer:] else inner
        if _stays_inside(phrases, heads, place, inner, predicates[nearer + 1], hint):
            return inner
    return predicates[-1]


def _stays_inside(phrases: Sequence[Phrase], heads: list[int], place: int, inner: int, outer: int, hint: int) -> bool:
    """Whether a case phrase belongs to the adnominal clause of `inner` rather than to `outer` beyond it."""
    phrase, verb = phrases[place], phrases[inner]
    adjacent = inner == place + 1
    noun = phrases[heads[inner]]
    taken = {phrases[i].case for i in range(place + 1, inner) if heads[i] == inner and phrases[i].kind == "NP"}
    if verb.kind == "AD":
        if not adjacent or phrase.comma:
            return False
        own = phrase.case == "が" and hint == inner and not phrase.categories & ANIMATE
        return own or phrase.case in ("の", "より")
    outer_text = phrases[outer].text
    if phrase.case == "で" and (outer_text in lexicon.EXISTENCE or "動物-部位" in phrase.categories):
        return True  # "公園で遊ぶ人がいる": existence takes に
    if phrase.case in taken:
        return False
    if phrase.case in ("が", ""):
        settled = any(heads[i] == outer and _is_subject(phrases[i]) for i in range(inner + 1, outer))
        return _subject_inside(phrase, verb, noun, taken, adjacent=adjacent, settled=settled, hinted=hint == inner)
    if phrase.case == "を":
        if adjacent and not verb.passive and verb.kind == "VP":
            return True
        return _takes_wo(verb) or not _takes_wo(phrases[outer])  # 網を掛けられた木が立つ
    if phrase.case == "で":
        return adjacent and not phrase.comma
    if phrase.case == "に":
        if "動物-部位" in phrase.categories and verb.text in lexicon.HOLDING:
            return True  # 手に持つ
        if phrase.comma and outer_text in lexicon.TAKES_NI:
            return False
        if phrase.categories & ANIMATE and outer_text in lexicon.EXISTENCE:
            return True  # 猫にスプーンを近づける人がいる: nobody is at a cat
        if taken & {"の", "が"} and outer_text in lexicon.TAKES_NI:
            return False  # 皿に野菜ののったピザがある: the pizza is where the clause needs a place
        if adjacent or verb.text in lexicon.TAKES_NI - lexicon.HOLDING:
            return True
        return outer_text not in lexicon.TAKES_NI
    if phrase.case == "から" and not adjacent and (verb.text in lexicon.HOLDING or outer_text in lexicon.MOTION):
        return False  # 駅から傘を差した人が出る
    return adjacent or hint == inner


def _takes_wo(verb: Phrase) -> bool:
    """Whether a predicate can have を: an object, or the path of a motion."""
    known = verb.text in lexicon.MOTION or verb.text in lexicon.TRANSITIVE
    able = known or verb.text not in table().intransitive
    return verb.kind == "VP" and not verb.passive and able


def _surely_takes_wo(verb: Phrase) -> bool:
    """Known to take を: a transitive verb, a motion, or not one of those that take に for where something is."""
    known = verb.text in lexicon.MOTION or verb.text in lexicon.TRANSITIVE or verb.text in table().transitive
    return known or verb.text not in lexicon.TAKES_NI


def _is_subject(phrase: Phrase) -> bool:
    return phrase.kind == "NP" and phrase.form == "case" and (phrase.case == "が" or (phrase.topic and not phrase.case))


def _subject_inside(
    phrase: Phrase, verb: Phrase, noun: Phrase, taken: set[str], *, adjacent: bool, settled: bool, hinted: bool
) -> bool:
    """Whether が names the subject of the clause; `settled`: the predicate beyond it has a subject of its own."""
    if noun.text in lexicon.OUTER_NOUNS:
        return True
    if phrase.comma or "の" in taken or "が" in taken:
        return False
    transitive = verb.text in lexicon.TRANSITIVE or verb.text in table().transitive
    both_act = bool(phrase.categories & ANIMATE and noun.categories & ANIMATE)
    happens = verb.text in table().intransitive - lexicon.TAKES_NI - lexicon.MOTION or verb.text in lexicon.HAPPENING
    if phrase.categories & ANIMATE and happens and not verb.passive and not settled:
        return False  # 消防士が燃えている建物に放水する
    if adjacent:
        return settled or transitive or not both_act  # 男性が走る犬を見る
    if noun.categories & ANIMATE and "を" in taken:
        return False
    return settled or (hinted and not both_act and (verb.passive or (transitive and "を" not in taken)))

"""One spelling for Japanese words that people write in several ways.

>>> representative("麒麟") == representative("キリン"), representative("十人"), representative("友達")
(True, '10人', '友達')
"""

from __future__ import annotations

import re
from functools import lru_cache

from vericap.text.japanese import sudachi
from vericap.text.japanese_lists import pairs, words
from vericap.text.jumandic import table

_DIGITS = {digit: value for value, digit in enumerate("〇一二三四五六七八九")}
_UNITS = {"十": 10, "百": 100, "千": 1000}
_NUMERAL = "0-9〇一二三四五六七八九十百千"
_PEOPLE = frozenset({"人", "動物", "組織・団体"})
_LONGEST = 6  # morphemes of a word; what is longer is no word


@lru_cache(maxsize=1)
def _count() -> re.Pattern[str]:
    counters = "|".join(sorted(words("COUNTERS"), key=len, reverse=True))
    return re.compile(rf"^([{_NUMERAL}]+)({counters})(.*)$")


def number(text: str) -> int:
    """The value of a numeral in digits or kanji: 12, 十二, 一二 -> 12; 百五 -> 105.

    >>> [number(text) for text in ("7", "十", "二十三", "百五", "一〇")]
    [7, 10, 23, 105, 10]
    """
    if not any(sign in _UNITS for sign in text):
        return int("".join(sign if sign.isdigit() else str(_DIGITS[sign]) for sign in text))
    total, digit = 0, 0
    for sign in text:
        if sign in _UNITS:
            total, digit = total + max(digit, 1) * _UNITS[sign], 0
        else:
            digit = 10 * digit + (int(sign) if sign.isdigit() else _DIGITS[sign])
    return total + digit


def is_count(word: str) -> bool:
    """Whether a word is a number with its counter: 2人, 三匹, 数台, 何頭.

    >>> [is_count(word) for word in ("2人", "十匹", "数台", "二階建て", "人")]
    [True, True, True, False, False]
    """
    found = _count().match(re.sub("^[数何幾両]", "2", word))
    return found is not None and not found[3]


@lru_cache(maxsize=1 << 16)
def representative(word: str) -> str:
    """One spelling for a word: さす and 差す, 二人 and 2人, 大きな and 大きい, 赤 and 赤い become the same.

    Spellings come from dictionaries (the list of this package, JumanDIC's representative forms, Sudachi's normal
    forms); たち, 達 and ら fall off only where what remains is known to be a person or an animal and the whole is
    no word of its own (友達, くじら, つらら stay).
    """
    spellings = pairs("SPELLINGS")
    if word in spellings:
        return spellings[word]
    count = _count().match(word)
    if count:
        return f"{number(count[1])}{count[2].replace('名', '人')}{count[3]}"
    single = singular(word)
    if single != word:
        return representative(single)
    found = _by_dictionary(word)
    return spellings.get(found, found)


def singular(noun: str) -> str:
    """A noun without たち, 達 or ら, where these are a plural.

    >>> [singular(noun) for noun in ("子供たち", "人達", "友達", "くじら", "つらら", "いくら", "彼ら")]
    ['子供', '人', '友達', 'くじら', 'つらら', 'いくら', '彼']
    """
    for ending in ("たち", "達", "ら"):
        base = noun.removesuffix(ending)
        if base and base != noun and noun not in table() and noun not in table().spellings and _is_someone(base):
            return base
    return noun


def _is_someone(noun: str) -> bool:
    known = table()
    written = known.spellings.get(noun, noun)
    if noun in words("PRONOUNS") or known.of(written) & _PEOPLE:
        return True
    # 男の子, 消防士: known by the ending; one kana says nothing (くじ + ら)
    return len(noun) > 1 and noun[-1] >= "一" and bool(known.of(noun[-1]) & _PEOPLE)


@lru_cache(maxsize=1 << 16)
def base_form(morpheme: str) -> str:
    """The dictionary form of a morpheme in its representative spelling, METEOR's stem: 走っ and はしる are 走る.

    It sees the morpheme alone: 走り is the noun, also where a sentence means the verb.

    >>> base_form("走っ") == base_form("はしる") == base_form("走る")
    True
    """
    parts = list(sudachi("A").tokenize(morpheme))
    return representative(parts[0].dictionary_form()) if len(parts) == 1 else representative(morpheme)


@lru_cache(maxsize=1 << 16)
def compound_head(noun: str) -> str:
    """The last noun of a compound, where it has two signs at least; "" for other words.

    >>> [compound_head(noun) for noun in ("テニスラケット", "大型バス", "消防車", "犬")]
    ['ラケット', 'バス', '', '']
    """
    parts = list(sudachi("A").tokenize(noun)) if 2 < len(noun) < 30 else []
    if len(parts) < 2 or parts[-1].part_of_speech()[0] != "名詞":
        return ""
    last: str = parts[-1].surface()
    return last if len(last) > 1 else ""


def _by_dictionary(word: str) -> str:
    """What the dictionaries agree on; they are asked in turn, as each knows words the other does not."""
    seen = [word]
    while (step := _one_step(seen[-1])) not in seen:
        seen.append(step)
    return min(seen[seen.index(step) :])  # dictionaries that point at each other: any one, always the same


def _one_step(word: str) -> str:
    if len(word) < 2 and word < "一":  # の is a particle, not 野
        return word
    known = table().spellings
    if word in known:
        return known[word]
    parts = list(sudachi("C").tokenize(word))
    if not 0 < len(parts) <= _LONGEST:
        return word
    if len(parts) == 1:
        normal: str = parts[0].normalized_form()
        return normal
    polite = parts[0].part_of_speech()[0] == "接頭辞" and parts[0].normalized_form() == "御"
    return "".join(part.surface() for part in parts[1 if polite else 0 :])  # お皿 -> 皿

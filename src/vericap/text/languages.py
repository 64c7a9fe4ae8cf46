"""Which language a short text is in: by its script, or by words that one language uses and others do not.

Made for captions of a few words, to tell English from what is not; it is no general language identifier. Related
languages (Danish and Norwegian, Czech and Slovak) are told apart only where a word gives them away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from vericap.text import wordnet

UNKNOWN = "und"  # as BCP 47 calls an undetermined language
KNOWN_WORD = 0.3  # vote for English of a word that only the English dictionary knows
LETTER = 0.5  # vote of a letter for the languages that write with it
LEAST = 0.1  # votes per word below which nothing is said

# Scripts that one language (or the commonest of several) is written in; kana come before Han.
_SCRIPTS: tuple[tuple[str, str], ...] = (
    ("ja", "\u3040-\u30ff\uff66-\uff9f"),
    ("ko", "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"),
    ("zh", "\u3400-\u4dbf\u4e00-\u9fff"),
    ("th", "\u0e00-\u0e7f"),
    ("hi", "\u0900-\u097f"),
    ("bn", "\u0980-\u09ff"),
    ("ta", "\u0b80-\u0bff"),
    ("he", "\u0590-\u05ff"),
    ("ar", "\u0600-\u06ff\u0750-\u077f"),
    ("el", "\u0370-\u03ff"),
    ("ka", "\u10a0-\u10ff"),
    ("hy", "\u0530-\u058f"),
    ("ru", "\u0400-\u04ff"),
)
_OF_SCRIPT = {language: re.compile(f"[{letters}]") for language, letters in _SCRIPTS}
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
# Within a script: letters (or, for Persian, letters Arabic has not) that give a language away.
_MARKS = (
    ("ru", "uk", re.compile("[іїєґІЇЄҐ]")),
    ("ru", "bg", re.compile(r"\b(?:със|във|една|един|върху|тази|който|която)\b", re.IGNORECASE)),
    ("ar", "fa", re.compile("[پچژگی]")),
)

# Function words, and words of most captions; chosen by hand.
_WORDS = {
    "en": """
        a an the of and in on at with to is are was were be by for from his her their its it this that there some two
        three one near next up down out over under into while who which as they he she has have not through behind
        front large small man woman men people dog street standing sitting holding wearing walking riding
    """,
    "de": """
        der die das ein eine einen einem einer und ist sind im am auf mit von zu zum zur den dem des nicht sich auch
        für über unter vor hinter neben bei aus nach wird werden steht sitzt stehen zwei mann frau hund straße menschen
    """,
    "fr": """
        le la les un une des du de et est sont dans sur avec pour par au aux en qui que ne pas se ce cette ces son sa
        ses il elle ils à où près devant derrière deux homme femme chien rue gens
    """,
    "es": """
        el la los las un una unos unas de del y es son en con por para que se su sus al está están no lo como más sobre
        junto frente dos hombre mujer perro calle niño niña
    """,
    "it": """
        il lo la i gli le un uno una di del della dei delle e è sono in nel nella con per che si su sul sulla da dal al
        alla non due uomo donna cane strada mentre
    """,
    "pt": """
        o a os as um uma uns umas de do da dos das e é são em no na nos nas com por para que se ao à não sobre dois duas
        homem mulher cachorro cão rua está estão
    """,
    "nl": """
        de het een en is zijn in op met van voor aan bij naar uit te dat die niet ook er wordt naast achter onder over
        twee man vrouw hond straat mensen staat zit
    """,
    "sv": """
        en ett och är på av med som för till den det de i att inte om vid under från står sitter två kvinna hund gata
        människor
    """,
    "da": """
        en et og er på af med som for til den det de i at ikke om ved under fra står sidder to mand kvinde hund gade
        mennesker
    """,
    "nb": """
        en et og er på av med som for til den det de i å ikke om ved under fra står sitter to mann kvinne hund gate
        mennesker
    """,
    "fi": """
        ja on ei se että joka ovat oli myös mutta kun hän ne tämä kanssa päällä vieressä edessä kaksi mies nainen koira
    """,
    "pl": """
        i w na z do jest są się nie że to po od przez dla przy obok pod nad jak oraz dwa dwie mężczyzna kobieta pies
        ulica
    """,
    "cs": """
        a v na s se je jsou do z ze že to po od pro při vedle pod nad jak nebo dva dvě muž žena pes ulice který která
    """,
    "ro": """
        un o și este sunt în pe cu de la din pentru care nu se al ale lângă două bărbat femeie câine stradă
    """,
    "hu": """
        a az egy és van vannak nem hogy mellett előtt alatt fölött két férfi nő kutya utca ül áll
    """,
    "tr": """
        bir ve bu da de ile için var olan üzerinde yanında önünde altında iki adam kadın köpek sokak oturan duran
    """,
    "id": """
        yang dan di ke dari ini itu dengan untuk pada adalah sebuah seorang seekor dua pria wanita anjing jalan sedang
    """,
    "vi": """
        một và của là trên trong với có đang cho được người những các không này đàn ông phụ nữ chó đường
    """,
}
_LETTERS = {
    "ß": "de", "ä": "de sv fi", "ö": "de sv fi hu tr", "ü": "de hu tr", "ñ": "es", "¿": "es", "¡": "es", "ã": "pt vi",
    "õ": "pt vi", "ç": "fr pt tr", "œ": "fr", "ê": "fr pt vi", "è": "fr it", "ù": "fr it", "ò": "it", "ì": "it",
    "å": "sv da nb", "ø": "da nb", "æ": "da nb", "ł": "pl", "ą": "pl", "ę": "pl", "ż": "pl", "ś": "pl", "ř": "cs",
    "ě": "cs", "ů": "cs", "č": "cs", "ž": "cs", "š": "cs", "ș": "ro", "ț": "ro", "ă": "ro vi", "ő": "hu", "ű": "hu",
    "ı": "tr", "ğ": "tr", "ş": "tr ro", "đ": "vi", "ư": "vi", "ơ": "vi",
}  # fmt: skip
_WORD = re.compile(r"[^\W\d_]+")
_ENGLISH_END = re.compile(r"(?<=\w)\s?['’](?:s|m|d|ll|re|ve)\b")  # "man's", "man 's": no word of its own
# Languages that a text can be told to be in.
KNOWN = frozenset([*_WORDS, *(code for code, _ in _SCRIPTS), *(other for _, other, _ in _MARKS)])


def language(text: str) -> str:
    """The language of a short text as a code of ISO 639-1, or "und" where nothing tells.

    Examples
    --------
    >>> [language(text) for text in ("a dog on grass", "ein Hund auf dem Gras", "草の上の犬", "12 x 8")]
    ['en', 'de', 'ja', 'und']
    """
    script = _script(text)
    if script == "latin":
        return _latin(tuple(_WORD.findall(_ENGLISH_END.sub("", text.lower()))))
    for common, other, mark in _MARKS:
        if script == common and mark.search(text):
            return other
    return script


def _script(text: str) -> str:
    """The script with most letters; a name in Latin letters inside another script does not decide."""
    if text.isascii():
        return "latin" if _LATIN.search(text) else UNKNOWN
    counts = {language: len(found.findall(text)) for language, found in _OF_SCRIPT.items()}
    latin = len(_LATIN.findall(text))
    if counts["ja"]:  # Japanese mixes kana with Han
        counts["ja"] += counts["zh"]
        counts["zh"] = 0
    best = max(counts, key=lambda language: counts[language])
    if not counts[best] and not latin:
        return UNKNOWN
    return best if counts[best] * 2 > latin else "latin"  # a syllable or a Han sign says more than a letter


def _latin(words: tuple[str, ...]) -> str:
    votes: dict[str, float] = {}
    for word in words:
        for code, vote in _votes(word):
            votes[code] = votes.get(code, 0.0) + vote
    if _winner(votes, len(words)) == "en":
        return "en"  # the dictionary, which takes a while to open, could only agree
    known = sum(KNOWN_WORD for word in words if not _votes(word) and _english(word))
    if known:
        votes["en"] = votes.get("en", 0.0) + known
    found = _winner(votes, len(words))
    return UNKNOWN if found != "en" and all(map(_may_be_english, words)) else found


def _winner(votes: dict[str, float], words: int) -> str:
    if not votes:
        return UNKNOWN
    best, *rest = sorted(votes, key=lambda code: -votes[code])
    unclear = bool(rest) and votes[rest[0]] >= votes[best] - 1e-9
    return UNKNOWN if unclear or votes[best] < LEAST * words else best


@lru_cache(maxsize=100_000)
def _votes(word: str) -> tuple[tuple[str, float], ...]:
    """Languages a word speaks for; one that several languages use speaks less for each."""
    own = _languages_of().get(word, ())
    found = {code: 1 / len(own) for code in own}
    for code in _by_letters(word):
        found[code] = found.get(code, 0.0) + LETTER
    return tuple(found.items())


def _by_letters(word: str) -> Iterator[str]:
    if not word.isascii():
        yield from {code for letter in word for code in _LETTERS.get(letter, "").split()}


@lru_cache(maxsize=100_000)
def _english(word: str) -> bool:
    return len(word) > 2 and any(wordnet.base_forms(word))


def _may_be_english(word: str) -> bool:
    """Whether English uses a word, however often others do: "pro", "pan", the V of a neck."""
    return len(word) == 1 or "en" in _languages_of().get(word, ()) or _english(word)


@cache
def _languages_of() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for code, words in _WORDS.items():
        for word in words.split():
            found.setdefault(word, []).append(code)
    return {word: tuple(codes) for word, codes in found.items()}

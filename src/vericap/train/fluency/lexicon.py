"""Classes of words, counted on tagged texts: what a word can be, whether a noun is countable, what a verb takes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from vericap.graphs import english
from vericap.models.fluency_words import SPECIAL, Lexicon, dictionary_class

Tagged = list[tuple[str, str]]  # words in small letters with their tags

FUNCTION_TAGS = frozenset(
    ("DT", "PDT", "IN", "TO", "CC", "PRP", "PRP$", "MD", "WDT", "WP", "WP$", "WRB", "EX", "RP", "POS", "CD")
)
# Words of other parts of speech whose place in a sentence is their own; chosen by hand.
_OWN = """
    is are was were be been being am has have had having do does did doing not no very too also just only more most
    less least much many few several other same such next near close front back top bottom left right middle full
    group bunch couple pair lot lots number piece kind type set row side part here there now then away together
    apart else ever never still already again almost so as well both either neither each another able like
    one's 's 're 've 'll 'd 'm n't s
"""
OWN = frozenset(_OWN.split())
_MERGED = {
    "VBP": "VB", "VBD": "VBN", "JJR": "JJ", "JJS": "JJ", "RBR": "RB", "RBS": "RB", "NNP": "NN", "NNPS": "NNS",
}  # fmt: skip
_OPEN = frozenset(("NN", "NNS", "VB", "VBZ", "VBG", "VBN", "JJ", "RB"))
_SHARE = 0.15  # of a word's uses; a rarer tag is left out of its class
_SPLIT = 20  # uses from which on a noun or verb is told to be of a finer class
_MASS = 0.12  # of a noun's uses without an article from which on it needs none: "on grass"
_MOSTLY = 0.65  # of a word's uses from which on one of two tags is told to be the usual one
_FEW = 8  # words of a class below which it joins that of its first tag
_BEFORE_NOUN = frozenset(("DT", "PRP$", "JJ", "CD", "POS", "NN", "NNS", "VBG", "VBN", "WP$", "PDT"))
_OBJECT = frozenset(("DT", "PRP$", "PRP", "JJ", "CD", "NN", "NNS", "PDT"))


def tag(texts: Iterable[str]) -> list[Tagged]:
    """Texts tagged by the shipped pipeline."""
    found = []
    nlp = english.pipeline()
    with nlp.select_pipes(disable=[name for name in nlp.pipe_names if name == "parser"]):
        for doc in nlp.pipe((text.lower() for text in texts), batch_size=256):
            found.append([(token.lower_, _MERGED.get(token.tag_, token.tag_)) for token in doc])
    return found


@dataclass
class Uses:
    """How a word was used."""

    tags: Counter[str] = field(default_factory=Counter)
    bare: int = 0  # a noun with nothing before it that could be its article; the first word is none: "Man on a horse"
    transitive: int = 0  # a verb before its object

    @property
    def total(self) -> int:
        return sum(self.tags.values())


def count(texts: Iterable[Tagged]) -> dict[str, Uses]:
    """Uses of every word."""
    found: dict[str, Uses] = defaultdict(Uses)
    for text in texts:
        for place, (word, kind) in enumerate(text):
            uses = found[word]
            uses.tags[kind] += 1
            before = text[place - 1][1] if place else ""
            after = text[place + 1][1] if place + 1 < len(text) else ""
            uses.bare += kind == "NN" and place > 0 and before not in _BEFORE_NOUN
            uses.transitive += kind[:2] == "VB" and after in _OBJECT
    return dict(found)


def class_of(word: str, uses: Uses) -> str:
    """The class of a word by its uses; empty for one that is too rare to be believed."""
    total, common = uses.total, uses.tags.most_common(3)
    closed = sum(number for kind, number in uses.tags.items() if kind in FUNCTION_TAGS)
    if word in OWN or (closed > 0.5 * total and total >= 30 and word.isalpha()):
        return f"={word}"
    if total < 12 and not dictionary_class(word):
        return ""
    kinds = [kind for kind, number in common if number >= _SHARE * total and kind in _OPEN]
    possible = dictionary_class(word).split("|")  # the tagger takes "mitt" for a plural
    kinds = [kind for kind in kinds if kind in possible] or kinds
    if not kinds or not word[0].isalpha():
        return ""
    return "|".join(sorted(kinds)) + (_finer(kinds, uses) if total >= _SPLIT else "")


def _finer(kinds: Sequence[str], uses: Uses) -> str:
    if kinds[0] == "NN" and len(kinds) == 1:
        return ".m" if uses.bare > _MASS * uses.tags["NN"] else ".c"
    if len(kinds) == 1 and kinds[0][:2] == "VB":
        share = uses.transitive / uses.total
        return ".t" if share > 0.6 else ".i" if share < 0.25 else ".b"
    if len(kinds) == 2 and uses.tags[kinds[0]] > _MOSTLY * uses.total:
        return f".{kinds[0]}"  # "sink", mostly a noun; "run", mostly a verb
    return ""


def build(counted: dict[str, Uses], known: Collection[str] | None = None) -> Lexicon:
    """The lexicon of everything counted; classes with few words join a plainer one.

    `known` are the words that sentences are cut into: the tagger also knows halves of words ("ca", "n't").
    """
    words = {
        word: name
        for word, uses in counted.items()
        if (name := class_of(word, uses)) and "-" not in word and (known is None or word in known)
    }
    sizes = Counter(words.values())
    plain = {name for name in sizes if name.startswith("=") or sizes[name] >= _FEW}
    words = {word: name if name in plain else plainer(name) for word, name in words.items()}
    classes = [*SPECIAL, *sorted({*words.values(), *_OPEN, "NN|VB", "NNS|VBZ", "JJ|NN", "JJ|VBN", "NN|VBG"})]
    return Lexicon(classes, words)


def plainer(name: str) -> str:
    """A class without its finer part, or its first tag."""
    return name.partition(".")[0] if "." in name else name.partition("|")[0]

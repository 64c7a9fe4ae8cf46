"""A caption cut into words for reading its objects, and what the words around an object's name say of it (English)."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

_TOKEN = re.compile(r"[a-z0-9]+(?:'[a-z]+)?|[^\sa-z0-9]")
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+|\S+\.(?:jpe?g|png|gif|webp)\b", re.IGNORECASE)
_SIGNS = ("://", "www.", ".jp", ".png", ".gif", ".webp")  # a quick look before the expression above
_HYPHENS = ("-", "‐", "‑")
_BETWEEN = frozenset((*_HYPHENS, "'"))


def word_set(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


_NUMBERS = word_set("one two three four five six seven eight nine ten")
_DETERMINERS = word_set("a an the any some this these those his her their its my your our another each both")
_SKIPPED = _DETERMINERS | _NUMBERS | word_set("several many other more single visible")
_ENDINGS = ("n't",)
_NEGATIONS = word_set("no not without neither nor never zero lacks lack lacking minus cannot nobody")
_OF_VERBS = word_set("not never cannot")  # what they deny may be said by a verb; the others deny things
# "not only a dog", "no one riding a horse": these take the negation to themselves.
_TAKERS = word_set("only just far one too yet")
_OPEN_WORDS = 2  # adjectives or one verb between a negation and its object: "no red cars", "not wearing a tie"
# Words of the closed classes and marks: a negation does not reach over them.
_CLOSED = word_set(
    """
    . , ; : ! ? " ( ) and or but nor so yet if then than because as until although though whether since unless
    while of in on at by for with about against between into through during before after above below to from up
    down out off over under onto upon along across around near behind beside besides beyond within toward towards
    among amongst via per like unlike inside outside amid next i me we us you he him she it they them who whom
    whose which what where when that is are was were be been being has have had do does did can could may might
    must shall should will would there here also very without not
    """
)
_HAVE = word_set("have has had")
_BE = word_set("is are was were")
_BE_NOT = word_set("isn't aren't wasn't weren't")
_SEEN = word_set("visible present seen shown there pictured depicted")
_GONE = word_set("absent missing nowhere gone")
_LISTED = frozenset([",", *_SKIPPED])

# Names of objects that are verbs too: "they tie a knot", "a man trains his dog".
_VERBS = word_set(
    """
    tie ties train trains bear bears duck ducks book books ship ships sink sinks steer steers guide guides bowl
    bowls man cup cups bat bats coach ram rams
    """
)
_SUBJECTS = word_set("they we you i he she can could will would shall should may might must")
_PURPOSES = word_set("trying learning about how going used starting ready preparing tries wants")
_OBJECTS_OF_VERBS = _DETERMINERS | word_set("it them up for under fruit him")
_BEFORE_NOUNS = _SKIPPED | word_set("of in on at by for with from into near behind and or")

_COLOURS = word_set(
    """
    red blue green yellow white black brown grey gray purple pink tan beige gold golden silver teal cream colored
    coloured striped bright tabby ginger
    """
)
_BEFORE_FRUIT = word_set(
    """
    an one the another peeled sliced cut ripe whole half fresh single and or , with of apple banana
    """
)
_AFTER_FRUIT = word_set(
    """
    . , ; on in sitting sits that next beside near is are slice slices cut with to half halves at from lies lying
    and or
    """
)

# A part is where its owner is: "a man's hand" shows a man, "a man's shoe" need not.
_BODY = word_set(
    """
    hand hands head heads face faces arm arms leg legs foot feet back lap shoulder shoulders mouth nose eye eyes
    ear ears hair neck body bodies tail tails paw paws fur finger fingers chest knee knees tongue beak wing wings
    horn horns trunk thumb palm wrist belly reflection shadow hood roof window windows windshield dashboard wheel
    wheels tire tires mirror door doors bumper headlight headlights interior side cockpit cabin engine deck
    handlebars
    """
)
_DEFINITE = word_set("the this that these those his her their its")
# "a horse-drawn carriage" has its horse; "a giraffe-patterned sofa" has none.
_PRESENT_WITH = word_set("drawn pulled filled lined laden packed loaded mounted carrying")


@dataclass(frozen=True)
class CaptionWords:
    """Words in lower case without their 's. Hyphens between words are gone; `joined` tells where they were."""

    tokens: tuple[str, ...]
    joined: tuple[bool, ...]  # by a hyphen to the next word
    owning: tuple[bool, ...]  # the dog's, the dogs'
    matches: tuple[re.Match[str], ...]  # in the lower-case text
    letters: Sequence[int]  # the caption's letter that each letter of that text comes from

    @classmethod
    def of(cls, caption: str) -> CaptionWords:
        plain = without_addresses(caption).replace("’", "'")
        text, letters = _lowered(plain)
        words = tuple(match for match in _TOKEN.finditer(text) if match.group() not in _BETWEEN)
        found = tuple(match.group() for match in words)
        none = (False,) * len(words)
        joined = _joined(text, words) if any(mark in text for mark in _HYPHENS) else none
        if "'" not in text:
            return cls(found, joined, none, words, letters)
        owning = tuple(token.endswith("'s") or _plural_owner(text, match) for token, match in zip(found, words))
        return cls(tuple(map(bare, found)), joined, owning, words, letters)

    def span(self, place: int, length: int = 1) -> tuple[int, int]:
        """The letters of some words: the first, and the one after the last."""
        first, last = self.matches[place], self.matches[place + length - 1]
        return self.letters[first.start()], self.letters[last.end() - 1] + 1

    def at(self, place: int) -> str:
        """The word at a place; nothing before the first and after the last one."""
        return self.tokens[place] if 0 <= place < len(self.tokens) else ""


def bare(token: str) -> str:
    """A word without its 's."""
    return token[:-2] if token.endswith("'s") else token


def without_addresses(caption: str) -> str:
    """The caption with blanks in place of web addresses and file names: "dog.jpg" says nothing."""
    if "." not in caption or not any(sign in caption.lower() for sign in _SIGNS):
        return caption
    return _ADDRESS.sub(lambda match: " " * len(match.group()), caption)


def _lowered(caption: str) -> tuple[str, Sequence[int]]:
    """Small letters, and the letter of the caption that each comes from: some are two in lower case."""
    if caption.isascii():
        return caption.lower(), range(len(caption) + 1)
    return caption.lower(), [place for place, letter in enumerate(caption) for _ in letter.lower()]


def _joined(text: str, words: Sequence[re.Match[str]]) -> tuple[bool, ...]:
    """Which words a hyphen joins to the next one: a dash with blanks does not."""
    starts = {match.start() for match in words}
    return tuple(text[match.end() : match.end() + 1] in _HYPHENS and match.end() + 1 in starts for match in words)


def _plural_owner(text: str, match: re.Match[str]) -> bool:
    return match.group().endswith("s") and text[match.end() : match.end() + 2] in ("' ", "'")


# --- is it there at all -----------------------------------------------------------------------------------------


def negates(word: str) -> bool:
    """Whether a word denies others: "no", "without", "isn't"."""
    return word in _NEGATIONS or word.endswith(_ENDINGS)


def negated(words: CaptionWords, place: int, length: int, names: Collection[str]) -> bool:
    """Whether the caption says that the object is not there: "isn't a dog", "no red cars", "the dog is missing"."""
    return _negated_before(words, place, names) or _negated_after(words, place + length)


def listed_with(words: CaptionWords, end: int, place: int) -> bool:
    """Whether a name goes on the list that ends before it with "or": "no cars, trucks or people"."""
    between = words.tokens[end:place]
    if not set(between) <= _LISTED | {"or", "nor"}:
        return False
    if {"or", "nor"} & set(between):
        return True
    # A comma alone may begin another sentence: an "or" must still come, before anything that is no list.
    rest = words.tokens[place + 1 : place + 8]
    until = next((i for i, word in enumerate(rest) if word in _CLOSED and word not in (",", "or", "nor")), len(rest))
    return {"or", "nor"}.intersection(rest[:until]) != set()


def _negated_before(words: CaptionWords, place: int, names: Collection[str]) -> bool:
    """Whether a negation before an object's name governs it: "no red cars", "not wearing a tie", "no hat or tie".

    Between them stand adjectives and determiners, and before the determiners one verb; what comes between two noun
    phrases ("without a hat holds a cat") is a sentence that goes on.
    """
    before, determined = place - 1, False
    near: list[str] = []  # open words after the determiners,
    far: list[str] = []  # and those before them
    while before >= 0:
        word = words.tokens[before]
        if negates(word):
            return words.at(before + 1) not in _TAKERS and _governs(word, near, far)
        if word in _SKIPPED:
            if far:
                return False
            determined = True
        elif word in ("or", "nor") and not far:
            return _list_negated(words, before)
        elif word in _HAVE and not far:  # "does not have a dog"
            negation = words.at(before - 1)
            return negation in _OF_VERBS or negation.endswith(_ENDINGS)
        elif word in _CLOSED or word in names or len(near) + len(far) == _OPEN_WORDS:
            return False
        else:
            (far if determined else near).append(word)
        before -= 1
    return False


def _governs(negation: str, near: Sequence[str], far: Sequence[str]) -> bool:
    """Whether a negation reaches an object over some words, the last first: those that describe it, those before it."""
    if negation in _OF_VERBS or negation.endswith(_ENDINGS):
        return sum(not word.endswith("ly") for word in far) < 2  # "not smiling holds a cat": the second verb is said
    if far:
        return len(far) == 1 and far[0].endswith("ing")  # "without wearing a tie"
    if len(near) == 2 and near[0].endswith("ing"):
        return False  # "no shirt riding horses"
    return not any(word.endswith("s") and not word.endswith(("ss", "ous")) for word in near)  # "no shirt holds cats"


def _list_negated(words: CaptionWords, place: int) -> bool:
    """Whether things that are said to be absent, but no objects of ours, stand before this "or": "no hat or tie"."""
    left = _OPEN_WORDS
    for before in range(place - 1, -1, -1):
        word = words.tokens[before]
        if word in _NEGATIONS and word not in _OF_VERBS:
            return words.at(before + 1) not in _TAKERS
        if word == ",":
            left = _OPEN_WORDS
        elif word not in _SKIPPED:
            if word in _CLOSED or not left:
                return False
            left -= 1
    return False


def _negated_after(words: CaptionWords, end: int) -> bool:
    first, second, third = (words.at(end + step) for step in range(3))
    if first in _BE_NOT:
        return second in _SEEN
    return first in _BE and (second in _GONE or (second == "not" and third in _SEEN))


# --- is it the object -------------------------------------------------------------------------------------------


def other_sense(words: CaptionWords, place: int, length: int) -> bool:
    """Whether the word is no name of an object here: a verb, an adjective, a part of a compound, an owner."""
    last = place + length - 1
    return (
        (length == 1 and _is_verb(words, place))
        or (length == 1 and words.at(place) == "remote" and _is_adjective(words, place))
        or (words.joined[last] and words.at(last + 1) not in _PRESENT_WITH)
        or (place > 0 and words.joined[place - 1] and _counts(words.at(place - 1)))
        or (words.owning[last] and _names_a_kind(words, place, last))
    )


def _is_verb(words: CaptionWords, place: int) -> bool:
    before, after = words.at(place - 1), words.at(place + 1)
    if words.at(place) not in _VERBS:
        return False
    if before in _SUBJECTS:
        return True
    if before == "to":
        return after in _OBJECTS_OF_VERBS or words.at(place - 2) in _PURPOSES
    return after in _DETERMINERS and bool(before) and before not in _BEFORE_NOUNS and before not in _CLOSED


def _is_adjective(words: CaptionWords, place: int) -> bool:
    """ "Remote" before a noun: "a remote island"."""
    after = words.at(place + 1)
    return after.isalpha() and after not in _CLOSED and not after.endswith(("ing", "ed", "s"))


def _names_a_kind(words: CaptionWords, place: int, last: int) -> bool:
    """Whether an owner tells a kind of thing and need not be there: "a child's bedroom", "women's purses".

    "The child's smile" speaks of a child that is there; "several sandwich's sliced" of sandwiches.
    """
    owned = words.at(last + 1)
    if not owned.isalpha() or owned in _BODY | _CLOSED or owned.endswith(("ing", "ed")):
        return False
    return not _DEFINITE.intersection(words.tokens[max(0, place - 2) : place])


def _counts(word: str) -> bool:
    """A number before a hyphen: "a two-man tent"."""
    return word in _NUMBERS or word.isdigit()


def is_fruit(words: CaptionWords, place: int, names: Collection[str]) -> bool:
    """Whether "orange" can only be the fruit here: it is a colour far more often."""
    before, after = words.at(place - 1), words.at(place + 1)
    if before not in _BEFORE_FRUIT or after not in _AFTER_FRUIT | {""} or words.joined[place]:
        return False
    if _neighbour(words, place, -1) in _COLOURS:
        return False
    follower = _neighbour(words, place, 1)
    if after in ("and", "or", ","):
        # "an orange and white cat", but "an orange and a banana", "oranges, an orange and apples"
        return follower not in _COLOURS and (follower in _SKIPPED or follower in names or after == ",")
    return True


def _neighbour(words: CaptionWords, place: int, step: int) -> str:
    """The next word beyond commas and conjunctions."""
    place += step
    while words.at(place) in (",", "and", "or"):
        place += step
    return words.at(place)

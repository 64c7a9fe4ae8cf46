"""Which of the 80 COCO classes a Japanese caption mentions, and what the classes are called in Japanese."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from vericap.core import shipped
from vericap.text.japanese_content import Morpheme, morphemes
from vericap.vision.mentions import Mention, class_of

_LONGEST = 8  # morphemes of a phrase
_COUNTED = re.compile(r"^(?:[0-9一二三四五六七八九十数何]+|複数)$")
_PEOPLE = re.compile(r"^[0-9一二三四五六七八九十数]+人$")
_COUNTERS = frozenset(("人", "本", "台", "匹", "頭", "羽", "個", "枚", "つ", "皿", "杯", "鉢", "丼"))
# Said to be absent: 犬がいない, 人は見えません, 車のない道, 犬ではなく猫, 男性も女性もいない
_NOT = r"(?:い|居|おり|あり|見え|見当たら|写って(?:い)?|映って(?:い)?|写ら|映ら)?(?:ない|無い|ません|なく|無く|ず)"
_ABSENT = re.compile(
    rf"^(?:(?:が|は|も|の|など)?(?:誰も|一人も|1人も|一匹も|どこにも|全く|まったく)?{_NOT}|なし|無し|以外"
    rf"|(?:では|じゃ|で)(?:ない|なく|ありません)|も[^、。]{{1,8}}も{_NOT})"
)
_COLOUR = ("の", "色", "系")  # after オレンジ: the colour, not the fruit


@dataclass(frozen=True)
class JapaneseWords:
    """The table: phrase -> classes; an empty list is a phrase to pass over."""

    names: dict[str, str]  # class -> its Japanese name
    phrases: dict[str, tuple[str, ...]]
    evidence: dict[str, tuple[str, ...]]
    likeness_before: tuple[str, ...]
    likeness_after: tuple[str, ...]


@lru_cache(maxsize=1)
def japanese_words() -> JapaneseWords:
    data = json.loads(shipped.path("chair", "words_ja.json").read_text("utf-8"))
    phrases, evidence = (
        {phrase: tuple(classes) for phrase, classes in data[name].items()} for name in ("words", "evidence")
    )
    return JapaneseWords(
        data["names"], phrases, evidence, tuple(data["likeness_before"]), tuple(data["likeness_after"])
    )


def japanese_name(label: str) -> str:
    """What a label is called in Japanese; a label outside the 80 classes stays as it is.

    >>> japanese_name("sofa"), japanese_name("犬")
    ('ソファ', '犬')
    """
    classes = class_of(label)
    return japanese_words().names[classes[0]] if len(classes) == 1 else label


def japanese_class_of(label: str) -> tuple[str, ...]:
    """The COCO classes that an English or Japanese label may mean.

    >>> japanese_class_of("dog"), japanese_class_of("犬")
    (('dog',), ('dog',))
    """
    return class_of(label) or japanese_words().phrases.get(label.strip(), ())


@lru_cache(maxsize=1 << 16)
def mentions_ja(caption: str, *, evidence: bool = False) -> tuple[Mention, ...]:
    """The objects a Japanese caption mentions, in order, each time it does; `evidence` as for English captions.

    The longest phrase wins (犬小屋 is no dog); likenesses (おもちゃの車, 馬の像), kinds (子供用, キリン柄) and what is
    said to be absent (人がいない) are passed over. 2人の男性 is one mention.
    """
    found: list[Mention] = []
    for mention in _read(caption, morphemes(caption), japanese_words(), evidence):
        if found and found[-1].classes == mention.classes and _one_thing(caption, found[-1], mention):
            mention = Mention(caption[found[-1].start : mention.end], mention.classes, found[-1].start, mention.end)
            found.pop()
        found.append(mention)
    return tuple(found)


def _one_thing(caption: str, one: Mention, two: Mention) -> bool:
    """男性2人, 2人の男性: a count and what is counted."""
    between = caption[one.end : two.start]
    return not between or (between == "の" and caption[: one.end].endswith("人") and len(one.text) > 1)


def _read(caption: str, words: list[Morpheme], table: JapaneseWords, evidence: bool) -> Iterator[Mention]:
    place = 0
    while place < len(words):
        length, classes = _longest(words, place, table, evidence)
        if classes:
            start, end = words[place].start, words[place + length - 1].end
            counted = place > 0 and _COUNTED.match(words[place - 1].text) is not None
            if counted and words[place].text == "人":
                start = words[place - 1].start
            elif counted and length == 1 and words[place].text in _COUNTERS:
                classes = ()  # 3本のボトル counts bottles, not books
            if classes and not _passed_over(caption, start, end, table, evidence):
                yield Mention(caption[start:end], classes, start, end)
        place += max(1, length)


def _longest(words: list[Morpheme], place: int, table: JapaneseWords, evidence: bool) -> tuple[int, tuple[str, ...]]:
    """Length in morphemes and classes of the longest phrase of the table that starts here; 0 for none."""
    for length in range(min(_LONGEST, len(words) - place), 0, -1):
        part = words[place : place + length]
        if any(one.end != two.start for one, two in pairwise(part)):
            continue
        for phrase in ("".join(word.text for word in part), *([part[0].normal] if length == 1 else [])):
            classes = table.phrases.get(phrase)
            if evidence and not classes:
                classes = table.evidence.get(phrase, classes)
            if classes is not None:
                return length, classes
    return (1, ("person",)) if _PEOPLE.match(words[place].text) else (0, ())


def _passed_over(caption: str, start: int, end: int, table: JapaneseWords, evidence: bool) -> bool:
    """Whether the phrase is said to be absent, a colour, or a likeness of the object."""
    before, after = caption[:start], caption[end:]
    if _ABSENT.match(after) or (caption[start:end] == "オレンジ" and after.startswith(_COLOUR)):
        return True
    return not evidence and (before.endswith(table.likeness_before) or after.startswith(table.likeness_after))

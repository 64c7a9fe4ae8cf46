"""What a caption mentions, what of it is not in the image, and what is there and was not mentioned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from vericap.core.explanation import Box, Explanation, MissingContent, WordEvidence
from vericap.metrics.toolbox import words_of
from vericap.vision.mentions import Mention, class_of, class_words, mentions, table_version
from vericap.vision.objects import ImageObjects

IMAGE, REFERENCES = "image", "references"
# fmt: off
VOC = frozenset((
    "airplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "dining table", "dog",
    "horse", "motorcycle", "person", "potted plant", "sheep", "couch", "train", "tv",
))
# fmt: on


def judged_classes(name: str) -> frozenset[str]:
    """The classes of a label set."""
    return VOC if name == "voc" else frozenset(class_words().classes)


@dataclass(frozen=True)
class Reader:
    """How captions of a language are read."""

    lang: str = "en"

    def mentions(self, caption: str, *, evidence: bool = False) -> tuple[Mention, ...]:
        """Objects a caption mentions."""
        if self.lang == "ja":
            from vericap.vision.mentions_ja import mentions_ja

            return mentions_ja(caption, evidence=evidence)
        return mentions(caption, evidence=evidence)

    def class_of(self, label: str) -> tuple[str, ...]:
        """Classes that an object's label may mean."""
        if self.lang == "ja":
            from vericap.vision.mentions_ja import japanese_class_of

            return japanese_class_of(label)
        return class_of(label)

    def name(self, label: str) -> str:
        """What a class is called."""
        if self.lang == "ja":
            from vericap.vision.mentions_ja import japanese_name

            return japanese_name(label)
        return label

    def words(self, caption: str) -> list[tuple[str, int, int]]:
        """Words of a caption with their places."""
        if self.lang == "ja":
            from vericap.text.japanese_content import morphemes

            return [(caption[word.start : word.end], word.start, word.end) for word in morphemes(caption)]
        return words_of(caption)

    @property
    def table(self) -> str:
        """The table of words, as a signature names it."""
        return table_version() if self.lang == "en" else f"{self.lang}-{table_version()}"


@dataclass(frozen=True)
class There:
    """Classes known to be in an image, and those with some evidence in its references: a superset."""

    sure: frozenset[str]
    possible: frozenset[str]

    @classmethod
    def of(cls, seen: ImageObjects, told: Sequence[There], keep: frozenset[str], reader: Reader) -> There:
        """What the image shows or a reference tells, of the classes to keep."""
        labels = frozenset(name for label in seen.labels for name in reader.class_of(label))
        sure = labels.union(*(item.sure for item in told))
        return cls(sure & keep, labels.union(*(item.possible for item in told)) & keep)


@lru_cache(maxsize=1 << 16)
def there_in(reference: str, reader: Reader) -> There:
    """What a reference tells. "Baby" may be any animal's: taken for a person where nothing tells."""
    sure = [mention.classes[0] for mention in reader.mentions(reference) if len(mention.classes) == 1]
    possible = [
        name
        for mention in reader.mentions(reference, evidence=True)
        for name in (mention.classes if len(mention.classes) <= 5 else mention.classes[:1])
    ]
    return There(frozenset(sure), frozenset(sure + possible))


@dataclass(frozen=True)
class Verdict:
    """What a caption mentions, what of it is not there, and what is there and not mentioned."""

    caption: str
    reader: Reader
    seen: ImageObjects
    there: There
    said: tuple[Mention, ...]
    invented: tuple[Mention, ...]
    missed: tuple[str, ...]
    source: str  # what tells that a mention is invented

    @classmethod
    def of(
        cls, caption: str, reader: Reader, seen: ImageObjects, there: There, keep: frozenset[str], source: str
    ) -> Verdict:
        said = tuple(mention for mention in reader.mentions(caption) if keep.issuperset(mention.classes))
        invented = tuple(mention for mention in said if there.possible.isdisjoint(mention.classes))
        named = {name for mention in said for name in mention.classes}
        return cls(caption, reader, seen, there, said, invented, tuple(sorted(there.sure - named)), source)

    def counts(self, *, distinct: bool) -> tuple[int, int]:
        """Invented mentions and mentions; `distinct`: an object that is named twice counts once."""
        if not distinct:
            return len(self.invented), len(self.said)
        return len({mention.classes for mention in self.invented}), len({mention.classes for mention in self.said})

    def explained(self, label: str) -> Explanation:
        """Every mention with its verdict (support 1 there, 0 invented), and what was left unsaid."""
        missing = (MissingContent(self.reader.name(name), 1.0, *self._place(name)) for name in self.missed)
        facts = {
            "objects": sorted(self.there.sure),
            "hallucinated": [mention.text for mention in self.invented],
            "mentions": len(self.said),
        }
        return Explanation(label, words=tuple(self.words()), missing=tuple(missing), facts=facts)

    def words(self) -> Iterator[WordEvidence]:
        """All words of the caption; those of a mention have its verdict."""
        for word, start, end in self.reader.words(self.caption):
            mention = next((said for said in self.said if said.start < end and said.end > start), None)
            yield WordEvidence(word, start, end) if mention is None else self._judged(word, start, end, mention)

    def _judged(self, word: str, start: int, end: int, mention: Mention) -> WordEvidence:
        if mention in self.invented:
            return WordEvidence(word, start, end, 0.0, self.source)
        name = next(name for name in mention.classes if name in self.there.possible)
        return WordEvidence(word, start, end, 1.0, *self._place(name))

    def _place(self, name: str) -> tuple[str, Box | None]:
        """Who tells that an object of a class is there, and where the image's source says it is."""
        labels = [label for label in self.seen.labels if name in self.reader.class_of(label)]
        regions = (self.seen.region(label) for label in labels)
        return IMAGE if labels else REFERENCES, next((region for region in regions if region is not None), None)

"""Content words of texts, and labels of objects, as word vectors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from vericap.core.analysis import Analysis, Index, Key
from vericap.core.batch import Batch
from vericap.core.settings import Settings
from vericap.run.analyses.objects import Objects
from vericap.run.analyses.tokens import Tokens
from vericap.text.stopwords import GLASGOW
from vericap.text.tokens import TokenTable
from vericap.text.vectors import DEFAULT, WordVectors, open_vectors, vectors_name
from vericap.text.word_table import WordTable, word_table
from vericap.vision.objects import ImageObjects

if TYPE_CHECKING:
    from vericap.run.runtime import Runtime

OURS, AUTHORS = "captions", "glasgow"  # lists of stop words
_AUTHORS_WORD = re.compile(r"\b\w\w+\b")  # as scikit-learn's CountVectorizer cuts texts
_BREAKS = re.compile(r"[\s_\-/]+")


@dataclass(frozen=True)
class WordSpace(Analysis[WordTable]):
    """The content words of all texts in a table of word vectors.

    Japanese words are the longest units in their normal forms, with vectors of the multilingual encoder. The stop words
    "glasgow" go with the tokens of VIFIDEL's program: words of two letters and more.
    """

    vectors: str = DEFAULT
    normalise: bool = True
    centre: bool = True
    tokenizer: str = "ptb"
    lang: str = "en"
    stopwords: str = OURS
    cost: ClassVar[int] = 300

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (Tokens(self.tokenizer),) if self._tokenized else ()

    @property
    def _tokenized(self) -> bool:
        """Whether the words are those of the run's tokeniser."""
        return self.lang != "ja" and self.stopwords == OURS

    def compute(self, batch: Batch, runtime: Runtime) -> WordTable:
        return word_table(self._tokens(batch), self._source(runtime), normalise=self.normalise, centre=self.centre)

    def _tokens(self, batch: Batch) -> TokenTable:
        if self._tokenized:
            return batch[Tokens(self.tokenizer)]
        if self.lang == "ja":
            from vericap.text.japanese_content import content_table

            return content_table(batch.texts)
        texts = (_AUTHORS_WORD.findall(text.lower()) for text in batch.texts)
        return TokenTable.of([word for word in text if word not in GLASGOW] for text in texts)

    def _source(self, runtime: Runtime) -> WordVectors:
        if self.lang != "ja" or self.vectors != DEFAULT:
            return open_vectors(self.vectors, folder=runtime.folder, readers=runtime.encoder)
        from vericap.run.analyses.sentences import japanese_encoder
        from vericap.text.japanese_content import JapaneseVectors
        from vericap.vision.mentions_ja import japanese_words

        return JapaneseVectors(japanese_encoder(runtime), list(japanese_words().names.values()))

    def signature(self, batch: Batch) -> dict[str, str]:
        tokens = {} if self._tokenized else {"tok": "sudachi-long" if self.lang == "ja" else "word-2"}
        if self.lang != "ja" or self.vectors != DEFAULT:
            return {**tokens, "vectors": vectors_name(self.vectors)}
        from vericap.text.japanese_content import JapaneseVectors

        return {**tokens, "vectors": JapaneseVectors.name}


@dataclass(frozen=True)
class LabelSpace:
    """A word table with the labels of objects in it, and the rows of each label's words; none: no vector."""

    table: WordTable
    rows: dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class ObjectWords(Analysis[LabelSpace]):
    """The word space, with the labels of the samples' objects.

    A label of several words is one unit, the mean of its words' vectors, unless it is `split`: then each of its words
    that is no stop word stands for itself.
    """

    words: WordSpace
    objects: Objects
    split: bool = False
    index: ClassVar[Index] = "sample"

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (self.words, self.objects)

    def compute(self, batch: Batch, runtime: Runtime) -> LabelSpace:
        found = [item for item in batch[self.objects] if isinstance(item, ImageObjects)]
        units = {label: self._units(label) for label in dict.fromkeys(name for item in found for name in item.labels)}
        table, rows = batch[self.words].with_labels(unit for own in units.values() for unit in own)
        known = {label: tuple(rows[unit] for unit in own if rows[unit] >= 0) for label, own in units.items()}
        return LabelSpace(table, known)

    def _units(self, label: str) -> list[str]:
        """What stands for a label: itself, its words, or its name in Japanese."""
        if self.words.lang == "ja":
            return [_japanese(label)]
        return [word for word in _BREAKS.split(label) if self._counts(word)] if self.split else [label]

    def _counts(self, word: str) -> bool:
        return len(word) > 1 and not (self.words.stopwords == AUTHORS and word in GLASGOW)


def _japanese(label: str) -> str:
    """The Japanese name of a label, spelt as captions' words are."""
    from vericap.text.japanese_content import morphemes
    from vericap.vision.mentions_ja import japanese_name

    name = japanese_name(label)
    words = morphemes(name, "C")
    return words[0].normal if len(words) == 1 else name

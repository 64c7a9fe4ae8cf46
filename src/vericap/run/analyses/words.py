"""Content words of texts, and labels of objects, as word vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from vericap.core.analysis import Analysis, Index, Key
from vericap.core.batch import Batch
from vericap.core.settings import Settings
from vericap.run.analyses.objects import Objects
from vericap.run.analyses.tokens import Tokens
from vericap.text.vectors import open_vectors, vectors_name
from vericap.text.word_table import WordTable, word_table
from vericap.vision.objects import ImageObjects

if TYPE_CHECKING:
    from vericap.run.runtime import Runtime


@dataclass(frozen=True)
class WordSpace(Analysis[WordTable]):
    """The content words of all texts in a table of word vectors."""

    vectors: str = "encoder"
    normalise: bool = True
    centre: bool = True
    tokenizer: str = "ptb"
    cost: ClassVar[int] = 300

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (Tokens(self.tokenizer),)

    def compute(self, batch: Batch, runtime: Runtime) -> WordTable:
        source = open_vectors(self.vectors, folder=runtime.folder, reader=runtime.encoder)
        return word_table(batch[Tokens(self.tokenizer)], source, normalise=self.normalise, centre=self.centre)

    def signature(self, batch: Batch) -> dict[str, str]:
        return {"vectors": vectors_name(self.vectors)}


@dataclass(frozen=True)
class LabelSpace:
    """A word table with the labels of objects in it, and each label's row (-1: no vector)."""

    table: WordTable
    rows: dict[str, int]


@dataclass(frozen=True)
class ObjectWords(Analysis[LabelSpace]):
    """The word space, with the labels of the samples' objects."""

    words: WordSpace
    objects: Objects
    index: ClassVar[Index] = "sample"

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (self.words, self.objects)

    def compute(self, batch: Batch, runtime: Runtime) -> LabelSpace:
        found = [item for item in batch[self.objects] if isinstance(item, ImageObjects)]
        return LabelSpace(*batch[self.words].with_labels(label for item in found for label in item.labels))

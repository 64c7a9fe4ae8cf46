"""Vectors of whole texts and of their word pieces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from vericap.core.analysis import Analysis
from vericap.core.batch import Batch
from vericap.core.errors import VericapError
from vericap.core.typing import Floats32
from vericap.text.encoders import CAPTIONS, StateTable, encoder_name, normalise
from vericap.text.japanese import ENCODER, JapaneseEncoder

if TYPE_CHECKING:
    from vericap.run.runtime import Runtime


@dataclass(frozen=True)
class Sentences(Analysis[Floats32]):
    """Unit vectors (texts, d). English ones are centred: what all captions share is removed."""

    lang: str = "en"
    encoder: str = CAPTIONS
    cost: ClassVar[int] = 4 * 384

    def compute(self, batch: Batch, runtime: Runtime) -> Floats32:
        if self.lang == "en":
            return runtime.encoder(self.encoder).encode(batch.texts)
        if self.lang == "ja":
            return normalise(japanese_encoder(runtime).encode(batch.texts))
        raise VericapError(f"sentence vectors are made for English (en) and Japanese (ja), not for `lang={self.lang}`")

    def signature(self, batch: Batch) -> dict[str, str]:
        return {"encoder": encoder_name(self.encoder) if self.lang == "en" else ENCODER}


@dataclass(frozen=True)
class TokenStates(Analysis[StateTable]):
    """States of the word pieces of all texts: in their sentences, or each word read alone."""

    encoder: str = CAPTIONS
    alone: bool = False
    cost: ClassVar[int] = 15 * 2 * 384  # 15 pieces of a caption

    def compute(self, batch: Batch, runtime: Runtime) -> StateTable:
        encoder = runtime.encoder(self.encoder)
        return encoder.word_states(batch.texts) if self.alone else encoder.token_states(batch.texts)

    def signature(self, batch: Batch) -> dict[str, str]:
        return {"encoder": encoder_name(self.encoder)}


def japanese_encoder(runtime: Runtime) -> JapaneseEncoder:
    """The multilingual encoder of this process."""
    return runtime.once(("encoder", "ja"), JapaneseEncoder)

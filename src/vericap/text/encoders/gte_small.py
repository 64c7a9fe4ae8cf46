"""gte-small through ONNX Runtime (tools/build_encoder.py says why a text's vectors do not depend on its company)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from vericap.core import onnx, shipped
from vericap.core.typing import Floats32
from vericap.text.encoders.base import Cut, SentenceEncoder, like_lengths, padded

PART = "encoder"  # its folder among the shipped parts
_TOGETHER = 384  # word pieces computed together: 24 captions of 16 stay in the processor's cache


class GteSmall(SentenceEncoder):
    """The general encoder that the caption encoder has learned from."""

    width = 384

    def __init__(self, *, threads: int = 1) -> None:
        self.name = name()
        self._threads = threads
        self._session: Any = None

    def cut(self, texts: Sequence[str]) -> list[Cut]:
        return [Cut(item.ids, item.offsets) for item in tokenizer().encode_batch(list(texts))] if texts else []

    def caption_mean(self) -> Floats32:
        return _mean(PART, "caption_mean.npy")

    def phrase_mean(self) -> Floats32:
        return _mean("phrases", "phrase_mean.npy")

    def _means(self, windows: Sequence[Sequence[int]]) -> Floats32:
        means = [own.mean(axis=0) for own in self._states(windows)]
        return np.stack(means) if means else np.zeros((0, self.width), dtype=np.float32)

    def _states(self, windows: Sequence[Sequence[int]]) -> list[Floats32]:
        found: list[Floats32] = [np.zeros((0, self.width), dtype=np.float32)] * len(windows)
        for group in like_lengths([len(own) for own in windows], _TOGETHER):
            ids, mask = padded([windows[i] for i in group])
            (hidden,) = self.session().run(["last_hidden_state"], {"input_ids": ids, "attention_mask": mask})
            for row, place in enumerate(group):
                found[place] = hidden[row, : len(windows[place])]
        return found

    def session(self) -> Any:
        if self._session is None:
            self._session = onnx.session(shipped.path(PART, "model.onnx"), threads=self._threads)
        return self._session


def name() -> str:
    """Name of the network, for signatures and kept vectors."""
    meta = shipped.meta(PART)
    return f"{meta['name']}-{meta['version']}"


@lru_cache(maxsize=2)
def _mean(part: str, file: str) -> Floats32:
    mean: Floats32 = np.load(shipped.path(part, file), allow_pickle=False).astype(np.float32)
    return mean


@lru_cache(maxsize=1)
def tokenizer() -> Any:
    from tokenizers import Tokenizer

    made = Tokenizer.from_file(str(shipped.path(PART, "tokenizer.json")))
    made.no_padding()
    made.no_truncation()
    return made

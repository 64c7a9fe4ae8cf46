"""Any causal language model of the hub's kind as a fluency model (group `hub`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.errors import VericapError, require
from vericap.core.typing import Floats, Ints
from vericap.text.language_model import TokenScores

BATCH = 16  # texts computed together


class CausalLm:
    """A local folder or a hub name; log-probabilities of its own tokens, the end of the text included.

    It has no unigram table: the frequency of a token is taken as its probability at the start of a text, the
    model's own belief before anything is said.
    """

    def __init__(self, spec: str) -> None:
        self._torch = require("torch", "hub", f"the language model '{spec}'")
        transformers = require("transformers", "hub", f"the language model '{spec}'")
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(spec, local_files_only=True)
            # Nothing is downloaded, and weights are read from safetensors alone: other formats may carry code.
            self._model = transformers.AutoModelForCausalLM.from_pretrained(
                spec, local_files_only=True, use_safetensors=True
            ).eval()
        except (OSError, ValueError, KeyError) as error:
            raise VericapError(
                f"'{spec}' is neither 'coco', a folder of `vericap train lm`, nor a causal language model "
                f"that transformers can open without a download ({str(error).splitlines()[0]}); give a folder, or "
                f"fetch a model of the hub first: hf download {spec}"
            ) from error
        self._start = self._tokenizer.bos_token_id
        self._end = self._tokenizer.eos_token_id
        if self._start is None:
            self._start = self._end
        if self._start is None:
            raise VericapError(f"the language model '{spec}' names no token for the start or end of a text")
        self._alone: Floats | None = None

    def text_scores(self, texts: Sequence[str]) -> Iterator[TokenScores]:
        """Each text's tokens and its end, with both log-probabilities; nothing of a text without tokens."""
        for start in range(0, len(texts), BATCH):
            yield from self._score(texts[start : start + BATCH])

    def _score(self, texts: Sequence[str]) -> Iterator[TokenScores]:
        rows = [self._tokenizer.encode(text, add_special_tokens=False) if text.strip() else [] for text in texts]
        limit = int(getattr(self._model.config, "max_position_embeddings", 1024)) - 2
        end = [] if self._end is None else [self._end]
        rows = [[self._start, *row[:limit], *end] for row in rows]
        length = max(map(len, rows))
        ids = np.full((len(rows), length), self._start, dtype=np.int64)
        for place, row in enumerate(rows):
            ids[place, : len(row)] = row
        log = self._logs(ids)
        alone = self._unigrams()
        for place, row in enumerate(rows):
            if len(row) - 1 - len(end) < 1:  # no token but the marks
                yield TokenScores.nothing()
                continue
            target = np.array(row[1:])
            tokens = self._tokenizer.convert_ids_to_tokens(row[1:])
            yield TokenScores(list(tokens), log[place, np.arange(len(target)), target], alone[target])

    def _unigrams(self) -> Floats:
        if self._alone is None:
            self._alone = self._logs(np.array([[self._start]]))[0, 0]
        return self._alone

    def _logs(self, ids: Ints) -> Floats:
        # Padding stands to the right: a causal model never looks at it.
        torch: Any = self._torch
        with torch.inference_mode():
            logits = self._model(torch.from_numpy(ids)).logits
            return np.asarray(torch.log_softmax(logits.double(), dim=-1).numpy())


def name(spec: str) -> str:
    """The model's name, for signatures."""
    return Path(spec).name

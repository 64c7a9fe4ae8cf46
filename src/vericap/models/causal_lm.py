"""Any causal language model of the hub's kind as a fluency model (group `hub`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vericap.errors import VericapError, require
from vericap.run.progress import progress

if TYPE_CHECKING:
    from vericap.metrics.lm import Scored
    from vericap.run.batch import Batch

_BATCH = 16


class CausalLm:
    """A local folder or a hub name; log-probabilities of its own tokens, the end of the text included.

    It has no unigram table: the frequency of a token is taken as its probability at the start of a text, the
    model's own belief before anything is said.
    """

    def __init__(self, spec: str) -> None:
        self._torch = require("torch", "hub", f"the language model '{spec}'")
        transformers = require("transformers", "hub", f"the language model '{spec}'")
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(spec)
            self._model = transformers.AutoModelForCausalLM.from_pretrained(spec).eval()
        except (OSError, ValueError, KeyError) as error:
            raise VericapError(
                f"'{spec}' is neither 'coco', a folder of `vericap train lm`, nor a causal language model "
                f"that transformers can open ({error})"
            ) from error
        self.name = Path(spec).name
        self._start = self._tokenizer.bos_token_id
        self._end = self._tokenizer.eos_token_id
        if self._start is None:
            self._start = self._end
        if self._start is None:
            raise VericapError(f"the language model '{spec}' names no token for the start or end of a text")
        self._alone: NDArray[np.float64] | None = None

    def texts(self, batch: Batch, which: list[int]) -> list[Scored]:
        made: list[Scored] = []
        starts = range(0, len(which), _BATCH)
        for start in progress(starts, what="language model", show=batch.settings.progress, unit="batch"):
            made += self._score([batch.texts[text] for text in which[start : start + _BATCH]])
        return made

    def _score(self, texts: list[str]) -> list[Scored]:
        from vericap.metrics.lm import Scored

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
        made = []
        for place, row in enumerate(rows):
            if len(row) - 1 - len(end) < 1:  # no token but the marks
                made.append(Scored([], np.zeros(0), np.zeros(0)))
                continue
            target = np.array(row[1:])
            inside = log[place, np.arange(len(target)), target]
            tokens = self._tokenizer.convert_ids_to_tokens(row[1:])
            made.append(Scored(list(tokens), inside, alone[target]))
        return made

    def _unigrams(self) -> NDArray[np.float64]:
        if self._alone is None:
            self._alone = self._logs(np.array([[self._start]]))[0, 0]
        return self._alone

    def _logs(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        # Padding stands to the right: a causal model never looks at it.
        torch: Any = self._torch
        with torch.inference_mode():
            logits = self._model(torch.from_numpy(ids)).logits
            return np.asarray(torch.log_softmax(logits.double(), dim=-1).numpy())

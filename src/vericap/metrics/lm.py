"""Fluency: how likely a language model of captions finds the caption, per token."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from vericap.metrics.base import Metric, Option, Statistics
from vericap.models import store
from vericap.run.batch import Batch
from vericap.text import ngram_lm

Floats = NDArray[np.float64]

SHIPPED = "coco"


class LanguageModel(Protocol):
    """What the metric asks of a model."""

    name: str

    def texts(self, batch: Batch, which: list[int]) -> list[Scored]:
        """Tokens of each text with their log-probability and the log of their frequency."""


class Scored:
    """One text: tokens (the end included) with log p(token | before) and log p(token) alone."""

    __slots__ = ("alone", "inside", "tokens")

    def __init__(self, tokens: list[str], inside: Floats, alone: Floats) -> None:
        self.tokens, self.inside, self.alone = tokens, inside, alone


class Lm(Metric):
    name, title = "lm", "LM fluency"
    reads_references = False
    range = (float("-inf"), float("inf"))
    needs = ()
    analyses = ("tokens",)
    options: ClassVar[Mapping[str, Option]] = {
        "form": Option(
            "slor", "slor: log-probability minus unigram log-probability, per token; logprob: without the latter",
            choices=("slor", "logprob"),
        ),
        "model": Option(SHIPPED, "'coco' (shipped), folder of `vericap train lm`, or a causal LM (folder or hub name)"),
    }  # fmt: skip

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        model = open_model(self.opt.model)
        texts, inverse = np.unique(batch.candidates, return_inverse=True)
        scored = model.texts(batch, texts.tolist())
        logprob = np.array([_mean(one.inside) for one in scored])[inverse]
        alone = np.array([_mean(one.alone) for one in scored])[inverse]
        score = logprob - alone if self.opt.form == "slor" else logprob
        problems = {}
        for row in np.flatnonzero(np.isnan(score)).tolist():
            problems[row] = "the caption has no token a language model could judge"
        columns = {"logprob": logprob, "slor": logprob - alone}
        explanations: list[dict[str, Any] | None] | None = None
        if batch.settings.explain:
            explanations = [_explain(scored[place]) for place in inverse]
        return Statistics(score, problems, columns, explanations)

    def signature_parts(self, batch: Batch) -> dict[str, str]:
        return {"model": open_model(self.opt.model).name}


class Ngrams:
    """The shipped model, or one of `vericap train lm`."""

    def __init__(self, model: ngram_lm.NgramModel) -> None:
        self.model, self.name = model, model.name

    def texts(self, batch: Batch, which: list[int]) -> list[Scored]:
        tokens = batch.analysis("tokens")
        lists = [tokens[text] for text in which]
        scores, words, offsets = self.model.token_scores(lists)
        inside = scores.astype(np.float64)
        alone = self.model.frequency[words].astype(np.float64)
        made = []
        for text, start, end in zip(lists, offsets, offsets[1:]):
            if text:
                made.append(Scored([*text, ngram_lm.MARKS[ngram_lm.END]], inside[start:end], alone[start:end]))
            else:
                made.append(Scored([], np.zeros(0), np.zeros(0)))
        return made


@lru_cache(maxsize=2)
def open_model(spec: str) -> LanguageModel:
    """'coco', a folder of `vericap train lm`, else a causal language model through transformers."""
    if spec == SHIPPED:
        for file in store.meta("lm")["files"]:
            store.path("lm", file)
        return Ngrams(ngram_lm.load(store.folder("lm")))
    folder = Path(spec).expanduser()
    if (folder / "ngrams.npz").is_file():
        return Ngrams(ngram_lm.load(folder))
    from vericap.models.causal_lm import CausalLm

    return CausalLm(spec)


def _mean(values: Floats) -> float:
    return float(values.mean(dtype=np.float64)) if len(values) else float("nan")


def _explain(one: Scored) -> dict[str, Any]:
    """The caption's tokens with both log-probabilities; the least expected one named."""
    if not one.tokens:
        return {"tokens": []}
    gain = np.asarray(one.inside, dtype=np.float64) - one.alone
    return {
        "tokens": one.tokens,
        "logprob": [round(float(v), 4) for v in one.inside],
        "unigram_logprob": [round(float(v), 4) for v in one.alone],
        "least_expected": one.tokens[int(gain.argmin())],
    }

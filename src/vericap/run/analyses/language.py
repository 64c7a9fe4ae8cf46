"""How likely language models find captions, token by token."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from vericap.core import shipped
from vericap.core.analysis import Analysis, Key
from vericap.core.batch import Batch
from vericap.core.errors import MissingPart
from vericap.core.settings import Settings
from vericap.models import recurrent_lm
from vericap.run.analyses.tokens import Tokens
from vericap.text import ngram_lm
from vericap.text.language_model import TokenScores

if TYPE_CHECKING:
    from vericap.models.causal_lm import CausalLm
    from vericap.run.runtime import Runtime

SHIPPED, RECURRENT = "coco", "rnn"
TRAIN = "vericap train lm --kind rnn --captions captions_train2014.json.gz --output DIR"


@dataclass(frozen=True)
class LanguageModelScores(Analysis[Mapping[int, TokenScores]]):
    """Tokens of every candidate's text with both log-probabilities; references are not read.

    `model` is "coco" (shipped), "rnn" (a recurrent network of the same captions), a folder of `vericap train lm`, or a
    causal language model (folder or hub name), which cuts texts into tokens of its own.
    """

    model: str = SHIPPED
    tokenizer: str = "ptb"
    cost: ClassVar[int] = 1500

    @property
    def folder(self) -> Path | None:
        """Where the model of `vericap train lm` is; None for a causal language model."""
        if self.model == SHIPPED:
            return shipped.folder("lm")
        if self.model == RECURRENT:
            return _recurrent()
        found = Path(self.model).expanduser()
        return found if ngram_lm.is_model(found) or recurrent_lm.is_model(found) else None

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return () if self.folder is None else (Tokens(self.tokenizer),)

    def compute(self, batch: Batch, runtime: Runtime) -> dict[int, TokenScores]:
        texts = np.unique(batch.candidates).tolist()
        if self.folder is not None:
            tokens = batch[Tokens(self.tokenizer)]
            scores = open_trained(self.folder, runtime).text_scores([tokens[text] for text in texts])
            return dict(zip(texts, scores))
        network = open_causal(self.model, runtime)
        return dict(zip(texts, _counted(network.text_scores([batch.texts[i] for i in texts]), len(texts), runtime)))

    def signature(self, batch: Batch) -> dict[str, str]:
        if self.folder is not None:
            return {"model": (recurrent_lm if recurrent_lm.is_model(self.folder) else ngram_lm).version(self.folder)}
        from vericap.models import causal_lm

        return {"model": causal_lm.name(self.model)}


def _recurrent() -> Path:
    try:
        return shipped.folder(recurrent_lm.PART)
    except MissingPart as error:
        raise MissingPart(
            f"the recurrent language model is not in this installation; train it (some minutes): `{TRAIN}`, then "
            "lm:model=DIR"
        ) from error


def open_trained(folder: Path, runtime: Runtime) -> ngram_lm.NgramModel | recurrent_lm.RecurrentLm:
    """A model of `vericap train lm`, opened once; one that was trained anew is read anew."""
    stamp = (folder / "meta.json").stat().st_mtime_ns
    return runtime.once(("lm", str(folder), stamp), lambda: _checked(folder))


def open_causal(model: str, runtime: Runtime) -> CausalLm:
    """A causal language model, opened once."""
    from vericap.models.causal_lm import CausalLm

    return runtime.once(("causal-lm", model), lambda: CausalLm(model))


def _checked(folder: Path) -> ngram_lm.NgramModel | recurrent_lm.RecurrentLm:
    if recurrent_lm.is_model(folder):
        return recurrent_lm.load(folder)
    if folder == shipped.folder("lm"):
        for file in shipped.meta("lm")["files"]:
            shipped.path("lm", file)
    return ngram_lm.load(folder)


def _counted(scores: Iterator[TokenScores], total: int, runtime: Runtime) -> Iterator[TokenScores]:
    with runtime.bar("language model", total, unit="text") as bar:
        for one in scores:
            yield one
            bar.advance()

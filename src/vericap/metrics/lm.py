"""Fluency: how likely a language model of captions finds the caption, per token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from vericap.core.analysis import Key
from vericap.core.batch import Batch
from vericap.core.explanation import Explanation
from vericap.core.metric import Metric, Option
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.metrics.evidence import shortened, token_evidence
from vericap.metrics.toolbox import wordless
from vericap.run.analyses import LanguageModelScores
from vericap.run.analyses.language import RECURRENT, SHIPPED
from vericap.text.language_model import TokenScores

_MARKS = "Ġ▁"  # of tokenisers that write the blank before a token


class Lm(Metric):
    name, title = "lm", "LM fluency"
    reads_references = False
    range = (float("-inf"), float("inf"))
    needs = ()
    languages: ClassVar[tuple[str, ...]] = ("en",)
    other_languages = "or bring a model of theirs: lm:model=DIR of `vericap train lm`, or a causal language model"
    version = "2"  # unknown words neither predict nor earn
    options: ClassVar[Mapping[str, Option]] = {
        "form": Option(
            "slor", "slor: log-probability minus unigram log-probability, per token; logprob: without the latter",
            choices=("slor", "logprob"),
        ),
        "model": Option(
            SHIPPED,
            "'coco' (shipped), 'rnn' (recurrent, as in VIFIDEL's paper), folder of `vericap train lm`, or a causal LM "
            "(folder or hub name)",
        ),
    }  # fmt: skip

    def __init__(self, *, label: str | None = None, **options: Any) -> None:
        super().__init__(label=label, **options)
        if self.opt.model not in (SHIPPED, RECURRENT):
            self.languages = ()  # type: ignore[misc]  # whatever the user's model reads

    def scores(self, settings: Settings) -> LanguageModelScores:
        return LanguageModelScores(self.opt.model, settings.tokenizer)

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (self.scores(settings),)

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        scored = batch[self.scores(batch.settings)]
        texts, inverse = np.unique(batch.candidates, return_inverse=True)
        means = np.array([scored[text].mean() for text in texts.tolist()]).reshape(-1, 2)[inverse]
        problems = wordless(batch)
        means[list(problems)] = np.nan
        logprob, slor = means[:, 0], means[:, 0] - means[:, 1]
        score = slor if self.opt.form == "slor" else logprob
        for row in np.flatnonzero(np.isnan(score)).tolist():
            problems.setdefault(row, "the candidate has no token a language model could judge")
        return Statistics(score, problems, {"logprob": logprob, "slor": slor})

    def explain(
        self, batch: Batch, rows: Sequence[int], state: Any = None, *, full: bool = False
    ) -> list[Explanation | None]:
        """Tokens with both log-probabilities, the least expected one, and how much the context speaks for each word.

        A word's support is p / (p + q), p its probability where it stands and q its frequency: 0.5 says that the words
        before make it neither likelier nor less likely.
        """
        scored, unjudged = batch[self.scores(batch.settings)], wordless(batch)
        found: list[Explanation | None] = []
        for row in rows:
            text = int(batch.candidates[row])
            one = TokenScores.nothing() if row in unjudged else scored[text]
            reasons = self._reasons(batch.texts[text], one) if one.tokens else None
            spare = ("tokens", "logprob", "unigram_logprob")
            found.append(None if reasons is None else shortened(reasons, spare=spare, full=full))
        return found

    def _reasons(self, text: str, one: TokenScores) -> Explanation:
        tokens = [token.lstrip(_MARKS) for token in one.tokens]
        support = 1.0 / (1.0 + np.exp(-one.gain))
        return Explanation(
            self.label,
            words=token_evidence(text, tokens, support.tolist(), source="language"),
            facts={
                "least_expected": tokens[int(one.gain.argmin())],
                "tokens": tokens,
                "logprob": one.inside.round(4).tolist(),
                "unigram_logprob": one.alone.round(4).tolist(),
            },
        )

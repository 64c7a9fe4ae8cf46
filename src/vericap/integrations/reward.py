"""Metrics as a reward in [0, 1] for reinforcement learning, in the shape that TRL's GRPO trainer calls.

    trainer = GRPOTrainer(model, reward_funcs=vericap.integrations.reward("cider-d,spice"), ...)

The trainer passes the completions and the columns of its data set; the reward takes the caption out of each completion,
scores all of them in one run with a scorer that stays open, and brings every metric to [0, 1].
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vericap.api import Scorer
from vericap.core.errors import InputError, VericapError
from vericap.core.metric import Metric
from vericap.core.samples import has_word
from vericap.core.typing import Floats
from vericap.metrics.registry import Wanted, canonical
from vericap.run.suspicious_texts import CHAT, THINKING

__all__ = ["Reward", "plain_caption", "reward"]

COLUMNS = {"references": "references", "image": "image", "objects": "objects"}

_FLAGS = re.IGNORECASE | re.DOTALL
_THOUGHT = re.compile(r"<(think|thinking|thought|reasoning)>.*?</\1>", _FLAGS)
_THINKING = re.compile(THINKING, _FLAGS)
_ANSWER = re.compile(r"<(answer|caption|response)>(.*?)(?:</\1>|$)", _FLAGS)
_TURN = re.compile(r"<\|(?:im_start|start_header_id)\|>\s*\w+\s*(?:<\|end_header_id\|>)?|<start_of_turn>\s*\w+", _FLAGS)
_END = re.compile(r"<\|(?:im_end|eot_id|end|endoftext|eom_id)\|>|</s>|<end_of_turn>|<eos>", _FLAGS)
_CHAT = re.compile(CHAT, _FLAGS)
_FENCED = re.compile(r"```(?:[\w-]*[ \t]*\n)?(.*?)(?:```|$)", _FLAGS)


def reward(
    metrics: str | Iterable[Wanted],
    weights: Mapping[str, float] | Sequence[float] | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    **settings: Any,
) -> Reward:
    """A reward function that stays warm.

    Parameters
    ----------
    metrics : str or iterable
        Names separated by commas, or a list of names, metrics and plain functions.
    weights : dict or list
        Of the metrics, by name or in their order; equal by default. Only their proportions matter.
    columns : dict
        Which columns of the data set hold "references", "image" (file names under `images=DIR`) and "objects", where
        they have other names.
    **settings : Any
        Those of `vericap.Settings`. Document frequencies are those of COCO (`df=coco-val`) for English: frequencies of
        a batch would make a reward depend on the other captions.

    Returns
    -------
    Reward
        Call it with completions and columns; `unjudged` counts the captions that got 0 because no metric, or not every
        metric, could judge them.

    Examples
    --------
    >>> judge = reward("rouge-l")
    >>> judge(["<think>Is it a dog?</think>a dog runs", ""], references=[["a dog runs"], ["a cat"]])
    [1.0, 0.0]
    >>> judge.unjudged
    1
    """
    return Reward(metrics, weights, columns=columns, **settings)


class Reward:
    """Completions and columns -> one number in [0, 1] each; made by `reward`.

    Parameters
    ----------
    metrics, weights, columns, **settings : Any
        Those of `reward`.

    Attributes
    ----------
    unjudged : int
        How many captions got 0 so far because they could not be judged.

    Examples
    --------
    >>> judge = reward("rouge-l,bleu-1", weights={"rouge-l": 3, "bleu-1": 1})
    >>> judge.__name__, [round(value, 3) for value in judge(["a dog"], references=[["a dog"]])]
    ('rouge-l+bleu-1', [1.0])
    """

    def __init__(
        self,
        metrics: str | Iterable[Wanted],
        weights: Mapping[str, float] | Sequence[float] | None = None,
        *,
        columns: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        if settings.get("lang", "en") == "en":
            settings = {"df": "coco-val", **settings}
        self.scorer = Scorer(metrics, **settings)
        self.metrics = self.scorer.run.metrics
        if self.scorer.settings.df == "corpus" and any(metric.prepares for metric in self.metrics):
            raise VericapError(
                "a reward must not depend on the other captions of a batch; bring frequencies: `df=FILE`"
            )
        self.weights = _shares([metric.label for metric in self.metrics], weights)
        self.columns = {**COLUMNS, **(columns or {})}
        self.unjudged = 0
        # Trainers name the reward by this in their logs.
        self.__name__ = "+".join(metric.label for metric in self.metrics)

    def __call__(self, completions: Sequence[Any], **columns: Any) -> list[float]:
        """Rewards of completions.

        Parameters
        ----------
        completions : list
            Texts, or lists of chat messages of which the last one counts.
        **columns : list
            Columns of the data set, one entry per completion; those that no metric reads are ignored.

        Returns
        -------
        list of float
            Between 0 and 1; 0 for a completion without a caption that can be judged.
        """
        captions = [plain_caption(completion) for completion in completions]
        rows = [row for row, caption in enumerate(captions) if has_word(caption)]
        rewards = np.zeros(len(captions))
        if rows:
            rewards[rows] = self._scores([captions[row] for row in rows], self._beside(columns, rows, len(captions)))
        self.unjudged += len(captions) - len(rows) + int(np.isnan(rewards).sum())
        return [float(value) for value in np.nan_to_num(rewards, nan=0.0)]

    def _scores(self, captions: list[str], beside: Mapping[str, Any]) -> Floats:
        """The weighted mean of all metrics; NaN where one of them cannot judge, so that none can be dodged."""
        samples = self.scorer.samples(captions, **beside)
        result = self.scorer.run.score(samples)
        scaled = np.stack([unit(metric, result[metric.label]) for metric in self.metrics])
        return np.asarray(self.weights @ scaled)

    def _beside(self, columns: Mapping[str, Any], rows: Sequence[int], count: int) -> dict[str, Any]:
        """What the metrics read beside the captions, of some rows."""
        needs = {need for metric in self.metrics for need in metric.needs}
        names = {"references": "references", "image": "image_names", "objects": "objects"}
        found = {}
        for role, argument in names.items():
            given = columns.get(self.columns[role])
            if given is None or (role != "references" and not needs & {"image", "objects"}):
                continue
            values = list(given)
            if len(values) != count:
                raise InputError(f"{count} completions but {len(values)} entries in column '{self.columns[role]}'")
            chosen = [values[row] for row in rows]
            found[argument] = [_name(value) for value in chosen] if role == "image" else chosen
        return found


def _name(image: Any) -> str | None:
    if image is None or isinstance(image, str | Path):
        return None if image is None else str(image)
    raise InputError(
        f"the image of a completion is a {type(image).__name__}, not a file's name; name a column of file names with "
        "columns={'image': NAME} and their folder with `images=DIR`"
    )


def _shares(names: Sequence[str], weights: Mapping[str, float] | Sequence[float] | None) -> Floats:
    """Weights that add up to 1."""
    if isinstance(weights, Mapping):
        weights = {canonical(name): value for name, value in weights.items()}
        unknown = [name for name in weights if name not in names]
        if unknown:
            raise VericapError(f"there is no metric {', '.join(unknown)} to weigh; there are: {', '.join(names)}")
        weights = [weights.get(name, 0.0) for name in names]
    found = np.ones(len(names)) if weights is None else np.asarray(weights, dtype=np.float64)
    if found.shape != (len(names),) or not np.isfinite(found).all() or (found < 0).any() or not found.sum():
        raise VericapError(f"weights need a number from 0 on for each of {', '.join(names)}, and not all of them 0")
    return np.asarray(found / found.sum())


def unit(metric: Metric, scores: Floats) -> Floats:
    """Scores of a metric in [0, 1], 1 being best.

    A bounded metric is stretched from its declared range. One that is only bounded below, by b, becomes
    (x - b) / (1 + x - b); one bounded above, 1 / (1 + b - x); one without bounds 1 / (1 + exp(-x)). Where lower is
    better the result is taken from 1.
    """
    low, high = metric.range
    if np.isfinite(low) and np.isfinite(high):
        found = (scores - low) / (high - low)
    elif np.isfinite(low):
        above = np.maximum(scores - low, 0.0)
        found = above / (1.0 + above)
    elif np.isfinite(high):
        found = 1.0 / (1.0 + np.maximum(high - scores, 0.0))
    else:
        found = 0.5 * (1.0 + np.tanh(scores / 2.0))  # the logistic function, without overflow
    found = np.clip(found, 0.0, 1.0)
    return np.asarray(1.0 - found if metric.direction == "lower" else found)


def plain_caption(completion: Any) -> str:
    """The caption in a completion: thinking, marks of a chat and code fences are taken away.

    Parameters
    ----------
    completion : str or list
        A text, or a list of chat messages of which the last one counts.

    Returns
    -------
    str

    Examples
    --------
    >>> plain_caption([{"role": "assistant", "content": "<think>Hm.</think>```a dog on grass```<|im_end|>"}])
    'a dog on grass'
    """
    text = _THOUGHT.sub(" ", _text(completion))
    # A tag without its partner: the prompt had opened the thinking, or the thinking never came to an end.
    *_, text = re.split(r"</(?:think|thinking|thought|reasoning)>", text, flags=_FLAGS)
    text = _THINKING.split(text)[0]
    answer = _ANSWER.search(text)
    text = _TURN.sub(" ", answer[2] if answer else text)
    text = next((part for part in _END.split(text) if has_word(part)), "")
    fenced = _FENCED.search(text)
    return " ".join(_CHAT.sub(" ", fenced[1] if fenced and has_word(fenced[1]) else text).split())


def _text(completion: Any) -> str:
    """The text of a completion: itself, or what the model's last message with a text says."""
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Mapping):
        content = completion.get("content", completion.get("text"))
        return "" if content is None else _text(content)
    if isinstance(completion, Sequence):
        own = [
            item for item in completion if not isinstance(item, Mapping) or item.get("role", "assistant") == "assistant"
        ]
        return next((text for item in reversed(own) if (text := _text(item))), "")
    raise InputError(f"a completion is a {type(completion).__name__}, not a text or a list of chat messages")

"""A small recurrent language model of captions: one layer of gated units over words, NumPy alone.

All words before a word count, through a state of fixed width, where n-grams look three words back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from vericap.core import shipped
from vericap.core.errors import InputError
from vericap.core.typing import Floats, Floats32, Ints
from vericap.models.recurrent import linear, read
from vericap.text.language_model import TokenScores
from vericap.text.ngram_lm import END, MARKS, START, UNKNOWN

PART = "lm_rnn"
FILE = f"{PART}.safetensors"
_GRU = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
_TOGETHER = 256  # places whose words are all weighed at once: some MB


class RecurrentLm:
    """Texts as tokens -> log-probabilities of every token.

    Parameters
    ----------
    words : the vocabulary, marks of start, end and unknown words first.
    arrays : `embedding` (words, e), that of the input and of the output; `weight_ih` (3 h, e), `weight_hh` (3 h, h),
        `bias_ih`, `bias_hh`; `project` (e, h); `bias` (words) and `frequency` (words), the log of each word's share.
    name : what signatures call it.
    """

    def __init__(self, words: Sequence[str], arrays: Mapping[str, NDArray[Any]], name: str = PART) -> None:
        self.vocabulary = {word: number for number, word in enumerate(words)}
        self.weights = {key: np.asarray(array, dtype=np.float32) for key, array in arrays.items()}
        self.name = name

    def text_scores(self, texts: Sequence[Sequence[str]]) -> list[TokenScores]:
        """Each text's tokens and its end, with both log-probabilities; nothing of a text without tokens.

        As in the n-gram model an unknown word neither predicts nor earns: the model reads on behind it as if the text
        began there, the word that follows has its frequency, and the unknown word at most its own.
        """
        rows = [[self.vocabulary.get(token, UNKNOWN) for token in text] for text in texts]
        words = np.array([word for row in rows for word in (*row, END)], dtype=np.int64)
        offsets = np.concatenate([[0], np.cumsum([len(row) + 1 for row in rows])]).astype(np.int64)
        alone = self.weights["frequency"][words].astype(np.float64)
        inside = self._inside(words, offsets, alone)
        inside = np.where(words == UNKNOWN, np.minimum(inside, alone), inside)
        return [
            TokenScores([*text, MARKS[END]], inside[start:end], alone[start:end]) if text else TokenScores.nothing()
            for text, start, end in zip(texts, offsets, offsets[1:])
        ]

    def _inside(self, words: Ints, offsets: Ints, alone: Floats) -> Floats:
        """log p of every word after those before it, up to the last unknown one."""
        before = np.roll(words, 1)
        before[offsets[:-1]] = START
        judged = np.flatnonzero(before != UNKNOWN)  # behind an unknown word nothing is known
        found = alone.copy()
        if len(judged):
            begins = np.ones(len(judged), dtype=bool)
            begins[1:] = (np.diff(judged) > 1) | (before[judged[1:]] == START)
            lengths = np.diff(np.flatnonzero(np.append(begins, True)))
            weights = {name: self.weights[name] for name in _GRU}
            states, _ = read(self.weights["embedding"], before[judged], lengths, weights)
            found[judged] = self._log_chances(states, words[judged])
        return found

    def _log_chances(self, states: Floats32, words: Ints) -> Floats:
        """log of the chance of one word after each state."""
        weights, found = self.weights, np.empty(len(words), dtype=np.float64)
        for start in range(0, len(words), _TOGETHER):
            part = slice(start, start + _TOGETHER)
            logits = linear(linear(states[part], weights["project"]), weights["embedding"], weights["bias"])
            chosen = np.take_along_axis(logits, words[part, None], axis=1)[:, 0]
            top = logits.max(axis=1, keepdims=True)
            np.exp(logits - top, out=logits)
            found[part] = chosen - top[:, 0] - np.log(logits.sum(axis=1))
        return found


# --- files ------------------------------------------------------------------------------------------------------------


def save(model: RecurrentLm, folder: Path, **facts: Any) -> None:
    """Write the model: matrices as one byte per number and a scale per row, the rest in half precision."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays = dict(_packed(model.weights))
    arrays["words"] = np.frombuffer("\n".join(model.vocabulary).encode(), dtype=np.uint8)
    save_file(arrays, folder / FILE)
    shipped.write_meta(folder, {"kind": "rnn", "name": model.name, **facts})


def _packed(weights: Mapping[str, Floats32]) -> Iterator[tuple[str, NDArray[Any]]]:
    for name, array in weights.items():
        if array.ndim == 1:
            yield name, array.astype(np.float16)
        else:
            scale = np.maximum(np.abs(array).max(axis=1), 1e-8) / 127
            yield name, np.round(array / scale[:, None]).astype(np.int8)
            yield f"{name}.scale", scale.astype(np.float32)


def is_model(folder: Path) -> bool:
    """Whether a folder holds a model that `save` wrote."""
    return (folder / FILE).is_file()


def version(folder: Path) -> str:
    """The model's name with the first digits of its SHA-256."""
    return shipped.version(shipped.describe(str(folder), PART))


def load(folder: Path) -> RecurrentLm:
    """Open a model that `save` wrote."""
    meta = shipped.describe(str(folder), PART)
    expected = meta.get("files", {}).get(FILE)
    if expected and shipped.sha256(folder / FILE) != expected:
        raise InputError(f"{folder / FILE} is damaged (SHA-256 differs from meta.json); train or copy it again")
    try:
        arrays = load_file(folder / FILE)
        words = arrays.pop("words").tobytes().decode("utf-8").split("\n")
        scales = {name: arrays.pop(f"{name}.scale") for name in list(arrays) if f"{name}.scale" in arrays}
    except (OSError, KeyError, ValueError, SafetensorError) as error:
        raise InputError(f"{folder} is not a recurrent model of `vericap train lm`: {error}") from error
    weights = {name: array * scales[name][:, None] if name in scales else array for name, array in arrays.items()}
    return RecurrentLm(words, weights, str(meta["name"]))

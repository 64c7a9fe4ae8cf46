"""spaCy's tokens and their states, made faster: each distinct word is cut and embedded once, layers are plain products.

The network is the pipeline's own (MultiHashEmbed and MaxoutWindowEncoder) with its own weights; only the arithmetic
is arranged for speed. What depends on a word alone (six hashed features mixed by a maxout layer) is kept, what depends
on its neighbours (four residual layers over windows of three words) is computed for many captions at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vericap.core.typing import Floats32, Ints
from vericap.native.dense import Layer

_MOST_WORDS = 1 << 16  # kept embeddings; beyond that the table begins anew
_TOGETHER = 64  # words embedded at a time
_EPSILON = 1e-8  # of thinc's layer norm


def quicken(nlp: Any) -> Any:
    """Let the pipeline cut its texts by `KnownWords` and its tok2vec compute its states by `WordStates`."""
    from thinc.api import Model

    nlp.tokenizer = KnownWords(nlp.tokenizer)

    component = nlp.get_pipe("tok2vec")
    states = WordStates(component.model)

    def forward(model: Any, docs: Sequence[Any], is_train: bool) -> tuple[list[Floats32], Any]:
        return states(docs), lambda gradient: []

    component.model = Model("word-states", forward, dims={"nO": states.width})
    lower = nlp.get_pipe("parser").model.get_ref("lower")
    lower._func = _ahead(lower)
    return nlp


def _ahead(lower: Any) -> Any:
    """What the parser's first layer makes of every token in each of its roles, before any step is taken."""
    weights, pad = lower.get_param("W"), lower.get_param("pad")
    layer = Layer(weights.reshape(-1, weights.shape[-1]))

    def forward(model: Any, tokens: Floats32, is_train: bool) -> tuple[Floats32, Any]:
        found = np.zeros((len(tokens) + 1, len(layer.weights)), dtype=np.float32)
        found[0] = pad.reshape(-1)
        layer(tokens, add=found[1:])
        return found.reshape(-1, *weights.shape[:-1]), lambda gradient: None

    return forward


class KnownWords:
    """The pipeline's tokenizer, asked once for what stands between two blanks: nothing else decides how that is cut.

    spaCy's own memory of words is emptied with every memory zone.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._known: dict[str, list[str]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)

    def __call__(self, text: str) -> Any:
        from spacy.tokens import Doc

        parts = text.split(" ")
        if not all(parts) or text.split() != parts:  # doubled blanks and other white space are tokens too
            return self._tokenizer(text)
        words, spaces = list[str](), list[bool]()
        for part in parts:
            own = self._known.get(part)
            if own is None:
                own = self._learn(part)
            words += own
            spaces += [False] * (len(own) - 1)
            spaces.append(True)
        spaces[-1] = False
        return Doc(self._tokenizer.vocab, words=words, spaces=spaces)

    def _learn(self, part: str) -> list[str]:
        if len(self._known) > _MOST_WORDS:
            self._known.clear()
        own = self._known[part] = [token.text for token in self._tokenizer(part)]
        return own


class WordStates:
    """The states of all tokens of documents, (tokens, width) each."""

    def __init__(self, model: Any) -> None:
        embed, encode = model.layers[:2] if len(model.layers) == 2 else (model, None)
        if encode is None:
            raise ValueError("not a network of spaCy's Tok2Vec architecture")
        self._embed, self._pad = embed, int(encode.attrs["pad"])
        self._layers = [_Layer(layer) for layer in encode.layers[0].layers]
        self.width = self._layers[0].width
        self._rows: dict[tuple[int, int], int] = {}
        self._table = np.zeros((1024, self.width), dtype=np.float32)

    def __call__(self, docs: Sequence[Any]) -> list[Floats32]:
        rows, lengths = self._places(docs)
        states, starts = self._spread(rows, lengths)
        for layer in self._layers:
            states += layer(states)
        return [states[start : start + length] for start, length in zip(starts, lengths)]

    def _spread(self, rows: Ints, lengths: list[int]) -> tuple[Floats32, Ints]:
        """Embeddings of all documents in one array, zeros between them: no document sees its neighbours."""
        sizes = np.array(lengths, dtype=np.int64) + self._pad
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]) + self._pad
        states = np.zeros((int(sizes.sum()) + self._pad, self.width), dtype=np.float32)
        filled = np.repeat(starts - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths) + np.arange(len(rows))
        states[filled] = self._table[rows]
        return states, starts

    def _places(self, docs: Sequence[Any]) -> tuple[Ints, list[int]]:
        """Rows of the table for every token, new words embedded first."""
        from spacy.attrs import ORTH, SPACY

        if len(self._rows) > _MOST_WORDS:
            self._rows.clear()
        keys: list[tuple[int, int]] = []
        lengths, fresh = [], {}
        for doc in docs:
            own = list(map(tuple, doc.to_array([ORTH, SPACY]).tolist()))
            keys += own
            lengths.append(len(own))
            for place, key in enumerate(own):
                if key not in self._rows and key not in fresh:
                    fresh[key] = (doc, place)
        if fresh:
            self._learn(fresh)
        return np.fromiter((self._rows[key] for key in keys), np.int64, len(keys)), lengths

    def _learn(self, fresh: dict[tuple[int, int], tuple[Any, int]]) -> None:
        words = [doc[place : place + 1].as_doc() for doc, place in fresh.values()]
        # Always as many together: the last digits of a product depend on the number of its rows, and a word must have
        # the same embedding whatever was read before it.
        words += words[:1] * (-len(words) % _TOGETHER)
        parts = (words[start : start + _TOGETHER] for start in range(0, len(words), _TOGETHER))
        vectors = [vector for part in parts for vector in self._embed.predict(part)]
        first = len(self._rows)
        while first + len(fresh) > len(self._table):
            self._table = np.concatenate([self._table, np.zeros_like(self._table)])
        for place, (key, vector) in enumerate(zip(fresh, vectors), first):
            self._rows[key] = place
            self._table[place] = vector[0]


class _Layer:
    """One residual layer: window of three, maxout, layer norm."""

    def __init__(self, residual: Any) -> None:
        maxout, norm = (_find(residual, name) for name in ("maxout", "layernorm"))
        weights, bias = maxout.get_param("W"), maxout.get_param("b")
        self.width, self.pieces = int(bias.shape[0]), int(bias.shape[1])
        # Outputs of one piece stand together: the maximum is taken over slices. Neighbours are added by layers of their
        # own, so that no window is built.
        rows = weights.transpose(1, 0, 2).reshape(-1, weights.shape[2])
        before, here, after = np.split(rows, 3, axis=1)
        self._here, self._before, self._after = Layer(here, bias.T.reshape(-1)), Layer(before), Layer(after)
        self._gain, self._shift = norm.get_param("G"), norm.get_param("b")

    def __call__(self, states: Floats32) -> Floats32:
        mixed = self._here(states)
        self._before(states[:-1], add=mixed[1:])
        self._after(states[1:], add=mixed[:-1])
        best = mixed[:, : self.width]
        for piece in range(1, self.pieces):
            np.maximum(best, mixed[:, piece * self.width : (piece + 1) * self.width], out=best)
        best = best - best.mean(axis=1, keepdims=True)
        scale = np.einsum("ij,ij->i", best, best) / self.width + _EPSILON
        best *= (1.0 / np.sqrt(scale))[:, None]
        best *= self._gain
        best += self._shift
        found: Floats32 = best
        return found


def _find(model: Any, name: str) -> Any:
    return next(node for node in model.walk() if node.name == name)

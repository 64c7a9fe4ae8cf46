"""The sentence encoder of a run: what it made before is read from the cache, what is new is kept there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vericap.core.keys import content_key
from vericap.core.typing import Floats16, Floats32, Ints
from vericap.run.progress import Bar
from vericap.text.encoders import SentenceEncoder, StateTable, distinct_texts, normalise

if TYPE_CHECKING:
    from vericap.run.cache import Cache, NoCache

_CHUNK = 2048  # texts between two writes to the cache


class CachedEncoder:
    """Sentence vectors and token states by content. The network is opened when a text is new."""

    def __init__(self, network: SentenceEncoder, cache: Cache | NoCache, *, progress: bool = False) -> None:
        self._network = network
        self._cache = cache.part(f"encoder-{network.name}")
        self._progress = progress
        self.phrase_mean = network.phrase_mean

    @property
    def width(self) -> int:
        return self._network.width

    def encode(self, texts: Sequence[str], *, centred: bool = True) -> Floats32:
        """Unit vectors (texts, width); `centred` removes the mean vector of captions first."""
        distinct, inverse = distinct_texts(texts)
        vectors = np.empty((len(distinct), self._network.width), dtype=np.float32)

        def take(place: int, stored: bytes) -> None:
            vectors[place] = np.frombuffer(stored, dtype=np.float16)

        def make(places: Ints) -> Iterable[Floats16]:
            return self._network.sentences([distinct[i] for i in places])

        self._fill("sentence", distinct, take, make, what="sentence vectors")
        return normalise(vectors - self._network.caption_mean() if centred else vectors)[inverse]

    def phrases(self, phrases: Sequence[str]) -> Floats32:
        """Unit vectors of scene-graph phrases after what all phrases share is taken away."""
        return self._network.phrases(self.encode(phrases, centred=False))

    def token_states(self, texts: Sequence[str]) -> StateTable:
        """States of every word piece of every text."""
        distinct, inverse = distinct_texts(texts)
        cuts = self._network.cut(distinct)
        states: list[Any] = [None] * len(distinct)

        def take(place: int, stored: bytes) -> None:
            states[place] = np.frombuffer(stored, dtype=np.float16).reshape(-1, self._network.width)

        def make(places: Ints) -> Iterable[Floats16]:
            return self._network.piece_states([cuts[i] for i in places])

        self._fill("tokens", distinct, take, make, what="token vectors")
        return StateTable.of([states[i] for i in inverse], [cuts[i] for i in inverse], self._network.width)

    def word_states(self, texts: Sequence[str]) -> StateTable:
        """States of every word piece of every text, each word read alone; words are few, so nothing is kept on disk."""
        return self._network.word_states(texts)

    def _fill(
        self,
        form: str,
        texts: list[str],
        take: Callable[[int, bytes], None],
        make: Callable[[Ints], Iterable[Floats16]],
        *,
        what: str,
    ) -> None:
        """Give `take` the bytes of every text: those kept, then those of `make`, which are kept too."""
        keys = [content_key(form, text) for text in texts]
        missing = np.ones(len(texts), dtype=bool)
        for part in _parts(np.arange(len(texts))):
            found = self._cache.get([keys[i] for i in part])
            for place in part.tolist():
                if keys[place] in found:
                    take(place, found[keys[place]])
                    missing[place] = False
        with Bar(what=what, total=int(missing.sum()), show=self._progress, unit="text") as bar:
            for part in _parts(np.flatnonzero(missing)):
                fresh = [values.tobytes() for values in make(part)]
                for place, stored in zip(part.tolist(), fresh):
                    take(place, stored)
                self._cache.put((keys[i], stored) for i, stored in zip(part.tolist(), fresh))
                bar.advance(len(part))


def _parts(places: Ints) -> Iterator[Ints]:
    for start in range(0, len(places), _CHUNK):
        yield places[start : start + _CHUNK]

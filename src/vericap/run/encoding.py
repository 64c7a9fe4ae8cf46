"""The sentence encoder of a run: what it made before is read from the cache, what is new is kept there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vericap.core.keys import content_key
from vericap.core.typing import Floats16, Floats32, Ints
from vericap.run.progress import Bar
from vericap.text import encoder

if TYPE_CHECKING:
    from vericap.run.cache import Cache, NoCache

_CHUNK = 2048  # texts between two writes to the cache


class CachedEncoder:
    """Sentence vectors and token states by content. The network is opened when a text is new."""

    def __init__(self, network: encoder.Encoder, cache: Cache | NoCache, *, progress: bool = False) -> None:
        self._network = network
        self._cache = cache.part(encoder.kind())
        self._progress = progress

    def encode(self, texts: Sequence[str], *, centred: bool = True) -> Floats32:
        """Unit vectors (texts, 384); `centred` removes the mean vector of training captions first."""
        distinct, inverse = encoder.distinct_texts(texts)
        vectors = np.empty((len(distinct), encoder.WIDTH), dtype=np.float32)

        def take(place: int, stored: bytes) -> None:
            vectors[place] = np.frombuffer(stored, dtype=np.float16)

        def make(places: Ints) -> Iterable[Floats16]:
            return self._network.sentences([distinct[i] for i in places])

        self._fill("sentence", distinct, take, make, what="sentence vectors")
        return encoder.centre(vectors, centred)[inverse]

    def token_states(self, texts: Sequence[str]) -> encoder.StateTable:
        """Last-layer states of every word piece of every text."""
        distinct, inverse = encoder.distinct_texts(texts)
        pieces = encoder.tokenised(distinct)
        states: list[Any] = [None] * len(distinct)

        def take(place: int, stored: bytes) -> None:
            states[place] = np.frombuffer(stored, dtype=np.float16).reshape(-1, encoder.WIDTH)

        def make(places: Ints) -> Iterable[Floats16]:
            return self._network.piece_states([pieces[i] for i in places])

        self._fill("tokens", distinct, take, make, what="token vectors")
        return encoder.joined([(states[i], pieces[i]) for i in inverse])

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

"""The sentence encoder of a run: kept vectors are the fresh ones, and every text of a batch has its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vericap.core.batch import Batch
from vericap.core.samples import Sample
from vericap.run.analyses import Sentences, TokenStates
from vericap.run.cache import Cache
from vericap.run.encoding import CachedEncoder
from vericap.run.plan import analysed
from vericap.text.encoders import open_encoder
from vericap.text.encoders.gte_small import GteSmall

CAPTIONS = ["a dog runs across the grass", "a brown dog is running on a lawn", "two people ride bicycles", ""]


def test_cached_vectors_are_the_fresh_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path)
    first = CachedEncoder(GteSmall(), cache)
    vectors, states = first.encode(CAPTIONS), first.token_states(CAPTIONS)
    assert np.array_equal(GteSmall().encode(CAPTIONS), vectors)
    network = GteSmall()
    monkeypatch.setattr(network, "session", lambda: pytest.fail("nothing should be computed again"))
    second = CachedEncoder(network, cache)
    assert np.array_equal(second.encode(CAPTIONS), vectors)
    again = second.token_states(CAPTIONS)
    assert np.array_equal(again.states, states.states)
    assert np.array_equal(again.spans, states.spans)


def test_analyses_of_a_batch_cover_every_text() -> None:
    samples = [Sample("1", CAPTIONS[0], (CAPTIONS[1], CAPTIONS[2])), Sample("2", CAPTIONS[1], (CAPTIONS[2],))]
    batch = analysed(Batch.of(samples), Sentences(), TokenStates())
    assert batch[Sentences()].shape == (3, 384)
    assert len(batch[TokenStates()]) == 3


def test_words_read_alone_are_an_analysis_of_their_own(tmp_path: Path) -> None:
    samples = [Sample("1", "a dog runs", ("the dog sleeps",))]
    usual, alone = TokenStates(), TokenStates(alone=True)
    batch = analysed(Batch.of(samples), usual, alone)
    expected = open_encoder().word_states(batch.texts)
    np.testing.assert_array_equal(batch[alone].states, expected.states)
    np.testing.assert_array_equal(batch[alone].spans, batch[usual].spans)
    assert np.abs(batch[usual].states - batch[alone].states).max() > 0.1
    cached = CachedEncoder(open_encoder(), Cache(tmp_path))
    np.testing.assert_array_equal(cached.word_states(batch.texts).states, expected.states)

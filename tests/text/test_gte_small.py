from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.text.encoders import normalise
from vericap.text.encoders.gte_small import GteSmall

CAPTIONS = [
    "a dog runs across the grass",
    "a brown dog is running on a lawn",
    "two people ride bicycles",
    "",
    "A man in a red shirt, who is holding a large umbrella, waits for the bus at the corner of a street",
]


@pytest.fixture(scope="module")
def encoder() -> GteSmall:
    return GteSmall()


def test_vectors_have_length_one_and_follow_meaning(encoder: GteSmall) -> None:
    vectors = encoder.encode(CAPTIONS)
    assert vectors.shape == (5, 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(5), abs=1e-5)
    near, far = vectors[0] @ vectors[1], vectors[0] @ vectors[2]
    assert near > far + 0.2


def test_a_vector_does_not_depend_on_its_company(encoder: GteSmall) -> None:
    together = encoder.encode(CAPTIONS)
    alone = np.concatenate([encoder.encode([text]) for text in CAPTIONS])
    assert together == pytest.approx(alone, abs=2e-3)
    assert (together * alone).sum(axis=1) == pytest.approx(np.ones(5), abs=1e-5)


def test_order_and_repetition_do_not_matter(encoder: GteSmall) -> None:
    vectors = encoder.encode([*reversed(CAPTIONS), *CAPTIONS])
    assert np.array_equal(vectors[:5][::-1], vectors[5:])


def test_centring_removes_the_mean_of_captions(encoder: GteSmall) -> None:
    raw = encoder.encode(CAPTIONS[:3], centred=False)
    moved = normalise(raw - encoder.caption_mean())
    assert encoder.encode(CAPTIONS[:3]) == pytest.approx(moved, abs=1e-4)
    assert (raw @ raw.T).min() > 0.6 > (moved @ moved.T).min()


def test_token_states_name_the_letters_they_stand_for(encoder: GteSmall) -> None:
    found = encoder.token_states(CAPTIONS)
    assert len(found) == 5
    assert found.offsets[-1] == len(found.states) == len(found.pieces) == len(found.spans)
    states, spans = found.words(0)
    assert [CAPTIONS[0][start:end] for start, end in spans] == CAPTIONS[0].split()
    assert states.shape == (6, 384)
    assert len(found.words(3)[0]) == 0  # an empty text has its two marks only
    assert len(found[3]) == 2


def test_sentence_vector_is_the_mean_of_its_token_states(encoder: GteSmall) -> None:
    found = encoder.token_states(CAPTIONS[:1])
    mean = found[0].astype(np.float32).mean(axis=0)
    raw = encoder.encode(CAPTIONS[:1], centred=False)[0]
    assert mean / np.linalg.norm(mean) == pytest.approx(raw, abs=2e-3)


def test_no_text_gives_no_vector(encoder: GteSmall) -> None:
    assert encoder.encode([]).shape == (0, 384)
    assert len(encoder.token_states([])) == 0


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(max_size=60), min_size=1, max_size=4))
def test_any_text_has_a_finite_unit_vector(texts: list[str]) -> None:
    vectors = Encoder_().encode(texts)
    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-5)


def Encoder_() -> GteSmall:
    if not hasattr(Encoder_, "made"):
        Encoder_.made = GteSmall()  # type: ignore[attr-defined]
    return Encoder_.made  # type: ignore[attr-defined]

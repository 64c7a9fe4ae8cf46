from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.core import shipped
from vericap.core.errors import InputError
from vericap.text.encoders import normalise
from vericap.text.encoders.captions import CaptionEncoder, Pieces, plain
from vericap.text.encoders.gte_small import GteSmall

CAPTIONS = [
    "a dog runs across the grass",
    "a brown dog is running on a lawn",
    "two people ride bicycles",
    "",
    "A man in a red shirt, who's holding a large umbrella-like thing, waits for the bus at 12:30!",
    "Un café très agréable à Zürich",
]
TOKENIZER = shipped.path("encoder", "tokenizer.json")


@pytest.fixture(scope="module")
def pieces() -> Pieces:
    return Pieces(TOKENIZER)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> CaptionEncoder:
    """An untrained network: every property of the reader but meaning."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    from vericap.train.encoder import export
    from vericap.train.encoder.network import EncoderConfig, EncoderModule

    torch.manual_seed(0)
    table = export.teacher_table()
    config = EncoderConfig(len(table), width=32, layers=2, heads=2, inner=48)
    model = EncoderModule(config, table, GteSmall().caption_mean(), np.zeros(384, dtype=np.float32))
    folder = tmp_path_factory.mktemp("caption-encoder")
    phrases = ["dog", "brown dog", "man ride horse"]
    return export.write(model, folder, captions=[CAPTIONS[:3]], phrases=phrases, describe={"name": "tiny"})


@pytest.mark.parametrize(
    "text", [*CAPTIONS, "[SEP] x", "tab\tand\nline", "x" * 101, "un-be-liev-able zzxqj", "a " * 300]
)
def test_pieces_are_the_library_s(pieces: Pieces, text: str) -> None:
    expected = pieces.library().encode(text)
    (cut,) = pieces.cut([text])
    assert pieces.ids([text]) == [expected.ids]
    assert cut.ids == expected.ids
    assert cut.offsets == expected.offsets


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80))
def test_pieces_of_any_text_are_the_library_s(text: str) -> None:
    pieces = _shared()
    expected = pieces.library().encode(text)
    (cut,) = pieces.cut([text])
    assert (pieces.ids([text])[0], cut.ids, cut.offsets) == (expected.ids, expected.ids, expected.offsets)


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=80))
def test_pieces_of_plain_letters_are_the_library_s(text: str) -> None:
    pieces = _shared()
    expected = pieces.library().encode(text)
    (cut,) = pieces.cut([text])
    assert (pieces.ids([text])[0], cut.ids, cut.offsets) == (expected.ids, expected.ids, expected.offsets)


def _shared() -> Pieces:
    if not hasattr(_shared, "made"):
        _shared.made = Pieces(TOKENIZER)  # type: ignore[attr-defined]
    return _shared.made  # type: ignore[attr-defined,no-any-return]


def test_plain_texts_need_no_library() -> None:
    assert plain("A dog, 2 cats (and a bird).")
    assert not plain("café")
    assert not plain("[MASK]")
    assert not plain("two\nlines")


def test_vectors_have_length_one(encoder: CaptionEncoder) -> None:
    vectors = encoder.encode(CAPTIONS)
    assert vectors.shape == (6, 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(6), abs=1e-5)


def test_a_vector_does_not_depend_on_its_company(encoder: CaptionEncoder) -> None:
    many = CAPTIONS * 40 + [f"a dog runs across {word}" for word in ("sand", "snow", "ice", "roads")] * 30
    together = encoder.sentences(many)
    alone = np.concatenate([encoder.sentences([text]) for text in many])
    assert np.abs(together.astype(np.float32) - alone.astype(np.float32)).max() < 1e-3
    cosines = (together.astype(np.float64) * alone.astype(np.float64)).sum(axis=1)
    assert cosines == pytest.approx(np.ones(len(many)), abs=1e-3)


def test_states_do_not_depend_on_their_company(encoder: CaptionEncoder) -> None:
    together = encoder.token_states(CAPTIONS * 20)
    for row, text in enumerate(CAPTIONS):
        alone = encoder.token_states([text])
        assert together[row].astype(np.float32) == pytest.approx(alone.states.astype(np.float32), abs=5e-3)


def test_order_and_repetition_do_not_matter(encoder: CaptionEncoder) -> None:
    vectors = encoder.encode([*reversed(CAPTIONS), *CAPTIONS])
    assert np.array_equal(vectors[:6][::-1], vectors[6:])


def test_states_name_the_letters_they_stand_for(encoder: CaptionEncoder) -> None:
    found = encoder.token_states(CAPTIONS)
    states, spans = found.words(0)
    assert [CAPTIONS[0][start:end] for start, end in spans] == CAPTIONS[0].split()
    assert states.shape == (6, 384)
    assert len(found[3]) == 2  # an empty text has its two marks only
    assert found.offsets[-1] == len(found.states) == len(found.pieces) == len(found.spans)


def test_means_are_those_of_its_own_space(encoder: CaptionEncoder) -> None:
    raw = encoder.encode(CAPTIONS[:3], centred=False)
    assert encoder.caption_mean() == pytest.approx(raw.mean(axis=0), abs=1e-5)
    assert encoder.phrase_mean().shape == (384,)
    moved = normalise(raw - encoder.caption_mean())
    assert encoder.encode(CAPTIONS[:3]) == pytest.approx(moved, abs=1e-3)


def test_no_text_gives_no_vector(encoder: CaptionEncoder) -> None:
    assert encoder.encode([]).shape == (0, 384)
    assert len(encoder.token_states([])) == 0


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no caption encoder"):
        CaptionEncoder(tmp_path)
    (tmp_path / "meta.json").write_text(json.dumps({"name": "gte-small"}))
    with pytest.raises(InputError, match="gte-small"):
        CaptionEncoder(tmp_path)


def test_the_name_tells_one_training_from_another(encoder: CaptionEncoder) -> None:
    assert encoder.name == f"tiny-{encoder.meta['version']}"
    assert encoder.meta["files"]["encoder.onnx"].startswith(encoder.meta["version"])


def test_vectors_made_beside_states_are_those_made_alone(encoder: CaptionEncoder) -> None:
    long = "a dog and a cat " * 60
    texts = [*CAPTIONS, long]
    alone = CaptionEncoder(encoder._folder).sentences(texts)
    both = CaptionEncoder(encoder._folder)
    both.token_states(texts[::2])
    np.testing.assert_array_equal(both.sentences(texts), alone)


def test_a_text_by_itself_has_the_vector_it_has_among_others() -> None:
    """To the bit: among texts of its own length, of other lengths, and alone."""
    encoder = CaptionEncoder()
    text = "A rocket lifts off with while an airplane flies past the tower."
    others = ["A bee sits on a purple flower in a vase on a dining table.", "Two dogs."]
    alike = [f"A {word} lifts off with while an airplane flies past the tower." for word in ("cat", "dog", "man")]
    alone = encoder.encode([text])[0]
    for together in ([text, *others], [text, *alike], [text, *alike, *others]):
        np.testing.assert_array_equal(encoder.encode(together)[0], alone)

"""Encoders by name, long texts in windows, and encoders in folders of the user's."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.core.errors import InputError
from vericap.text.encoders import CAPTIONS, GTE_SMALL, SentenceEncoder, base, encoder_name, normalise, open_encoder
from vericap.text.encoders.base import cut_windows, word_pieces
from vericap.text.encoders.folder import FolderEncoder

WORDS = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "a", "dog", "runs", "cat", "sleeps", "on", "grass")
LONG = "A man walks his dog along the river. " * 30


@pytest.fixture(scope="module", params=[CAPTIONS, GTE_SMALL])
def encoder(request: pytest.FixtureRequest) -> SentenceEncoder:
    return open_encoder(request.param)


@given(st.integers(0, 600), st.integers(3, 128))
def test_windows_hold_every_piece_once_and_are_short_enough(count: int, length: int) -> None:
    ids = [-1, *range(count), -2]
    windows = [list(window) for window in cut_windows(ids, length)]
    assert [piece for window in windows for piece in window[1:-1]] == list(range(count))
    assert all(window[0] == -1 and window[-1] == -2 and len(window) <= length for window in windows)
    sizes = [len(window) for window in windows]
    assert len(windows) == 1 or max(sizes) <= length < sum(sizes)


def test_the_end_of_a_long_text_is_read(encoder: SentenceEncoder) -> None:
    piano, tree = encoder.encode([LONG + "There is a grand piano.", LONG + "There is a tree."])
    assert piano @ tree < 0.9999
    states = encoder.token_states([LONG + "There is a grand piano."])
    start, end = states.spans[-2 - 1]
    assert (LONG + "There is a grand piano.")[start:end].startswith("piano")
    assert np.isfinite(states.states).all()


def test_a_long_text_is_the_mean_of_its_windows(encoder: SentenceEncoder) -> None:
    ids = encoder.cut([LONG])[0].ids
    windows = list(cut_windows(ids, encoder.length))
    assert len(windows) == 3
    parts = normalise(encoder._means(windows)) * np.array([[len(window) - 2.0] for window in windows])
    expected = normalise(parts.sum(axis=0, keepdims=True).astype(np.float32))[0]
    assert encoder.encode([LONG], centred=False)[0] == pytest.approx(expected, abs=1e-3)
    assert len(encoder.token_states([LONG])[0]) == len(ids)


def test_shipped_encoders_agree_on_what_is_alike() -> None:
    texts = ["a dog runs on grass", "a puppy is running across a lawn", "two cars in a street", "a plate of food"]
    ours, theirs = (open_encoder(name).encode(texts) for name in (CAPTIONS, GTE_SMALL))
    upper = np.triu_indices(4, 1)
    assert np.corrcoef((ours @ ours.T)[upper], (theirs @ theirs.T)[upper])[0, 1] > 0.9


def test_names_need_no_network_and_tell_encoders_apart() -> None:
    names = {encoder_name(name) for name in (CAPTIONS, GTE_SMALL)}
    assert len(names) == 2
    assert encoder_name() == open_encoder().name


def test_an_unknown_encoder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="gte-small"):
        open_encoder(str(tmp_path / "nothing"))
    with pytest.raises(InputError, match="sentence-transformers"):
        encoder_name("gte-tiny")


# --- words read alone ---------------------------------------------------------------------------------------------

SHIPPED = open_encoder(CAPTIONS)
SENTENCES = ["a dog runs", "the dog sleeps", "", "A man's t-shirt, at 12:30!", "two skateboarders", "a dog runs"]


def test_letters_that_touch_are_one_word_and_stops_stand_apart() -> None:
    text = "a t-shirt, skateboarder."
    (cut,) = SHIPPED.cut([text])
    words = list(word_pieces(text, cut))
    places = iter(cut.offsets[1:-1])
    said = ["".join(text[slice(*next(places))] for _ in word) for word in words]
    assert said == ["a", "t", "-", "shirt", ",", "skateboarder", "."]
    assert len(words[5]) > 1  # of several pieces
    assert [piece for word in words for piece in word] == cut.ids[1:-1]


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_words_of_any_text_hold_every_piece_once(text: str) -> None:
    (cut,) = SHIPPED.cut([text])
    words = list(word_pieces(text, cut))
    assert all(words)
    assert [piece for word in words for piece in word] == cut.ids[1:-1]


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters="["), max_size=60))
def test_words_of_plain_letters_are_cut_as_they_are_alone(text: str) -> None:
    (cut,) = SHIPPED.cut([text])
    alone = SHIPPED.cut(re.findall(r"[a-z0-9]+|[^ a-z0-9]", text.lower()))
    assert list(word_pieces(text, cut)) == [tuple(own.ids[1:-1]) for own in alone]


def test_a_word_read_alone_is_the_same_in_any_sentence(encoder: SentenceEncoder) -> None:
    found = encoder.word_states(["a dog runs", "the dog sleeps"])
    (one, _), (other, _) = found.words(0), found.words(1)
    np.testing.assert_array_equal(one[1], other[1])
    assert np.abs(one[0] - other[0]).max() > 0.1  # "a", "the"
    usual = encoder.token_states(["a dog runs", "the dog sleeps"])
    assert np.abs(usual.words(0)[0][1] - usual.words(1)[0][1]).max() > 0.1
    later = open_encoder(CAPTIONS if encoder.name == SHIPPED.name else GTE_SMALL).word_states(["my dog"])
    np.testing.assert_array_equal(later.words(0)[0][1], one[1])  # whatever was read before


def test_a_word_read_alone_is_a_text_of_its_own(encoder: SentenceEncoder) -> None:
    words = ["a", "skateboarder", ",", "umbrella", "."]
    found = encoder.word_states([" ".join(words)])
    expected = [encoder.token_states([word])[0][1:-1] for word in words]
    np.testing.assert_array_equal(found[0][1:-1], np.concatenate(expected))
    assert not found[0][[0, -1]].any()


def test_words_read_alone_have_the_places_of_those_in_sentences(encoder: SentenceEncoder) -> None:
    texts = [*SENTENCES, LONG]
    found, usual = encoder.word_states(texts), encoder.token_states(texts)
    for name in ("offsets", "pieces", "spans"):
        np.testing.assert_array_equal(getattr(found, name), getattr(usual, name))
    assert found.states.shape == usual.states.shape
    assert found.states.dtype == np.float16
    np.testing.assert_array_equal(found.lettered(texts), usual.lettered(texts))
    marks = np.concatenate([found.offsets[:-1], found.offsets[1:] - 1])
    assert not found.states[marks].any()
    assert np.delete(found.states, marks, axis=0).any(axis=1).all()
    np.testing.assert_array_equal(found[0], found[5])
    assert found[2].shape == (2, encoder.width)  # an empty text has its two marks only
    assert len(encoder.word_states([])) == 0


def test_more_words_than_are_remembered_are_read_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = open_encoder(CAPTIONS).word_states(SENTENCES)
    monkeypatch.setattr(base, "_WORDS", 3)
    encoder = open_encoder(CAPTIONS)
    for _ in range(2):
        np.testing.assert_array_equal(encoder.word_states(SENTENCES).states, expected.states)
        for row, text in enumerate(SENTENCES):  # what is remembered is let go between these
            np.testing.assert_array_equal(encoder.word_states([text]).states, expected[row])


def test_a_word_longer_than_is_read_at_once_has_a_state_for_every_piece() -> None:
    text = "\u4e2d" * 200  # letters that touch
    found, usual = SHIPPED.word_states([text]), SHIPPED.token_states([text])
    np.testing.assert_array_equal(found.offsets, usual.offsets)
    assert found.states.shape == usual.states.shape


# --- folders ------------------------------------------------------------------------------------------------------


def tokenizer(folder: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    made = Tokenizer(models.WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    made.save(str(folder / "tokenizer.json"))


def saved(folder: Path, *, pooling: str = "mean_tokens", length: int = 16) -> Path:
    """What sentence-transformers writes beside the weights."""
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "modules.json").write_text("[]")
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": length}))
    modes = {f"pooling_mode_{kind}": kind == pooling for kind in ("cls_token", "mean_tokens", "max_tokens")}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(modes))
    tokenizer(folder)
    return folder


def with_onnx(folder: Path) -> np.ndarray:
    """A network that looks its pieces up in a table; the table."""
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper

    table = np.random.default_rng(0).normal(size=(len(WORDS), 6)).astype(np.float32)
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    graph = helper.make_graph(
        nodes,
        "lookup",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["n", "k"])],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["n", "k", 6])],
        [numpy_helper.from_array(table, "table")],
    )
    (folder / "onnx").mkdir()
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(folder / "onnx" / "model.onnx"))
    return table


@pytest.mark.parametrize("pooling", ["mean_tokens", "cls_token"])
def test_a_folder_with_onnx_is_read_without_torch(tmp_path: Path, pooling: str) -> None:
    folder = saved(tmp_path / "own", pooling=pooling)
    table = with_onnx(folder)
    encoder = open_encoder(str(folder))
    assert isinstance(encoder, FolderEncoder)
    assert (encoder.width, encoder.length) == (6, 16)
    assert encoder.name == encoder_name(str(folder))
    assert encoder.name.startswith("own-")
    rows = table[[1, 4, 5, 6, 2]]
    expected = rows.mean(axis=0) if pooling == "mean_tokens" else rows[0]
    found = encoder.encode(["a dog runs", "a cat sleeps on grass"], centred=False)
    assert found[0] == pytest.approx(expected / np.linalg.norm(expected), abs=1e-3)
    assert encoder.token_states(["a dog runs"])[0] == pytest.approx(rows, abs=1e-3)
    assert encoder.word_states(["a dog runs"])[0][1:-1] == pytest.approx(rows[1:-1], abs=1e-3)
    assert encoder.caption_mean().shape == encoder.phrase_mean().shape == (6,)


def test_a_folder_of_transformers_is_read_with_it(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    folder = saved(tmp_path / "bert")
    config = transformers.BertConfig(
        vocab_size=len(WORDS), hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8
    )
    model = transformers.BertModel(config).eval()
    model.save_pretrained(folder)
    with torch.no_grad():
        states = model(input_ids=torch.tensor([[1, 4, 5, 6, 2]])).last_hidden_state[0].numpy()
    mean = states.mean(axis=0)
    together = open_encoder(str(folder)).encode(["a cat sleeps on grass", "a dog runs"], centred=False)
    assert together[1] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-3)


def test_bad_folders_are_told(tmp_path: Path) -> None:
    folder = saved(tmp_path / "max", pooling="max_tokens")
    with pytest.raises(InputError, match=r"model\.onnx"):
        open_encoder(str(folder))
    with_onnx(folder)
    with pytest.raises(InputError, match="max_tokens"):
        open_encoder(str(folder))


def test_sentence_takes_an_encoder_of_the_user_s(tmp_path: Path) -> None:
    import vericap

    folder = saved(tmp_path / "own")
    with_onnx(folder)
    result = vericap.score({"1": "a dog runs"}, {"1": ["a cat sleeps"]}, f"sentence:encoder={folder}")
    (name,) = result.corpus
    assert "encoder:own-" in result.corpus[name].signature

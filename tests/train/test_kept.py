"""What training keeps on disk: read by rows, made in blocks, resumed, refused where it is of other data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from vericap.core.errors import InputError
from vericap.text.encoders import SentenceEncoder, open_encoder
from vericap.train import kept
from vericap.train.data import Captioned
from vericap.vision.store import FeatureStore, FeatureWriter

TEXTS = [[f"{thing} number {k}" for k in range(5)] for thing in ("dogs", "cats", "boats", "trains")]
READER = open_encoder("captions")
DATA = Captioned(["a", "b", "c", "d"], TEXTS)


@pytest.fixture
def store(tmp_path: Path) -> FeatureStore:
    rng = np.random.default_rng(0)
    with FeatureWriter(tmp_path / "store", {"made": "here"}, width=6, shard_images=2) as writer:
        for key in DATA.keys:
            writer.add(key, rng.normal(size=(3, 6)), rng.random((3, 4)))
        writer.add("more", rng.normal(size=(4, 6)), rng.random((4, 4)))
    return FeatureStore(tmp_path / "store")


def test_features_are_read_by_rows(store: FeatureStore) -> None:
    features = kept.StoreFeatures(store, ["d", "a", "c"])
    assert features.shape == (3, 4, 6)
    np.testing.assert_array_equal(features[np.array([2, 0])][:, :3], np.stack([store.get("c")[0], store.get("d")[0]]))
    np.testing.assert_array_equal(features[1:][:, :3], np.stack([store.get("a")[0], store.get("c")[0]]))
    ragged = kept.StoreFeatures(store, ["a", "more"])
    assert ragged.mask.tolist() == [[True, True, True, False], [True] * 4]
    np.testing.assert_array_equal(ragged[:][0, :3], store.get("a")[0])
    assert not ragged[:][0, 3].any()
    np.testing.assert_array_equal(kept.StoreBoxes(ragged)[np.array([1])][0], store.get("more")[1])


def test_states_resume_to_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_BLOCK", 1)
    states, offsets = kept.token_states(DATA, tmp_path, "x", READER, each=2, threads=2)
    expected = READER.token_states([text for five in TEXTS for text in five[:2]])
    np.testing.assert_array_equal(offsets, expected.offsets)
    np.testing.assert_array_equal(states, expected.states)
    # Two images were noted, half of a third one was written when the run was stopped.
    np.save(tmp_path / "x-states-2-offsets.npy", offsets[:5])
    whole = (tmp_path / "x-states-2.f16").read_bytes()
    (tmp_path / "x-states-2.f16").write_bytes(whole[: int(offsets[5]) * 768])
    again, _ = kept.token_states(DATA, tmp_path, "x", READER, each=2)
    np.testing.assert_array_equal(again, expected.states)
    first = Captioned(DATA.keys[:2], TEXTS[:2])
    np.testing.assert_array_equal(kept.token_states(first, tmp_path, "x", READER, each=2)[1], offsets[:5])
    other = Captioned(DATA.keys, TEXTS[::-1])
    with pytest.raises(InputError, match="other captions"):
        kept.token_states(other, tmp_path, "x", READER, each=2)


def test_states_of_words_read_alone_are_kept_beside_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_BLOCK", 1)
    texts = [text for five in TEXTS for text in five[:2]]
    usual, _ = kept.token_states(DATA, tmp_path, "x", READER, each=2)
    alone, offsets = kept.token_states(DATA, tmp_path, "x", READER, each=2, threads=2, alone=True)
    names = ["x-alone-2-offsets.npy", "x-alone-2.f16", "x-states-2-offsets.npy", "x-states-2.f16"]
    assert sorted(file.name for file in tmp_path.iterdir()) == names
    expected = READER.word_states(texts)
    np.testing.assert_array_equal(offsets, expected.offsets)
    np.testing.assert_array_equal(alone, expected.states)
    np.testing.assert_array_equal(usual, READER.token_states(texts).states)  # as they were
    # Two images were noted, half of a third one was written when the run was stopped.
    np.save(tmp_path / "x-alone-2-offsets.npy", offsets[:5])
    whole = (tmp_path / "x-alone-2.f16").read_bytes()
    (tmp_path / "x-alone-2.f16").write_bytes(whole[: int(offsets[5]) * 768])
    again, _ = kept.token_states(DATA, tmp_path, "x", READER, each=2, alone=True)
    np.testing.assert_array_equal(again, expected.states)
    with pytest.raises(InputError, match=r"alone-2\.f16 holds token states of other captions"):
        kept.token_states(Captioned(DATA.keys, TEXTS[::-1]), tmp_path, "x", READER, each=2, alone=True)
    for part in ("-offsets.npy", ".f16"):  # states of words in their sentences are no states of words alone
        (tmp_path / f"x-alone-2{part}").write_bytes((tmp_path / f"x-states-2{part}").read_bytes())
    with pytest.raises(InputError, match="of other captions, or of another encoder"):
        kept.token_states(DATA, tmp_path, "x", READER, each=2, alone=True)


def test_sentences_resume_and_serve_a_smaller_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_BLOCK", 1)
    calls = []
    encode = SentenceEncoder.encode

    def counted(self: SentenceEncoder, texts: list[str]) -> np.ndarray:
        calls.append(len(texts))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return encode(self, texts)

    monkeypatch.setattr(SentenceEncoder, "encode", counted)
    with pytest.raises(KeyboardInterrupt):
        kept.sentences(DATA, tmp_path, "x", READER)
    assert not (tmp_path / "x-captions.npy").exists()
    found = kept.sentences(DATA, tmp_path, "x", READER)
    expected = encode(READER, [text for five in TEXTS for text in five]).reshape(4, 5, 384)
    np.testing.assert_allclose(found, expected, atol=1e-3)
    first = Captioned(DATA.keys[:2], TEXTS[:2])
    assert kept.sentences(first, tmp_path, "x", READER).shape == (2, 5, 384)
    with pytest.raises(InputError, match="other images"):
        kept.sentences(Captioned(DATA.keys[1:3], TEXTS[1:3]), tmp_path, "x", READER)


def test_a_shorter_file_is_made_longer(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)
    asked: list[int] = []

    def compute(rows: np.ndarray) -> np.ndarray:
        asked.extend(rows.tolist())
        return values[rows]

    file = tmp_path / "x.npy"
    kept.filled(file, (5, 4), compute, what="rows", threads=1)
    asked.clear()
    found = kept.filled(file, (9, 4), compute, what="rows", threads=1)
    np.testing.assert_allclose(found, values, atol=2e-3)
    assert asked.count(6) == 1
    with pytest.raises(InputError, match="other images"):
        kept.filled(file, (9, 4), lambda rows: -values[rows], what="rows", threads=1)
    with pytest.raises(InputError, match="has the shape"):
        kept.filled(file, (9, 5), compute, what="rows", threads=1)


@pytest.mark.parametrize("name", ["x-captions.part", "x-states-1.f16"])
def test_two_processes_do_not_write_one_file(name: str, tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")

    def make() -> object:
        if name.endswith("part"):
            return kept.sentences(DATA, tmp_path, "x", READER)
        return kept.token_states(DATA, tmp_path, "x", READER, each=1)

    with (tmp_path / name).open("ab") as stream:  # as another process would
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another process is making"):
            make()
    make()
    with (tmp_path / name).open("ab") as stream:  # a finished file is read by anyone
        fcntl.flock(stream, fcntl.LOCK_EX)
        make()

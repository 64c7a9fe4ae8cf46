from __future__ import annotations

import gzip
import json
import time
from pathlib import Path

import numpy as np
import pytest

from vericap.core.errors import InputError
from vericap.text import vector_files
from vericap.text.encoders import open_encoder
from vericap.text.stopwords import is_content
from vericap.text.tokens import tokenize
from vericap.text.vectors import TableVectors, nearest, open_vectors, prepare, shipped_vectors
from vericap.text.word_table import word_table

WORDS = ["dog", "cat", "été", "new york", "Dog"]
VECTORS = np.random.default_rng(0).normal(size=(5, 6)).astype(np.float32)


def text_lines(*, header: bool, blank: bool = True) -> str:
    rows = [f"{w} {' '.join(f'{x:.8f}' for x in v)}" for w, v in zip(WORDS, VECTORS) if blank or " " not in w]
    return "\n".join(([f"{len(rows)} 6"] if header else []) + rows) + "\n"


def binary(path: Path, *, newline: bool) -> None:
    with path.open("wb") as out:
        out.write(b"4 6\n")
        for word, vector in zip(["dog", "cat", "été", "Dog"], VECTORS[[0, 1, 2, 4]]):
            out.write(word.encode() + b" " + vector.tobytes() + (b"\n" if newline else b""))


def check(source: object, *, blank: bool = True) -> None:
    rows, known = source.rows(["dog", "cat", "été", "Dog", "CAT", "unicycle"])  # type: ignore[attr-defined]
    assert known.tolist() == [True, True, True, True, True, False]
    assert rows[:4] == pytest.approx(VECTORS[[0, 1, 2, 4]], abs=1e-6)
    assert rows[4] == pytest.approx(VECTORS[1], abs=1e-6)  # found in lower case
    assert not rows[5].any()
    if blank:
        assert source.rows(["new york"])[1].all()  # type: ignore[attr-defined]


def test_reads_glove_word2vec_and_fasttext_text(tmp_path: Path) -> None:
    (tmp_path / "glove.txt").write_text(text_lines(header=False), "utf-8")
    (tmp_path / "fast.vec").write_text(text_lines(header=True), "utf-8")
    with gzip.open(tmp_path / "fast.vec.gz", "wt", encoding="utf-8") as out:
        out.write(text_lines(header=True))
    for name in ("glove.txt", "fast.vec", "fast.vec.gz"):
        check(open_vectors(str(tmp_path / name), folder=tmp_path / "cache"))


@pytest.mark.parametrize("newline", [True, False])
def test_reads_word2vec_binary_as_gensim_does(tmp_path: Path, newline: bool) -> None:
    binary(tmp_path / "w.bin", newline=newline)
    ours = open_vectors(str(tmp_path / "w.bin"), folder=tmp_path / "cache")
    check(ours, blank=False)
    models = pytest.importorskip("gensim.models")
    witness = models.KeyedVectors.load_word2vec_format(str(tmp_path / "w.bin"), binary=True)
    assert ours.rows(["été"])[0][0] == pytest.approx(witness["été"])


def test_reads_what_gensim_writes(tmp_path: Path) -> None:
    models = pytest.importorskip("gensim.models")
    made = models.KeyedVectors(6)
    made.add_vectors(["dog", "cat", "été", "Dog"], VECTORS[[0, 1, 2, 4]])
    made.save_word2vec_format(str(tmp_path / "b.bin"), binary=True)
    made.save_word2vec_format(str(tmp_path / "t.txt"), binary=False)
    for name in ("b.bin", "t.txt"):
        check(open_vectors(str(tmp_path / name), folder=tmp_path / "cache"), blank=False)


@pytest.mark.parametrize("kind", ["txt", "json", "json map", "vocab", "parquet"])
def test_reads_npy_with_a_vocabulary(tmp_path: Path, kind: str) -> None:
    np.save(tmp_path / "v.npy", VECTORS)
    if kind == "json":
        (tmp_path / "v.json").write_text(json.dumps(WORDS), "utf-8")
    elif kind == "json map":
        (tmp_path / "v.json").write_text(json.dumps({w: i for i, w in enumerate(WORDS)}), "utf-8")
    elif kind == "parquet":
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.table({"index": WORDS}), tmp_path / "any.parquet")
    else:
        (tmp_path / f"v.{kind}").write_text("\n".join(WORDS) + "\n", "utf-8")
    check(open_vectors(str(tmp_path / "v.npy"), folder=tmp_path / "cache"))


def test_a_file_is_converted_once_and_opens_fast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "large.npy"
    np.save(file, np.random.default_rng(1).normal(size=(60_000, 8)).astype(np.float32))
    file.with_suffix(".txt").write_text("\n".join(f"w{i}" for i in range(60_000)), "utf-8")
    open_vectors(str(file), folder=tmp_path / "cache")
    monkeypatch.setattr(vector_files, "convert", lambda *_: pytest.fail("converted twice"))
    start = time.perf_counter()
    again = open_vectors(str(file), folder=tmp_path / "cache")
    assert again.rows(["w50000", "nothing"])[1].tolist() == [True, False]
    assert time.perf_counter() - start < 0.5
    assert [row["words"] for row in vector_files.listed(tmp_path / "cache")] == [60_000]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"", "no word vector"),
        ("b.txt", b"dog 1 2 3\ncat 1 2\n", "line 2"),
        ("c.txt", b"dog one two\n", "line 1"),
        ("d.bin", b"3 4\ndog \x00\x00\x80\x3f", "cut off"),
        ("e.npy", b"nonsense", "vocabulary|npy"),
    ],
)
def test_bad_files_are_named_with_the_place(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        open_vectors(str(tmp_path / name), folder=tmp_path / "cache")
    assert not list((tmp_path / "cache" / "vectors").glob("*"))  # nothing half-made stays


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither"):
        open_vectors(str(tmp_path / "none.txt"), folder=tmp_path)


def test_shipped_table_is_the_encoder_on_single_words(tmp_path: Path) -> None:
    source = open_vectors(folder=tmp_path)
    rows, known = source.rows(["dog", "surfboard", "xylophonist", ""])
    assert known.tolist() == [True, True, True, False]
    fresh = open_encoder().encode(["dog", "surfboard", "xylophonist"], centred=False)
    assert (prepare(rows, known, None, normalise=True)[:3] * fresh).sum(axis=1) == pytest.approx(np.ones(3), abs=1e-3)
    assert shipped_vectors()["words"] == 10_000


def test_nearest_words_make_sense(tmp_path: Path) -> None:
    near = [word for word, _ in nearest(open_vectors(folder=tmp_path), "dog", count=8)]
    assert "dogs" in near
    assert "puppy" in near
    assert "dog" not in near


def test_nearest_of_an_unknown_word_is_empty(tmp_path: Path) -> None:
    (tmp_path / "glove.txt").write_text(text_lines(header=False), "utf-8")
    source = open_vectors(str(tmp_path / "glove.txt"), folder=tmp_path / "cache")
    assert isinstance(source, TableVectors)
    assert nearest(source, "unicycle") == []


def test_stop_words_leave_content_alone() -> None:
    for word in ("fire", "top", "front", "two", "one", "no", "not", "without", "dog", "2", "side"):
        assert is_content(word)
    for word in ("a", "the", "of", "is", "...", "'s", "their"):
        assert not is_content(word)


def test_word_table_keeps_labels_whole_and_counts_unknown_words(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("dog 1 0 0\ntable 0 1 0\ndining 0 0 1\n", "utf-8")
    tokens = tokenize(["The dog and a dog on the zebra table", "of the"])
    space = word_table(tokens, open_vectors(str(tmp_path / "v.txt"), folder=tmp_path), centre=False)
    assert sorted(space.words) == ["dog", "table"]
    assert sorted(space.texts.weights[space.texts.span(0)]) == pytest.approx([1 / 3, 2 / 3])
    assert space.texts.sizes().tolist() == [2, 0]
    assert space.unknown == {0: ["zebra"]}
    larger, rows = space.with_labels(["dining table", "dog", "zebra", "potted dog"])
    assert larger.vectors[rows["dining table"]] == pytest.approx([0, np.sqrt(0.5), np.sqrt(0.5)], abs=1e-6)
    assert rows["dog"] == rows["potted dog"] == space.words.index("dog")
    assert rows["zebra"] == -1
    assert len(space.vectors) == len(space.words) == 2  # the first table stays as it was

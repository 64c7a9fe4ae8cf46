"""Word-vector files of the field, converted once to arrays that are memory-mapped from then on.

Read are word2vec (binary and text), GloVe text, fastText `.vec` (each also gzipped) and `.npy` with a vocabulary
beside it (`name.txt`, `name.vocab`, `vocab.txt`: a word per line; `.json`: a list or word -> row; `.parquet`).
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from vericap.core.errors import InputError
from vericap.core.keys import content_key

_FORMAT = "2"
_MEAN_ROWS = 50_000  # files are sorted by frequency: the mean of frequent words, not of rare names


def word_hash(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def converted(path: Path, root: Path) -> Path:
    """Folder with the converted form of a file; made at the first call."""
    target = root / "vectors" / _key(path)
    if (target / "meta.json").is_file():
        return target
    return convert(path, target)


def convert(path: Path, target: Path) -> Path:
    """Write the memory-mapped form of a vector file into a folder (whole, or not at all)."""
    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=target.parent, prefix=".making-"))
    try:
        words, vectors = _read_npy(path, work) if path.suffix == ".npy" else _read_stream(path, work)
        _index(words, work)
        mean = np.asarray(vectors[:_MEAN_ROWS], dtype=np.float64).mean(axis=0)
        np.save(work / "mean.npy", mean.astype(np.float32))
        meta = {"source": str(path.resolve()), "words": len(words), "width": int(vectors.shape[1])}
        (work / "meta.json").write_text(json.dumps(meta), "utf-8")
        if target.exists():  # another process was faster
            shutil.rmtree(work)
        else:
            os.replace(work, target)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    return target


def listed(root: Path) -> list[dict[str, Any]]:
    """Converted files in the cache: source, words, width, folder."""
    folder = root / "vectors"
    found = sorted(folder.glob("*/meta.json")) if folder.is_dir() else []
    return [{**json.loads(meta.read_text("utf-8")), "folder": str(meta.parent)} for meta in found]


def _key(path: Path) -> str:
    facts = path.stat()
    name = "".join(letter if letter.isalnum() else "-" for letter in path.name)
    return f"{name}-{content_key(_FORMAT, str(path.resolve()), str(facts.st_size), str(facts.st_mtime_ns))[:12]}"


def _index(words: list[bytes], work: Path) -> None:
    """Letters one after the other, and rows sorted by the hash of their word (first row of a word first)."""
    ends = np.cumsum([len(word) for word in words], dtype=np.int64)
    np.save(work / "ends.npy", ends)
    np.save(work / "letters.npy", np.frombuffer(b"".join(words), dtype=np.uint8))
    hashes = np.fromiter((word_hash(w.decode("utf-8", "replace")) for w in words), np.uint64, len(words))
    order = np.argsort(hashes, kind="stable")
    np.save(work / "hashes.npy", hashes[order])
    np.save(work / "order.npy", order.astype(np.int64))


def _open(path: Path) -> BinaryIO:
    with path.open("rb") as stream:
        zipped = stream.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if zipped else path.open("rb")  # type: ignore[return-value]


def _read_stream(path: Path, work: Path) -> tuple[list[bytes], NDArray[np.float32]]:
    try:
        with _open(path) as stream:
            first = stream.readline()
            cells = first.split()
            header = len(cells) == 2 and all(cell.isdigit() for cell in cells)
            binary = header and _looks_binary(path)
            rows = _binary_rows(stream, path, cells) if binary else _text_rows(stream, path, first, header)
            return _collect(rows, path, work)
    except (OSError, EOFError) as error:
        raise InputError(f"the word vectors {path} cannot be read: {error}") from error


def _looks_binary(path: Path) -> bool:
    """After the header, text files hold digits, signs and UTF-8; floats hold bytes that are neither."""
    with _open(path) as stream:
        stream.readline()
        sample = stream.read(4096)
    line = sample.split(b"\n")[0].split(b" ")
    try:
        [float(cell) for cell in line[1:] if cell.strip()]
        return len(line) < 2
    except ValueError:
        return True


def _binary_rows(stream: BinaryIO, path: Path, cells: list[bytes]) -> Iterator[tuple[bytes, NDArray[np.float32]]]:
    count, width = int(cells[0]), int(cells[1])
    for row in range(count):
        word = bytearray()
        while (letter := stream.read(1)) != b" ":
            if not letter:
                raise InputError(f"{path} ends in row {row} of {count}: the file is cut off")
            if letter != b"\n":
                word += letter
        data = stream.read(4 * width)
        if len(data) < 4 * width:
            raise InputError(f"{path} ends in row {row} of {count}: the file is cut off")
        yield bytes(word), np.frombuffer(data, dtype="<f4")


def _text_rows(stream: BinaryIO, path: Path, first: bytes, header: bool) -> Iterator[tuple[bytes, NDArray[np.float32]]]:
    width: int | None = None
    lines = stream if header else _chain(first, stream)
    for number, line in enumerate(lines, 2 if header else 1):
        if not line.strip():
            continue
        if width is None:
            width = len(line.split()) - 1
        # From the right: a few GloVe words hold blanks.
        word, *cells = line.rstrip().rsplit(b" ", width)
        try:
            vector = np.array(cells, dtype=np.float32)
        except ValueError:
            vector = np.zeros(0, dtype=np.float32)
        if width < 2 or vector.size != width:
            raise InputError(
                f"{path}, line {number}: a word and {max(width, 2)} numbers were expected "
                f"(word2vec, GloVe or fastText text), found {line[:40]!r}"
            )
        yield word, vector


def _chain(first: bytes, stream: BinaryIO) -> Iterator[bytes]:
    yield first
    yield from stream


def _collect(
    rows: Iterator[tuple[bytes, NDArray[np.float32]]], path: Path, work: Path
) -> tuple[list[bytes], NDArray[np.float32]]:
    """Rows into vectors.npy, in blocks, so that memory holds the words only."""
    words: list[bytes] = []
    raw = work / "vectors.raw"
    width = 0
    with raw.open("wb") as out:
        for word, vector in rows:
            words.append(word)
            width = vector.size
            out.write(vector.tobytes())
    if not words:
        raise InputError(f"{path} holds no word vector")
    made = open_memmap(work / "vectors.npy", mode="w+", dtype=np.float32, shape=(len(words), width))
    source = np.memmap(raw, dtype=np.float32, mode="r", shape=(len(words), width))
    made[:] = source
    made.flush()
    del source
    raw.unlink()
    return words, made


def _read_npy(path: Path, work: Path) -> tuple[list[bytes], NDArray[np.float32]]:
    words = _vocabulary(path)
    try:
        vectors = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise InputError(f"{path} is not a plain .npy array: {error}") from error
    if vectors.ndim != 2 or len(vectors) != len(words):
        raise InputError(f"{path} has shape {vectors.shape}, but its vocabulary has {len(words)} words")
    made = open_memmap(work / "vectors.npy", mode="w+", dtype=np.float32, shape=vectors.shape)
    made[:] = vectors
    made.flush()
    return words, made


def _vocabulary(path: Path) -> list[bytes]:
    """The words of a .npy file: from a file of the same name, or the only vocabulary in its folder."""
    endings = (".txt", ".vocab", ".json", ".parquet")
    near = [path.with_suffix(ending) for ending in endings] + [path.parent / f"vocab{e}" for e in endings]
    found = [file for file in near if file.is_file()] or sorted(path.parent.glob("*.parquet"))
    if not found:
        raise InputError(
            f"{path} has no vocabulary; put the words (one per line, in the order of the rows) in "
            f"{path.with_suffix('.txt')}"
        )
    file = found[0]
    if file.suffix == ".parquet":
        import pyarrow.parquet

        words: list[Any] = pyarrow.parquet.read_table(file).column(0).to_pylist()
    elif file.suffix == ".json":
        content = json.loads(file.read_text("utf-8"))
        words = sorted(content, key=content.__getitem__) if isinstance(content, dict) else content
    else:
        words = file.read_text("utf-8").rstrip("\n").split("\n")
    return [str(word).encode("utf-8") for word in words]

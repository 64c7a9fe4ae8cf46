"""What training computes once and keeps on disk: scene graphs, sentence vectors, token states, embedded regions.

Graphs are in the product's cache. Every file is memory-mapped (copied on writing: torch takes no read-only arrays),
made in blocks (an interrupted run goes on after the last whole block) and, when it is found again, checked: some of its
rows are computed anew and compared, so files of other data are refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

import numpy as np

from vericap.core.errors import InputError
from vericap.core.settings import Settings
from vericap.core.typing import Array, Bools, Floats32, Ints
from vericap.graphs.scene_graph import PackedGraphs
from vericap.models.scan import with_cells
from vericap.models.vse import VseModel
from vericap.run.analyses.graphs import Graphs, parse_texts, parser_name
from vericap.run.progress import Bar
from vericap.run.runtime import Runtime
from vericap.text.encoders import SentenceEncoder, StateTable
from vericap.text.encoders.base import lettered as lettered_pieces
from vericap.train.data import PER_IMAGE, Captioned
from vericap.vision.shards import save
from vericap.vision.store import FeatureStore

Read = Callable[[Sequence[str]], StateTable]  # how states of texts are made
_BLOCK = 512  # images between two notes of how far a file is made
_INSTEAD = "delete it, or choose another `work=DIR`"
_ALIKE = 0.95  # cosine; one 8-bit network differs between machines by less than .01


class StoreFeatures:
    """Features of chosen images as an array (n, regions, width) that reads only the rows asked for.

    Images with fewer regions than others end in zeros; `mask` says which regions are there.
    """

    def __init__(self, store: FeatureStore, keys: Sequence[str]) -> None:
        self._store, self._places = store, store.places(keys)
        self.shape = (len(keys), store.most, store.width)
        self.mask: Bools = np.arange(store.most) < self._places["count"][:, None]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | Ints) -> Array:
        places = self._places[rows]
        found = np.zeros((len(places), *self.shape[1:]), dtype=np.float16)
        for row, place in enumerate(places):
            found[row, : place["count"]] = self._store.at(place)[0]
        return found

    def boxes(self, rows: slice | Ints) -> Floats32:
        """(rows, regions, 4) as shares of the image's sides."""
        places = self._places[rows]
        found = np.zeros((len(places), self.shape[1], 4), dtype=np.float32)
        for row, place in enumerate(places):
            found[row, : place["count"]] = self._store.at(place)[1]
        return found


class StoreBoxes:
    """Boxes of chosen images as an array (n, regions, 4) that reads only the rows asked for."""

    def __init__(self, features: StoreFeatures) -> None:
        self._features = features

    def __getitem__(self, rows: slice | Ints) -> Floats32:
        return self._features.boxes(rows)


def graphs(texts: Sequence[str], *, threads: int = 1, progress: bool = True) -> PackedGraphs:
    """Scene graphs of captions, as the product's own parser makes them; they are kept in its cache."""
    settings = Settings(workers=threads, progress=progress)
    return parse_texts(texts, Runtime.of(settings), parser=Graphs.of(settings).parser)


def graphs_version() -> str:
    """Name and version of the parser behind `graphs`."""
    return parser_name("en", Graphs.of(Settings()).parser)


def mean_state(states: Array) -> Array:
    """Mean of many words' token states: what all words share."""
    found: Array = np.asarray(states[:200_000], dtype=np.float32).mean(axis=0)
    return found


def sentences(
    data: Captioned, folder: Path, name: str, encoder: SentenceEncoder, *, each: int = PER_IMAGE, threads: int = 1
) -> Array:
    """Centred unit vectors (n, each, width) of captions (`Captioned.texts`) in `{name}-captions.npy`."""
    file = folder / (f"{name}-captions.npy" if each == PER_IMAGE else f"{name}-captions-{each}.npy")

    def compute(rows: Ints) -> Array:
        texts = Captioned([], [data.captions[row] for row in rows]).texts(each)
        return encoder.encode(texts).reshape(len(rows), each, encoder.width)

    shape = (len(data), each, encoder.width)
    return filled(file, shape, compute, what="sentence vectors", threads=threads)


def embedded(features: StoreFeatures, model: VseModel, file: Path, *, cells: int = 0) -> Array:
    """Regions (n, regions, d) float16 as an image-sentence encoder embeds them, followed by the last `cells` values of
    their features; zeros where there is no region."""

    def compute(rows: Ints) -> Array:
        given = features[rows]
        found = with_cells(model.embed(given), given, cells)
        return np.asarray(found * features.mask[rows][..., None])

    shape = (*features.shape[:2], model.space + cells)
    return filled(file, shape, compute, what="embedded regions", threads=1)


def token_states(
    data: Captioned,
    folder: Path,
    name: str,
    encoder: SentenceEncoder,
    *,
    each: int,
    threads: int = 1,
    alone: bool = False,
) -> tuple[Array, Ints]:
    """States (tokens, width) of `each` captions of every image (`Captioned.texts`), and where each caption begins;
    `alone`: of words that are read alone."""
    stem, read = (
        (f"{name}-alone-{each}", encoder.word_states) if alone else (f"{name}-states-{each}", encoder.token_states)
    )
    states_file, offsets_file = folder / f"{stem}.f16", folder / f"{stem}-offsets.npy"
    captions = data.texts(each)
    folder.mkdir(parents=True, exist_ok=True)
    offsets = _offsets(offsets_file)
    if len(offsets) <= len(captions):
        with states_file.open("ab") as stream:
            _hold(stream, states_file)
            _append_states(stream, states_file, offsets_file, captions, read, encoder.width, threads)
        offsets = _offsets(offsets_file)
    else:  # whole, and maybe of more images
        offsets = offsets[: len(captions) + 1]
        _check_states(read, encoder.width, captions, states_file, offsets)
    return np.memmap(states_file, dtype=np.float16, mode="r").reshape(-1, encoder.width), offsets


def lettered(captions: Sequence[str], encoder: SentenceEncoder) -> Bools:
    """Which word pieces of captions, one caption after the other, have a letter or a digit."""
    cuts = encoder.cut(captions)
    owners = np.repeat(np.arange(len(cuts)), [len(cut.ids) for cut in cuts])
    pieces = np.array([number for cut in cuts for number in cut.ids], dtype=np.int32)
    spans = np.array([span for cut in cuts for span in cut.offsets], dtype=np.int32).reshape(-1, 2)
    return lettered_pieces(captions, owners, pieces, spans)


def _append_states(
    stream: IO[bytes],
    states_file: Path,
    offsets_file: Path,
    captions: list[str],
    read: Read,
    width: int,
    threads: int,
) -> None:
    offsets = _offsets(offsets_file)
    if len(offsets) > 1:
        _check_states(read, width, captions, states_file, offsets)
    stream.truncate(int(offsets[-1]) * width * 2)  # what was written after the last note is written again
    done, block = len(offsets) - 1, _BLOCK * PER_IMAGE
    left = len(captions) - done
    with ThreadPoolExecutor(threads) as pool, Bar(what="token states", total=left, unit="text") as bar:
        for start in range(done, len(captions), block):
            texts = captions[start : start + block]
            for part in pool.map(read, [texts[i : i + 256] for i in range(0, len(texts), 256)]):
                stream.write(part.states.tobytes())
                offsets = np.concatenate([offsets, offsets[-1] + part.offsets[1:]])
            stream.flush()
            save(offsets_file, offsets)
            bar.advance(len(texts))


def _offsets(file: Path) -> Ints:
    return np.load(file, allow_pickle=False) if file.is_file() else np.zeros(1, dtype=np.int64)


def _check_states(read: Read, width: int, captions: list[str], file: Path, offsets: Ints) -> None:
    count = len(offsets) - 1
    fits = file.is_file() and file.stat().st_size >= int(offsets[-1]) * width * 2
    if fits:
        states = np.memmap(file, dtype=np.float16, mode="r").reshape(-1, width)
        for place in _spread(count):
            kept, expected = states[offsets[place] : offsets[place + 1]], read([captions[place]]).states
            fits = fits and kept.shape == expected.shape and bool(np.abs(kept - expected).max() < 0.1)
    if not fits:
        raise InputError(f"{file} holds token states of other captions, or of another encoder; {_INSTEAD}")


def _spread(count: int, most: int = 8) -> Ints:
    """A few places from the first to the last."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))


def filled(file: Path, shape: tuple[int, ...], compute: Callable[[Ints], Array], *, what: str, threads: int) -> Array:
    """The array in `file`, made block by block; a whole one is checked, may hold more rows than asked for, and is made
    longer where it holds fewer."""
    part, note = file.with_suffix(".part"), file.with_suffix(".done")
    kept = np.load(file, mmap_mode="c", allow_pickle=False) if file.is_file() else None
    if kept is not None:
        _check(kept, shape, compute, file, len(kept))
        if len(kept) >= shape[0]:
            return kept[: shape[0]]
    file.parent.mkdir(parents=True, exist_ok=True)
    with part.open("ab") as held:
        _hold(held, file)
        if kept is not None and not note.is_file():
            np.lib.format.open_memmap(part, "w+", np.float16, shape)[: len(kept)] = kept
            note.write_text(str(len(kept)))
        _fill(part, note, shape, compute, what=what, threads=threads)
        os.replace(part, file)
        note.unlink(missing_ok=True)
    return np.load(file, mmap_mode="c", allow_pickle=False)


def _fill(
    part: Path, note: Path, shape: tuple[int, ...], compute: Callable[[Ints], Array], *, what: str, threads: int
) -> None:
    done = int(note.read_text()) if note.is_file() else 0
    array = np.lib.format.open_memmap(part, "r+" if done else "w+", np.float16, None if done else shape)
    if done:
        _check(array, shape, compute, part, done)
    if len(array) < shape[0]:
        raise InputError(f"{part} was begun for {len(array)} rows, not {shape[0]}; delete it")
    with ThreadPoolExecutor(threads) as pool, Bar(what=what, total=shape[0] - done, unit="image") as bar:
        for start in range(done, shape[0], _BLOCK):
            rows = np.arange(start, min(start + _BLOCK, shape[0]))
            parts = [piece for piece in np.array_split(rows, threads) if len(piece)]
            for piece, found in zip(parts, pool.map(compute, parts)):
                array[piece] = found
            array.flush()
            note.write_text(str(int(rows[-1]) + 1))
            bar.advance(len(rows))


def _check(kept: Array, shape: tuple[int, ...], compute: Callable[[Ints], Array], file: Path, done: int) -> None:
    if kept.shape[1:] != shape[1:]:
        raise InputError(f"{file} has the shape {kept.shape}, not {shape}; delete it, or choose another `work=DIR`")
    rows = _spread(min(done, shape[0]))
    if len(rows) and _cosines(np.asarray(kept[rows], dtype=np.float32), compute(rows)).min() < _ALIKE:
        raise InputError(f"{file} holds values of other images or of another encoder; {_INSTEAD}")


def _cosines(a: Array, b: Array) -> Array:
    """Of vectors on the last axis; a zero vector is like another zero vector only."""
    first, second = np.linalg.norm(a, axis=-1), np.linalg.norm(b, axis=-1)
    cosine = (a * b).sum(axis=-1) / np.maximum(first * second, 1e-12)
    return np.where((first == 0) & (second == 0), 1.0, cosine)


def _hold(stream: IO[bytes], file: Path) -> None:
    """Keep others from writing a file as long as the stream is open; falls with this process. Not on Windows."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise InputError(f"another process is making {file}; start again when it has finished") from error

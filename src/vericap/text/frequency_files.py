"""Files of document frequencies, and where `df=...` finds them.

Two forms, both without pickle and told apart by their content:

* JSON (also `.gz`), made to be written by anyone:
  `{"images": 40504, "tokenizer": "ptb", "ngrams": {"a": 39000, "a man": 9000, "a man riding": 1200, ...}}`
* `.npz`, compact: `images`, `tokenizer`, `vocabulary` (UTF-8, one word per line), and the tree of n-grams in
  breadth-first order as `children` (how many longer n-grams follow each), `last` (word number) and `counts`.

N-grams hold one to four words of the tokeniser's output, joined by blanks. Those that occur in one image only
may be left out: a frequency of 1 and an unknown n-gram weigh the same.
"""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core import shipped
from vericap.core.errors import InputError
from vericap.text.frequency import DocumentFrequency
from vericap.text.ngrams import ORDERS, NGramTree, ngrams
from vericap.text.tokens import tokenize

SHIPPED = "coco-val"


def build(references: Iterable[Sequence[str]], tokenizer: str = "ptb") -> DocumentFrequency:
    """Count document frequencies in the references of many images."""
    texts: dict[str, int] = {}
    index: list[int] = []
    offsets = [0]
    for captions in references:
        index.extend(texts.setdefault(caption, len(texts)) for caption in captions)
        offsets.append(len(index))
    grams = ngrams(tokenize(list(texts), tokenizer))
    return DocumentFrequency.count(grams, np.array(offsets, dtype=np.int64), np.array(index, dtype=np.int64))


def save(frequency: DocumentFrequency, file: str | Path, *, tokenizer: str = "ptb", at_least: int = 1) -> None:
    """Write a table: `.npz` the compact form, anything else JSON (`.gz` compresses it)."""
    file = Path(file)
    frequency = frequency.at_least(max(at_least, 1))
    if file.suffix == ".npz":
        _save_compact(frequency, file, tokenizer)
        return
    content = {"images": frequency.images, "tokenizer": tokenizer, "ngrams": dict(frequency.items())}
    data = json.dumps(content, ensure_ascii=False).encode("utf-8", "surrogatepass")
    file.write_bytes(gzip.compress(data, mtime=0) if file.suffix == ".gz" else data)


def _save_compact(frequency: DocumentFrequency, file: Path, tokenizer: str) -> None:
    frequency = _breadth_first(frequency)
    tree = frequency.tree
    children = np.bincount(tree.prefix[tree.prefix >= 0], minlength=len(frequency))
    np.savez_compressed(
        file,
        images=np.array(frequency.images),
        tokenizer=np.array(tokenizer),
        vocabulary=np.frombuffer("\n".join(tree.vocabulary).encode("utf-8", "surrogatepass"), dtype=np.uint8),
        starts=tree.starts,
        children=children[: tree.starts[ORDERS - 1]].astype(np.int32),
        last=tree.last,
        counts=frequency.counts,
    )


def _breadth_first(frequency: DocumentFrequency) -> DocumentFrequency:
    """The same table with n-grams of each order sorted by prefix and last word."""
    tree = frequency.tree
    new = np.empty(len(frequency), dtype=np.int64)
    prefix = tree.prefix.astype(np.int64)
    sorted_last, sorted_counts, sorted_prefix = [], [], []
    for order in range(ORDERS):
        own = slice(tree.starts[order], tree.starts[order + 1])
        before = np.full(own.stop - own.start, -1) if order == 0 else new[prefix[own]]
        by_prefix = np.lexsort((tree.last[own], before))
        new[own.start + by_prefix] = np.arange(own.start, own.stop)
        sorted_prefix.append(before[by_prefix])
        sorted_last.append(tree.last[own][by_prefix])
        sorted_counts.append(frequency.counts[own][by_prefix])
    ordered = NGramTree(
        tree.vocabulary,
        np.concatenate(sorted_prefix).astype(np.int32),
        np.concatenate(sorted_last).astype(np.int32),
        tree.starts,
    )
    counts = np.concatenate(sorted_counts).astype(np.int32)
    return DocumentFrequency(frequency.images, ordered, counts, frequency.source)


def read(file: str | Path) -> DocumentFrequency:
    """Read a table of either form."""
    file = Path(file)
    try:
        with file.open("rb") as stream:
            head = stream.read(4)
        if head[:2] == b"PK":
            return _read_compact(file)
        data = gzip.decompress(file.read_bytes()) if head[:2] == b"\x1f\x8b" else file.read_bytes()
        return from_counts(json.loads(data), str(file))
    except FileNotFoundError:
        raise InputError(
            f"`df={file}`: no such file; give corpus, coco-val, or a file of document frequencies"
        ) from None
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{file} is not a table of document frequencies ({error}); make one with `vericap df`"
        ) from error


def _read_compact(file: Path) -> DocumentFrequency:
    with np.load(file, allow_pickle=False) as data:
        starts, children = data["starts"].astype(np.int64), data["children"]
        roots = np.full(int(starts[1]), -1, dtype=np.int32)
        prefix = np.concatenate([roots, np.repeat(np.arange(len(children), dtype=np.int32), children)])
        words = data["vocabulary"].tobytes().decode("utf-8", "surrogatepass")
        tree = NGramTree(words.split("\n") if words else [], prefix, data["last"], starts)
        found = DocumentFrequency(int(data["images"]), tree, data["counts"], str(file))
    return _checked(found, str(file))


def from_counts(content: Any, where: str) -> DocumentFrequency:
    """A table from the JSON form."""
    if not isinstance(content, dict) or not isinstance(content.get("ngrams"), dict):
        raise InputError(f'{where}: expected {{"images": N, "ngrams": {{"a man": 12, ...}}}}')
    images = content.get("images")
    if not isinstance(images, int) or images < 1:
        raise InputError(f'{where}: "images" must be the number of images (1 or more), not {images!r}')
    numbers: dict[str, int] = {}
    levels: list[dict[tuple[int, int], int]] = [{} for _ in range(ORDERS)]  # (prefix, word) -> place in level
    counts: list[list[int]] = [[] for _ in range(ORDERS)]
    for text, count in content["ngrams"].items():
        words = text.split(" ")
        if not 1 <= len(words) <= ORDERS or not isinstance(count, int) or count < 0:
            raise InputError(f"{where}: {text!r}: {count!r} is not an n-gram of 1 to {ORDERS} words with a count")
        place = -1
        for order, word in enumerate(words):
            level = levels[order]
            key = (place, numbers.setdefault(word, len(numbers)))
            place = level.setdefault(key, len(level))
            if place == len(counts[order]):
                counts[order].append(0)
        counts[len(words) - 1][place] = count
    starts = np.concatenate([[0], np.cumsum([len(level) for level in levels])]).astype(np.int64)
    prefix = [p if p < 0 else p + int(starts[n - 1]) for n, level in enumerate(levels) for p, _ in level]
    tree = NGramTree(
        list(numbers),
        np.array(prefix, dtype=np.int32),
        np.array([word for level in levels for _, word in level], dtype=np.int32),
        starts,
    )
    flat = np.array([count for level in counts for count in level], dtype=np.int32)
    return _checked(DocumentFrequency(images, tree, flat, where), where)


def _checked(found: DocumentFrequency, where: str) -> DocumentFrequency:
    if len(found) and int(found.counts.max()) > found.images:
        raise InputError(f"{where}: an n-gram occurs in {int(found.counts.max())} images, but there are {found.images}")
    return found


def table(source: str) -> DocumentFrequency:
    """The table that `df=...` names: `coco-val`, which ships, or a file, which is read anew when it changed."""
    stamp = 0 if source == SHIPPED else _stamp(Path(source))
    return _table(source, stamp)


@lru_cache(maxsize=4)
def _table(source: str, stamp: int) -> DocumentFrequency:
    if source != SHIPPED:
        return read(source)
    found = _read_compact(shipped.path("coco-val-df", "coco-val.npz"))
    found.source = source
    return found


def _stamp(file: Path) -> int:
    return file.stat().st_mtime_ns if file.is_file() else 0

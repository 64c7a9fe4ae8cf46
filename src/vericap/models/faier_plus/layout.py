"""Textual graphs over the sentence encoder's word pieces: which pieces are words, which make up a relation.

A relation node is an attribute pair ("brown horse") or a triplet ("man ride horse") of the scene graph; its pieces
are those of the caption's words whose surface or base form is one of the node's words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from vericap.core.typing import Floats32, Ints, Ints32
from vericap.graphs.scene_graph import SceneGraph
from vericap.models.arrays import runs

MOST_NODES = 24  # relation nodes of one caption that are matched


@dataclass(frozen=True)
class CaptionLayout:
    """Pieces of one caption: those of words, and those of each relation node."""

    words: list[int]
    nodes: list[list[int]]


@lru_cache(maxsize=65536)
def forms(word: str) -> frozenset[str]:
    """A word with its base forms."""
    from vericap.text.wordnet import base_forms

    return frozenset((word, *base_forms(word)))


def words_of(text: str, spans: Ints32) -> Iterator[tuple[str, list[int]]]:
    """Words of a text with their pieces; pieces that touch belong together, marks and punctuation are left out."""
    word, places, end = "", list[int](), -1
    for place, (start, stop) in enumerate(spans.tolist()):
        piece = text[start:stop].lower()
        if stop <= start or not (piece.isalnum() or any(map(str.isalnum, piece))):
            continue
        if places and start == end:
            word += piece
            places.append(place)
        else:
            if places:
                yield word, places
            word, places = piece, [place]
        end = stop
    if places:
        yield word, places


def layout(text: str, spans: Ints32, graph: SceneGraph) -> CaptionLayout:
    """Where the nodes of a caption's graph are among its pieces."""
    found = list(words_of(text, spans))
    names = graph.objects
    claims: list[tuple[str, ...]] = [(attribute, names[o]) for o, attribute in graph.attributes]
    claims += [(names[s], relation, names[o]) for s, relation, o in graph.relations]
    nodes = []
    for claim in claims[:MOST_NODES]:
        wanted = {part for name in claim for part in name.split()}
        pieces = [place for word, places in found if forms(word) & wanted for place in places]
        if pieces:
            nodes.append(pieces)
    return CaptionLayout([place for _, places in found for place in places], nodes)


class PieceStates(Protocol):
    """NodeStates of word pieces, text after text: text i has rows offsets[i]:offsets[i + 1]."""

    @property
    def states(self) -> Any: ...

    @property
    def offsets(self) -> Any: ...


@dataclass(frozen=True)
class NodeStates:
    """What the nodes of some captions are made from, caption after caption."""

    words: Floats32  # (words' pieces, d)
    word_counts: Ints  # of each caption
    relations: Floats32  # (relation nodes, d): means over their pieces
    relation_counts: Ints
    means: Floats32  # (captions, d) over all pieces, marks included

    @classmethod
    def of(cls, texts: Ints, found: PieceStates, layouts: Sequence[CaptionLayout]) -> NodeStates:
        """NodeStates of some of the texts that have been read."""
        lengths = np.diff(found.offsets)[texts]
        starts = np.cumsum(lengths) - lengths
        states = found.states[runs(found.offsets[texts], lengths)].astype(np.float32)
        word_counts = _lengths(place.words for place in layouts)
        words = states[_joined(place.words for place in layouts) + np.repeat(starts, word_counts)]
        relation_counts = _lengths(place.nodes for place in layouts)
        sizes = _lengths(node for place in layouts for node in place.nodes)
        pieces = _joined(node for place in layouts for node in place.nodes)
        pieces += np.repeat(np.repeat(starts, relation_counts), sizes)
        means = _means(states, np.arange(len(states)), lengths)
        return cls(words, word_counts, _means(states, pieces, sizes), relation_counts, means)


def _lengths(lists: Iterable[Sequence[Any]]) -> Ints:
    return np.array([len(one) for one in lists], dtype=np.int64)


def _joined(lists: Iterable[Iterable[int]]) -> Ints:
    return np.fromiter(chain.from_iterable(lists), dtype=np.int64)


def _means(states: Floats32, pieces: Ints, counts: Ints) -> Floats32:
    """Means over the first counts[0] pieces, over the next counts[1], ... (np.add.reduceat takes ten times as long)."""
    shares = np.repeat(1.0 / counts, counts).astype(np.float32)
    ends = np.concatenate([[0], np.cumsum(counts)])
    return np.asarray(sparse.csr_matrix((shares, pieces, ends), shape=(len(counts), len(states))) @ states)

"""Textual graphs over the sentence encoder's word pieces: which pieces are words, which make up a relation.

A relation node is an attribute pair ("brown horse") or a triplet ("man ride horse") of the scene graph; its pieces
are those of the caption's words whose surface or base form is one of the node's words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from vericap.graphs.scene_graph import SceneGraph
from vericap.models.faier_plus import Texts
from vericap.text.encoder import WIDTH, TokenStates

Ints = NDArray[np.int64]
Spans = NDArray[np.int32]
MOST_NODES = 24  # relation nodes of one caption that are matched


@dataclass(frozen=True)
class Layout:
    """Pieces of one caption: those of words, and those of each relation node."""

    words: list[int]
    nodes: list[list[int]]
    names: list[str]  # of the nodes


@lru_cache(maxsize=65536)
def forms(word: str) -> frozenset[str]:
    """A word with its base forms."""
    from vericap.text.wordnet import base_forms

    return frozenset((word, *base_forms(word)))


def words_of(text: str, spans: Spans) -> Iterator[tuple[str, list[int]]]:
    """Words of a text with their pieces; pieces that touch belong together, marks and punctuation are left out."""
    word, places, end = "", list[int](), -1
    for place, (start, stop) in enumerate(spans.tolist()):
        piece = text[start:stop].lower()
        if stop <= start or not any(letter.isalnum() for letter in piece):
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


def layout(text: str, spans: Spans, graph: SceneGraph) -> Layout:
    """Where the nodes of a caption's graph are among its pieces."""
    found = list(words_of(text, spans))
    names = graph.objects
    claims: list[tuple[str, ...]] = [(attribute, names[o]) for o, attribute in graph.attributes]
    claims += [(names[s], relation, names[o]) for s, relation, o in graph.relations]
    nodes, kept = [], []
    for claim in claims[:MOST_NODES]:
        wanted = {part for name in claim for part in name.split()}
        pieces = [place for word, places in found if forms(word) & wanted for place in places]
        if pieces:
            nodes.append(pieces)
            kept.append(" ".join(claim))
    return Layout([place for _, places in found for place in places], nodes, kept)


def layouts(texts: Sequence[str], states: TokenStates, graphs: Sequence[SceneGraph]) -> list[Layout]:
    """Layouts of texts whose pieces have been read."""
    return [
        layout(text, states.spans[states.offsets[i] : states.offsets[i + 1]], graphs[i]) for i, text in enumerate(texts)
    ]


def padded(parts: Sequence[NDArray[np.float16]], places: Sequence[Layout], sentences: NDArray[np.float32]) -> Texts:
    """Captions of different lengths in one block of arrays."""
    longest = max((len(part) for part in parts), default=1)
    most = max((len(place.nodes) for place in places), default=0)
    states = np.zeros((len(parts), longest, WIDTH), dtype=np.float32)
    mask = np.zeros((len(parts), longest), dtype=bool)
    averages = np.zeros((len(parts), max(most, 1), longest), dtype=np.float32)
    for row, (part, place) in enumerate(zip(parts, places)):
        states[row, : len(part)] = part
        mask[row, place.words] = True
        for node, pieces in enumerate(place.nodes):
            averages[row, node, pieces] = 1.0 / len(pieces)
    return Texts(states, mask, averages, sentences)

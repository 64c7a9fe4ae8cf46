"""What FAIEr-plus learns from: regions, captions as graphs over word pieces, and copies with one claim changed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.typing import Array, Bools, Ints
from vericap.graphs.corruptions import Pools, corrupt
from vericap.graphs.scene_graph import SceneGraph
from vericap.models.faier_plus.layout import CaptionLayout, NodeStates, layout
from vericap.text.encoders import SentenceEncoder
from vericap.train import kept
from vericap.train.claims import ClaimTable
from vericap.train.data import Captioned, CaptionPlaces
from vericap.train.faier_plus.network import CaptionTensors

# How captions are changed: mostly a wrong object, which people mind most.
KINDS = ("object", "object", "object", "attribute", "relation", "number")


@dataclass
class CaptionStates:
    """Token states of captions with their layouts."""

    states: Array
    offsets: Ints
    layouts: list[CaptionLayout]

    def read(self, which: Ints) -> NodeStates:
        """Words and relation nodes of some captions."""
        return NodeStates.of(which, self, [self.layouts[int(i)] for i in which])


@dataclass
class FaierPlusSource:
    """Images with embedded regions, all captions' sentence vectors, and the captions that are read."""

    features: Array  # (n, regions, d)
    boxes: Any  # (n, regions, 4) shares of the image's sides: an array, or what reads its rows from a store
    sentences: Array  # (n, k, d)
    per_image: int
    captions: CaptionStates
    altered: CaptionStates  # one copy of every image's first caption
    altered_sentences: Array  # (n, d)
    changed_there: Bools  # whether a way to change it was found
    claims: ClaimTable | None = None  # for the teacher that compares claims
    there: CaptionPlaces | None = None  # where images have different numbers of captions
    mask: Bools | None = None  # (n, regions) which are there, where some are not

    def __len__(self) -> int:
        return len(self.sentences)

    @cached_property
    def places(self) -> CaptionPlaces:
        """All captions."""
        return self.there or CaptionPlaces.full(len(self), self.sentences.shape[1])

    @cached_property
    def read(self) -> CaptionPlaces:
        """Captions whose words are read."""
        return self.places.first(self.per_image)

    def inside(self, rows: slice | Ints) -> Bools:
        """(rows, regions): which are there."""
        mask = np.ones(self.features.shape[:2], dtype=bool) if self.mask is None else self.mask
        return mask[rows]

    def texts(self, captions: Ints) -> CaptionTensors:
        """Captions by number: image * per_image + k."""
        images, places = np.divmod(captions, self.per_image)
        return CaptionTensors.of(
            self.captions.read(captions), np.asarray(self.sentences[images, places], dtype=np.float32)
        )

    def changed(self, images: Ints) -> CaptionTensors:
        """The changed copies of some images' first captions."""
        sentences = np.asarray(self.altered_sentences[images], dtype=np.float32)
        return CaptionTensors.of(self.altered.read(images), sentences)


def source(
    data: Captioned,
    stored: kept.StoreFeatures,
    features: Array,
    folder: Path,
    name: str,
    encoder: SentenceEncoder,
    *,
    each: int,
    per_image: int,
    claims: ClaimTable | None = None,
    seed: int = 0,
    threads: int = 1,
) -> FaierPlusSource:
    """Read, parse and change the captions of some images; what is costly is kept in the folder.

    `each` captions of an image are known to the teacher, `per_image` are read word by word.
    """
    texts = data.texts(per_image)
    graphs = kept.graphs(texts, threads=threads)
    states, offsets = kept.token_states(data, folder, name, encoder, each=per_image, threads=threads)
    altered = changed_copies(data, [graphs[i * per_image] for i in range(len(data))], seed)
    copies = Captioned(data.keys, [[text or own[0]] for text, own in zip(altered, data.captions)])
    flat = copies.texts(1)
    changed = f"{name}-changed-{len(data)}"  # words to exchange come from all of them: fewer photos, other copies
    copy_states, copy_offsets = kept.token_states(copies, folder, changed, encoder, each=1, threads=threads)
    return FaierPlusSource(
        features,
        kept.StoreBoxes(stored),
        kept.sentences(data, folder, name, encoder, each=each, threads=threads),
        per_image,
        CaptionStates(states, offsets, _layouts(texts, graphs, encoder)),
        CaptionStates(copy_states, copy_offsets, _layouts(flat, kept.graphs(flat, threads=threads), encoder)),
        kept.sentences(copies, folder, changed, encoder, each=1, threads=threads)[:, 0],
        np.array([text is not None for text in altered]),
        claims,
        data.places(each),
        stored.mask,
    )


def changed_copies(data: Captioned, graphs: Sequence[SceneGraph], seed: int) -> list[str | None]:
    """The first caption of every image with one claim changed that none of its captions makes."""
    pools = Pools.of([own[0] for own in data.captions], graphs)
    found: list[str | None] = []
    for place, (own, graph) in enumerate(zip(data.captions, graphs)):
        draw = random.Random(f"{seed} {place}")
        kinds = [draw.choice(KINDS), "object"]  # not every caption has a number or an attribute
        tries = (corrupt(own[0], graph, kind, draw, avoid=own[1:], pools=pools) for kind in kinds)
        found.append(next((text for text in tries if text), None))
    return found


def _layouts(texts: Sequence[str], graphs: Sequence[SceneGraph], encoder: SentenceEncoder) -> list[CaptionLayout]:
    found: list[CaptionLayout] = []
    for start in range(0, len(texts), 4096):
        for place, cut in enumerate(encoder.cut(texts[start : start + 4096]), start):
            found.append(layout(texts[place], np.array(cut.offsets, dtype=np.int32).reshape(-1, 2), graphs[place]))
    return found

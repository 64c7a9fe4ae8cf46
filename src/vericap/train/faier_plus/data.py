"""What FAIEr-plus learns from: regions, captions as graphs over word pieces, and copies with one claim changed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vericap.core.typing import Array, Bools, Ints
from vericap.graphs.corruptions import Pools, corrupt
from vericap.graphs.scene_graph import SceneGraph
from vericap.models.faier_plus.layout import CaptionLayout, NodeStates, layout
from vericap.text import encoder
from vericap.train import kept
from vericap.train.claims import ClaimTable
from vericap.train.data import Captioned
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

    features: Array  # (n, regions, 384)
    sentences: Array  # (n, 5, 384)
    per_image: int
    captions: CaptionStates
    altered: CaptionStates  # one copy of every image's first caption
    changed_there: Bools  # whether a way to change it was found
    claims: ClaimTable | None = None  # for the teacher that compares claims

    def __len__(self) -> int:
        return len(self.sentences)

    def texts(self, captions: Ints) -> CaptionTensors:
        """Captions by number: image * per_image + k."""
        images, places = np.divmod(captions, self.per_image)
        return CaptionTensors.of(
            self.captions.read(captions), np.asarray(self.sentences[images, places], dtype=np.float32)
        )

    def changed(self, images: Ints) -> CaptionTensors:
        """The changed copies of some images' first captions."""
        states = self.altered.read(images)
        return CaptionTensors.of(states, encoder.normalise(encoder.normalise(states.means) - encoder.caption_mean()))


def source(
    data: Captioned,
    features: Array,
    folder: Path,
    name: str,
    *,
    per_image: int,
    claims: ClaimTable | None = None,
    seed: int = 0,
    threads: int = 1,
) -> FaierPlusSource:
    """Read, parse and change the captions of some images; what is costly is kept in the folder."""
    texts = [text for five in data.captions for text in five[:per_image]]
    graphs = kept.graphs(texts, threads=threads)
    states, offsets = kept.token_states(data, folder, name, per_image=per_image, threads=threads)
    altered = changed_copies(data, [graphs[i * per_image] for i in range(len(data))], seed)
    copies = Captioned(data.keys, [[text or five[0]] for text, five in zip(altered, data.captions)])
    flat = [five[0] for five in copies.captions]
    changed = f"{name}-changed-{len(data)}"  # words to exchange come from all of them: fewer photos, other copies
    copy_states, copy_offsets = kept.token_states(copies, folder, changed, per_image=1, threads=threads)
    return FaierPlusSource(
        features,
        kept.sentences(data, folder, name, threads=threads),
        per_image,
        CaptionStates(states, offsets, _layouts(texts, graphs)),
        CaptionStates(copy_states, copy_offsets, _layouts(flat, kept.graphs(flat, threads=threads))),
        np.array([text is not None for text in altered]),
        claims,
    )


def changed_copies(data: Captioned, graphs: Sequence[SceneGraph], seed: int) -> list[str | None]:
    """The first caption of every image with one claim changed that none of its captions makes."""
    pools = Pools.of([five[0] for five in data.captions], graphs)
    found: list[str | None] = []
    for place, (five, graph) in enumerate(zip(data.captions, graphs)):
        draw = random.Random(f"{seed} {place}")
        kinds = [draw.choice(KINDS), "object"]  # not every caption has a number or an attribute
        tries = (corrupt(five[0], graph, kind, draw, avoid=five[1:], pools=pools) for kind in kinds)
        found.append(next((text for text in tries if text), None))
    return found


def _layouts(texts: Sequence[str], graphs: Sequence[SceneGraph]) -> list[CaptionLayout]:
    found: list[CaptionLayout] = []
    for start in range(0, len(texts), 4096):
        for place, item in enumerate(encoder.tokenised(texts[start : start + 4096]), start):
            found.append(layout(texts[place], np.array(item.offsets, dtype=np.int32), graphs[place]))
    return found

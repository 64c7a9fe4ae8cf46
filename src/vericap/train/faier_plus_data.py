"""What FAIEr-plus learns from: regions, captions as graphs over word pieces, and copies with one claim changed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vericap.graphs.analysis import parse_texts
from vericap.graphs.scene_graph import SceneGraph
from vericap.models.faier_text import Layout, States, layout
from vericap.run.batch import Settings
from vericap.text import encoder
from vericap.text.corruptions import Pools, corrupt
from vericap.train import kept
from vericap.train.claims import Claims
from vericap.train.data import Captioned
from vericap.train.faier_plus import Block

Array = NDArray[Any]
Ints = NDArray[np.int64]
# How captions are changed: mostly a wrong object, which people mind most.
KINDS = ("object", "object", "object", "attribute", "relation", "number")


@dataclass
class Captions:
    """Token states of captions with their layouts."""

    states: Array
    offsets: Ints
    layouts: list[Layout]

    def read(self, which: Ints) -> States:
        """Words and relation nodes of some captions."""
        return States.of(which, self, [self.layouts[int(i)] for i in which])


@dataclass
class Source:
    """Images with embedded regions, all captions' sentence vectors, and the captions that are read."""

    features: Array  # (n, regions, 384)
    sentences: Array  # (n, 5, 384)
    per_image: int
    captions: Captions
    altered: Captions  # one copy of every image's first caption
    changed_there: NDArray[np.bool_]  # whether a way to change it was found
    claims: Claims | None = None  # for the teacher that compares claims

    def __len__(self) -> int:
        return len(self.sentences)

    def texts(self, captions: Ints) -> Block:
        """Captions by number: image * per_image + k."""
        images, places = np.divmod(captions, self.per_image)
        return Block.of(self.captions.read(captions), np.asarray(self.sentences[images, places], dtype=np.float32))

    def changed(self, images: Ints) -> Block:
        """The changed copies of some images' first captions."""
        states = self.altered.read(images)
        return Block.of(states, encoder.normalise(encoder.normalise(states.means) - encoder.caption_mean()))


def source(
    data: Captioned,
    features: Array,
    folder: Path,
    name: str,
    *,
    per_image: int,
    claims: Claims | None = None,
    seed: int = 0,
    threads: int = 1,
) -> Source:
    """Read, parse and change the captions of some images; what is costly is kept in the folder."""
    settings = Settings(workers=threads, progress=True)
    texts = [text for five in data.captions for text in five[:per_image]]
    graphs = parse_texts(texts, settings)
    states, offsets = kept.token_states(data, folder, name, per_image=per_image, threads=threads)
    altered = changed_copies(data, [graphs[i * per_image] for i in range(len(data))], seed)
    copies = Captioned(data.keys, [[text or five[0]] for text, five in zip(altered, data.captions)])
    flat = [five[0] for five in copies.captions]
    changed = f"{name}-changed-{len(data)}"  # words to exchange come from all of them: fewer photos, other copies
    copy_states, copy_offsets = kept.token_states(copies, folder, changed, per_image=1, threads=threads)
    return Source(
        features,
        kept.sentences(data, folder, name, threads=threads),
        per_image,
        Captions(states, offsets, _layouts(texts, graphs)),
        Captions(copy_states, copy_offsets, _layouts(flat, parse_texts(flat, settings))),
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


def _layouts(texts: Sequence[str], graphs: Sequence[SceneGraph]) -> list[Layout]:
    tokenizer = encoder._tokenizer()
    found: list[Layout] = []
    for start in range(0, len(texts), 4096):
        for place, item in enumerate(tokenizer.encode_batch(list(texts[start : start + 4096])), start):
            found.append(layout(texts[place], np.array(item.offsets, dtype=np.int32), graphs[place]))
    return found

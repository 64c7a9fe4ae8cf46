"""What captions say of photos, as entries of a vocabulary: objects, attributes, actions, and short phrases of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from vericap.core.typing import Floats32, Ints
from vericap.graphs.scene_graph import SceneGraph
from vericap.vision.caption_words import word_set

WORDS = ("object", "attribute", "action")  # single words; the other kinds are phrases
PHRASES = ("attribute object", "action object")
Entry = tuple[str, str]  # kind, text
# Relations that say where something is, not what it does.
_PLACES = word_set(
    """
    on atop upon onto over above across under beneath underneath below behind before in inside into within at through
    outside beside next near by along alongside close against around away off from out with without to toward towards of
    for about than like as and between among during after while have be top down up past throughout per beyond amid
    """
)


def said(graph: SceneGraph) -> set[Entry]:
    """Everything a caption says that may be seen in a region: "dog", "brown", "run", "brown dog", "hold umbrella"."""
    found: set[Entry] = {("object", name) for name in graph.objects}
    for place, attribute in graph.attributes:
        found |= {("attribute", attribute), ("attribute object", f"{attribute} {graph.objects[place]}")}
    for _, verb in graph.actions:
        found.add(("action", verb))
    for _, relation, place in graph.relations:
        verb = relation.split()[0]
        if verb not in _PLACES:
            found |= {("action", verb), ("action object", f"{relation} {graph.objects[place]}")}
    return found


@dataclass(frozen=True)
class Vocabulary:
    """Entries by number, the most frequent first."""

    entries: list[Entry]
    photos: list[int]  # that have a caption with the entry
    prior: list[float] = field(default_factory=list)  # the share of captions that say it

    def __len__(self) -> int:
        return len(self.entries)

    @classmethod
    def of(cls, told: Iterable[Sequence[SceneGraph]], *, words: int, phrases: int) -> Vocabulary:
        """Entries that enough photos have: at least `words` for single words, `phrases` for phrases."""
        counts = Counter(entry for graphs in told for entry in set().union(*map(said, graphs)))
        least = {**dict.fromkeys(WORDS, words), **dict.fromkeys(PHRASES, phrases)}
        kept = [(entry, count) for entry, count in counts.most_common() if count >= least[entry[0]]]
        return cls([entry for entry, _ in kept], [count for _, count in kept])


@dataclass(frozen=True)
class Said:
    """For every photo, the entries its captions say and the share of them that does: one photo after the other."""

    offsets: Ints  # (photos + 1,)
    entries: Ints
    shares: Floats32
    size: int

    @classmethod
    def of(cls, told: Iterable[Sequence[SceneGraph]], vocabulary: Vocabulary) -> Said:
        place = {entry: number for number, entry in enumerate(vocabulary.entries)}
        offsets, entries, shares = [0], [], []
        for graphs in told:
            counts = Counter(place[entry] for graph in graphs for entry in said(graph) if entry in place)
            entries += list(counts)
            shares += [count / max(len(graphs), 1) for count in counts.values()]
            offsets.append(len(entries))
        made = (np.array(offsets, np.int64), np.array(entries, np.int64), np.array(shares, np.float32))
        return cls(*made, len(vocabulary))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def own(self, row: int) -> Ints:
        """Entries said of one photo."""
        return self.entries[self.offsets[row] : self.offsets[row + 1]]

    def padded(self, rows: Ints) -> tuple[Ints, Floats32, Floats32]:
        """(photos, most): the entries said of photos (-1: no more), their shares, and 1 where there is one."""
        counts = self.offsets[rows + 1] - self.offsets[rows]
        most = max(int(counts.max(initial=0)), 1)
        there = np.arange(most) < counts[:, None]
        places = np.where(there, self.offsets[rows][:, None] + np.arange(most), 0)
        shares = np.where(there, self.shares[places], np.float32(0))
        return np.where(there, self.entries[places], -1), shares, there.astype(np.float32)

    def table(self, rows: Ints) -> Floats32:
        """(photos, entries): the share of a photo's captions that say each entry."""
        found = np.zeros((len(rows), self.size), dtype=np.float32)
        for place, row in enumerate(rows.tolist()):
            own = slice(self.offsets[row], self.offsets[row + 1])
            found[place, self.entries[own]] = self.shares[own]
        return found

    def mean(self) -> Floats32:
        """How often each entry is said: what is expected of a photo nobody has seen."""
        found = np.bincount(self.entries, weights=self.shares, minlength=self.size) / max(len(self), 1)
        return np.asarray(found, dtype=np.float32)


def told_by_photo(graphs: Sequence[SceneGraph], captions: Sequence[Sequence[str]]) -> Iterator[Sequence[SceneGraph]]:
    """Graphs of all captions, photo by photo."""
    done = 0
    for own in captions:
        yield [graphs[place] for place in range(done, done + len(own))]
        done += len(own)

"""Zero-pronoun completion (Algorithm 1 of the paper).

A relation without subject that points at an object takes the nearest noun upstream of another relation pointing at the
same object. Where there is none, and in instructions, the placeholder stays.
"""

from __future__ import annotations

from vericap.graphs.ja.lexicon import PLACE_WORDS
from vericap.graphs.ja.network import Network
from vericap.graphs.scene_graph import ZERO_PRONOUN as ZERO

_NOT_DEEDS = PLACE_WORDS | {"の"}

__all__ = ["ZERO", "complete"]


def complete(network: Network) -> None:
    """Give subjects to relations that lack one, in place."""
    if network.instruction:
        return
    for index, node in enumerate(network.nodes):
        if network.is_relation(index) and not node.into:
            subject = _subject(network, index)
            if subject is not None:
                network.edge(subject, index)


def _subject(network: Network, index: int) -> int | None:
    for target in network.nodes[index].out:
        for other in network.nodes[target].into:
            # の and place words join two nouns; what stands before them does nothing
            if other == index or not network.is_relation(other) or network.nodes[other].text in _NOT_DEEDS:
                continue
            found = network.nearest_noun(other)
            if found is not None and found not in network.nodes[index].out:
                return found
    return None

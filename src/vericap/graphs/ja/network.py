"""The graph while it is being built: nodes and edges, from which the tuples are read."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from vericap.graphs.scene_graph import ZERO_PRONOUN as ZERO  # the placeholder for a subject that is not said


@dataclass(slots=True)
class Node:
    text: str
    noun: bool
    out: list[int] = field(default_factory=list)
    into: list[int] = field(default_factory=list)


class Network:
    """Objects are one node per text; other nodes are one per mention."""

    def __init__(self, *, instruction: bool = False) -> None:
        self.instruction = instruction  # its missing subject is the one spoken to and stays missing
        self.nodes: list[Node] = []
        self._objects: dict[str, int] = {}

    def object(self, text: str) -> int:
        if text not in self._objects:
            self._objects[text] = len(self.nodes)
            self.nodes.append(Node(text, noun=True))
        return self._objects[text]

    def other(self, text: str) -> int:
        self.nodes.append(Node(text, noun=False))
        return len(self.nodes) - 1

    def edge(self, source: int, target: int) -> None:
        if source != target and target not in self.nodes[source].out:
            self.nodes[source].out.append(target)
            self.nodes[target].into.append(source)

    def attribute(self, noun: str, text: str) -> None:
        self.edge(self.object(noun), self.other(text))

    def relation(self, subject: str, text: str, target: str) -> None:
        node = self.other(text)
        self.edge(self.object(subject), node)
        self.edge(node, self.object(target))

    def is_relation(self, index: int) -> bool:
        return not self.nodes[index].noun and bool(self.nodes[index].out)

    def nearest_noun(self, index: int) -> int | None:
        """The noun fewest edges upstream of a node."""
        seen, queue = {index}, deque([index])
        while queue:
            for source in self.nodes[queue.popleft()].into:
                if self.nodes[source].noun:
                    return source
                if source not in seen:
                    seen.add(source)
                    queue.append(source)
        return None

    def tuples(self) -> list[tuple[str, ...]]:
        """(o), then (o, a), then (o, r, o'); a relation without subject has the placeholder there."""
        nodes = self.nodes
        found: list[tuple[str, ...]] = [(node.text,) for node in nodes if node.noun]
        for node in nodes:
            if not node.noun and not node.out:
                found += [(nodes[source].text, node.text) for source in node.into if nodes[source].noun]
        for node in nodes:
            if node.noun or not node.out:
                continue
            subjects = [nodes[source].text for source in node.into if nodes[source].noun] or [ZERO]
            targets = [nodes[target].text for target in node.out if nodes[target].noun]
            found += [(subject, node.text, target) for target in targets for subject in subjects]
        return list(dict.fromkeys(found))

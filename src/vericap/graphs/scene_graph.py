"""What a caption claims: objects, their attributes, and relations between them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

Tuple = tuple[str, ...]
OWN, FACTUAL = "vericap", "factual"
CONVENTIONS = (OWN, FACTUAL)  # how graphs are written
ZERO_PRONOUN = "[PHI]"  # stands for a subject nobody names (Japanese); part of relations, no object of its own


@dataclass(slots=True)
class SceneGraph:
    """Objects by name, each once; attributes and relations point at them by index.

    `actions` are verbs that are part of a relation with a preposition ("sit" of "sit on"): said of the object as
    well, but no tuples of their own unless asked for. `reason` says why a graph is empty.
    """

    objects: list[str] = field(default_factory=list)
    attributes: list[tuple[int, str]] = field(default_factory=list)
    relations: list[tuple[int, str, int]] = field(default_factory=list)
    reason: str = ""
    actions: list[tuple[int, str]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.objects)

    @classmethod
    def of(
        cls, tuples: Iterable[Iterable[str]], *, reason: str = "", actions: Iterable[tuple[str, str]] = ()
    ) -> SceneGraph:
        """A graph from tuples; objects that are named only inside a longer tuple are added."""
        graph = cls(reason=reason)
        places: dict[str, int] = {}

        def place(name: str) -> int:
            if name not in places:
                places[name] = len(graph.objects)
                graph.objects.append(name)
            return places[name]

        attributes: dict[tuple[int, str], None] = {}
        relations: dict[tuple[int, str, int], None] = {}
        for item in map(tuple, tuples):
            if len(item) == 1:
                place(item[0])
            elif len(item) == 2:
                attributes[place(item[0]), item[1]] = None
            elif len(item) == 3:
                relations[place(item[0]), item[1], place(item[2])] = None
            else:
                raise ValueError(f"a tuple has one, two or three parts, not {len(item)}: {item!r}")
        graph.attributes = list(attributes)
        graph.relations = list(relations)
        graph.actions = list(dict.fromkeys((place(name), verb) for name, verb in actions))
        return graph

    def tuples(self, *, actions: bool = False) -> list[Tuple]:
        """(object), (object, attribute), (subject, relation, object), each once.

        With `actions` also (object, verb) for verbs that are part of a relation.
        """
        names = self.objects
        found: list[Tuple] = [(name,) for name in names if name != ZERO_PRONOUN]
        found += [(names[o], attribute) for o, attribute in self.attributes]
        if actions and self.actions:
            known = set(self.attributes)
            found += [(names[o], verb) for o, verb in self.actions if (o, verb) not in known]
        found += [(names[s], relation, names[o]) for s, relation, o in self.relations]
        return found

    def triplets(self) -> list[str]:
        """Relations as phrases: "man ride horse"."""
        return [f"{self.objects[s]} {relation} {self.objects[o]}" for s, relation, o in self.relations]

    def phrases(self, *, full: bool = False) -> list[str]:
        """Every tuple as a short phrase for an encoder: "horse", "brown horse", "man ride horse".

        With `full`, relations name their objects with all attributes: "young man ride brown horse".
        """
        names = self.objects
        found = [*names, *(f"{attribute} {names[o]}" for o, attribute in self.attributes)]
        if not full:
            return found + self.triplets()
        whole = [" ".join((*own, name)) for own, name in zip(self._attributes_of(), names)]
        return found + [f"{whole[s]} {relation} {whole[o]}" for s, relation, o in self.relations]

    def _attributes_of(self) -> list[list[str]]:
        own: list[list[str]] = [[] for _ in self.objects]
        for place, attribute in self.attributes:
            own[place].append(attribute)
        return own

    def merge(self, *others: SceneGraph) -> SceneGraph:
        """One graph of what any of the graphs claims; objects of the same name become one."""
        graphs = (self, *others)
        reason = "" if any(graphs) else next((graph.reason for graph in graphs if graph.reason), "")
        actions = ((graph.objects[o], verb) for graph in graphs for o, verb in graph.actions)
        tuples = (item for graph in graphs for item in graph.tuples())
        return SceneGraph.of(tuples, reason=reason, actions=actions)

    def to_dict(self) -> dict[str, Any]:
        names = self.objects
        found: dict[str, Any] = {
            "objects": list(names),
            "attributes": [[names[o], attribute] for o, attribute in self.attributes],
            "relations": [[names[s], relation, names[o]] for s, relation, o in self.relations],
        }
        if self.actions:
            found["actions"] = [[names[o], verb] for o, verb in self.actions]
        if self.reason:
            found["reason"] = self.reason
        return found

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SceneGraph:
        def items() -> Iterator[Iterable[str]]:
            for name in data.get("objects", ()):
                yield (name,)
            yield from data.get("attributes", ())
            yield from data.get("relations", ())

        return cls.of(items(), reason=str(data.get("reason", "")), actions=data.get("actions", ()))

    def to_json(self, *, indent: int | None = None) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> SceneGraph:
        return cls.from_dict(json.loads(text))

    def pack(self) -> bytes:
        """Compact form for the cache; `unpack` is its inverse."""
        fields = [self.objects, self.attributes, self.relations, self.reason, self.actions]
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8")

    @classmethod
    def unpack(cls, data: bytes) -> SceneGraph:
        objects, attributes, relations, reason, actions = json.loads(data)
        return cls(
            objects,
            [(o, text) for o, text in attributes],
            [(s, text, o) for s, text, o in relations],
            reason,
            [(o, text) for o, text in actions],
        )

    def draw(self, *, title: str = "") -> str:
        """The graph as an SVG picture: objects, attributes and relations in three colours."""
        from vericap.graphs.drawing import draw

        return draw(self, title=title)


class PackedGraphs(Sequence[SceneGraph]):
    """Scene graphs of many texts in packed form (some 150 bytes each), unpacked when asked for."""

    def __init__(self, packed: list[bytes]) -> None:
        self._packed = packed

    def __len__(self) -> int:
        return len(self._packed)

    @overload
    def __getitem__(self, place: int) -> SceneGraph: ...
    @overload
    def __getitem__(self, place: slice) -> PackedGraphs: ...
    def __getitem__(self, place: int | slice) -> SceneGraph | PackedGraphs:
        if isinstance(place, slice):
            return PackedGraphs(self._packed[place])
        return SceneGraph.unpack(self._packed[place])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

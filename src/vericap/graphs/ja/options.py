"""How Japanese graphs are made: the switches of JaSPICE that change tuples."""

from __future__ import annotations

from dataclasses import dataclass, fields

from vericap.core.errors import InputError

STRUCTURES = ("pas", "dependencies")
RULES = ("vericap", "paper")


@dataclass(frozen=True)
class GraphOptions:
    """Switches of the Japanese parser; the default is what `jaspice` uses.

    Parameters
    ----------
    structure : "pas" (predicate-argument structure) or "dependencies" (the parser's heads and overt cases only).
    rules : "vericap", or "paper": as published, where a place noun loses its owner, a passive equals its active, a
        source equals a goal, and things of one name are one thing.
    zero : fill subjects that are not said (the paper's Algorithm 1).
    negation : a negated predicate is another word (入らない); otherwise negation is ignored, as in the paper.

    >>> str(GraphOptions(rules="paper", negation=False))
    'rules=paper,negation=no'
    >>> GraphOptions.read("rules=paper,negation=no") == GraphOptions(rules="paper", negation=False)
    True
    """

    structure: str = "pas"
    rules: str = "vericap"
    zero: bool = True
    negation: bool = True

    def __post_init__(self) -> None:
        for name, value, known in (("structure", self.structure, STRUCTURES), ("rules", self.rules, RULES)):
            if value not in known:
                raise InputError(f"`{name}={value}` is not known for Japanese graphs; choose one of {', '.join(known)}")

    def __str__(self) -> str:
        changed = {field.name: getattr(self, field.name) for field in fields(self)}
        defaults = {field.name: field.default for field in fields(self)}
        said = {True: "yes", False: "no"}
        return ",".join(
            f"{name}={said.get(value, value)}" for name, value in changed.items() if value != defaults[name]
        )

    @classmethod
    def read(cls, text: str) -> GraphOptions:
        """The options that `str` wrote."""
        said: dict[str, str | bool] = {"yes": True, "no": False}
        parts = {name: said.get(value, value) for name, _, value in (p.partition("=") for p in text.split(",") if p)}
        unknown = sorted(parts.keys() - {field.name for field in fields(cls)})
        if unknown:
            known = ", ".join(field.name for field in fields(cls))
            raise InputError(f"Japanese graphs have no switch '{unknown[0]}'; there are {known}")
        return cls(**parts)  # type: ignore[arg-type]


DEFAULT = GraphOptions()
PAPER = GraphOptions(rules="paper", negation=False)

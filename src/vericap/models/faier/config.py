"""What decides the shape of a FAIEr network."""

from __future__ import annotations

from dataclasses import dataclass

from vericap.core.errors import VericapError

VARIANTS = ("faier", "faier-norel", "fier", "aier", "fier+aier")
UNKNOWN = "<unknown>"
EMPTY = "."  # the reference of an image without references


@dataclass(frozen=True)
class FaierConfig:
    """Widths, variant and similarity of one network, and the region features it reads."""

    width: int  # of the region features
    d: int = 512
    words: int = 300
    variant: str = "faier"
    similarity: str = "dot"
    regions: int = 0  # of an image at most, in training; 0 where an earlier version did not say
    fingerprint: str = ""  # of the region features it was trained on

    @property
    def levels(self) -> tuple[str, ...]:
        return ("object",) if self.variant == "faier-norel" else ("object", "relation")

    @property
    def fuses(self) -> bool:
        """Are image and references one graph?"""
        return self.variant in ("faier", "faier-norel")

    @property
    def looks(self) -> bool:
        """Is the image read?"""
        return self.variant != "aier"

    @property
    def listens(self) -> bool:
        """Are references read?"""
        return self.variant != "fier"

    @property
    def merges(self) -> bool:
        """Are image and references matched apart and added up?"""
        return self.variant == "fier+aier"

    def shapes(self, vocabulary: int) -> dict[str, tuple[int, ...]]:
        """Every parameter of the network."""
        d, relation = self.d, "relation" in self.levels
        found: dict[str, tuple[int, ...]] = {"embedding.weight": (vocabulary, self.words)}
        for reader in ("words", "triplets")[: 1 + relation]:
            for way in ("", "_reverse"):
                found.update(_gru_shapes(reader, self.words, d // 2, way))
        if self.looks:
            found.update({"visual.0.weight": (d, self.width), "visual.0.bias": (d,)})
            found.update({"visual.2.weight": (d, d), "visual.2.bias": (d,)})
            found.update({"offset.weight": (1, 4), "relation.weight": (d, d)} if relation else {})
        for level in self.levels:
            if self.fuses:
                found.update({f"attention.{level}.weight": (1, d), **_gru_shapes(f"memory.{level}", d, d)})
                found.update({f"union.{level}.weight": (d, 2 * d), f"union.{level}.bias": (d,)})
            if self.merges:
                found[f"merge.{level}.weight"] = (1, 2)
        return found

    def check(self) -> None:
        if self.variant not in VARIANTS:
            raise VericapError(f"FAIEr variant '{self.variant}' is not one of {', '.join(VARIANTS)}")
        if self.similarity not in ("dot", "cosine"):
            raise VericapError(f"FAIEr similarity '{self.similarity}' is not one of dot, cosine")
        if self.d < 2 or self.d % 2:
            raise VericapError(f"FAIEr's d is {self.d}; both directions of the GRU share it, so it must be even")


def _gru_shapes(name: str, inputs: int, hidden: int, way: str = "") -> dict[str, tuple[int, ...]]:
    sizes = {"weight_ih": (3 * hidden, inputs), "weight_hh": (3 * hidden, hidden)}
    return {f"{name}.{part}_l0{way}": sizes.get(part, (3 * hidden,)) for part in (*sizes, "bias_ih", "bias_hh")}

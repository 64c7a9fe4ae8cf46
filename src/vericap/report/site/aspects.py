"""Which question a metric answers, and whose evidence counts first where several metrics judge a word."""

from __future__ import annotations

from collections.abc import Iterable

# The verdict's own columns stand first where they are there.
FIDELITY = (
    "fidelity", "chair", "chair-s", "vifidel", "reo-relevance", "reo-extraness", "faier-plus", "faier", "vse", "tiger",
    "clipscore", "refclipscore",
)  # fmt: skip
ADEQUACY = ("adequacy", "reo-omission", "chair-recall")
FLUENCY = ("fluency", "lm")
ASPECTS = {"verdict": ("verdict",), "fidelity": FIDELITY, "adequacy": ADEQUACY, "fluency": FLUENCY}
OTHER = "references"  # nearness to the references, and all else

# Whose word evidence is believed first: those that decide, then those that grade, then those that look for the same
# words in the references. A word that no reference has need not be wrong.
SURE = ("verdict", "fidelity", "chair", "chair-s")  # they decide between supported and not
WHOLE = ("verdict", "fidelity")  # of these, those that judge every word that a photo can bear out
JUDGES = ("faier-plus", "reo-relevance", "reo-extraness", "vifidel", "faier")
READERS = (
    "jaspice-plus", "jaspice", "spice-soft", "spice", "meteor", "cider-d", "cider", "rouge-l", "bleu-4", "bleu-1",
)  # fmt: skip
OMISSIONS = (
    "verdict", "adequacy", "reo-omission", "reo-relevance", "jaspice-plus", "jaspice", "spice-soft", "spice", "meteor",
    "cider-d", "cider",
)  # fmt: skip


def aspect(name: str) -> str:
    """The question a metric answers: verdict, fidelity, adequacy, fluency or references."""
    return next((kind for kind, names in ASPECTS.items() if name in names), OTHER)


def ordered(names: Iterable[str], order: tuple[str, ...]) -> list[str]:
    """Those of the names that stand in an order, in that order; names may carry options (`vifidel:p=1`)."""
    own = list(names)
    return [name for wanted in order for name in own if name.partition(":")[0] == wanted]

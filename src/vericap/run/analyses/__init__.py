"""The analyses of the product: typed keys with what makes their values."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vericap.core.analysis import Analysis
    from vericap.run.analyses.clip import ClipImages as ClipImages
    from vericap.run.analyses.clip import ClipTexts as ClipTexts
    from vericap.run.analyses.faults import PhotoFaults as PhotoFaults
    from vericap.run.analyses.fluency import Fluency as Fluency
    from vericap.run.analyses.fluency import FluencyWeights as FluencyWeights
    from vericap.run.analyses.graphs import Graphs as Graphs
    from vericap.run.analyses.graphs import KnpGraphs as KnpGraphs
    from vericap.run.analyses.graphs import PhraseVectors as PhraseVectors
    from vericap.run.analyses.grounding import Grounding as Grounding
    from vericap.run.analyses.grounding import RegionVectors as RegionVectors
    from vericap.run.analyses.grounding import ScanRegions as ScanRegions
    from vericap.run.analyses.grounding import ScanWords as ScanWords
    from vericap.run.analyses.grounding import WordMeanings as WordMeanings
    from vericap.run.analyses.japanese import TuplePhrases as TuplePhrases
    from vericap.run.analyses.language import LanguageModelScores as LanguageModelScores
    from vericap.run.analyses.meteor import MeteorTexts as MeteorTexts
    from vericap.run.analyses.models import FaierPlusWeights as FaierPlusWeights
    from vericap.run.analyses.models import FaierWeights as FaierWeights
    from vericap.run.analyses.models import LearnToEvalWeights as LearnToEvalWeights
    from vericap.run.analyses.models import ScanWeights as ScanWeights
    from vericap.run.analyses.models import VseWeights as VseWeights
    from vericap.run.analyses.objects import Annotations as Annotations
    from vericap.run.analyses.objects import Detections as Detections
    from vericap.run.analyses.objects import Objects as Objects
    from vericap.run.analyses.objects import SeenObjects as SeenObjects
    from vericap.run.analyses.regions import PhotoRegions as PhotoRegions
    from vericap.run.analyses.regions import Regions as Regions
    from vericap.run.analyses.sentences import Sentences as Sentences
    from vericap.run.analyses.sentences import TokenStates as TokenStates
    from vericap.run.analyses.tokens import BleuCounts as BleuCounts
    from vericap.run.analyses.tokens import NGrams as NGrams
    from vericap.run.analyses.tokens import Tokens as Tokens
    from vericap.run.analyses.words import ObjectWords as ObjectWords
    from vericap.run.analyses.words import WordSpace as WordSpace

GROUP = "vericap.analyses"  # entry points of other packages

# Module -> its keys. A module is imported when a key of it is first asked for: BLEU must not wait for the detector.
_HOMES = {
    "clip": ("ClipImages", "ClipTexts"),
    "faults": ("PhotoFaults",),
    "fluency": ("Fluency", "FluencyWeights"),
    "graphs": ("Graphs", "KnpGraphs", "PhraseVectors"),
    "grounding": ("Grounding", "RegionVectors", "ScanRegions", "ScanWords", "WordMeanings"),
    "japanese": ("TuplePhrases",),
    "language": ("LanguageModelScores",),
    "meteor": ("MeteorTexts",),
    "models": ("FaierPlusWeights", "FaierWeights", "LearnToEvalWeights", "ScanWeights", "VseWeights"),
    "objects": ("Annotations", "Detections", "Objects", "SeenObjects"),
    "regions": ("PhotoRegions", "Regions"),
    "sentences": ("Sentences", "TokenStates"),
    "tokens": ("BleuCounts", "NGrams", "Tokens"),
    "visual_words": ("VisualWords", "VisualWordsWeights"),
    "words": ("ObjectWords", "WordSpace"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Annotations",
    "BleuCounts",
    "ClipImages",
    "ClipTexts",
    "Detections",
    "FaierPlusWeights",
    "FaierWeights",
    "Fluency",
    "FluencyWeights",
    "Graphs",
    "Grounding",
    "KnpGraphs",
    "LanguageModelScores",
    "LearnToEvalWeights",
    "MeteorTexts",
    "NGrams",
    "ObjectWords",
    "Objects",
    "PhotoFaults",
    "PhotoRegions",
    "PhraseVectors",
    "RegionVectors",
    "Regions",
    "ScanRegions",
    "ScanWeights",
    "ScanWords",
    "SeenObjects",
    "Sentences",
    "TokenStates",
    "Tokens",
    "TuplePhrases",
    "VisualWords",
    "VisualWordsWeights",
    "VseWeights",
    "WordMeanings",
    "WordSpace",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return found


def known() -> dict[str, type[Analysis[Any]]]:
    """All analyses by name: ours, and those of other packages (entry points `vericap.analyses`)."""
    from importlib.metadata import entry_points

    found: dict[str, type[Analysis[Any]]] = {name: __getattr__(name) for name in __all__}
    for point in entry_points(group=GROUP):
        key = point.load()
        found[key.__name__] = key
    return found

"""Which function makes which analysis. Providers are imported when first asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from vericap.errors import UnknownName

PROVIDERS: dict[str, str] = {
    "tokens": "vericap.text.tokens:analyse",
    "ngrams": "vericap.text.ngrams:analyse",
    "bleu_counts": "vericap.metrics.bleu:analyse",
    "graphs": "vericap.graphs.analysis:analyse",
    "sentences": "vericap.text.encoder:analyse_sentences",
    "token_states": "vericap.text.encoder:analyse_token_states",
    "objects": "vericap.vision.objects:analyse",
    "regions": "vericap.vision.regions:analyse",
}


def provider(name: str) -> Callable[[Any], Any]:
    """The function(batch) -> analysis of that name."""
    try:
        module, function = PROVIDERS[name].split(":")
    except KeyError:
        raise UnknownName(f"no analysis is called '{name}'; there are: {', '.join(PROVIDERS)}") from None
    found: Callable[[Any], Any] = getattr(import_module(module), function)
    return found

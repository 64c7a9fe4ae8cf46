"""How well does a metric agree with people? Judgement data sets, protocols, statistics, published values.

from vericap.meta import evaluate
print(evaluate("flickr8k-expert", ["cider-d", my_function]).table().text())
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vericap.meta.agreement import correlation as correlation
    from vericap.meta.breakdowns import detail_tables as detail_tables
    from vericap.meta.catalogue import load as load
    from vericap.meta.evaluation import evaluate as evaluate
    from vericap.meta.evaluation import evaluate_each as evaluate_each
    from vericap.meta.external import read_scores as read_scores
    from vericap.meta.failure_cases import failures as failures
    from vericap.meta.gaps import meaning as meaning
    from vericap.meta.human import human_ceiling as human_ceiling
    from vericap.meta.human import human_machine as human_machine
    from vericap.meta.parsing import evaluate_parser as evaluate_parser
    from vericap.meta.protocols import Protocol as Protocol
    from vericap.meta.ranking import rank_systems as rank_systems
    from vericap.meta.retrieval import recalls as recalls
    from vericap.meta.retrieval import retrieve as retrieve
    from vericap.meta.spans import evaluate_spans as evaluate_spans
    from vericap.meta.verification import verify as verify

_HOMES = {
    "correlation": "agreement",
    "detail_tables": "breakdowns",
    "load": "catalogue",
    "evaluate": "evaluation",
    "evaluate_each": "evaluation",
    "evaluate_parser": "parsing",
    "evaluate_spans": "spans",
    "failures": "failure_cases",
    "meaning": "gaps",
    "human_ceiling": "human",
    "human_machine": "human",
    "Protocol": "protocols",
    "rank_systems": "ranking",
    "read_scores": "external",
    "recalls": "retrieval",
    "retrieve": "retrieval",
    "verify": "verification",
}

__all__ = [
    "Protocol",
    "correlation",
    "detail_tables",
    "evaluate",
    "evaluate_each",
    "evaluate_parser",
    "evaluate_spans",
    "failures",
    "human_ceiling",
    "human_machine",
    "load",
    "meaning",
    "rank_systems",
    "read_scores",
    "recalls",
    "retrieve",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"vericap.meta.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'vericap.meta' has no attribute '{name}'")

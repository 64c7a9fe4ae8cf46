"""REO: relevance, extraness and omission."""

from vericap.metrics.reo.metric import Extraness, Omission, Relevance

__all__ = ["Extraness", "Omission", "Relevance"]

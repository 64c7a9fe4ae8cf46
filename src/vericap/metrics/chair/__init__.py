"""CHAIR (Rohrbach et al. 2018): the share of mentioned objects that are not in the image; and recall beside it."""

from vericap.metrics.chair.metric import Chair, ChairRecall, ChairS

__all__ = ["Chair", "ChairRecall", "ChairS"]

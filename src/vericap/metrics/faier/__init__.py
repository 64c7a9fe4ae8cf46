"""FAIEr as published: does the caption hold true of the image, and does it say what people would say?"""

from vericap.metrics.faier.metric import Faier

__all__ = ["Faier"]

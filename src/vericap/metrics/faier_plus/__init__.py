"""FAIEr-plus: is the caption true to the image, and does it say what the references say?"""

from vericap.metrics.faier_plus.metric import FaierPlus

__all__ = ["FaierPlus"]

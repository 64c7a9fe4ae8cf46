"""VIFIDEL (Madhyastha, Wang and Specia 2019): are the words of a caption near the objects of its image?"""

from vericap.metrics.vifidel.metric import Vifidel

__all__ = ["Vifidel"]

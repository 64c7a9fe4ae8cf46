"""FAIEr without torch: configuration, network, and the network over many images at once."""

from vericap.models.faier.config import EMPTY, UNKNOWN, VARIANTS, FaierConfig
from vericap.models.faier.network import CaptionNodes, FaierModel, Sides, load, reading

__all__ = ["EMPTY", "UNKNOWN", "VARIANTS", "CaptionNodes", "FaierConfig", "FaierModel", "Sides", "load", "reading"]

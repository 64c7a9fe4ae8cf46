"""FAIEr-plus without torch: network, layout of captions over word pieces, and scores from arrays."""

from vericap.models.faier_plus.network import CLAIMS, LEVELS, PARTS, FaierPlusModel, WeightedNodes, load

__all__ = ["CLAIMS", "LEVELS", "PARTS", "FaierPlusModel", "WeightedNodes", "load"]

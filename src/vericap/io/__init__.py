"""Readers and writers; nothing else touches file formats."""

from vericap.io.load import Loaded, load, load_systems
from vericap.io.write import write_result

__all__ = ["Loaded", "load", "load_systems", "write_result"]

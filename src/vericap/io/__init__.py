"""Readers and writers; nothing else touches file formats."""

from vericap.io.load import Loaded, load, load_systems
from vericap.io.records import Fields
from vericap.io.stream import Input, Records, open_input
from vericap.io.write import check_output, open_writer, write_result

__all__ = [
    "Fields",
    "Input",
    "Loaded",
    "Records",
    "check_output",
    "load",
    "load_systems",
    "open_input",
    "open_writer",
    "write_result",
]

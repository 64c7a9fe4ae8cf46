"""Messages of the library name arguments; the command line says them as options."""

from __future__ import annotations

import pytest

from vericap.cli import flags


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("give `images=DIR`", "give --images DIR"),
        ("give `flickr8k=DIR`", "give --flickr8k DIR"),
        ("give `data_folder=DIR`", "give --data-folder DIR"),
        ("the code `x` stays", "the code `x` stays"),
    ],
)
def test_arguments_are_said_as_options(said: str, told: str) -> None:
    assert flags(said) == told

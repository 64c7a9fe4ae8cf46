"""What a model's meta file says of it: whether its regions point better than chance."""

from __future__ import annotations

import pytest

from vericap.models.described import points


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"right": 0.6, "chance": 0.3, "cases": 500}, True),
        ({"right": 0.3, "chance": 0.3, "cases": 500}, False),
        ({"right": 0.34, "chance": 0.3, "cases": 500}, False),  # a standard error is .021
        ({"right": 0.35, "chance": 0.3, "cases": 500}, True),
        ({"right": 0.6, "chance": 0.3, "cases": 5}, False),
        ({"right": 0.0, "chance": 0.0, "cases": 0}, False),
    ],
)
def test_two_standard_errors_above_chance(found: dict[str, float], expected: bool) -> None:
    assert points({"pointing": {"attention": found}}, "attention") is expected


def test_a_game_that_was_not_played_counts_as_chance() -> None:
    assert not points({}, "attention")
    assert not points({"pointing": {"candidate": {"right": 0.9, "chance": 0.1, "cases": 900}}}, "references")

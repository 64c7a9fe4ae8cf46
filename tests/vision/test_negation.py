"""Objects that an English caption says are not there."""

from __future__ import annotations

import pytest

from vericap.vision.mentions import mentions


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        ("There isn't a dog on the grass.", []),
        ("there isn’t a dog", []),
        ("neither a dog nor a cat", []),
        ("a street with no cars or people", []),
        ("no cars, trucks, or people are visible", []),
        ("There are no cars, people walk.", ["person"]),
        ("The street is empty, with no other people or cars.", []),
        ("a man not wearing a tie", ["person"]),
        ("not only a dog but also a cat", ["dog", "cat"]),
        ("no one riding a horse", ["horse"]),
        ("no man riding the horse", ["horse"]),
        ("The dog isn't on the couch", ["dog", "couch"]),
        ("a table, but the chairs are missing", ["dining table"]),
        ("people are not visible, a bus is", ["bus"]),
        ("never a train", []),
        ("a photo without any people in it but a bus", ["bus"]),
        # a negation covers what it governs, and nothing behind that
        ("A man without a hat holds a cat", ["person", "cat"]),
        ("a man with no shirt rides a horse", ["person", "horse"]),
        ("a man with no shirt riding horses", ["person", "horse"]),
        ("a boy without shoes holds cats", ["person", "cat"]),
        ("a man without a hat holding a cat", ["person", "cat"]),
        ("a man not smiling holds a cat", ["person", "cat"]),
        ("the dog that isn't barking chases a cat", ["dog", "cat"]),
        ("a man without any hat on a horse", ["person", "horse"]),
        ("a man without a hat or tie", ["person"]),
        ("a man without a hat, a scarf or a tie", ["person"]),
        ("a woman with no hat or red umbrella", ["person"]),
        ("a man without a hat or gloves holds a cat", ["person", "cat"]),
        ("a man without a tie or a hat holds a cat", ["person", "cat"]),
        ("no big red cars", []),
        ("not a car", []),
        ("not a single big car", []),
        ("a man not currently wearing a tie", ["person"]),
        ("a boy without wearing a tie", ["person"]),
        ("The man does not have a dog", ["person"]),
        ("the yard doesn't have any dogs", []),
        ("a man who is not here has a dog", ["person", "dog"]),
        ("zero dangerous bears", []),
    ],
)
def test_a_negation_covers_what_it_governs(caption: str, expected: list[str]) -> None:
    assert [mention.classes[0] for mention in mentions(caption)] == expected

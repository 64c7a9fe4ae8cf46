from __future__ import annotations

import pytest

from vericap.text.sentences import sentence_spans


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A dog.", ["A dog."]),
        ("A dog", ["A dog"]),
        ("A dog. A cat!  Is it?", ["A dog.", "A cat!", "Is it?"]),
        ("Dr. Hill and Mrs. Ray. They walk.", ["Dr. Hill and Mrs. Ray.", "They walk."]),
        ("J. R. Smith rides. He wins.", ["J. R. Smith rides.", "He wins."]),
        ("It is 3.5 m wide. Yes.", ["It is 3.5 m wide.", "Yes."]),
        ('He says "go." Then he goes.', ['He says "go."', "Then he goes."]),
        ("one line\nanother line", ["one line", "another line"]),
        ("plan A. then I. too", ["plan A.", "then I.", "too"]),
        ("Yes. No. No. 5 is red.", ["Yes.", "No.", "No. 5 is red."]),
        ("It is 5 p.m. in town. He waits.", ["It is 5 p.m. in town.", "He waits."]),
        (" ... !", []),
        ("", []),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, found: list[str]) -> None:
    assert cut(text) == found


def test_nothing_of_a_long_text_is_lost() -> None:
    text = " ".join(f"Sentence {number} has a dog." for number in range(300))
    assert " ".join(cut(text)) == text

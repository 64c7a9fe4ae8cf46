"""The three questions of the product, each with the meaning of its five steps.

Every step is a sentence, so that a 3 means the same to everybody. The hints keep the questions apart: an invented dog
counts against fidelity alone, a dog left out against adequacy alone.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from vericap.core.errors import UnknownName

SCALE = (1, 5)


@dataclass(frozen=True)
class Question:
    """What a rater is asked, and what the answers 1, 2, 3, 4, 5 mean."""

    name: str
    text: str
    hint: str
    steps: tuple[str, ...]


_ALL = (
    Question(
        "fidelity",
        "Is the caption true to the image?",
        "Judge what it says, not what it leaves out.",
        (
            "False: it describes something else",
            "Mostly false: the main thing is wrong or made up",
            "Half true: the main thing is right, another one is wrong",
            "Nearly true: only a small detail is wrong or cannot be seen",
            "True: all that it says can be seen",
        ),
    ),
    Question(
        "adequacy",
        "Does it say what matters?",
        "Judge what it leaves out, not what it gets wrong.",
        (
            "Nothing that matters is said",
            "Little: the main thing is missing",
            "Some: the main thing is there, others are missing",
            "Nearly all: only something small is missing",
            "All that matters is said",
        ),
    ),
    Question(
        "fluency",
        "Does it read well?",
        "Judge the language alone, as if you had not seen the image.",
        (
            "It cannot be understood",
            "Hard to read: many mistakes, words repeated or the end cut off",
            "Understandable, with clear mistakes",
            "Good, with a small slip or a clumsy phrase",
            "As a careful person would write it",
        ),
    ),
)
QUESTIONS = {question.name: question for question in _ALL}


def questions_of(names: str | Iterable[str]) -> tuple[Question, ...]:
    """Questions by name, in the order asked for, each once.

    >>> [question.text for question in questions_of("fluency")]
    ['Does it read well?']
    """
    wanted = names.split(",") if isinstance(names, str) else list(names)
    wanted = [name.strip() for name in wanted if name.strip()]
    if not wanted:
        raise UnknownName(f"no question is named (there are: {', '.join(QUESTIONS)})")
    for name in wanted:
        if name not in QUESTIONS:
            near = difflib.get_close_matches(name, QUESTIONS, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise UnknownName(f"no question is called '{name}'{hint} (there are: {', '.join(QUESTIONS)})")
    return tuple(QUESTIONS[name] for name in dict.fromkeys(wanted))

"""What a metric must beat: rows that read neither the references nor the image.

Long captions, or the first of two, are often the better ones for reasons of the data set. A metric that is no better
than its length has shown nothing. Baselines stand below the metrics of every table, in parentheses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vericap.core.typing import Floats
from vericap.meta.judgements import Pairs
from vericap.meta.task import Task
from vericap.text.stopwords import is_content

if TYPE_CHECKING:
    from vericap.meta.evaluation import Agreements, Line

WORDS, CHARACTERS, CONTENT = "(words)", "(characters)", "(content words)"
RANDOM, FIRST, PLACE = "(random)", "(always the first)", "(place)"
NOTE = (
    "In parentheses: baselines, which see neither references nor image; more words, or an earlier place, score higher."
)
IN_ORDER = ("faithscore",)  # rated passages of one text, in the order in which they stand there


def baseline_scores(task: Task) -> dict[str, Floats]:
    """Scores of every baseline in the form of `Task.scores`, by name."""
    samples = task.samples(0)
    texts = [sample.candidate for sample in samples]
    if task.data.lang == "ja":
        found = {CHARACTERS: [float(len(text)) for text in texts]}  # words are not written apart
    else:
        found = {WORDS: [float(count_words(text)) for text in texts], CONTENT: [_content(text) for text in texts]}
    found[RANDOM] = np.random.default_rng(task.seed).random(len(texts)).tolist()
    # Where the layout itself puts the better caption first (people against machines), its place says nothing.
    if isinstance(task.data, Pairs) and len(np.unique(task.judgement)) > 1:
        found[FIRST] = [1.0] * len(task.rows) + [0.0] * len(task.rows)
    if task.data.name in IN_ORDER:
        found[PLACE] = place_scores([task.data.images[row] for row in task.rows]).tolist()
    return {name: task.scores(np.array(values)) for name, values in found.items()}


def place_scores(texts: Sequence[str]) -> Floats:
    """Earlier passages of a text score higher: long descriptions go wrong towards their end.

    `texts` names the text that each passage stands in, in order.
    """
    seen: dict[str, int] = {}
    places = []
    for text in texts:
        places.append(-float(seen.get(text, 0)))
        seen[text] = seen.get(text, 0) + 1
    return np.array(places)


def count_words(text: str) -> int:
    """Words as a person counts them."""
    return len(text.split())


def _content(text: str) -> float:
    return float(sum(is_content(word.strip(".,;:!?\"'()").lower()) for word in text.split()))


def baseline_lines(found: Agreements) -> list[Line]:
    """A line for every baseline, on the same captions and draws as the metrics; one without a value has its reason."""
    from vericap.meta.evaluation import BASELINE, Line, judge_runs

    weights = found.weights()
    lines = []
    for name, scores in baseline_scores(found.task).items():
        line = Line(name, kind=BASELINE, captions=len(found.task.rows))
        judge_runs(line, found.task, [scores], weights)
        lines.append(line)
    return lines


def not_above(found: Agreements, *, x100: bool = True) -> str:
    """In words, which metrics are not better than the best baseline; empty where all are."""
    values = {line.metric: line.value for line in found.baselines if line.value is not None}
    if not values:
        return ""
    best = max(values, key=lambda name: values[name])
    below = [line.metric for line in found.lines if line.value is not None and line.value <= values[best]]
    value = f"{100 * values[best]:.2f}" if x100 else f"{values[best]:.4f}"
    return f"Not above the best baseline, {best} {value}: {', '.join(below)}." if below else ""

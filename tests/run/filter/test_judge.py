"""Records judged: the cascade changes what is scored and nothing else; dear metrics see only what is left."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.core.analysis import Analysis, Key
from vericap.core.batch import Batch
from vericap.core.errors import VericapError
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.metrics import registry
from vericap.run import analyses
from vericap.run.filter import plan
from vericap.run.filter.columns import Sources
from vericap.run.filter.grammar import ExpressionError, parse
from vericap.run.filter.judge import Judge
from vericap.run.filter.selection import Selection, cuts_of
from vericap.run.filter.state import KEPT, NOT_BEST, Rows, State


class Held(Analysis[None]):
    """An analysis that only says how much it holds."""

    cost: ClassVar[int] = 10

    def compute(self, batch: Batch, runtime: Any) -> None:
        return None


class Large(Held):
    cost: ClassVar[int] = 1000


class Vowels(Metric):
    """Share of vowels; a caption with an x cannot be judged."""

    name, needs, reads_references = "vowels", (), False
    key: ClassVar[type[Held]] = Held
    letters: ClassVar[str] = "aeiou"

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (self.key(),)

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        texts = [batch.texts[i] for i in batch.candidates]
        values = [np.nan if "x" in t else sum(map(t.count, self.letters)) / max(len(t), 1) for t in texts]
        problems = {row: "has an x" for row, text in enumerate(texts) if "x" in text}
        return Statistics(np.array(values, dtype=np.float64), problems, {"length": np.array(list(map(len, texts)))})


class Consonants(Vowels):
    name, key, letters = "consonants", Large, "bcdfg"
    direction = "lower"


CLASSES = {"vowels": Vowels, "consonants": Consonants}


def make(text: str) -> Metric:
    if text not in CLASSES:
        raise VericapError(f"no metric {text}")
    return CLASSES[text](label=text)


def selected(
    text: str, captions: list[str], *, cascade: bool, pieces: int = 3, best: str = "", images: list[str] | None = None
) -> tuple[Selection[list[int]], list[State]]:
    sources = Sources(parse(text), make, CLASSES, ["number"])
    if best:
        sources.add(best)
    judge = Judge(sources, cascade=cascade)
    images = images or [str(row) for row in range(len(captions))]
    samples = [Sample(str(row), caption, image=images[row]) for row, caption in enumerate(captions)]
    source = [list(range(len(samples)))[start : start + pieces] for start in range(0, len(samples), pieces)]

    def rows(piece: list[int]) -> Rows:
        return Rows([samples[row] for row in piece], lambda name: np.array([str(row) for row in piece], dtype=object))

    found = Selection(judge, source, rows, best=best)
    return found, [state for _, _, state in found]


def failed(states: list[State]) -> list[int]:
    return [int(code) for state in states for code in state.failed]


CAPTIONS = ["a dog runs", "bcd", "aeiou", "", "a fox", "eee bbb", "http://b.com", "two dogs on grass", "aaaa", "ebb"]


def test_cheap_conditions_come_first_and_dear_metrics_see_what_they_left() -> None:
    text = "consonants<=0.3 & vowels>=0.2 & words>=2"
    found, states = selected(text, CAPTIONS, cascade=True)
    assert [str(condition) for condition in found.judge.conditions] == ["words>=2", "vowels>=0.2", "consonants<=0.3"]
    assert failed(states) == [KEPT, 0, 0, 0, 1, 2, 1, KEPT, 0, 0]
    assert found.summary.scored == {"vowels": 5, "consonants": 3}
    assert found.summary.kept == 2
    assert found.summary.rejected == {"words>=2": 5, "vowels>=0.2": 2, "consonants<=0.3": 1}
    assert found.summary.unjudged == 1  # the fox has an x
    whole, same = selected(text, CAPTIONS, cascade=False)
    assert failed(same) == failed(states)
    assert whole.summary.scored == {"consonants": 10, "vowels": 10}


_CONDITIONS = st.sampled_from(
    [
        "vowels>=0.3", "!(vowels>=0.3)", "consonants<0.2", "words>=2", "!url", "number>=4", "vowels.length<8",
        "(vowels>0.5 | consonants<0.1)", "top:0.5:vowels", "top:0.4:consonants", "bottom:0.3:words", "!top:0.3:vowels",
        "(top:0.2:vowels | words>=3)",
    ]
)  # fmt: skip
_TEXTS = st.lists(
    st.lists(_CONDITIONS, min_size=1, max_size=3).map(" & ".join), min_size=1, max_size=3
).map(" then ".join)  # fmt: skip


@given(_TEXTS, st.lists(st.sampled_from(CAPTIONS), min_size=1, max_size=12), st.integers(1, 5))
@settings(max_examples=150, deadline=None)
def test_the_cascade_and_the_size_of_pieces_change_nothing(text: str, captions: list[str], pieces: int) -> None:
    alone, one = selected(text, captions, cascade=False, pieces=100)
    other, many = selected(text, captions, cascade=True, pieces=pieces)
    assert failed(one) == failed(many)
    assert alone.summary.rejected == other.summary.rejected
    assert repr(alone.summary.cuts) == repr(other.summary.cuts)  # as text: where nothing is kept the value is NaN
    for label, count in other.summary.scored.items():
        assert count <= alone.summary.scored[label]
    # What is kept has every score, whichever way it was found.
    for label in other.judge.labels:
        whole = np.concatenate([state.columns[label] for state in one])
        parts = [state.columns.get(label, np.full(len(state.failed), np.nan)) for state in many]
        kept = [row for row, code in enumerate(failed(one)) if code == KEPT]
        np.testing.assert_array_equal(np.concatenate(parts)[kept], whole[kept])


def test_a_share_counts_all_records_and_after_then_those_left() -> None:
    captions = ["aa", "ab", "ae", "zz", "a b", "e e"]
    _, states = selected("top:0.5:vowels & words>=2", captions, cascade=False)
    assert failed(states) == [0, 0, 0, 0, 1, KEPT]  # the best three of all six are aa, ae and e e
    found, states = selected("words>=2 then top:0.5:vowels", captions, cascade=True)
    assert [row for row, code in enumerate(failed(states)) if code == KEPT] == [5]
    assert found.summary.scored == {"vowels": 2}
    (cut,) = found.summary.cuts.values()
    assert (cut.records, cut.kept) == (2, 1)


def test_top_of_a_metric_for_which_lower_is_better() -> None:
    _, states = selected("top:0.5:consonants", ["bb", "aa", "ba", "ee"], cascade=False)
    assert [row for row, code in enumerate(failed(states)) if code == KEPT] == [1, 3]


def test_the_best_caption_of_an_image() -> None:
    captions, images = ["ab", "aa", "b", "ae", "xx", "e"], ["p", "p", "q", "q", "r", "q"]
    _, states = selected("characters>=1", captions, cascade=False, best="number", images=images)
    assert [row for row, code in enumerate(failed(states)) if code == KEPT] == [1, 4, 5]
    found, states = selected("vowels>=0", captions, cascade=False, best="vowels", images=images, pieces=2)
    assert failed(states) == [NOT_BEST, KEPT, NOT_BEST, KEPT, 0, NOT_BEST]  # of equal ones the first
    assert found.summary.not_best == 3


def test_where_conditions_cut_is_told() -> None:
    found, _ = selected("vowels>=0.3 & top:0.5:vowels", CAPTIONS, cascade=False)
    assert cuts_of(found.judge, found.summary, "vowels") == [0.3, 0.3]  # the fifth best of ten is "a dog runs"
    assert found.summary.histograms["vowels"].seen == 9


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("vowel>=0.3", "did you mean vowels?"),
        ("wrds>=3", "did you mean words"),
        ("numbr>=3", "did you mean number?"),
        ("qqqq>=3", "the input has: number"),
        ("words", "compare it: words>=3"),
        ("lang", "compare it: lang==en"),
        ("url>=1", "write url or !url"),
        ("lang==3", "write lang==en"),
        ("vowels==high", "is a number"),
        ("top:0.3:lang", "a share needs numbers"),
        ("vowels.len>3", "'vowels' has no column 'len'; it has: length"),
    ],
)
def test_names_that_mean_nothing(text: str, said: str) -> None:
    with pytest.raises(ExpressionError, match=r"`keep=`") as error:
        selected(text, CAPTIONS, cascade=True)
    assert said in str(error.value)
    assert error.value.start == (8 if text.startswith("top:0.3:") else 0)


def test_metrics_of_the_registry_in_the_order_of_their_cost() -> None:
    text = "chair==0 & faier-plus>=0 & vse>=0.3 & reo-relevance>=0.1 & spice>=0.1 & lm>=-9 & rouge-l>=0.1 & words>=3"
    judge = Judge(Sources(parse(text), registry.make, registry.names()), cascade=True)
    labels = [str(condition).split(">")[0].split("=")[0] for condition in judge.conditions]
    assert labels[0] == "words"
    assert set(labels[1:3]) == {"lm", "rouge-l"}
    assert labels.index("spice") < labels.index("vse") < labels.index("reo-relevance") < labels.index("chair")
    together = [step.metrics for step in judge.stages[0].steps]
    assert any({"vse", "reo-relevance"} <= set(metrics) for metrics in together)  # photos are looked at once for both


def test_metrics_that_share_what_they_see_of_a_photo_are_one_step() -> None:
    text = "verdict>=0.5 & chair==0 & words>=3 & vse>=0.3 & fidelity>=0.5"
    judge = Judge(Sources(parse(text), registry.make, registry.names()))
    assert [set(step.metrics) for step in judge.stages[0].steps] == [set(), {"vse", "verdict", "fidelity"}, {"chair"}]


def test_every_look_at_photos_has_a_known_cost() -> None:
    looking = [name for name in analyses.__all__ if getattr(getattr(analyses, name), "pixels", False)]
    assert {"Detections", "PhotoRegions"} <= set(looking)
    assert not set(looking) - set(plan.MILLISECONDS)


def test_a_caption_must_not_depend_on_the_others() -> None:
    sources = Sources(parse("cider-d>=0.5"), registry.make, registry.names())
    with pytest.raises(VericapError, match="df=FILE"):
        Judge(sources, Settings())
    Judge(sources, Settings(df="coco-val"))


def test_what_a_metric_needs_and_no_record_has_is_a_mistake_at_once() -> None:
    judge = Judge(Sources(parse("rouge-l>=0.5"), registry.make, registry.names()))
    rows = Rows([Sample("1", "a dog")], lambda name: np.zeros(1))
    with pytest.raises(VericapError, match="needs references"):
        judge.work(rows, State.of(rows), [0])


def test_a_record_that_lacks_it_among_others_is_not_judged() -> None:
    judge = Judge(Sources(parse("words>=2 & rouge-l>=0.5"), registry.make, registry.names()), cascade=True)
    first = Rows([Sample("1", "a dog", ("a dog",)), Sample("2", "a dog")], lambda name: np.zeros(2))
    state = State.of(first)
    judge.work(first, state, [0])
    assert state.failed.tolist() == [KEPT, 1]
    second = Rows([Sample("3", "a dog"), Sample("4", "", problem="broken")], lambda name: np.zeros(2))
    state = State.of(second)
    judge.work(second, state, [0])
    assert state.failed.tolist() == [1, -2]
    assert state.unjudged(0, ["rouge-l"]) == "rouge-l: has no references"


def test_metrics_of_the_registry_by_name_option_and_column() -> None:
    text = "spice.recall>=0.1 & rouge-l:beta=1>=0.2 & mean(rouge-l,bleu-1)>=0.2"
    judge = Judge(Sources(parse(text), registry.make, registry.names()), cascade=True)
    rows = Rows([Sample("1", "a dog runs", ("the dog runs",)), Sample("2", "x", ("a dog",))], lambda name: np.zeros(2))
    state = State.of(rows)
    judge.work(rows, state, [0])
    assert state.failed[0] == KEPT
    assert state.failed[1] != KEPT
    assert set(judge.labels) == {"spice", "rouge-l:beta=1", "mean(rouge-l,bleu-1)"}

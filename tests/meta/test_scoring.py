"""Scoring for meta-evaluation: one run for all draws and protocols, kept scores, failures that cost nobody else."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from vericap.core.analysis import Analysis
from vericap.core.errors import VericapError
from vericap.core.explanation import Explanation, MissingContent
from vericap.core.metric import Metric, Option
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.meta.evaluation import chosen_protocol, evaluate, evaluate_each
from vericap.meta.failure_cases import failures
from vericap.meta.judgements import Pairs, Ratings, Systems
from vericap.meta.ranking import rank_systems
from vericap.meta.scoring import KeptScores, fitting_settings, metrics_of, score

WORDS = ["a", "dog", "runs", "on", "the", "green", "grass", "near", "two", "small", "trees"]
analysed: Counter[str] = Counter()


@dataclass(frozen=True)
class Lengths(Analysis[list[int]]):
    """Words of every text, counted aloud."""

    def compute(self, batch, runtime):
        analysed.update(batch.texts)
        return [len(text.split()) for text in batch.texts]


class Length(Metric):
    """Words of the candidate: good, or bad."""

    name, languages, needs = "length", ("en",), ()
    range = (0.0, float("inf"))
    options: ClassVar = {"factor": Option(1, "what it is multiplied with")}

    def requires(self, settings):
        return (Lengths(),)

    def statistics(self, batch, state=None):
        values = np.array([batch[Lengths()][place] for place in batch.candidates], dtype=float)
        return Statistics(values * self.opt.factor, dict.fromkeys(range(len(batch)), "counted"))

    def explain(self, batch, rows, state=None, *, full=False):
        return [Explanation(self.label, missing=(MissingContent("more"),)) for _ in rows]


class Shortness(Length):
    name, direction = "shortness", "lower"


class Refusing(Length):
    name = "refusing"

    def statistics(self, batch, state=None):
        raise VericapError("it does not want to")


class Corpus(Length):
    """Its reasons name the size of the corpus it saw."""

    name = "corpus"

    def prepare(self, batch):
        return len(batch)

    def explain(self, batch, rows, state=None, *, full=False):
        return [Explanation(self.label, facts={"captions": state}) for _ in rows]


def rated(n=40, seed=0):
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, len(WORDS), n)
    candidates = [" ".join(WORDS[:size]) for size in sizes]
    return Ratings(
        name="made",
        candidates=candidates,
        references=[
            ("a dog runs on the grass", "the dog", "trees near a dog", candidates[row // 2]) for row in range(n)
        ],
        ratings=np.clip(sizes[:, None] // 2 + generator.integers(-2, 3, (n, 3)), 1, 5).astype(float),
        scale=(1, 5),
        images=[f"i{row // 4}" for row in range(n)],
    )


def test_every_text_is_analysed_once_for_all_draws_protocols_and_metrics():
    analysed.clear()
    data = rated()
    protocols = [
        chosen_protocol(data, "tau-c", references=1, runs=3),
        chosen_protocol(data, "tau-c", references=2, runs=3),
        chosen_protocol(data, "mean-spearman"),
        chosen_protocol(data, "median-spearman"),
    ]
    found = evaluate_each(data, [Length(), Length(factor=2), Shortness()], protocols, resamples=20)
    assert set(analysed.values()) == {1}
    assert len(found) == 4
    for table in found:
        alone = evaluate(data, [Length()], protocol=table.protocol, resamples=20)
        assert alone["length"].value == table["length"].value
        assert alone["length"].interval == table["length"].interval
        assert table["shortness"].value == pytest.approx(-table["length"].value)  # lower is better


def test_systems_share_their_references():
    analysed.clear()
    references = {str(image): ("a dog runs", "the dog") for image in range(8)}
    outputs = {name: dict.fromkeys(references, f"a dog {name}") for name in ("one", "two two")}
    found = rank_systems(Systems("made", references, outputs), [Length(), Shortness()], resamples=20)
    assert set(analysed.values()) == {1}
    assert found.order("length") == "two two > one"
    assert found.order("shortness") == "one > two two"


def test_protocols_that_keep_other_captions_keep_their_order():
    """Pairs that one preference leaves open and the other does not."""
    generator = np.random.default_rng(3)
    count = 30
    first, second = ([" ".join(WORDS[: generator.integers(1, 11)]) for _ in range(count)] for _ in range(2))
    one, two = (generator.integers(0, 2, count).astype(float) for _ in range(2))
    one[:4], two[7:11] = np.nan, np.nan
    preferences = {"consensus48": one, "votes11": two}
    data = Pairs("pascal50s", [f"i{k}" for k in range(count)], first, second, [("a dog",)] * count, preferences)
    protocols = [chosen_protocol(data, name) for name in ("consensus48", "votes11")]
    for table in evaluate_each(data, [Length()], protocols, resamples=0):
        alone = evaluate(data, [Length()], protocol=table.protocol, resamples=0)
        assert table.scores["length"].tolist() == alone.scores["length"].tolist()


def test_one_that_fails_costs_the_others_nothing(tmp_path):
    metrics = [Length(), Length(factor=2), Refusing(), Shortness(), Length(factor=3)]
    table = evaluate(rated(), metrics, resamples=0, store=KeptScores(tmp_path))
    assert table["refusing"].reason == "it does not want to"
    assert [line.metric for line in table.lines if line.value is not None] == [
        "length", "length:factor=2", "shortness", "length:factor=3",
    ]  # fmt: skip
    assert len(list(tmp_path.glob("*.npy"))) == 4
    japanese = evaluate(rated(), [Length()], resamples=0, settings=Settings(lang="ja"))
    assert japanese["length"].value is not None  # the data set says which language it is


def test_scores_are_taken_up_again(tmp_path):
    store = KeptScores(tmp_path)
    first = evaluate(rated(), "rouge-l", resamples=0, store=store)
    kept = list(tmp_path.glob("*.npy"))
    assert len(kept) == 1
    np.save(kept[0], np.load(kept[0]) * -1)
    again = evaluate(rated(), "rouge-l", resamples=0, store=store)
    assert again["rouge-l"].value == pytest.approx(-first["rouge-l"].value)


def test_only_what_is_missing_is_scored(tmp_path):
    store, data = KeptScores(tmp_path), rated()
    one, three = (chosen_protocol(data, "tau-c", references=1, runs=runs) for runs in (1, 3))
    evaluate(data, [Length()], protocol=one, resamples=0, store=store)
    evaluate(data, [Length(), Shortness()], protocol=three, resamples=0, store=store)
    assert len(list(tmp_path.glob("*.npy"))) == 6
    analysed.clear()
    again = evaluate(data, [Length(), Shortness()], protocol=three, resamples=0, store=store)
    assert not analysed
    fresh = evaluate(data, [Length(), Shortness()], protocol=three, resamples=0)
    assert [line.value for line in again.lines] == [line.value for line in fresh.lines]
    assert [line.signature for line in again.lines] == [line.signature for line in fresh.lines]
    assert again.notes == fresh.notes


def test_the_source_of_objects_matters_to_metrics_that_read_it(tmp_path):
    sources = ({"dog": 1}, {"dog": 2, "cat": 1})
    for objects in sources:
        parts = {"": [Sample("a", "a dog", ("a dog",), None, objects)]}
        score(parts, metrics_of("rouge-l,vifidel"), Settings(cache="off"), store=KeptScores(tmp_path))
    names = sorted(path.name.partition("-")[0] for path in tmp_path.glob("*.npy"))
    assert names == ["rouge", "vifidel", "vifidel"]


def test_scores_of_a_function_are_not_kept(tmp_path):
    """It may change without its name doing so."""
    for factor in (1, -1):

        def mine(candidates, references, images, factor=factor):
            return [factor * len(text.split()) for text in candidates]

        found = evaluate(rated(), [mine], resamples=0, store=KeptScores(tmp_path))
        assert np.sign(found["mine"].value) == factor
    assert not list(tmp_path.iterdir())


def test_notes_are_taken_up_with_the_scores(tmp_path):
    parts = {"": [Sample("a", "a dog", ("a dog",)), Sample("b", "a cat", ()), Sample("c", "", ("a dog",))]}
    metrics = [*metrics_of("rouge-l"), Length()]
    found = [score(parts, metrics, Settings(), store=KeptScores(tmp_path)) for _ in range(2)]
    assert "b: rouge-l: no reference" in found[0].scored["rouge-l", ""].problems[0]
    assert "length: counted (id a, b, c)" in found[0].warnings([""])
    for key in found[0].scored:
        assert found[0].scored[key].problems == found[1].scored[key].problems
    assert found[0].warnings([""]) == found[1].warnings([""])


def test_nothing_scored_has_a_reason():
    parts = {"none": [Sample("a", "a dog")], "some": [Sample("a", "a dog", ("a dog",))]}
    found = score(parts, metrics_of("rouge-l"), Settings())
    assert "no caption could be scored" in found.reason("rouge-l", ["none"])
    assert found.captions("rouge-l", "some").tolist() == [1.0]


def test_failures_carry_explanations():
    data = rated(12)
    table = evaluate(data, [Length(), Corpus(), "rouge-l"], resamples=0)
    case = failures(table, "length", theta=0.0, limit=2, explain=True)[0]
    assert case.as_dict()["explanation"]["missing"][0]["text"] == "more"
    assert failures(table, "length", theta=0.0, limit=2)[0].explanation is None
    assert failures(table, "length", theta=9.0, explain=True) == []
    # What a metric knows of the corpus comes from all captions, not from those listed.
    case = failures(table, "corpus", theta=0.0, limit=2, explain=True)[0]
    assert case.explanation.facts == {"captions": 12}


def test_settings_follow_the_data_set(tmp_path):
    data = rated()
    data.lang, data.image_folder = "ja", tmp_path
    found = fitting_settings(Settings(objects="gold"), data)
    assert (found.lang, found.tokenizer, found.images, found.objects) == ("ja", "sudachi", tmp_path, "detector")
    assert fitting_settings(Settings(tokenizer="none"), data).tokenizer == "none"


def test_gold_objects_are_those_of_the_data_set():
    def counted(candidates, references, images):
        return [float(len(text)) for text in candidates]

    preference = {"preference": np.array([0.0, 1.0])}
    data = Pairs("made", ["i", "j"], ["a", "b"], ["a b", "b c"], [("a",)] * 2, preference, objects={"i": {"dog": 1}})
    gold = evaluate(data, [counted], resamples=0, settings=Settings(objects="gold"))
    assert not [note for note in gold.notes if "objects" in note]
    without = evaluate(rated(), [counted], resamples=0, settings=Settings(objects="gold"))
    assert "brings no objects" in without.notes[-1]

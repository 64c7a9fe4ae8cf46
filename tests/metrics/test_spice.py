"""SPICE and semantic SPICE as metrics."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from vericap.core.explanation import Explanation, Graph, Match
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.metrics.registry import make
from vericap.run.engine import Run

REFERENCES = ("A man is riding a brown horse on the beach.", "A person on a horse near the ocean.")


def run(metric: str, *samples: Sample) -> tuple[Statistics, str]:
    result = Run([make(metric)], Settings(cache="off")).score(samples)
    return result.statistics[metric], result.corpus[metric].signature


def reasons_of(metric: str, sample: Sample, *, full: bool = False) -> Explanation:
    (found,) = Run([make(metric)], Settings(cache="off")).explain([sample], full=full)[metric]
    assert found is not None
    assert full or len(json.dumps(found.as_dict())) < 3000
    return found


def test_a_reference_itself_scores_best() -> None:
    found, signature = run(
        "spice",
        Sample("same", REFERENCES[0], REFERENCES[:1]),
        Sample("other", "Two cats sleep on a red sofa.", REFERENCES),
        Sample("near", "A man rides a horse.", REFERENCES),
    )
    scores = found.values[:, 0]
    assert scores[0] == 1.0
    assert scores[1] == 0.0
    assert 0.2 < scores[2] < 1.0
    assert "graphs:en_core_web_sm" in signature
    assert "actions:True" in signature
    assert np.isnan(found.columns["count"][0])  # the references count nothing
    assert found.columns["color"][0] == 1.0


def test_undefined_and_zero_rows_have_reasons() -> None:
    found, _ = run(
        "spice", Sample("none", "A dog."), Sample("empty", "", REFERENCES), Sample("ok", "A man.", REFERENCES)
    )
    assert np.isnan(found.values[0, 0])
    assert found.values[1, 0] == 0.0
    assert "no reference" in found.problems[0]
    assert "scores 0" in found.problems[1]
    assert 2 not in found.problems


def test_explanations_name_what_matched() -> None:
    sample = Sample("1", "A man rides a white bike.", ("A man on a bicycle.",))
    found = reasons_of("spice", sample)
    assert Match(("bike",), ("bicycle",), 1.0, "object") in found.matches
    assert Match(("bike", "white"), (), 0.0, "attribute") in found.matches
    assert found.matches[0].grade == 0.0  # what nothing fits comes first
    assert [item.text for item in found.missing] == ["man on bicycle"]
    assert {word.text: word.support for word in found.words} == {
        "A": None, "man": 1.0, "rides": 0.0, "a": None, "white": 0.0, "bike": 1.0
    }  # fmt: skip
    assert found.facts == {"precision": 0.5, "recall": pytest.approx(2 / 3)}
    assert not found.graphs


def test_graphs_are_there_when_asked_for() -> None:
    sample = Sample("1", "A man rides a white bike.", ("A man on a bicycle.", "A bike."))
    for name in ("spice", "spice-soft"):
        graphs = reasons_of(name, sample, full=True).graphs
        assert graphs[0] == Graph(sample.candidate, ("man", "bike"), ((1, "white"),), ((0, "ride", 1),))
        assert [graph.title for graph in graphs[1:]] == list(sample.references)


def test_nothing_is_explained_without_references() -> None:
    for name in ("spice", "spice-soft"):
        assert Run([make(name)]).explain([Sample("1", "A dog.")])[name] == [None]


def test_options() -> None:
    sample = Sample("1", "A man is sitting on a bench.", ("A man sitting in a chair.",))
    with_actions, _ = run("spice", sample)
    without, _ = run("spice:actions=false", sample)
    assert with_actions.values[0, 0] > without.values[0, 0]
    words, _ = run("spice:synonyms=false", Sample("1", "A bike.", ("A bicycle.",)))
    assert words.values[0, 0] == 0.0


def test_close_to_the_original(golden_dir: Path, data_dir: Path) -> None:
    lines = (data_dir / "flickr8k" / "Flickr8k.token.txt").read_text("utf-8").splitlines()
    texts = dict(line.split("\t", 1) for line in lines if "\t" in line)
    with gzip.open(golden_dir / "spice" / "flickr8k_expert.jsonl.gz", "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream][::12]
    samples = [
        Sample(row["id"], texts[row["caption_id"]], tuple(texts[f"{row['image']}#{i}"] for i in range(5)))
        for row in rows
    ]
    found, _ = run("spice", *samples)
    theirs = [row["spice"]["All"]["f"] for row in rows]
    assert spearmanr(found.values[:, 0], theirs).statistic > 0.9


def test_soft_sees_meaning() -> None:
    found, signature = run(
        "spice-soft",
        Sample("same", REFERENCES[0], REFERENCES[:1]),
        Sample("near", "A guy on horseback at the seaside.", REFERENCES),
        Sample("far", "A bowl of soup next to a laptop.", REFERENCES),
        Sample("none", "A dog."),
        Sample("empty", "", REFERENCES),
    )
    same, near, far, none, empty = found.values[:, 0]
    assert same == pytest.approx(1.0, abs=1e-4)
    assert same > near > far
    assert np.isnan(none)
    assert empty == 0.0
    assert "scores 0" in found.problems[4]
    assert "|encoder:vericap-captions-" in signature
    for name in ("precision", "recall", "f", "object", "attribute", "relation"):
        assert found.columns[name][0] == pytest.approx(1.0, abs=1e-4)


def test_soft_rows_do_not_depend_on_their_neighbours() -> None:
    samples = [Sample(str(i), text, REFERENCES) for i, text in enumerate(("A man.", "A horse runs.", "A blue sky."))]
    together, _ = run("spice-soft", *samples)
    for row, sample in enumerate(samples):
        alone, _ = run("spice-soft", sample)
        assert alone.values[0, 0] == pytest.approx(together.values[row, 0], abs=1e-5)


def test_soft_explanations() -> None:
    found = reasons_of("spice-soft:whole=0", Sample("1", "A guy rides a pony.", ("A man on a horse by a barn.",)))
    nearest = {match.candidate[0]: match.reference[0] for match in found.matches}
    assert nearest["guy"] == "man"
    assert nearest["pony"] == "horse"
    assert [match.grade for match in found.matches] == sorted(match.grade for match in found.matches)
    assert "barn" in [item.text for item in found.missing]
    support = {word.text: word.support for word in found.words}
    assert support["A"] is None
    assert 0.5 < (support["pony"] or 0.0) < 1.0
    assert set(found.facts) == {"precision", "recall"}


@pytest.mark.parametrize("text", ["", "???", "\U0001f600"])
def test_soft_ignores_references_without_a_word(text: str) -> None:
    found, _ = run(
        "spice-soft",
        Sample("plain", "A man rides.", REFERENCES),
        Sample("more", "A man rides.", (*REFERENCES, text)),
        Sample("only", "A man rides.", (text,)),
    )
    assert found.values[0, 0] == found.values[1, 0]
    assert found.values[2, 0] == 0.0
    assert "no reference has a scene graph" in found.problems[2]


def test_without_the_whole_caption_no_sentence_is_encoded() -> None:
    settings = Settings()
    wanted = [type(key).__name__ for key in make("spice-soft:whole=0").requires(settings)]
    assert wanted == ["Graphs", "PhraseVectors"]

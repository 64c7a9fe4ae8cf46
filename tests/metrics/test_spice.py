"""SPICE and semantic SPICE as metrics."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from vericap.metrics.registry import make
from vericap.run.batch import Batch, Settings
from vericap.samples import Sample

REFERENCES = ("A man is riding a brown horse on the beach.", "A person on a horse near the ocean.")


def run(metric: str, *samples: Sample, explain: bool = False):  # type: ignore[no-untyped-def]
    batch = Batch.of(samples, Settings(explain=explain))
    made = make(metric)
    return made.statistics(batch), made.signature(batch)


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
    found, _ = run("spice", Sample("1", "A man rides a white bike.", ("A man on a bicycle.",)), explain=True)
    (reasons,) = found.explanations
    assert {"candidate": ["bike"], "reference": ["bicycle"]} in reasons["matched"]
    assert ["bike", "white"] in reasons["extra"]
    assert ["man", "on", "bicycle"] in reasons["missing"]


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
    assert "model:" in signature
    for name in ("precision", "recall", "f", "object", "attribute", "relation"):
        assert found.columns[name][0] == pytest.approx(1.0, abs=1e-4)


def test_soft_rows_do_not_depend_on_their_neighbours() -> None:
    samples = [Sample(str(i), text, REFERENCES) for i, text in enumerate(("A man.", "A horse runs.", "A blue sky."))]
    together, _ = run("spice-soft", *samples)
    for row, sample in enumerate(samples):
        alone, _ = run("spice-soft", sample)
        assert alone.values[0, 0] == pytest.approx(together.values[row, 0], abs=1e-5)


def test_soft_explanations() -> None:
    found, _ = run("spice-soft:whole=0", Sample("1", "A guy rides a pony.", ("A man on a horse.",)), explain=True)
    (reasons,) = found.explanations
    nearest = {item["phrase"]: item["nearest"] for item in reasons["candidate"]}
    assert nearest["guy"] == "man"
    assert nearest["pony"] == "horse"

"""Two SCAN models in one folder: metrics take the mean of what they say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from vericap.cli import main
from vericap.core.errors import InputError
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics.registry import make
from vericap.models import scan
from vericap.run.engine import Run
from vericap.vision.store import FeatureWriter

THINGS = ["dog", "cat", "horse", "boat", "train", "child", "bird", "pizza"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store, captions, and a model trained on them for each way of reading words."""
    folder = tmp_path_factory.mktemp("joined")
    rng = np.random.default_rng(0)
    boxes = np.array([[0, 0, 1, 1], [0, 0, 0.5, 1], [0.5, 0, 1, 1]])
    rows = []
    with FeatureWriter(folder / "store", {"made": "here"}, width=20) as writer:
        for place, thing in enumerate(THINGS):
            writer.add(f"{place + 1:012d}.jpg", rng.normal(size=(3, 20)), boxes)
            texts = [f"{start} {thing} {end}" for start, end in zip(("a", "the", "one", "some", "my"), "abcde")]
            rows += [{"image_id": place + 1, "caption": text} for text in texts]
    (folder / "captions.json").write_text(json.dumps({"annotations": rows}))
    for words, width in (("states", "16"), ("alone", "12")):
        assert main(command(folder, words, "--words", words, "--width", width, "--steps", "6", "--batch", "4")) == 0
    return folder


def command(folder: Path, output: str, *more: str) -> list[str]:
    given = ["--features", str(folder / "store"), "--captions", str(folder / "captions.json"), "--validation", ".25"]
    return ["train", "scan", *given, "--output", str(folder / output), "--threads", "1", "--validate", "3", *more]


def halves(folder: Path) -> list[str]:
    return [str(folder / words / "scan") for words in ("states", "alone")]


@pytest.fixture(scope="module")
def both(made: Path) -> str:
    assert main(command(made, "both", "--join", *halves(made), "--parts", "0.7", "0.3")) == 0
    return str(made / "both" / "scan")


def scored(made: Path, *metrics: str) -> list[np.ndarray]:
    settings = Settings(features=made / "store", cache="off")
    references = ("a cat runs fast", "the dog")
    samples = [
        Sample(str(row), text, references, f"{row + 1:012d}.jpg")
        for row, text in enumerate(["a dog runs", "two boats , one train", "some pizza"])
    ]
    found = Run([make(metric) for metric in metrics], settings).score(samples)
    return [np.asarray(found[metric], dtype=float) for metric in metrics]


@pytest.mark.parametrize("truth", ["auto", "image", "both"])
@pytest.mark.parametrize("metric", ["reo-relevance", "reo-omission"])
def test_reo_takes_the_mean(made: Path, both: str, metric: str, truth: str) -> None:
    """Against references; against the image the first of two is taken."""
    found, one, other = scored(made, *(f"{metric}:truth={truth}:model={model}" for model in (both, *halves(made))))
    assert np.abs(one - other).max() > 0.01
    expected = one if truth == "image" else 0.7 * one + 0.3 * other
    if truth == "both":
        image, second = scored(made, *(f"{metric}:truth=image:model={model}" for model in halves(made)))
        expected += 0.3 * 0.3 * (image - second)
    np.testing.assert_allclose(found, expected, atol=2e-3)  # of 8-bit numbers


def test_tiger_takes_the_mean(made: Path, both: str) -> None:
    found, one, other = scored(made, *(f"tiger:model={model}" for model in (both, *halves(made))))
    np.testing.assert_allclose(found, 0.7 * one + 0.3 * other, atol=2e-3)


def test_a_half_has_a_name(made: Path, both: str) -> None:
    for name, way in zip(halves(made), ("states", "alone")):
        expected, meta = scan.described(name)
        found, about = scan.described(f"{both}#{way}")
        assert about["words"] == way
        assert about["trained"] == meta["trained"]
        assert set(found) == set(expected)
        for key, value in found.items():
            np.testing.assert_allclose(value, expected[key], atol=0.02)
        here, there = scored(made, f"tiger:model={both}#{way}", f"tiger:model={name}")
        np.testing.assert_allclose(here, there, atol=2e-3)
    assert scan.halves(both) == [(0.7, f"{both}#states"), (0.3, f"{both}#alone")]
    assert scan.halves(name) == [(1.0, name)]
    (same,) = scored(made, f"tiger:model={name}#alone")  # a folder with one model may be named so too
    np.testing.assert_array_equal(same, there)
    with pytest.raises(InputError, match="reads words as 'alone', not as 'states'"):
        scan.describe(f"{name}#states")


def test_reasons_are_of_the_first(made: Path, both: str) -> None:
    sample = Sample("1", "a dog runs", ("a cat",), "000000000001.jpg")
    run = Settings(features=made / "store", cache="off")
    metrics = [f"reo-relevance:model={model}" for model in (both, f"{both}#alone", f"{both}#states")]
    found = [Run([make(metric)], run).score([sample], explain=True).explanations[metric][0] for metric in metrics]
    mine, alone, states = ([word.support for word in one.words] for one in found if one is not None)
    assert mine == states != alone


def test_a_training_begins_with_the_one_that_reads_alike(made: Path, both: str) -> None:
    more = ("--start", both, "--words", "alone", "--width", "12", "--steps", "0", "--batch", "4")
    assert main(command(made, "again", *more)) == 0
    begun, found = (scan.load(str(made / name / "scan")) for name in ("alone", "again"))
    np.testing.assert_allclose(found.weights["text"], begun.weights["text"], atol=0.02)


def test_what_cannot_stand_side_by_side(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    states, alone = halves(made)
    assert main(command(made, "none", "--join", states, states)) == 2
    assert "read words in two ways" in capsys.readouterr().err
    assert main(command(made, "none", "--join", states, alone, "--parts", "0.7", "0.7")) == 2
    assert "are no shares" in capsys.readouterr().err
    weights, meta = scan.described(alone)
    with pytest.raises(InputError, match="their 'fingerprint' differs"):
        scan.joined([scan.described(states), (weights, {**meta, "fingerprint": "other"})], (0.5, 0.5))

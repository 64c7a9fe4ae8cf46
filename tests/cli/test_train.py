"""vericap train from the command line, on a store and captions made here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from vericap.cli import main
from vericap.core import shipped
from vericap.models import faier_plus, scan, vse
from vericap.vision.identity import declared
from vericap.vision.store import FeatureWriter

BOXES = np.array([[0, 0, 1, 1], *([k / 13, 0, (k + 1) / 13, 1] for k in range(13))])
THINGS = ["dog", "cat", "horse", "boat", "train", "child", "bird", "pizza"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight COCO images and eight Flickr8k images whose features follow the thing they show."""
    folder = tmp_path_factory.mktemp("train")
    rng = np.random.default_rng(0)
    meaning = rng.normal(size=(len(THINGS), 1280))
    rows, lines = [], []
    with FeatureWriter(folder / "store", {"made": "here"}, width=1280) as writer:
        for place, thing in enumerate(THINGS):
            for name in (f"{place + 1:012d}.jpg", f"{thing}.jpg"):
                writer.add(name, meaning[place] + 0.1 * rng.normal(size=(14, 1280)), BOXES)
            texts = [f"{start} {thing} {end}" for start, end in zip(("a", "the", "one", "some", "my"), "abcde")]
            rows += [{"image_id": place + 1, "caption": text} for text in texts]
            lines += [f"{thing}.jpg#{k}\t{text}" for k, text in enumerate(texts)]
    (folder / "coco.json").write_text(json.dumps({"annotations": rows}))
    (folder / "Flickr8k.token.txt").write_text("\n".join(lines))
    for split in ("train", "dev"):
        (folder / f"Flickr_8k.{split}Images.txt").write_text("\n".join(f"{thing}.jpg" for thing in THINGS))
    return folder


def options(made: Path, output: str) -> list[str]:
    plan = ["--steps", "6", "--validate", "3", "--threads", "1", "--batch", "8"]
    where = ["--features", str(made / "store"), "--output", str(made / output)]
    return [*where, "--captions", str(made / "coco.json"), "--flickr8k", str(made), *plan]


@pytest.mark.parametrize("words", ["states", "alone", "gru"])
def test_scan(made: Path, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "scan", *options(made, words), "--words", words, "--width", "16"]) == 0
    assert "best at step" in capsys.readouterr().out
    model = scan.load(str(made / words / "scan"))
    assert model.width == 16
    assert (made / words / "log.csv").is_file()


def test_scan_over_embedded_regions_names_its_encoder(made: Path) -> None:
    assert main(["train", "vse", *options(made, "vse")]) == 0
    encoder = vse.load(str(made / "vse" / "vse"))
    features = np.ones((2, 1280), np.float32)
    assert encoder.embed(features).shape == (2, 384)
    command = ["train", "scan", *options(made, "over"), "--encoder", str(made / "vse" / "vse")]
    assert main([*command, "--work", str(made / "vse"), "--captions-per-image", "2"]) == 0
    model = scan.load(str(made / "over" / "scan"))
    assert model.meta["encoder"] == str(made / "vse" / "vse")
    assert model.meta["standardise"] is False
    assert model.weights["image"].shape == (384, 384)  # over the encoder's space, not the features'
    assert model.regions(encoder.embed(features)).shape == (2, 384)
    assert (made / "vse" / "coco-states-2.f16").is_file()
    assert not (made / "over" / "coco-captions.npy").exists()  # found in --work


def test_faier_plus_learns_from_claims_and_fits_them(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "vse", *options(made, "claims"), "--teacher", "claims"]) == 0
    command = ["train", "faier-plus", *options(made, "plus"), "--teacher", "claims", "--work", str(made / "claims")]
    assert main([*command, "--encoder", str(made / "claims" / "vse")]) == 0
    assert "best at step" in capsys.readouterr().out
    weights, meta = shipped.weights(str(made / "plus" / "faier_plus"), "faier_plus")
    model = faier_plus.FaierPlusModel(weights, meta)
    assert weights["claims"].shape == (len(faier_plus.PARTS), 2)
    assert np.isfinite(model.calibrated("seen", faier_plus.CLAIMS, np.zeros(1, np.float32))).all()
    assert meta["claims"] == {"photos": 8, "references": 3}
    file = made / "plus" / "faier_plus" / "faier_plus.safetensors"
    assert meta["files"] == {"faier_plus.safetensors": shipped.sha256(file)}


def test_gru_begins_with_word_vectors(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    glove = tmp_path / "glove.txt"
    glove.write_text("".join(f"{word} {' '.join([str(k)] * 6)}\n" for k, word in enumerate(["dog", "cat", "horse"], 1)))
    command = ["train", "scan", *options(made, "glove"), "--width", "16", "--embeddings", str(glove)]
    assert main([*command, "--words", "gru"]) == 0
    model = scan.load(str(made / "glove" / "scan"))
    places = {word: place for place, word in enumerate(model.meta["vocabulary"])}
    assert model.weights["embedding"].shape == (len(places), 6)
    np.testing.assert_allclose(model.weights["embedding"][places["cat"]], 2.0, atol=0.1)  # six small steps away
    assert len(model.words(["a dog"])[0]) == 4
    assert main(command) == 2
    assert "--words gru" in capsys.readouterr().err


def test_vectors_of_other_captions_are_refused(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["train", "vse", *options(made, "other"), "--work", str(tmp_path)]
    np.save(tmp_path / "coco-captions.npy", np.zeros((8, 5, 384), np.float16))
    assert main(command) == 2
    assert "coco-captions.npy holds values of other images" in capsys.readouterr().err
    np.save(tmp_path / "coco-captions.npy", np.zeros((8, 4, 384), np.float16))
    assert main(command) == 2
    assert "shape (8, 4, 384)" in capsys.readouterr().err


def test_store_without_the_images_is_named(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = [{"image_id": 77, "caption": "x"}] * 5
    (tmp_path / "c.json").write_text(json.dumps({"annotations": other}))
    words = options(made, "none")
    words[words.index("--captions") + 1] = str(tmp_path / "c.json")
    assert main(["train", "scan", *words]) == 2
    assert "none of the 1 images is in" in capsys.readouterr().err


def test_unknown_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "nonsense"]) == 2
    assert "backbone" in capsys.readouterr().err


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Features of another width, with different numbers of regions and captions; nothing of COCO or Flickr8k."""
    folder = tmp_path_factory.mktemp("own")
    rng = np.random.default_rng(0)
    meaning = rng.normal(size=(len(THINGS), 40))
    forms = ("a {} on the grass", "the {} near a tree", "one brown {}")
    with (
        FeatureWriter(folder / "store", declared("mine", 40), width=40) as writer,
        (folder / "c.tsv").open("w") as said,
    ):
        said.write("image\tcaption\n")
        for place, thing in enumerate(THINGS):
            count = 2 + place % 3
            writer.add(thing, meaning[place] + 0.1 * rng.normal(size=(count, 40)), BOXES[:count])
            said.writelines(f"{thing}\t{form.format(thing)}\n" for form in forms[: 1 + place % 3])
    return folder


@pytest.mark.parametrize("model", ["vse", "scan", "faier-plus"])
def test_claims_of_few_captions(model: str, own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = ["--steps", "2", "--validate", "2", "--threads", "1", "--batch", "5", "--validation", "0.25"]
    where = ["--features", str(own / "store"), "--captions", str(own / "c.tsv"), "--work", str(own / "work")]
    more = ["--encoder", str(own / "vse" / "vse")] if model != "vse" else []
    command = ["train", model, *where, *plan, "--teacher", "claims", "--output", str(own / model), *more]
    assert main(command) == 0
    assert "best at step 2" in capsys.readouterr().out
    part = model.replace("-", "_")
    weights, meta = shipped.weights(str(own / model / part), part)
    assert all(np.isfinite(np.asarray(value, np.float32)).all() for value in weights.values())
    assert (meta["features"]["width"], meta["features"]["regions"]) == (40, 4)
    assert meta["trained"]["photos"][0] == 6
    if model == "scan":
        assert main([*command, "--references", "1", "--output", str(own / "r")]) == 2
        assert "there is one with 1" in capsys.readouterr().err


@pytest.mark.parametrize("model", ["scan", "faier-plus"])
def test_regions_and_words_meet_in_one_space(model: str, own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--features", str(own / "store"), "--captions", str(own / "c.tsv"), "--validation", "0.25"]
    if not (own / "vse" / "vse").is_dir():
        assert main(["train", "vse", *where, "--output", str(own / "vse"), "--steps", "2", "--threads", "1"]) == 0
    command = ["train", model, *where, "--encoder", str(own / "vse" / "vse"), "--text-encoder", "gte-small"]
    assert main([*command, "--output", str(own / "mixed")]) == 2
    assert "was trained over the sentence encoder 'captions', not over 'gte-small'" in capsys.readouterr().err

"""Training FAIEr: it learns, resumes to the same weights, keeps parsed captions, and runs from the command line."""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from vericap.cli import main  # noqa: E402
from vericap.core.errors import VericapError  # noqa: E402
from vericap.models.faier import EMPTY, UNKNOWN, FaierModel, load  # noqa: E402
from vericap.train import losses  # noqa: E402
from vericap.train.faier import command, training  # noqa: E402
from vericap.train.faier.data import (  # noqa: E402
    CaptionTable,
    FaierSource,
    ParsedCaptions,
    StoredRegions,
    parse,
    vocabulary,
)
from vericap.train.faier.network import FaierModule  # noqa: E402
from vericap.train.kept import StoreFeatures  # noqa: E402
from vericap.train.named import BoxTeacher, NamedWords  # noqa: E402
from vericap.train.trainer import TrainPlan  # noqa: E402
from vericap.train.words.boxes import PhotoBoxes  # noqa: E402
from vericap.vision.store import FeatureStore, FeatureWriter  # noqa: E402

IMAGES, WIDTH, THINGS = 50, 12, 24


def made_parsed() -> ParsedCaptions:
    """Captions "the A near B" and the like of images that show A and B, with the triplet "A near B"."""
    table = ["the", "a", "one", "some", "my", "near", *(f"thing{i}" for i in range(THINGS))]
    words, triplets = [], []
    for i in range(IMAGES):
        first, second = 6 + i % THINGS, 6 + (i * 7 + i // THINGS + 1) % THINGS
        words += [[start, first, 5, second] for start in range(5)]
        triplets += [[first, 5, second]] * 5
    flat, phrases = np.array(words, dtype=np.int32), np.array(triplets, dtype=np.int32)
    ones = np.ones(len(words), dtype=np.int32)
    return ParsedCaptions(table, flat.reshape(-1), ones * 4, phrases.reshape(-1), ones * 3, ones)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> FeatureStore:
    folder = tmp_path_factory.mktemp("store")
    rng = np.random.default_rng(0)
    meaning = rng.normal(size=(THINGS, WIDTH))
    with FeatureWriter(folder, {"made": "here"}, width=WIDTH) as writer:
        for i in range(IMAGES):
            shown = [i % THINGS, (i * 7 + i // THINGS + 1) % THINGS, *rng.integers(THINGS, size=i % 2)]
            boxes = np.sort(rng.random((len(shown), 2, 2)), axis=1).reshape(-1, 4)
            writer.add(str(i), meaning[shown] + 0.1 * rng.normal(size=(len(shown), WIDTH)), boxes)
    return FeatureStore(folder)


def run(
    store: FeatureStore,
    folder: Path,
    *,
    steps: int = 40,
    start: FaierModel | None = None,
    precision: str = "float32",
    teacher: BoxTeacher | None = None,
    share: float = 1.0,
    **changes: object,
) -> list[dict[str, str]]:
    parsed = made_parsed()
    words = vocabulary([parsed], 1)
    rng = np.random.default_rng(1)
    sentences = rng.normal(size=(IMAGES, 1, 384)) + 0.3 * rng.normal(size=(IMAGES, 5, 384))
    sentences /= np.linalg.norm(sentences, axis=-1, keepdims=True)
    images = StoredRegions(store, [str(i) for i in range(IMAGES)])
    source = FaierSource(images, CaptionTable([parsed], words), sentences.astype(np.float16), boxes=teacher)
    options = training.FaierOptions(**{"d": 32, "words": 16, "batch": 50, "rate": 5e-3, "hard_warmup": 40, **changes})  # type: ignore[arg-type]
    training.train(
        [source],
        [50],
        source,
        folder,
        plan=TrainPlan(steps=steps, warmup=5, validate=steps // 2, threads=1, average=0.9, precision=precision),
        options=options,
        features=store.trained_on(),
        vocabulary=words,
        start=start,
        share=share,
        storage="float32",
        quiet=True,
    )
    with (folder / "log.csv").open() as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("loss", ["hardest", "infonce", "distil"])
def test_it_learns_to_retrieve(loss: str, store: FeatureStore, tmp_path: Path) -> None:
    log = run(store, tmp_path, steps=120, loss=loss)
    # Images are told apart by two of 24 things in any order of regions.
    assert float(log[-1]["i2t_r1"]) > (80 if loss != "distil" else 40)
    model = load(str(tmp_path / "faier"))
    assert model.fingerprint == store.fingerprint
    assert json.loads((tmp_path / "faier" / "meta.json").read_text())["trained"]["options"]["loss"] == loss


def test_it_learns_from_batches_of_neighbours(store: FeatureStore, tmp_path: Path) -> None:
    log = run(store, tmp_path, steps=120, near=5)
    assert float(log[-1]["i2t_r1"]) > 80


def test_narrow_products_learn_as_well(store: FeatureStore, tmp_path: Path) -> None:
    """Losses fall alike; the weights stay wide."""
    wide, narrow = (run(store, tmp_path / name, steps=60, precision=name) for name in ("float32", "bfloat16"))
    assert float(narrow[-1]["loss"]) == pytest.approx(float(wide[-1]["loss"]), rel=0.15)
    assert float(narrow[-1]["loss"]) < 0.8 * float(narrow[0]["loss"])
    assert all(value.dtype == np.float32 for value in load(str(tmp_path / "bfloat16" / "faier")).weights.values())


@pytest.mark.parametrize("variant", ["faier-norel", "fier", "aier", "fier+aier"])
def test_every_variant_learns(variant: str, store: FeatureStore, tmp_path: Path) -> None:
    log = run(store, tmp_path, steps=60, variant=variant, similarity="cosine", loss="infonce")
    assert float(log[-1]["i2t_r10"]) > 60
    assert load(str(tmp_path / "faier")).config.variant == variant


def made_boxes(store: FeatureStore) -> BoxTeacher:
    """The two things that captions name lie where the first two regions are."""
    keys = [str(i) for i in range(IMAGES)]
    features = StoreFeatures(store, keys)
    shown = np.array([[i % THINGS, (i * 7 + i // THINGS + 1) % THINGS] for i in range(IMAGES)])
    photos = [PhotoBoxes(features.boxes(np.array([i]))[0, :2], shown[i]) for i in range(IMAGES)]
    pieces, kinds = np.tile([1, 3], 5 * IMAGES), np.repeat(shown, 5, axis=0).reshape(-1)
    named = NamedWords(np.arange(5 * IMAGES + 1) * 2, pieces, kinds, [(thing,) for thing in range(THINGS)])
    return BoxTeacher(named, features, photos)


def attended(model: FaierModel, store: FeatureStore) -> float:
    """Share of the images where, of the first two regions, the one on the first thing attends to its word more."""
    module = FaierModule(model.config, model.vocabulary)
    module.load_state_dict({key: torch.from_numpy(value) for key, value in model.weights.items()})
    images = StoredRegions(store, [str(i) for i in range(IMAGES)])
    with torch.no_grad():
        visual = module.regions(*images[np.arange(IMAGES)])["object"] * module.attention["object"].weight[0]
        nodes, _ = module.captions([["the", f"thing{i % THINGS}"] for i in range(IMAGES)], [[]] * IMAGES)[
            "object"
        ].padded(np.arange(IMAGES))
    likeness = (visual[:, :2] @ nodes[:, 1, :, None])[..., 0]
    return float((likeness[:, 0] > likeness[:, 1]).float().mean())


def test_boxes_teach_attention(store: FeatureStore, tmp_path: Path) -> None:
    alone, taught = (
        run(store, tmp_path / str(weight), steps=120, teacher=made_boxes(store), boxes=weight) for weight in (0.0, 0.5)
    )
    assert float(taught[-1]["boxes"]) < 0.7 * float(alone[-1]["boxes"])
    assert attended(load(str(tmp_path / "0.5" / "faier")), store) > 0.85


def test_boxes_teach_regions_which_word_to_attend_to(store: FeatureStore, tmp_path: Path) -> None:
    alone, taught = (
        run(store, tmp_path / str(weight), steps=80, teacher=made_boxes(store), attend=weight) for weight in (1e-9, 1.0)
    )
    assert float(taught[-1]["attended"]) < 0.7 * float(alone[-1]["attended"])


def test_attention_may_begin_sharper_and_weights_go_a_share_of_the_way(store: FeatureStore, tmp_path: Path) -> None:
    run(store, tmp_path / "start", steps=4)
    start = load(str(tmp_path / "start" / "faier"))
    found = {}
    for name, share, rate in (("begun", 1.0, 0.0), ("half", 0.5, 0.0)):
        run(store, tmp_path / name, steps=4, start=start, sharper=3.0, share=share, rate=rate)
        found[name] = load(str(tmp_path / name / "faier"))
    for key, weight in start.weights.items():
        sharper = 3.0 if key.startswith(("attention.", "offset.")) else 1.0
        np.testing.assert_allclose(found["begun"].weights[key], sharper * weight, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(found["half"].weights[key], (1 + sharper) / 2 * weight, rtol=1e-5, atol=1e-7)
    assert found["half"].meta["trained"]["share"] == 0.5


def test_interrupted_training_ends_the_same(
    store: FeatureStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(store, tmp_path / "whole")
    going = training.Trainer.run

    def stop_early(self, losses, validate, *, until=None):  # type: ignore[no-untyped-def]
        going(self, losses, validate, until=20)
        raise KeyboardInterrupt

    monkeypatch.setattr(training.Trainer, "run", stop_early)
    with pytest.raises(KeyboardInterrupt):
        run(store, tmp_path / "halves")
    monkeypatch.undo()
    run(store, tmp_path / "halves")
    one, two = ((tmp_path / name / "faier" / "faier.safetensors").read_bytes() for name in ("whole", "halves"))
    assert one == two


def test_options_that_cannot_be() -> None:
    with pytest.raises(VericapError, match="one of the 2 captions"):
        training.FaierOptions(references="2", captions=2).check()
    with pytest.raises(VericapError, match="has no attention"):
        training.FaierOptions(variant="fier", boxes=0.1).check()
    with pytest.raises(VericapError, match="references alone"):
        training.FaierOptions(variant="aier", references="0").check()
    with pytest.raises(VericapError, match="a teacher stands beside the losses hardest and sum, not beside 'distil'"):
        training.FaierOptions(loss="distil", teacher=0.5).check()
    with pytest.raises(VericapError, match="is not one of hardest"):
        training.FaierOptions(loss="softest").check()


def test_parsed_captions_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["A man rides a horse on the beach.", "", "Two dogs."]
    found = parse(texts, tmp_path / "graphs.npz", quiet=True)
    assert len(found) == 3
    words = vocabulary([found], 1)
    assert words[:2] == [UNKNOWN, EMPTY]
    coded = CaptionTable([found], words).take(np.array([2, 0, 1]))
    read = [words[i] for i in coded.words]
    assert read == ["two", "dogs", "a", "man", "rides", "a", "horse", "on", "the", "beach", EMPTY]
    assert coded.counts.tolist() == [2, 8, 1]
    assert coded.triplets[1] >= 1
    assert "man ride horse" in " ".join(words[i] for i in coded.triplet_words)

    def never(*_: object, **__: object) -> None:
        raise AssertionError("parsed again")

    monkeypatch.setattr("vericap.train.kept.parse_texts", never)
    again = parse(texts, tmp_path / "graphs.npz", quiet=True)
    assert again.table == found.table
    with pytest.raises(AssertionError, match="parsed again"):
        parse([*texts, "more"], tmp_path / "graphs.npz", quiet=True)


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    things = ["dog", "cat", "horse", "boat", "train", "child"]
    rng = np.random.default_rng(0)
    rows, lines = [], []
    with FeatureWriter(tmp_path / "store", {"made": "here"}, width=20) as writer:
        for place, thing in enumerate(things):
            for name in (f"{place + 1:012d}.jpg", f"{thing}.jpg"):
                writer.add(name, rng.normal(size=(3, 20)), np.tile([0, 0, 1, 1], (3, 1)))
            texts = [f"{start} {thing} on the grass" for start in ("a", "the", "one", "some", "my")]
            rows += [{"image_id": place + 1, "caption": text} for text in texts]
            lines += [f"{thing}.jpg#{k}\t{text}" for k, text in enumerate(texts)]
    (tmp_path / "coco.json").write_text(json.dumps({"annotations": rows}))
    (tmp_path / "never.txt").write_text("6\n")
    (tmp_path / "Flickr8k.token.txt").write_text("\n".join(lines))
    for split in ("train", "dev"):
        (tmp_path / f"Flickr_8k.{split}Images.txt").write_text("\n".join(f"{thing}.jpg" for thing in things))
    command = ["train", "faier", "--features", str(tmp_path / "store"), "--captions", str(tmp_path / "coco.json")]
    command += ["--never", str(tmp_path / "never.txt"), "--flickr8k", str(tmp_path), "--d", "16", "--rarest", "2"]
    command += ["--steps", "4", "--validate", "2", "--threads", "1", "--batch", "8"]
    assert main([*command, "--output", str(tmp_path / "one"), "--captions-per-image", "3"]) == 0
    assert "best at step" in capsys.readouterr().out
    model = load(str(tmp_path / "one" / "faier"))
    assert model.vocabulary[:2] == [UNKNOWN, EMPTY]
    assert json.loads((tmp_path / "one" / "faier" / "meta.json").read_text())["trained"]["photos"] == [5, 6]
    start = ["--start", str(tmp_path / "one" / "faier"), "--loss", "distil"]
    assert main([*command, "--output", str(tmp_path / "two"), *start]) == 0
    assert main([*command, "--output", str(tmp_path / "three"), "--captions-per-image", "1", "--references", "3"]) == 2
    assert "one of the 1 captions" in capsys.readouterr().err


def test_the_sum_over_all_negatives_equals_the_loop() -> None:
    scores = torch.randn(5, 5, generator=torch.Generator().manual_seed(0))
    total = sum(
        max(0.0, 0.2 + float(scores[i, j] - scores[i, i])) + max(0.0, 0.2 + float(scores[j, i] - scores[i, i]))
        for i in range(5)
        for j in range(5)
        if i != j
    )
    assert float(losses.all_negatives(scores)) == pytest.approx(total / 5, rel=1e-5)


def test_two_checkpoints_are_kept_and_say_what_they_were_trained_on(store: FeatureStore, tmp_path: Path) -> None:
    log = run(store, tmp_path, loss="sum")
    metas = [json.loads((tmp_path / name / "meta.json").read_text()) for name in ("faier", "faier-agreement")]
    for meta, figure in zip(metas, ("retrieval", "agreement")):
        best = max(float(row[figure]) for row in log)
        assert meta["trained"]["chosen"] == figure
        assert meta["trained"][figure] == pytest.approx(best)
        assert meta["fingerprint"] == meta["features"]["fingerprint"] == store.fingerprint
        assert meta["features"]["content"] == store.content
        assert (meta["config"]["width"], meta["config"]["regions"]) == (WIDTH, 3)
    # A meta file that is changed to name other features is refused.
    (tmp_path / "faier" / "meta.json").write_text(json.dumps({**metas[0], "fingerprint": "other"}))
    with pytest.raises(VericapError, match="names features other but was trained on"):
        load(str(tmp_path / "faier"))


def test_features_of_another_extractor_neither_begin_nor_resume(store: FeatureStore, tmp_path: Path) -> None:
    run(store, tmp_path / "one", steps=4)
    with FeatureWriter(tmp_path / "other", {"made": "elsewhere"}, width=WIDTH) as writer:
        for name in store.ids():
            writer.add(name, *(np.asarray(part) for part in store.get(name)))
    other = FeatureStore(tmp_path / "other")
    with pytest.raises(VericapError, match="other options"):
        run(other, tmp_path / "one", steps=4)
    with pytest.raises(VericapError, match="are not those the model vericap-faier was trained on"):
        run(other, tmp_path / "two", steps=4, start=load(str(tmp_path / "one" / "faier")))


@pytest.mark.parametrize(
    ("more", "message"),
    [(["--attend-weight", "0.1"], "boxes FILE"), (["--sharper", "2"], "start DIR"), (["--share", "0.5"], "start DIR")],
)
def test_options_without_what_they_are_of_are_told(
    more: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "faier", "--features", "store", "--output", str(tmp_path / "out"), *more]) == 2
    assert message in capsys.readouterr().err


def test_the_command_trains_as_the_paper_does() -> None:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    found = parser.parse_args(["--features", "s", "--output", "o"])
    assert (found.optimizer, found.loss, found.d, found.references) == ("adam", "hardest", 512, "r")
    drawn = training.FaierOptions().drawn(np.array([5] * 400 + [2] * 100 + [1] * 10), np.random.default_rng(0))
    assert set(drawn[:400].tolist()) == {0, 1, 2, 3, 4}
    assert set(drawn[400:500].tolist()) == {0, 1}
    assert not drawn[500:].any()
    assert training.FaierOptions(references="3").drawn(np.array([5, 2, 1]), np.random.default_rng(0)).tolist() == [
        3,
        1,
        0,
    ]

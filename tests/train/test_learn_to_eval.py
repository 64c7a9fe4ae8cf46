"""LearnToEval: machine captions by hand, torch against numpy, and a training on made data that a command runs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from vericap.cli import main  # noqa: E402
from vericap.core import shipped  # noqa: E402
from vericap.core.errors import InputError  # noqa: E402
from vericap.core.samples import Sample  # noqa: E402
from vericap.core.settings import Settings  # noqa: E402
from vericap.metrics.learn_to_eval import LearnToEval  # noqa: E402
from vericap.models.learn_to_eval import LearnToEvalModel, load, word_pairs  # noqa: E402
from vericap.run.engine import Run  # noqa: E402
from vericap.train.data import Captioned  # noqa: E402
from vericap.train.learn_to_eval import machine  # noqa: E402
from vericap.train.learn_to_eval.machine import KINDS, Babbler, MachineCaptions, machine_captions  # noqa: E402
from vericap.train.learn_to_eval.network import Discriminator, save_discriminator  # noqa: E402
from vericap.train.learn_to_eval.training import LearnOptions, LearnTask, Photos  # noqa: E402

TEXTS = ["A dog runs on the grass.", "a dog sleeps on a bed", "A man rides a horse.", "a man runs on the road"]


class Letters:
    """A sentence encoder of counted letters."""

    width = 26

    def encode(self, texts: list[str]) -> np.ndarray:
        counts = [[text.lower().count(chr(97 + k)) + 0.01 for k in range(26)] for text in texts]
        found = np.array(counts, dtype=np.float32)
        return found / np.linalg.norm(found, axis=1, keepdims=True)


def dice() -> np.random.Generator:
    return np.random.default_rng(0)


def test_what_a_babbler_says_is_made_of_trigrams_that_people_wrote() -> None:
    babbler = Babbler(TEXTS)
    known = {tuple(f"< < {' '.join(machine.tokens(text))} >".split()[k : k + 3]) for text in TEXTS for k in range(9)}
    generator = dice()
    for _ in range(50):
        words = f"< < {babbler.say(generator)} >".split()
        assert all(tuple(words[k : k + 3]) in known for k in range(len(words) - 2))
    pool = babbler.pool(5, TEXTS, generator)
    assert pool
    assert not {" ".join(machine.tokens(text)) for text in TEXTS} & set(pool)
    drawn = Counter(babbler.word(generator) for _ in range(2000))
    assert drawn["a"] > drawn["horse"] > 0  # as often as people use them


def test_words_are_permuted_and_replaced() -> None:
    generator = dice()
    assert sorted(machine.permuted(TEXTS[0], generator).split()) == sorted(machine.tokens(TEXTS[0]))
    new = machine.replaced(TEXTS[0], Babbler(["zebra"]), generator).split()
    assert len(new) == 6
    assert new.count("zebra") == 2
    assert machine.dressed("dog a", TEXTS[0]) == "Dog a."
    assert machine.dressed("dog a", TEXTS[1]) == "dog a"


def test_the_nearest_photo_is_another_one() -> None:
    images = np.array([[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]], np.float32)
    assert machine.nearest_photos(images) == [1, 0, 3, 2]
    pool = np.array([[0, 1], [1, 0]], np.float32)
    assert machine.nearest_heard(images, pool, dice()) == [1, 1, 0, 0]


def made(count: int = 60, seed: int = 0) -> Photos:
    """Photos of dogs and of men, each with two captions."""
    things = [("dog", "bone"), ("man", "horse")]
    pairs = [things[n % 2] for n in range(count)]
    captions = [[f"A {a} with a {b} number {n}.", f"the {b} of {a} {n}"] for n, (a, b) in enumerate(pairs)]
    data = Captioned([str(n) for n in range(count)], captions)
    encoder = Letters()
    human = encoder.encode([text for own in captions for text in own]).reshape(count, 2, -1)
    images = human.mean(axis=1)
    images /= np.linalg.norm(images, axis=1, keepdims=True)
    found = machine_captions(data, images, encoder, babbled=50, seed=seed)  # type: ignore[arg-type]
    return Photos(data, images, human, found, LearnOptions().buckets)


def test_of_every_photo_one_caption_of_each_kind() -> None:
    photos = made(10)
    for row, texts in enumerate(photos.machine.texts):
        assert len(texts) == len(KINDS)
        own = photos.data.captions[row]
        assert not set(texts[:3]) & set(own)
        source = own[photos.machine.sources[row]]
        assert sorted(machine.tokens(texts[KINDS.index("permuted")])) == sorted(machine.tokens(source))
    assert photos.machine.vectors.shape == (10, len(KINDS), 26)


def test_references_leave_out_what_is_judged() -> None:
    photos = made(4)
    rows, left_out = np.arange(4), np.array([0, 1, 0, 1])
    found, known = photos.references(rows, left_out, [4, 4, 0, 4], dice())
    assert known.tolist() == [True, True, False, True]
    np.testing.assert_allclose(found[0], photos.human[0, 1], atol=1e-6)
    np.testing.assert_allclose(found[1], photos.human[1, 0], atol=1e-6)
    assert not found[2].any()


def test_numpy_scores_as_torch(tmp_path: Path) -> None:
    torch.manual_seed(0)
    network = Discriminator(26, width=8, buckets=64, pairs=6, hidden=12).eval()
    generator = dice()
    c, v, r = (generator.normal(size=(3, 26)).astype(np.float32) for _ in range(3))
    known = np.array([True, False, True])
    texts = TEXTS[:3]
    numbers = [word_pairs(text, 64) for text in texts]
    with torch.no_grad():
        expected = torch.sigmoid(network(*map(torch.as_tensor, (c, v, r, known)), numbers)).numpy()
    save_discriminator(network, tmp_path, {"name": "tiny", "encoder": "default"})
    weights, meta = shipped.weights(str(tmp_path), "learn_to_eval")
    model = LearnToEvalModel(weights, meta)
    np.testing.assert_allclose(model.score(c, v, r, known, model.pairs(texts)), expected, atol=2e-3)
    assert word_pairs("a dog", 64) != word_pairs("dog a", 64)


def test_it_learns_to_tell_people_from_machines() -> None:
    torch.manual_seed(0)
    photos, dev = made(), made(20, seed=1)
    network = Discriminator(26, width=8, buckets=LearnOptions().buckets, pairs=8, hidden=16)
    task = LearnTask(network, photos, dev, LearnOptions(batch=30), seed=0)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    with torch.no_grad():
        before = task.validate()
    for step in range(80):
        optimizer.zero_grad()
        loss = task.losses(step, np.random.default_rng(step))["loss"]
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        after = task.validate()
    assert after["agreement"] > max(75.0, before["agreement"] + 10)
    assert set(KINDS) < set(after)


def test_the_command_trains_on_features_of_a_store(tmp_path: Path) -> None:
    """The whole way: a store of made features, an encoder over them, the discriminator, and its score."""
    if not (shipped.ROOT / "caption_encoder" / "meta.json").is_file():
        pytest.skip("the caption encoder is not in this checkout")
    rng = dice()
    things = ["dog", "cat", "horse", "boat", "train", "child", "bird", "pizza"]
    meaning = rng.normal(size=(len(things), 16))
    features = np.stack([m + 0.2 * rng.normal(size=(3, 16)) for m in meaning]).astype(np.float32)
    boxes = np.tile(np.array([[0, 0, 1, 1], [0, 0, 0.5, 0.5], [0.5, 0.5, 1, 1]], np.float32), (len(things), 1, 1))
    (tmp_path / "npz").mkdir()
    for name, own, box in zip(things, features, boxes):
        np.savez(tmp_path / "npz" / f"{name}.npz", features=own, boxes=box)
    rows = [{"image": t, "captions": [f"a {t} on the grass", f"the {t} near a tree", f"one {t} here"]} for t in things]
    (tmp_path / "captions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    store = str(tmp_path / "store")
    assert main(["features", str(tmp_path / "npz"), "-o", store]) == 0
    common = ["--features", store, "--captions", str(tmp_path / "captions.jsonl"), "--validation", "0.3"]
    short = ["--steps", "4", "--validate", "2", "--batch", "4", "--threads", "1"]
    assert main(["train", "vse", *common, *short, "-o", str(tmp_path / "vse")]) == 0
    encoder = str(tmp_path / "vse" / "vse")
    command = ["train", "learn-to-eval", *common, *short, "--babbled", "20", "--encoder", encoder]
    assert main([*command, "-o", str(tmp_path / "out")]) == 0
    folder = tmp_path / "out" / "learn_to_eval"
    meta = json.loads((folder / "meta.json").read_text())
    assert meta["trained"]["machine_captions"] == list(KINDS)
    assert (folder / "learn_to_eval.safetensors").stat().st_size < 1_000_000
    samples = [Sample(t, f"a {t}", (f"the {t} is here",), t) for t in things]
    samples.append(Sample("bare", "a dog", (), "dog"))
    run = Run([LearnToEval(model=str(folder))], Settings(features=Path(store), progress=False))
    scored = run.score(samples)
    values = scored[next(iter(scored.metrics))]
    assert all(0 < value < 1 for value in values)
    (reasons,) = run.explain(samples).values()
    assert set(reasons[0].facts) == {"without_references", "image_cosine", "reference_cosine"}
    assert reasons[-1].facts["without_references"] == pytest.approx(values[-1], abs=1e-6)
    other = {**meta, "encoder_version": "another"}
    (folder / "meta.json").write_text(json.dumps(other))
    with pytest.raises(InputError, match="trained over the image-sentence encoder another"):
        load(str(folder))


def test_machine_captions_are_kept_as_they_are() -> None:
    first, second = made(8).machine, made(8).machine
    assert isinstance(first, MachineCaptions)
    assert first.texts == second.texts  # of the same seed
    assert made(8, seed=3).machine.texts != first.texts

"""What people's ratings teach: the map of caption vectors in the image-sentence encoder, FAIEr-plus, SCAN."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from scipy.stats import spearmanr  # noqa: E402

from vericap.cli import main  # noqa: E402
from vericap.core.shipped import save_weights, weights, write_meta  # noqa: E402
from vericap.models.arrays import unit  # noqa: E402
from vericap.models.vse import VseModel, load, regions_version  # noqa: E402
from vericap.native import able  # noqa: E402
from vericap.train.kept import StoreFeatures  # noqa: E402
from vericap.train.ratings import FIT, HELD, Likeness, Rating, photo_name, share_of  # noqa: E402
from vericap.train.trainer import TrainPlan  # noqa: E402
from vericap.train.vse import people  # noqa: E402
from vericap.train.vse.training import VseSource  # noqa: E402
from vericap.vision.store import FeatureStore, FeatureWriter  # noqa: E402

D, HALF = 64, 32  # values of the sentence space, and those of them that people mind
TELLING = [*range(6), *range(HALF, HALF + 6)]  # values that differ between photos: six of each half
EACH = 5
META = {"name": "made", "fingerprint": "f", "text_encoder": "captions"}


def numbers(low: float, high: float, count: int) -> list[int]:
    """The first numbers of photos whose share lies between the two."""
    return [number for number in range(1, 1000) if low <= share_of(photo_name(number)) < high][:count]


def numbered(*seed: int) -> np.ndarray:
    found = np.zeros(D)
    found[TELLING] = np.random.default_rng(seed).normal(size=len(TELLING))
    return found


def topic(photo: int) -> np.ndarray:
    """What a photo shows."""
    return unit(numbered(1, photo))


class Reader:
    """Vectors of captions of the form "PHOTO NUMBER": around what the photo shows."""

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        found = [topic(photo) + 0.5 * unit(numbered(2, photo, k)) for photo, k in (map(int, t.split()) for t in texts)]
        return unit(np.array(found)).astype(np.float32)


def liked(one: np.ndarray, other: np.ndarray) -> float:
    """What people find: they mind the first half of the values alone."""
    return float((1 + unit(one[:HALF]) @ unit(other[:HALF])) / 2)


def log_of(folder: Path) -> list[dict[str, float]]:
    with (folder / "log.csv").open() as stream:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(stream)]


# --- P in scoring


def model(*, mapped: bool, d: int = 48, width: int = 10) -> VseModel:
    rng = np.random.default_rng(3)
    shapes = {"linear": (d, width), "linear_bias": (d,), "hidden": (7, width), "hidden_bias": (7,), "output": (d, 7)}
    shapes |= {"output_bias": (d,), **({"people": (d, d)} if mapped else {})}
    made = {name: rng.normal(size=shape).astype(np.float32) / 3 for name, shape in shapes.items()}
    return VseModel({**made, "sharpness": np.array(6.0, np.float32)}, META)


def captions(count: int, d: int = 48) -> np.ndarray:
    return unit(np.random.default_rng(4).normal(size=(count, d))).astype(np.float32)


def test_texts_stay_as_they_are_where_nothing_was_learned() -> None:
    texts = captions(5)
    assert model(mapped=False).weighed(texts) is texts


@pytest.mark.parametrize("way", ["kernel", "plain"])
def test_texts_are_weighed_by_the_formula(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "plain":
        monkeypatch.setenv("VERICAP_PURE_PYTHON", "1")
    encoder, texts = model(mapped=True), captions(300)
    given = texts.copy()
    found = encoder.weighed(texts)
    np.testing.assert_array_equal(texts, given)  # what is given is not changed
    for t, one in zip(texts.astype(np.float64), found):
        moved = t + [sum(a * b for a, b in zip(row, t)) for row in encoder.weights["people"].astype(np.float64)]
        np.testing.assert_allclose(one, moved / np.sqrt((moved**2).sum()), atol=1e-5)
    np.testing.assert_allclose(encoder.weighed(np.asfortranarray(texts)), found, atol=1e-6)
    assert encoder.weighed(texts[:0]).shape == (0, 48)


@pytest.mark.parametrize("mapped", [False, True])
def test_scores_are_those_of_weighed_texts(mapped: bool) -> None:
    encoder, texts = model(mapped=mapped), captions(6)
    z = encoder.embed(np.random.default_rng(5).normal(size=(4, 5, 10)).astype(np.float32))
    mask = np.arange(5) < np.array([5, 3, 2, 1])[:, None]
    expected = np.empty((4, 6))
    for image in range(4):
        for caption, t in enumerate(texts):
            said = t + encoder.weights["people"] @ t if mapped else t
            said = said / np.linalg.norm(said)
            whole, *windows = (float(region @ said) for region in z[image][mask[image]])
            raised = [np.exp(6.0 * cosine) for cosine in windows]
            parts = sum(a * b for a, b in zip(raised, windows)) / sum(raised) if windows else whole
            expected[image, caption] = whole / 2 + parts / 2
    np.testing.assert_allclose(encoder.matrix(z, mask, texts), expected, atol=1e-5)
    images, columns = np.divmod(np.random.default_rng(6).permutation(np.tile(np.arange(24), 30)), 6)
    np.testing.assert_allclose(encoder.pairs(z, mask, images, texts[columns]), expected[images, columns], atol=1e-5)


def test_a_text_is_weighed_alike_alone_and_among_others() -> None:
    encoder, texts = model(mapped=True), captions(70)
    together = encoder.weighed(texts)
    backwards = encoder.weighed(texts[::-1])[::-1]
    for row in range(len(texts)):
        alone = encoder.weighed(texts[row : row + 1])[0]
        if able("dense") is None:  # NumPy's library sums in another order for another number of rows
            np.testing.assert_allclose(alone, together[row], atol=1e-6)
        else:
            np.testing.assert_array_equal(alone, together[row])
            np.testing.assert_array_equal(backwards[row], together[row])


# --- P in training


class Made:
    """A store, an encoder that sees what photos show, and ratings by half of the values of the sentence space."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.reader = folder, Reader()
        self.fit, self.held, self.check = numbers(0, FIT, 80), numbers(FIT, HELD, 40), numbers(HELD, 1, 10)
        self.photos = [*self.fit, *self.held, *self.check]
        rng = np.random.default_rng(0)
        with FeatureWriter(folder / "store", {"made": "here"}, width=D) as writer:
            for number in self.photos:
                count = 2 + number % 3
                boxes = np.sort(rng.random((count, 2, 2)), axis=1).reshape(-1, 4)
                writer.add(photo_name(number), topic(number) + 0.01 * rng.normal(size=(count, D)), boxes)
        self.store = FeatureStore(folder / "store")
        self._write_encoder(rng)
        self.ratings = [one for number in self.photos for one in self._rated(number, rng)]
        pairs = [(int(a), int(b)) for a, b in rng.choice(self.photos, size=(400, 2))]
        self.likenesses = [self._pair(*pair) for pair in pairs]
        self.alike = sum(a in self.fit and b in self.fit for a, b in pairs)

    def _write_encoder(self, rng: np.random.Generator) -> None:
        """Matrices are large enough to be stored as whole numbers of 8 bits."""
        arrays = {"linear": np.eye(D) + 0.02 * rng.normal(size=(D, D)), "hidden": rng.normal(size=(80, D)) / 8}
        arrays["output"] = 0.05 * rng.normal(size=(D, 80))
        for name, size in (("linear", D), ("hidden", 80), ("output", D)):
            arrays[f"{name}_bias"] = 0.1 * rng.normal(size=size)
        arrays = {name: value.astype(np.float32) for name, value in arrays.items()}
        save_weights({**arrays, "sharpness": np.array(5.0, np.float32)}, self.folder / "first", "vse")
        write_meta(self.folder / "first", {**META, "fingerprint": self.store.fingerprint, "kept": "as it was"})
        self.encoder = weights(str(self.folder / "first"), "vse")

    def _rated(self, number: int, rng: np.random.Generator) -> list[Rating]:
        own = tuple(f"{number} {k}" for k in range(2 + number % 4))
        found = [Rating(photo_name(number), own[0], own[1:], True, 1.0)]
        for other in rng.choice([photo for photo in self.photos if photo != number], 8, replace=False).tolist():
            caption = f"{other} {rng.integers(EACH)}"
            value = liked(topic(number), self.reader.encode([caption])[0])
            found.append(Rating(photo_name(number), caption, own, False, value))
        return found

    def _pair(self, first: int, second: int) -> Likeness:
        one, other = self.reader.encode([f"{first} 0", f"{second} 1"])
        return Likeness((f"{first} 0", f"{second} 1"), (photo_name(first), photo_name(second)), liked(one, other))

    def source(self, photos: list[int]) -> VseSource:
        texts = self.reader.encode([f"{number} {k}" for number in photos for k in range(EACH)])
        maps = StoreFeatures(self.store, [photo_name(number) for number in photos])
        return VseSource(maps, texts.reshape(len(photos), EACH, D).astype(np.float16))

    def taught(self, name: str, *, steps: int, share: float = 0.6) -> dict[str, Any]:
        return people.teach(
            self.encoder,
            self.store,
            [self.source(self.fit[:50]), self.source(self.fit[50:])],
            self.source(self.held),
            (self.ratings, self.likenesses),
            self.folder / name,
            reader=self.reader,  # type: ignore[arg-type]
            plan=TrainPlan(steps=steps, warmup=2, validate=20, threads=1, average=0.9, keep="last"),
            options=people.PeopleOptions(photos=20, rated=256, rate=1e-2, share=share),
        )

    def agreed(self, name: str) -> float:
        """How a written encoder's scores agree with people about captions of photos that were held out."""
        encoder = load(str(self.folder / name))
        features = StoreFeatures(self.store, [photo_name(number) for number in self.held])
        told = [one for one in self.ratings if not one.own and FIT <= share_of(one.image) < HELD]
        images = np.array([self.held.index(int(one.image[:12])) for one in told])
        texts = self.reader.encode([one.caption for one in told])
        scores = encoder.pairs(encoder.embed(features[:]), features.mask, images, texts)
        return 100 * float(spearmanr(scores, [one.value for one in told])[0])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("people"))


@pytest.fixture(scope="module")
def trained(made: Made) -> dict[str, Any]:
    return made.taught("taught", steps=60)


def test_ratings_of_half_of_the_values_are_learned(made: Made, trained: dict[str, Any]) -> None:
    before = made.taught("nothing", steps=0)
    assert before["people"] == pytest.approx(made.agreed("first"), abs=0.2)  # P = 0 is as if there were none
    assert trained["people"] > before["people"] + 5
    assert made.agreed("taught/vse") == pytest.approx(trained["people"], abs=0.5)  # without torch, as it was written
    first, *_, last = log_of(made.folder / "taught")
    for name in ("photos", "references", "alike"):
        assert last[name] < first[name]
    for name in ("people", "people_mean", "people_best"):
        assert last[name] > first[name]
    assert trained["agreement"] > 85  # what the text teacher says is kept
    weighs = load(str(made.folder / "taught" / "vse")).weights["people"].diagonal()[TELLING]
    assert weighs[:6].min() > weighs[6:].max()  # what people mind counts for more, the rest for less


def test_regions_are_as_they_were(made: Made, trained: dict[str, Any]) -> None:
    before, about = made.encoder
    after, meta = weights(str(made.folder / "taught" / "vse"), "vse")
    assert set(after) == {*before, "people"}
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value)
    added = {"people": None, "files": None, "regions": None}
    assert {**meta, **added} == {**about, **added}
    assert meta["regions"] == regions_version(about)  # what was trained over its regions fits still
    assert meta["people"] == trained
    stored = (made.folder / "taught" / "vse" / "vse.safetensors").read_bytes()
    assert b'"people"' in stored


def test_a_share_of_what_was_learned_is_kept(made: Made, trained: dict[str, Any]) -> None:
    learned = torch.load(made.folder / "taught" / "best.pt", weights_only=True)["averaged"][0].numpy()
    written = weights(str(made.folder / "taught" / "vse"), "vse")[0]["people"]
    assert np.abs(learned).max() > 0.01
    np.testing.assert_allclose(written, 0.6 * learned, atol=np.abs(learned).max() / 127)
    assert trained["options"]["share"] == 0.6
    made.taught("whole", steps=10, share=1.0)
    made.taught("half", steps=10, share=0.5)
    whole, half = (weights(str(made.folder / name / "vse"), "vse")[0]["people"] for name in ("whole", "half"))
    np.testing.assert_array_equal(half, 0.5 * whole)


def test_only_photos_that_fit_weights_are_learned_from(made: Made, trained: dict[str, Any]) -> None:
    assert trained["ratings"] == [8 * len(made.fit), 8 * len(made.held)]
    assert 0 < made.alike < len(made.likenesses)
    assert trained["likenesses"] == made.alike
    gone = Rating(photo_name(numbers(0, FIT, 200)[-1]), "1 0", ("2 0",), False, 0.5)  # not in the store
    bare = Rating(photo_name(made.fit[0]), "1 0", (), False, 0.5)
    (fit, held), _ = people.parted([*made.ratings, gone, bare], [], made.store)
    assert [len(fit), len(held)] == trained["ratings"]
    assert not any(one.own for one in [*fit, *held])
    assert {one.image for one in fit} == {photo_name(number) for number in made.fit}
    assert {one.image for one in held} == {photo_name(number) for number in made.held}


def test_an_encoder_that_was_taught_is_taught_anew(made: Made, trained: dict[str, Any]) -> None:
    again = Made.__new__(Made)
    vars(again).update(vars(made), encoder=weights(str(made.folder / "taught" / "vse"), "vse"))
    again.taught("again", steps=60)
    one, two = (weights(str(made.folder / name / "vse"), "vse")[0] for name in ("taught", "again"))
    for name in one:
        np.testing.assert_array_equal(two[name], one[name])


def test_likeness_reads_the_references_that_are_given() -> None:
    rng = np.random.default_rng(0)
    references, said = (torch.as_tensor(unit(rng.normal(size=shape))) for shape in ((6, 4, 9), (6, 9)))
    given = torch.as_tensor((np.arange(4) < np.array([1, 2, 3, 4, 1, 4])[:, None]).astype(np.float64))
    mean, best = people.likeness(references, given, said)
    for row in range(6):
        cosines = [float(references[row, k] @ said[row]) for k in range(4) if given[row, k]]
        assert float(mean[row]) == pytest.approx(np.mean(cosines), abs=1e-6)
        assert float(best[row]) == pytest.approx(max(cosines), abs=1e-6)


# --- the command


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command with ratings, without what it needs beside them."""
    folder = tmp_path_factory.mktemp("command")
    with FeatureWriter(folder / "store", {"made": "here"}, width=4) as writer:
        for number in range(1, 7):
            writer.add(photo_name(number), np.full((2, 4), number), np.tile([0, 0, 1, 1], (2, 1)))
    said = [{"image_id": number, "caption": f"a dog, {k} cats"} for number in range(1, 7) for k in range(EACH)]
    (folder / "captions.json").write_text(json.dumps({"annotations": said}))
    (folder / "ratings.jsonl").write_text("")
    words = ["train", "vse", "--features", str(folder / "store"), "--captions", str(folder / "captions.json")]
    words += ["--output", str(folder / "out"), "--threads", "1", "--steps", "1"]
    return [*words, "--ratings", str(folder / "ratings.jsonl")]


@pytest.mark.parametrize("more", [[], ["--likenesses", "pairs.jsonl"], ["--start", "default"]])
def test_ratings_need_likenesses_and_an_encoder(
    told: list[str], more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*told, *more]) == 2
    message = capsys.readouterr().err
    for name in ("--ratings FILE", "--likenesses FILE", "--start NAME"):
        assert name in message

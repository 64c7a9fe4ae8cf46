"""FAIEr-plus and SCAN learn people's ratings of captions beside what their teacher says."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")


from vericap.models.arrays import unit  # noqa: E402
from vericap.models.faier_plus.layout import CaptionLayout  # noqa: E402
from vericap.train.data import Captioned, Draw  # noqa: E402
from vericap.train.faier_plus import training as plus  # noqa: E402
from vericap.train.faier_plus.data import CaptionStates, FaierPlusSource  # noqa: E402
from vericap.train.faier_plus.network import GivenReferences  # noqa: E402
from vericap.train.ratings import RatedPhotos, photo_name  # noqa: E402
from vericap.train.scan import training as scan  # noqa: E402
from vericap.train.scan.data import ScanSource, ScanStep, TextStates  # noqa: E402
from vericap.train.scan.network import ScanModule, ScanOptions  # noqa: E402
from vericap.train.trainer import TrainPlan  # noqa: E402

EACH = 5


def log_of(folder: Path) -> list[dict[str, float]]:
    with (folder / "log.csv").open() as stream:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(stream)]


IMAGES, WIDE, RATED = 24, 16, 3  # photos, values of a vector, rated captions after the EACH own ones


class Told:
    """Photos with own captions and then rated ones of other photos; people mind half of what they say."""

    def __init__(self, each: int) -> None:
        rng = np.random.default_rng(8)
        self.each, whose = each, np.arange(IMAGES)[:, None].repeat(each, axis=1)
        whose[:, EACH:] = (whose[:, EACH:] + 1 + rng.integers(0, IMAGES - 1, (IMAGES, each - EACH))) % IMAGES
        topics = unit(rng.normal(size=(IMAGES, WIDE)))
        said = unit(topics[whose] + 0.1 * rng.normal(size=(IMAGES, each, WIDE)))
        self.topics, self.sentences = topics, said.astype(np.float16)
        self.regions = unit(topics[:, None] + 0.1 * rng.normal(size=(IMAGES, 4, WIDE))).astype(np.float16)
        self.boxes = np.sort(rng.random((IMAGES, 4, 2, 2)), axis=2).reshape(IMAGES, 4, 4).astype(np.float32)
        lengths = 4 + np.arange(IMAGES * each) % 3
        self.offsets = np.concatenate([[0], np.cumsum(lengths)])
        states = np.repeat(said.reshape(-1, WIDE), lengths, axis=0) + 0.1 * rng.normal(size=(lengths.sum(), WIDE))
        self.states = states.astype(np.float16)
        self.layouts = [CaptionLayout(list(range(1, n - 1)), [[1, 2]] if n > 4 else []) for n in lengths]
        values = np.full((IMAGES, each), np.nan, dtype=np.float32)
        half = [unit(own[..., : WIDE // 2]) for own in (topics[:, None], said[:, EACH:])]
        values[:, EACH:] = (half[0] * half[1]).sum(axis=-1)
        names = [photo_name(number) for number in range(IMAGES)]
        texts = [[f"{image} {k}" for k in range(each)] for image in range(IMAGES)]
        self.rated = RatedPhotos(Captioned(names, texts), np.full(IMAGES, EACH), values)

    def of_plus(self) -> FaierPlusSource:
        read = CaptionStates(self.states, self.offsets, self.layouts)
        altered = CaptionStates(self.states, self.offsets, self.layouts)
        changed = self.topics[::-1].astype(np.float16)
        given = (self.regions, self.boxes, self.sentences, self.each, read, altered, changed, np.arange(IMAGES) % 3 > 0)
        return FaierPlusSource(*given)

    def of_scan(self) -> ScanSource:
        return ScanSource(self.regions, self.sentences, TextStates(self.states, self.offsets), self.each)


PLAN = TrainPlan(steps=40, warmup=2, validate=10, threads=1, average=0.5)
ABOUT: dict[str, Any] = {"features": {"fingerprint": "f", "width": WIDE, "regions": 4}, "text_encoder": "captions"}


def unlike(scores: list[float], values: np.ndarray) -> float:
    return 1 - float(np.corrcoef(scores, values)[0, 1])


def plus_options(weight: float) -> plus.FaierPlusOptions:
    return plus.FaierPlusOptions(batch=12, hidden=8, rate=3e-3, people=weight, rated=20)


def test_faier_plus_measures_how_unlike_people_it_is() -> None:
    source, told, options = Told(EACH).of_plus(), Told(EACH + RATED), plus_options(0.7)
    photos = told.of_plus()
    torch.manual_seed(0)
    module = plus.FaierPlusModule(8, WIDE)
    task = plus.FaierPlusTask(module, [source], [12], source, options, (photos, told.rated))
    bare = plus.FaierPlusTask(module, [source], [12], source, options)
    with_references = set()
    for seed in range(6):
        with torch.no_grad():
            found = task.losses(seed, np.random.default_rng(seed))
            without = bare.losses(seed, np.random.default_rng(seed))
        assert "people" not in without
        assert float(found["loss"]) == pytest.approx(float(without["loss"] + 0.7 * found["people"]), abs=1e-5)
        generator = np.random.default_rng(seed)  # what is drawn of the photos comes after the batch
        plus.FaierPlusStep.draw([source], [Draw(IMAGES, 12, 11)], seed, generator, options)
        drawn = told.rated.drawn(20, options.references, generator)
        scores = []
        for row, column, given, use in zip(drawn.rows, drawn.columns, drawn.given, drawn.use):
            shown = plus.Shown.of(photos, row[None])
            own = photos.texts(row * (EACH + RATED) + given[use])
            references = GivenReferences(own, torch.zeros(len(given[use]), dtype=torch.long)) if use.any() else None
            candidate = photos.texts(row[None] * (EACH + RATED) + column)
            with torch.no_grad():
                scores.append(float(module.parts(shown.visual(module), candidate, references, shown.mask)[1]))
        assert float(found["people"]) == pytest.approx(unlike(scores, drawn.values), abs=1e-4)
        with_references.add(bool(drawn.use.any()))
    assert with_references == {False, True}


def test_faier_plus_learns_what_people_rate(tmp_path: Path) -> None:
    source, told = Told(EACH).of_plus(), Told(EACH + RATED)
    last = {}
    for weight in (0.0, 2.0):
        trained = plus.train(
            [source],
            [12],
            source,
            tmp_path / str(weight),
            plan=PLAN,
            options=plus_options(weight),
            **ABOUT,
            encoder="default",
            token_mean=np.zeros(WIDE, np.float32),
            rated=(told.of_plus(), told.rated),
            quiet=True,
        )
        assert trained["rated"] == IMAGES
        log = log_of(tmp_path / str(weight))
        assert all(np.isfinite(row["people"]) for row in log)
        last[weight] = log[-1]["people"]
    assert last[2.0] < log[0]["people"]
    assert last[2.0] < 0.8 * last[0.0]


def scan_options(weight: float, references: int) -> ScanOptions:
    tiger = 0.5 if references else 0.0
    more: dict[str, Any] = {"references": references, "tiger": tiger, "people": weight, "rated": 20}
    return ScanOptions(width=12, hidden=8, batch=12, rate=5e-3, **more)


@pytest.mark.parametrize("references", [0, 2])
def test_scan_measures_how_unlike_people_it_is(references: int) -> None:
    source, told = Told(EACH).of_scan(), Told(EACH + RATED)
    photos, options = told.of_scan(), scan_options(0.7, references)
    torch.manual_seed(0)
    module = ScanModule(options, WIDE, states=WIDE)
    task = scan.ScanTask(module, [source], [12], source, 0, (photos, told.rated))
    bare = scan.ScanTask(module, [source], [12], source, 0)
    with torch.no_grad():
        found, without = (one.losses(1, np.random.default_rng(1)) for one in (task, bare))
    assert "people" not in without
    assert float(found["loss"]) == pytest.approx(float(without["loss"] + 0.7 * found["people"]), abs=1e-5)
    generator = np.random.default_rng(1)  # what is drawn of the photos comes after the batch
    ScanStep.draw([source], [Draw(IMAGES, 12, 0)], 1, generator, captions=options.captions, references=references)
    drawn = told.rated.drawn(20, max(references, 1), generator)
    scores: list[list[float]] = []
    for row, column, given in zip(drawn.rows, drawn.columns, drawn.given):
        with torch.no_grad():
            regions = module.regions(torch.as_tensor(photos.features[row][None].astype(np.float32)))
            contexts = None
            if references:
                every = [photos.text.read([row * (EACH + RATED) + place]) for place in given]
                contexts = sum(module.contexts(regions, module.words(one), one.counts) for one in every) / references
            text = photos.text.read([row * (EACH + RATED) + column])
            own = module.score(regions, module.words(text), text.counts, contexts)
        scores.append([float(one) for one in own if one is not None])
    assert len(scores[0]) == (3 if references else 1)  # the image, its references, TIGEr
    expected = sum(unlike(list(kind), drawn.values) for kind in zip(*scores))
    assert float(found["people"]) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("references", [0, 2])
def test_scan_learns_what_people_rate(references: int, tmp_path: Path) -> None:
    source, told = Told(EACH).of_scan(), Told(EACH + RATED)
    last = {}
    for weight in (0.0, 2.0):
        trained = scan.train(
            [source],
            [12],
            source,
            tmp_path / str(weight),
            plan=PLAN,
            options=scan_options(weight, references),
            **ABOUT,
            rated=(told.of_scan(), told.rated),
            quiet=True,
        )
        assert trained["rated"] == IMAGES
        log = log_of(tmp_path / str(weight))
        assert all(np.isfinite(row["people"]) for row in log)
        last[weight] = log[-1]["people"]
    assert last[2.0] < log[0]["people"]
    assert last[2.0] < 0.9 * last[0.0]

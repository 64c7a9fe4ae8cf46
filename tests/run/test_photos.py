"""Photos are read and decoded once for everything that looks at them, and looked at once for ever."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from PIL import Image

from vericap.core import onnx, shipped
from vericap.core.batch import Batch
from vericap.core.errors import InputError, Problem
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics.registry import resolve
from vericap.run import decoding, photos, runtime
from vericap.run.analyses import Detections, Objects, PhotoRegions
from vericap.run.engine import Run
from vericap.run.photos import Found, Pixels, look_at, stream
from vericap.run.plan import analysed
from vericap.run.results import Result
from vericap.run.runtime import Runtime
from vericap.vision.objects import ImageObjects
from vericap.vision.regions import WIDTH

PHOTOS = shipped.ROOT / "demo" / "photos"
NAMES = sorted(file.stem for file in PHOTOS.glob("*.jpg"))[:4]
IMAGE_METRICS = "vifidel,chair,vse"


@dataclass(frozen=True)
class Colour(Pixels[list[str]]):
    """The mean colour of a photo, in a unit of one's own."""

    unit: int = 1
    word: str = "colour"
    looked: ClassVar[list[int]] = []  # photos of every look

    def kind(self, runtime: Runtime) -> str:
        return self.word

    def look(self, photos: Sequence[Image.Image], runtime: Runtime) -> list[bytes]:
        self.looked.append(len(photos))
        return [np.asarray(photo).mean(axis=(0, 1)).round().astype(np.uint8).tobytes() for photo in photos]

    def table(self, found: list[Found]) -> list[str]:
        return [item.reason if isinstance(item, Problem) else str([v // self.unit for v in item]) for item in found]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "photos"
    root.mkdir()
    for place, name in enumerate("abcdef"):
        Image.new("RGB", (20 + place, 10), (40 * place, 100, 200)).save(root / f"{name}.png")
    (root / "twin.png").write_bytes((root / "a.png").read_bytes())
    (root / "empty.jpg").write_bytes(b"")
    (root / "cut.jpg").write_bytes((PHOTOS / "chelsea.jpg").read_bytes()[:9000])
    (root / "cut again.jpg").write_bytes((root / "cut.jpg").read_bytes())
    return root


@pytest.fixture
def settings(folder: Path, tmp_path: Path) -> Settings:
    Colour.looked.clear()
    return Settings(images=folder, cache=tmp_path / "cache")


def batch_of(keys: Sequence[str], settings: Settings) -> Batch:
    return Batch.of([Sample(str(place), "x", image=key) for place, key in enumerate(keys)], settings)


def colours(keys: Sequence[str], settings: Settings) -> list[str]:
    return analysed(batch_of(keys, settings), Colour())[Colour()]


# --- one pass ---------------------------------------------------------------------------------------------------


def score(settings: Settings, names: Sequence[str] = NAMES) -> Result:
    samples = [Sample(name, "a cat beside a cup of coffee", ("a photo of a cat",), name) for name in names]
    return Run(resolve(IMAGE_METRICS), settings).score(samples)


def values(result: Result) -> dict[str, list[str]]:
    """Every number to its last digit; a photo that is not judged equals itself."""
    return {name: list(map(repr, found.values.tolist())) for name, found in result.statistics.items()}


def test_a_run_decodes_each_photo_once_and_opens_each_network_once(tmp_path: Path) -> None:
    runtime.forget()
    decoded, opened = photos.decoded, len(onnx.opened)
    settings = Settings(images=PHOTOS, cache=tmp_path / "cache")
    first = score(settings)
    assert photos.decoded - decoded == len(NAMES)
    assert sorted(file.name for file in onnx.opened[opened:]) == ["backbone.onnx", "detector.onnx", "encoder.onnx"]
    # What is in the cache needs neither photos nor networks.
    runtime.forget()
    decoded, opened = photos.decoded, len(onnx.opened)
    assert values(score(settings)) == values(first)
    assert (photos.decoded, len(onnx.opened)) == (decoded, opened)
    # One photo more: only that one is decoded.
    score(settings, [*NAMES, "rocket"])
    assert photos.decoded - decoded == 1


def test_threads_and_groups_do_not_move_a_score(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = values(score(Settings(images=PHOTOS, cache="off")))
    assert values(score(Settings(images=PHOTOS, cache="off", threads=2))) == whole
    turned = values(score(Settings(images=PHOTOS, cache="off"), NAMES[::-1]))
    assert {name: rows[::-1] for name, rows in turned.items()} == whole
    monkeypatch.setattr(photos, "_CHUNK", 3)
    monkeypatch.setattr(decoding, "_ON_PROCESSOR", 1)
    assert values(score(Settings(images=PHOTOS, cache="off"))) == whole


def test_a_photo_that_one_analysis_knows_is_shown_to_the_others_alone(settings: Settings) -> None:
    analysed(batch_of("ab", settings), Colour())
    decoded = photos.decoded
    analysed(batch_of("abc", settings), Colour(), Colour(word="other"))
    assert photos.decoded - decoded == 3
    assert Colour.looked == [2, 1, 3]


def test_analyses_of_one_kind_share_one_look(settings: Settings) -> None:
    batch = analysed(batch_of("abc", settings), Colour(), Colour(unit=2))
    assert Colour.looked == [3]
    assert batch[Colour()] != batch[Colour(unit=2)]


def test_thresholds_and_records_of_one_detector_share_one_look(tmp_path: Path) -> None:
    settings = Settings(images=PHOTOS, cache="off")
    batch = Batch.of([Sample("1", "x", image="coffee"), Sample("2", "x", objects={"dog": 1})], settings)
    decoded = photos.decoded
    keys = (Objects(), Objects("detector@0.65"), Objects("detector", own=False))
    analysed(batch, *keys)
    assert photos.decoded - decoded == 1
    low, high, same = (batch[key][0] for key in keys)
    assert isinstance(low, ImageObjects)
    assert isinstance(high, ImageObjects)
    assert set(high.labels) < set(low.labels)
    assert same == low


# --- photos that cannot be read ---------------------------------------------------------------------------------


def test_what_is_wrong_is_named_and_the_rest_is_done(settings: Settings) -> None:
    keys = ["a", "empty.jpg", "cut", "../secret", "none", "b", "cut again"]
    found = colours(keys, settings)
    assert found[0] == "[0, 100, 200]"
    assert found[5] == "[40, 100, 200]"
    for place, reason in ((1, "0 bytes"), (2, "truncated"), (3, "outside the image folder"), (4, "no image 'none'")):
        assert reason in found[place]
    assert found[6] == found[2]
    assert "cut" not in found[2]  # a reason does not name the photo: its record does


def test_a_problem_names_the_key_it_was_asked_under(settings: Settings) -> None:
    (found,) = look_at(batch_of(["cut", "cut again", "a", "none"], settings), [Colour()], Runtime.of(settings))
    problems = [item for item in found if isinstance(item, Problem)]
    assert [problem.record for problem in problems] == ["cut", "cut again", "none"]


def test_broken_photos_are_not_kept(settings: Settings, folder: Path) -> None:
    colours(["cut"], settings)
    (folder / "cut.jpg").write_bytes((PHOTOS / "chelsea.jpg").read_bytes())
    assert colours(["cut"], settings)[0].startswith("[")


def test_only_broken_photos_open_no_network(folder: Path) -> None:
    opened = len(onnx.opened)
    runtime.forget()
    settings = Settings(images=folder, cache="off")
    batch = analysed(batch_of(["cut", "none"], settings), PhotoRegions(), Objects())
    assert batch[PhotoRegions()].features.shape == (2, 1, WIDTH)
    assert list(batch[PhotoRegions()].problems) == [0, 1]
    assert all(isinstance(item, Problem) for item in batch[Objects()])
    assert len(onnx.opened) == opened


def test_the_folder_must_be_named() -> None:
    with pytest.raises(InputError, match="`images=DIR`"):
        analysed(batch_of("a", Settings()), Colour())
    found = colours(["a"], Settings(images=Path("nowhere")))
    assert "the image folder nowhere does not exist" in found[0]


# --- contents ---------------------------------------------------------------------------------------------------


def test_the_same_bytes_are_looked_at_once_whatever_their_name(settings: Settings, folder: Path) -> None:
    decoded = photos.decoded
    found = colours(["a", "twin", "b"], settings)
    assert found[0] == found[1] != found[2]
    assert photos.decoded - decoded == 2
    (folder / "a.png").rename(folder / "moved.png")
    assert colours(["moved"], settings) == found[:1]
    assert photos.decoded - decoded == 2
    assert Colour.looked == [2]


def test_a_photo_that_changes_is_looked_at_again(settings: Settings, folder: Path) -> None:
    before = colours(["a"], settings)
    (folder / "a.png").write_bytes((folder / "f.png").read_bytes())
    assert colours(["a"], settings) == colours(["f"], settings) != before


def test_without_a_cache_nothing_is_kept(settings: Settings, folder: Path, tmp_path: Path) -> None:
    off = Settings(images=folder, cache="off")
    assert colours("aab", off) == colours("aab", settings)
    colours("aab", off)
    assert Colour.looked == [2, 2, 2]
    assert not (tmp_path / "off").exists()


def test_photos_are_read_as_they_are_asked_for(
    settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(photos, "_CHUNK", 2)
    files = [(name, folder / f"{name}.png") for name in "abcdef"]
    rows = stream(files, [Colour()], Runtime.of(settings))
    next(rows)
    (folder / "f.png").unlink()
    found = [row[0] for row in rows]
    assert isinstance(found[-1], Problem)
    assert "no such file" in found[-1].reason
    assert sum(isinstance(item, bytes) for item in found) == 4


def test_a_detector_that_is_written_anew_looks_anew(folder: Path, tmp_path: Path) -> None:
    settings = Settings(images=folder, cache=tmp_path / "cache")
    key = Detections(str(tiny_detector(tmp_path / "own.onnx", score=0.9)))
    (first,) = analysed(batch_of("a", settings), key)[key]
    tiny_detector(tmp_path / "own.onnx", score=0.8)
    (second,) = analysed(batch_of("a", settings), key)[key]
    (tmp_path / "own.txt").write_text("sea")
    (third,) = analysed(batch_of("a", settings), key)[key]
    assert [found.instances()[0][:2] for found in (first, second, third) if isinstance(found, ImageObjects)] == [
        ("sky", 0.9), ("sky", 0.8), ("sea", 0.8),
    ]  # fmt: skip


def tiny_detector(file: Path, *, score: float) -> Path:
    """An ONNX file that sees the sky in every image."""
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    outputs = {"scores": np.float32([[[score]]]), "boxes": np.float32([[[0, 0, 1, 1]]])}
    nodes = [helper.make_node("Identity", [f"{name}_value"], [name]) for name in outputs]
    constants = [onnx.numpy_helper.from_array(value, f"{name}_value") for name, value in outputs.items()]
    kind = onnx.TensorProto.FLOAT
    values = [helper.make_tensor_value_info(name, kind, list(value.shape)) for name, value in outputs.items()]
    image = helper.make_tensor_value_info("image", kind, [1, 3, 8, 8])
    graph = helper.make_graph(nodes, "tiny", [image], values, constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), file)
    file.with_suffix(".txt").write_text("sky")
    return file


def test_detections_are_kept_for_every_threshold(tmp_path: Path) -> None:
    settings = Settings(images=PHOTOS, cache=tmp_path / "cache")
    batch = batch_of(["chelsea"], settings)
    (sure,) = analysed(batch, Detections())[Detections()]
    decoded = photos.decoded
    (surer,) = analysed(batch, Detections(threshold=0.7))[Detections(threshold=0.7)]
    (none,) = analysed(batch, Detections(threshold=0.99))[Detections(threshold=0.99)]
    assert sure == surer
    assert none == ImageObjects(size=(451, 300))
    assert photos.decoded == decoded

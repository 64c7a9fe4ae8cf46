"""Visual words: maps on disk, what captions say, boxes, and a tiny training."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
from PIL import Image

from vericap.core.errors import InputError
from vericap.graphs.english import parse
from vericap.train import maps
from vericap.train.trainer import Trainer, TrainPlan
from vericap.train.words import training
from vericap.train.words.boxes import PhotoBoxes, answering, centres, class_cells, read
from vericap.train.words.export import weighed
from vericap.train.words.network import CellsModule, WholeModule, log_odds
from vericap.train.words.training import (
    CellsOptions,
    CellsTask,
    MeansData,
    Standard,
    WholeOptions,
    WholeTask,
    WordsData,
)
from vericap.train.words.vocabulary import Said, Vocabulary, said


class TinyBackbone:
    """Colours as features: the finer map has the pixels' colours, the coarser one their means."""

    def __init__(self) -> None:
        self.seen = 0

    def maps(self, pixels: np.ndarray, inner: Sequence[str] = ()) -> list[np.ndarray]:
        self.seen += 1
        side = len(pixels) // 4
        colours = pixels.reshape(4, side, 4, side, 3).mean(axis=(1, 3)).astype(np.float32) / 255
        coarse = colours.reshape(2, 2, 2, 2, 3).mean(axis=(1, 3))
        return [coarse, colours, coarse]


def photo(number: int) -> bytes:
    """A red square in the left half or a blue one in the right half."""
    pixels = np.full((32, 32, 3), 128, dtype=np.uint8)
    left = number % 2 == 0
    pixels[8:16, 0:8] = (255, 0, 0) if left else (128, 128, 128)
    pixels[8:16, 24:32] = (128, 128, 128) if left else (0, 0, 255)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


KEYS = [f"{number}.png" for number in range(24)]


def read_photo(key: str) -> bytes:
    return photo(int(key.partition(".")[0]))


def made_store(folder: Path, keys: Sequence[str] = KEYS) -> maps.MapStore:
    return maps.extract(keys, read_photo, TinyBackbone(), folder, size=32, name="tiny")


def test_maps_go_on_where_they_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maps, "_BLOCK", 5)
    monkeypatch.setattr(maps, "_NOTED", 5)
    whole = made_store(tmp_path / "whole")

    def broken(key: str) -> bytes:
        if key == KEYS[13] and broken.calls:  # the first look at all photos measures the channels
            raise KeyboardInterrupt
        broken.calls += key == KEYS[13]
        return read_photo(key)

    broken.calls = 0
    with pytest.raises(KeyboardInterrupt):
        maps.extract(KEYS, broken, TinyBackbone(), tmp_path / "cut", size=32, name="tiny")
    assert len(maps.MapStore(tmp_path / "cut")) == 10
    again = made_store(tmp_path / "cut")
    rows = again.rows(KEYS)
    for kind in maps.KINDS:
        np.testing.assert_array_equal(again.read(kind, rows), whole.read(kind, rows))


def test_maps_of_other_photos_are_refused(tmp_path: Path) -> None:
    made_store(tmp_path)
    with pytest.raises(InputError, match="other photos"):
        made_store(tmp_path, KEYS[:5])
    with pytest.raises(InputError, match="no photo"):
        maps.MapStore(tmp_path).rows(["99.png"])
    with pytest.raises(InputError, match="cannot be read"):
        maps.MapStore(tmp_path / "nothing")


def test_what_a_caption_says() -> None:
    found = said(parse("A young man rides a brown horse on the beach"))
    assert {("object", "man"), ("attribute", "brown"), ("attribute object", "brown horse")} <= found
    assert {("action", "ride"), ("action object", "ride horse")} <= found
    assert ("action", "on") not in found


def test_shares_of_captions_that_say_an_entry() -> None:
    told = [[parse("a dog"), parse("a dog and a cat")], [parse("a cat")]]
    vocabulary = Vocabulary.of(told, words=1, phrases=1)
    table = Said.of(told, vocabulary).table(np.array([0, 1]))
    place = {text: number for number, (_, text) in enumerate(vocabulary.entries)}
    assert table[0, place["dog"]] == 1.0
    assert table[0, place["cat"]] == 0.5
    assert table[1, place["dog"]] == 0.0
    assert table[1, place["cat"]] == 1.0


def test_boxes_are_read_and_bad_lines_named(tmp_path: Path) -> None:
    import gzip

    file = tmp_path / "boxes.tsv.gz"
    with gzip.open(file, "wt") as stream:
        stream.write("7\t2,0.5,0.5,0.2,0.4 0,0.1,0.1,0.4,0.4\n")
    found = read([file])[7]
    np.testing.assert_allclose(found.boxes, [[0.4, 0.3, 0.6, 0.7], [0, 0, 0.3, 0.3]], atol=1e-6)
    assert found.classes.tolist() == [2, 0]
    with gzip.open(file, "wt") as stream:
        stream.write("7\t2,0.5\n")
    with pytest.raises(InputError, match="line 1"):
        read([file])


def test_every_box_has_a_cell_and_small_ones_win() -> None:
    boxes = np.array([[0, 0, 1, 1], [0.4, 0.4, 0.6, 0.6], [0.01, 0.01, 0.02, 0.02]], dtype=np.float32)
    which = answering(boxes, 6)
    assert set(which.tolist()) >= {1, 2}
    points = centres(6)
    for cell in np.flatnonzero(which == 1):
        assert np.abs(points[cell] - 0.5).max() < 0.26
    photo = PhotoBoxes(boxes, np.array([0, 1, 2]))
    assert class_cells(photo, np.array([2, 1, 0]), 6).any(axis=1).all()


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WordsData:
    monkeypatch.setattr(training, "GRID", 4)
    store = made_store(tmp_path / "maps")
    words = ["a red square", "a blue circle"]
    told = [[parse(words[number % 2])] for number in range(len(KEYS))]
    vocabulary = Vocabulary.of(told, words=1, phrases=1)
    left = PhotoBoxes(np.array([[0, 0.25, 0.25, 0.5]], np.float32), np.array([0]))
    right = PhotoBoxes(np.array([[0.75, 0.25, 1, 0.5]], np.float32), np.array([1]))
    boxes = [(left, right)[number % 2] for number in range(len(KEYS))]
    return WordsData(store, store.rows(KEYS), Said.of(told, vocabulary), boxes)


def test_both_heads_learn_what_is_said_and_where(data: WordsData, tmp_path: Path) -> None:
    prior = data.said.mean()
    classes = np.array([0 if data.said.table(np.array([0]))[0, entry] else 1 for entry in range(len(prior))])
    plan = TrainPlan(steps=60, warmup=5, validate=30, average=0.8, threads=1)
    standards = {kind: Standard.of(data.maps.read(kind, data.rows)) for kind in maps.KINDS}
    model = CellsModule(prior, middle=3, last=3, hidden=16, space=8)
    task = CellsTask(model, CellsOptions(batch=8, rate=0.02, drawn=2), data, data, standards, classes, seed=0)
    state = Trainer(
        model, [{"params": list(model.parameters()), "lr": 0.02}], plan, tmp_path / "cells", quiet=True
    ).run(task.losses, task.validate)
    assert state.log[-1]["pointing"] == 100
    assert state.log[-1]["agreement"] > -0.5 * len(prior)

    means = data.maps.read("last", data.rows).mean(axis=1)
    whole = WholeModule(prior, width=3, hidden=16)
    own = MeansData(means, data.rows, data.said)
    wholes = WholeTask(whole, WholeOptions(batch=8, rate=0.02), [own], [8], [own], Standard.of(means), seed=0)
    state = Trainer(
        whole, [{"params": list(whole.parameters()), "lr": 0.02}], plan, tmp_path / "whole", quiet=True
    ).run(wholes.losses, wholes.validate)
    assert state.log[-1]["agreement"] > state.log[0]["agreement"] - 1e-3


def test_heads_are_weighed_by_what_they_are_worth() -> None:
    import torch

    generator = torch.Generator().manual_seed(0)
    truth = torch.randn(400, 6, generator=generator) * 2
    noise = torch.randn(400, 6, generator=generator)
    prior = log_odds(np.full(6, 0.5, np.float32))
    target = (torch.sigmoid(truth) > torch.rand(400, 6, generator=generator)).float()
    found = weighed(truth, noise, target, prior, np.zeros(6, dtype=np.int64))
    assert found[0, 0] == pytest.approx(1.0, abs=0.15)
    assert abs(found[0, 1]) < 0.1

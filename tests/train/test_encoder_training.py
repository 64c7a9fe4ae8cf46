from __future__ import annotations

import argparse
import csv
import gzip
import json
import random
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnx")

import torch

from vericap.core import shipped
from vericap.core.errors import InputError, VericapError
from vericap.text.encoders import normalise
from vericap.text.encoders.captions import CaptionEncoder, Pieces
from vericap.text.encoders.gte_small import GteSmall
from vericap.train.data import NeighbourDraw
from vericap.train.encoder import command, corpus, export
from vericap.train.encoder.data import Lessons, groups
from vericap.train.encoder.network import EncoderConfig, EncoderModule

NOUNS = ("dog", "cat", "man", "horse", "bus", "tree", "boat", "child")
VERBS = ("near", "behind", "looks at", "runs past", "stands by")


def caption(draw: random.Random) -> str:
    first, second = draw.sample(NOUNS, 2)
    return f"a {draw.choice(('red', 'small', 'old', 'wet'))} {first} {draw.choice(VERBS)} a {second}"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny files in the layouts of COCO, CxC, FACTUAL and WordNet; image 1 is never trained on."""
    folder, draw = tmp_path_factory.mktemp("files"), random.Random(0)
    notes = [{"image_id": image, "caption": caption(draw)} for image in range(1, 31) for _ in range(5)]
    with gzip.open(folder / "captions.json.gz", "wt") as stream:
        json.dump({"annotations": notes}, stream)
    (folder / "never.txt").write_text("1\n")
    with gzip.open(folder / "pairs.jsonl.gz", "wt") as stream:
        for number in range(200):
            a, b = draw.sample(notes, 2)
            row = {"caption_a": a["caption"], "caption_b": b["caption"], "rating": number % 6}
            stream.write(json.dumps({**row, "image_a": a["image_id"], "image_b": b["image_id"]}) + "\n")
    with gzip.open(folder / "factual.csv.gz", "wt", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["image_id", "region_id", "caption", "scene_graph"])
        for number in range(200):
            first, second = draw.sample(NOUNS, 2)
            graph = f"( {first} , is , red ) , ( {first} , near , {second} )"
            writer.writerow([number, number, "x", graph])
    (folder / "wordnet").mkdir()
    for name in ("data.noun", "data.verb", "data.adj", "data.adv"):
        lines = [f'0{n} 03 n 01 word 0 000 | a {name[5:]} number {n}; "it is used like {n}"' for n in range(60)]
        (folder / "wordnet" / name).write_text("  1 licence\n" + "\n".join(lines) + "\n")
    return folder


def arguments(files: Path, output: Path, *more: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    given = {
        "captions": "captions.json.gz",
        "never": "never.txt",
        "pairs": "pairs.jsonl.gz",
        "factual": "factual.csv.gz",
    }
    flags = [part for name, file in given.items() for part in (f"--{name}", str(files / file))]
    sizes = ["--width", "32", "--heads", "2", "--inner", "32", "--batch", "32", "--threads", "1"]
    return parser.parse_args(
        [*flags, "--wordnet", str(files / "wordnet"), "--output", str(output), *sizes, "--texts", "600", *more]
    )


def sources(files: Path) -> corpus.Sources:
    return corpus.Sources(
        [str(files / "captions.json.gz")],
        str(files / "never.txt"),
        factual=str(files / "factual.csv.gz"),
        pairs=str(files / "pairs.jsonl.gz"),
        wordnet=str(files / "wordnet"),
    )


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    for source in corpus.SHARES:
        monkeypatch.setitem(corpus.SHARES, source, 80)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("work")


def test_a_corpus_is_mixed_distinct_and_the_same_again(files: Path) -> None:
    texts = corpus.make(sources(files))
    assert texts == corpus.make(sources(files))
    assert len({item.text.lower() for item in texts}) == len(texts)
    found = {item.source for item in texts}
    expected = {"described", "coco", "phrases", "cuts", "corrupted", "long", "words", "glosses", "examples", "listed"}
    assert found == expected
    assert {item.source for item in texts[:80]} == {"described"}  # a corpus cut short has all of them
    assert {item.source for item in texts[80:140]} >= {"coco", "glosses"}


def test_a_corpus_survives_its_file(files: Path, tmp_path: Path) -> None:
    texts = corpus.make(sources(files))
    corpus.write(texts, tmp_path / "corpus.jsonl")
    assert corpus.read(tmp_path / "corpus.jsonl") == texts


def test_what_measures_is_not_trained_on(files: Path) -> None:
    with gzip.open(files / "captions.json.gz") as stream:
        given = json.load(stream)["annotations"]
    allowed = {n["caption"] for n in given if n["image_id"] != 1 and not corpus.kept_out(n["image_id"])}
    rated = [item for item in corpus.make(sources(files)) if item.source == "coco"]
    assert {item.text for item in rated} <= allowed
    pairs, never = files / "pairs.jsonl.gz", str(files / "never.txt")
    train, measured = (corpus.rated_pairs(pairs, never, train=part) for part in (True, False))
    assert train
    assert measured
    assert {text for pair in train for text in (pair.first, pair.second)} <= allowed
    glosses = {item.text for item in corpus.make(sources(files)) if item.source == "glosses"}
    assert not any(map(corpus.gloss_kept_out, glosses))


def test_groups_hold_every_text_once_with_little_padding() -> None:
    pieces = [[1] * length for length in (3, 9, 4, 20, 3, 8)]
    found = groups(pieces, 3)
    assert sorted(row for part in found for row in part.rows.tolist()) == list(range(6))
    for part in found:
        for row, mask in zip(part.rows.tolist(), part.mask):
            assert mask.sum() == len(pieces[row])


def test_batches_hold_neighbours_and_every_text_once_a_pass() -> None:
    generator = np.random.default_rng(0)
    vectors = np.repeat(generator.normal(size=(16, 384)), 100, axis=0) + 0.01 * generator.normal(size=(1600, 384))
    draw = NeighbourDraw(vectors.astype(np.float16), 64, seed=3)
    batches = [draw.batch(step) for step in range(25)]
    assert sorted(np.concatenate(batches).tolist()) == list(range(1600))
    assert NeighbourDraw(vectors.astype(np.float16), 64, seed=3).batch(2).tolist() == batches[2].tolist()
    kinds = [len({row // 100 for row in batch.tolist()}) for batch in batches]
    assert np.mean(kinds) < 10  # of 16; a random batch has nearly all


def test_a_training_resumes_and_says_what_it_was_trained_on(files: Path, work: Path, tmp_path: Path) -> None:
    plan = ("--work", str(work), "--steps", "20", "--validate", "10")
    assert command.run(arguments(files, tmp_path / "whole", *plan)) == 0
    meta = json.loads((tmp_path / "whole/encoder/meta.json").read_text())
    assert meta["trained"]["texts"]["coco"] > 0
    assert meta["trained"]["rated_pairs"] > 0
    log = list(csv.DictReader((tmp_path / "whole/log.csv").open()))
    assert float(log[-1]["loss"]) < float(log[0]["loss"])
    assert command.run(arguments(files, tmp_path / "whole", *plan)) == 0  # nothing is left to do
    assert json.loads((tmp_path / "whole/encoder/meta.json").read_text()) == meta
    with pytest.raises(VericapError, match="other options"):
        command.run(arguments(files, tmp_path / "whole", *plan, "--rate", "0.5"))


def test_the_written_network_says_what_the_trained_one_says(files: Path, work: Path, tmp_path: Path) -> None:
    torch.manual_seed(0)
    table = export.teacher_table()
    config = EncoderConfig(len(table), width=64, layers=2, heads=4, inner=96)
    model = EncoderModule(config, table, GteSmall().caption_mean(), np.zeros(384, dtype=np.float32))
    with torch.no_grad():
        model.differences.normal_(0, 0.5)
        model.piece_weight.normal_()
        model.sentence.weight.mul_(4)
    texts = [caption(random.Random(n)) for n in range(20)]
    made = export.write(model, tmp_path, captions=[texts], phrases=texts, describe={"name": "tiny"})
    pieces = Pieces(shipped.path("encoder", "tokenizer.json")).ids(texts)
    with torch.no_grad():
        parts = groups(pieces)
        found = model(parts).sentences[torch.argsort(torch.cat([part.rows for part in parts]))]
    expected = normalise(found.numpy() + GteSmall().caption_mean())
    assert (made.encode(texts, centred=False) * expected).sum(axis=1).min() > 0.995
    with torch.no_grad():
        alone = model(groups(pieces[:1]))
        states = model.state(alone.hidden).numpy()
    kept = made.token_states(texts[:1]).states.astype(np.float32)
    cosines = (kept * states).sum(axis=1) / (np.linalg.norm(kept, axis=1) * np.linalg.norm(states, axis=1))
    assert cosines.min() > 0.99
    assert isinstance(made, CaptionEncoder)


def test_a_deeper_network_begins_as_the_one_it_goes_on_from(tmp_path: Path) -> None:
    torch.manual_seed(0)
    table, mean = export.teacher_table(), np.zeros(384, dtype=np.float32)
    one, two, other = (
        EncoderModule(EncoderConfig(len(table), width, layers, 2, 32), table, mean, mean)
        for width, layers in ((32, 1), (32, 2), (64, 1))
    )
    torch.save({"averaged": list(one.parameters())}, tmp_path / "best.pt")
    command.begin(two, tmp_path)
    texts = groups([[101, 2000, 2001, 102], [101, 3000, 102]])
    with torch.no_grad():
        assert two(texts).sentences.numpy() == pytest.approx(one(texts).sentences.numpy(), abs=1e-6)
    with pytest.raises(InputError, match="other sizes"):
        command.begin(other, tmp_path)
    with pytest.raises(InputError, match="no training"):
        command.begin(two, tmp_path / "nothing")


def test_lessons_find_the_states_of_each_text(files: Path, work: Path, tmp_path: Path) -> None:
    command.run(arguments(files, tmp_path, "--work", str(work), "--steps", "1"))
    texts = corpus.read(work / "corpus.jsonl")[:600]
    lessons = Lessons(texts, work / "teacher", Pieces(shipped.path("encoder", "tokenizer.json")))
    assert lessons.has_states(0)
    expected = GteSmall().token_states([texts[5].text]).states
    assert lessons.states(5) == pytest.approx(expected, abs=0.1)
    mean = lessons.states(5).astype(np.float32).mean(axis=0)
    assert lessons.vectors[5] == pytest.approx(mean / np.linalg.norm(mean), abs=2e-3)


def test_texts_of_several_sentences_are_drawn_more_often() -> None:
    from vericap.train.encoder.training import drawn_rows

    assert drawn_rows(["coco", "long", "words", "described"], 3).tolist() == [0, 1, 2, 3, 1, 3, 1, 3]
    assert drawn_rows(["coco", "long"], 1).tolist() == [0, 1]

"""FACTUAL's convention: notation, labels, the shipped labeller."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vericap.graphs import labeller
from vericap.graphs.english import clean, name, parse, parse_many
from vericap.graphs.factual import read, write
from vericap.graphs.labels import Labels, base, flags, graph_of, words_of
from vericap.graphs.scene_graph import FACTUAL

SENTENCES = [
    ("white stove in a kitchen", "( stove , is , white ) , ( stove , in , kitchen )"),
    ("five boats tied to a dock", "( boats , tie to , dock ) , ( boats , is , 5 )"),
    ("leg of the man", "( man , have , leg )"),
    ("a man holds a tennis racket", "( man , hold , tennis racket )"),
    ("the cat is in the sink", "( cat , in , sink )"),
    ("two black dogs on the beach", "( dogs , is , black ) , ( dogs , is , 2 ) , ( dogs , on , beach )"),
    ("trees behind the building", "( trees , behind , building )"),
    ("woman wearing a red hat", "( woman , wear , hat ) , ( hat , is , red )"),
    ("the bird has a long beak", "( bird , have , beak ) , ( beak , is , long )"),
    ("guy riding a bike", "( person , ride , bike )"),
]  # fmt: skip


@pytest.mark.parametrize(("caption", "gold"), SENTENCES)
def test_graphs_as_people_drew_them(caption: str, gold: str) -> None:
    assert set(parse(caption, convention=FACTUAL).tuples()) == set(read(gold))


def test_notation_is_read_and_written() -> None:
    for _, gold in SENTENCES:
        assert set(read(write(read(gold)))) == set(read(gold))
    assert read("( pole ) , ( a , b ) , nonsense") == (("pole",),)


def test_words() -> None:
    assert words_of("a man's t-shirt, don't") == ["a", "man", "'s", "t-shirt", ",", "don", "'", "t"]
    assert base("two") == "2"
    assert base("boats") == "boat"
    assert flags("dog")[0] == 1
    assert flags("xyzzy")[-1] == 1


def test_labels_make_a_graph() -> None:
    words = ["two", "guys", "sitting", "on", "a", "wood", "park", "bench"]
    labels = Labels([1, 7], {(6, 7)}, [(0, 1), (5, 7)], [(1, 7, "V on", 2)])
    found = graph_of(words, labels)
    assert set(found.tuples()) == {
        ("person",), ("park bench",), ("person", "2"), ("park bench", "wooden"), ("person", "sit on", "park bench"),
    }  # fmt: skip
    assert not graph_of([], Labels())
    assert graph_of([], Labels()).reason


def test_captions_together_are_read_as_alone() -> None:
    captions = [caption for caption, _ in SENTENCES]
    together = parse_many(captions, convention=FACTUAL)
    assert together == [parse(caption, convention=FACTUAL) for caption in captions]


def test_a_long_text_and_an_empty_one() -> None:
    long = parse("a dog on a couch and " * 100, convention=FACTUAL)
    assert ("dog", "on", "couch") in long.tuples()
    assert not parse("", convention=FACTUAL)
    assert parse("", convention=FACTUAL).reason


def test_its_signature_differs() -> None:
    assert name(convention=FACTUAL).startswith("labeller-1-")
    assert name(convention=FACTUAL) != name()


def test_numpy_computes_what_torch_does() -> None:
    torch = pytest.importorskip("torch")
    from vericap.train.parser.network import LabellerConfig, LabellerModule

    vocabulary = labeller.Vocabulary(["?", "dog", "on"], ["?", "dog", "on"], ["?", "dog"], ["on", "V on"])
    torch.manual_seed(0)
    module = LabellerModule(LabellerConfig(*vocabulary.sizes, 2, hidden=8, edge=6, verb=5, pair=7)).eval()
    ours = labeller.Labeller({name: value.numpy() for name, value in module.state_dict().items()}, vocabulary)
    words = words_of(clean("a dog on a big couch"))
    numbers = torch.tensor([[vocabulary.numbers(word) for word in words]])
    known = torch.tensor([[flags(word) for word in words]])
    scores = module(numbers, known)
    states = ours._states(np.array([[ours._vector(word) for word in words]]))
    assert np.abs(states - scores.states.detach().numpy()).max() < 1e-5
    assert (ours._linear("objects", states)[..., 0] > 0).tolist() == (scores.objects > 0).tolist()
    assert (ours._edges(states) == (scores.edges > 0).numpy()).all()
    pairs = torch.tensor([[0, 1, 4], [0, 4, 1]])
    verbs = module.verbs(scores.states, pairs).argmax(-1).tolist()
    rows, subjects, targets = pairs.numpy().T
    assert ours._verbs(states, rows, subjects, targets).tolist() == verbs


def test_agreement_with_people(data_dir: Path) -> None:
    from vericap.core.settings import Settings
    from vericap.meta.datasets import factual
    from vericap.meta.parsing import evaluate_parser

    found = evaluate_parser(factual.read(data_dir / "factual"), settings=Settings(cache="off"), resamples=0)
    assert found.match.value > 0.65
    assert found.estimates["all tuples"]["f1"].value > 0.86
    (own,) = found.others
    assert own.match.value > 0.56
    assert own.estimates["all tuples"]["f1"].value > 0.8

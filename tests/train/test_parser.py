"""Training of the English parser: alignment, treebank, a small labeller from beginning to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vericap.graphs import labeller
from vericap.graphs.factual import read
from vericap.graphs.labels import graph_of, words_of

pytest.importorskip("torch")

from vericap.cli import main
from vericap.graphs.english import pipeline, trainable
from vericap.train.parser.alignment import Example, align, examples
from vericap.train.parser.treebank import (
    caption_trees,
    factual_trees,
    finite_verb,
    joined,
    parsed,
    third_person,
    without_articles,
)
from vericap.train.parser.tuning import TuningOptions, tune

PAIRS = [
    ("white stove in a kitchen", "( stove , is , white ) , ( stove , in , kitchen )"),
    ("five boats tied to a dock", "( boats , tie to , dock ) , ( boats , is , 5 )"),
    ("leg of the man", "( man , have , leg )"),
    ("guy in side walk", "( person , in , sidewalk )"),
    ("window surrounded by dark curtains", "( curtains , is , dark ) , ( curtains , surround , window )"),
    ("a tower by the tower", "( tower , by , tower )"),
    ("a tree with dark green leaves", "( leaves , is , dark green ) , ( tree , with , leaves )"),
    ("girl swinging tennis racket", "( girl , swing , tennis racket )"),
]  # fmt: skip


def example(caption: str, graph: str) -> Example:
    return Example(tuple(words_of(caption)), read(graph))


@pytest.mark.parametrize(("caption", "graph"), PAIRS)
def test_labels_say_what_the_graph_says(caption: str, graph: str) -> None:
    item = example(caption, graph)
    labels, complete = align(item)
    assert complete
    assert set(graph_of(item.words, labels).tuples()) == set(item.graph)


def test_what_the_words_do_not_say_is_named() -> None:
    item = example("they are playing", "( camera , on , tripod )")
    assert align(item)[1] is False
    assert align(example("a dog on a rug", "( dog , on , rug )"), known={"in"})[1] is False


def test_a_tree_with_a_finite_verb_and_one_without_articles() -> None:
    nlp = pipeline()
    (tree,) = parsed(nlp, [["a", "man", "in", "a", "shirt", "riding", "a", "horse"]])
    finite = finite_verb(tree)
    assert finite is not None
    assert " ".join(finite.words) == "a man in a shirt rides a horse"
    assert finite.deps[finite.words.index("man")] == "nsubj"
    bare = without_articles(finite)
    assert bare is not None
    assert " ".join(bare.words) == "man in shirt rides horse"
    assert bare.words[bare.heads[bare.words.index("horse")]] == "rides"
    both = joined([finite, bare])
    assert both.heads[len(finite.words) :] == [len(finite.words) + head for head in bare.heads]
    assert [third_person(verb) for verb in ("watch", "carry", "play", "have", "sit")] == [
        "watches", "carries", "plays", "has", "sits",
    ]  # fmt: skip


def test_a_treebank_and_its_tuning_move_the_weights() -> None:
    nlp = trainable()
    trees = factual_trees(pipeline(), [example(*pair) for pair in PAIRS])
    assert len(trees) >= 6
    kinds = caption_trees(pipeline(), ["A man in a shirt riding a horse.", "Two dogs sitting on a couch."])
    assert kinds["plain"]
    assert kinds["finite"]
    before = nlp.get_pipe("tagger").model.to_bytes()
    tune(nlp, (trees + kinds["plain"]) * 4, TuningOptions(epochs=1, batch=8), note=lambda line: None)
    assert nlp.get_pipe("tagger").model.to_bytes() != before


def write(file: Path, rows: list[tuple[str, str]]) -> Path:
    lines = ["image_id,region_id,caption,scene_graph", *(f'1,{n},{c},"{g}"' for n, (c, g) in enumerate(rows))]
    file.write_text("\n".join(lines) + "\n", "utf-8")
    return file


def test_the_command_trains_a_labeller(tmp_path: Path) -> None:
    file = write(tmp_path / "train.csv", [pair for pair in PAIRS if "," not in pair[0]] * 8)
    assert len(examples(file)) == 8 * len(PAIRS)
    arguments = ["train", "parser", "--only", "labeller", "--factual", str(file), "--validation", str(file)]
    out = tmp_path / "out"
    assert main([*arguments, "--output", str(out), "--steps", "150", "--validate", "50", "--threads", "1"]) == 0
    found = labeller.load(str(out / "labeller"))
    words = [words_of(caption) for caption, _ in PAIRS]
    graphs = [set(graph_of(own, labels).tuples()) for own, labels in zip(words, found(words))]
    right = sum(graph == set(read(gold)) for graph, (_, gold) in zip(graphs, PAIRS))
    assert right >= len(PAIRS) // 2
    meta = json.loads((out / "labeller" / "meta.json").read_text())
    assert meta["made_by"] == "vericap train parser"
    assert set(meta["files"]) == {"labeller.safetensors", "vocabulary.json"}


def test_a_file_of_another_kind_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.csv"
    file.write_text("a,b\n1,2\n")
    arguments = ["train", "parser", "--factual", str(file), "--validation", str(file), "--output", str(tmp_path / "o")]
    assert main(arguments) == 2
    assert "FACTUAL" in capsys.readouterr().err

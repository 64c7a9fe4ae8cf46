"""Training of the fluency model: made errors are wrong where they say, and a short training learns some."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from vericap.cli import main
from vericap.core.samples import Sample
from vericap.metrics.registry import make
from vericap.models import fluency
from vericap.models.fluency_words import SPECIAL, Lexicon
from vericap.run.engine import Run
from vericap.train.fluency.errors import Errors
from vericap.train.fluency.heaps import BARE_LISTED, CHAIN
from vericap.train.fluency.lexicon import Uses, build, class_of, count
from vericap.train.fluency.maker import NOT_TOLD
from vericap.train.fluency.search import Search

WORDS = {
    "a": "=a", "an": "=an", "the": "=the", "two": "=two", "on": "=on", "in": "=in", "is": "=is", "are": "=are",
    "with": "=with", "dog": "NN.c", "dogs": "NNS", "sofa": "NN.c", "man": "NN.c", "horse": "NN.c", "beach": "NN.c",
    "brown": "JJ", "riding": "VBG.t", "sitting": "VBG.i", "water": "NN.m", "ride": "VB.t", "rides": "VBZ.t",
    "to": "=to",
}  # fmt: skip
LEXICON = Lexicon([*SPECIAL, *sorted(set(WORDS.values()))], WORDS)
SENTENCES = [
    "a man is riding a horse on the beach", "two dogs are sitting on a sofa", "a brown dog on the beach",
    "a man riding a horse in the water with a dog",
]  # fmt: skip


def errors(seed: int) -> Errors:
    return Errors(LEXICON, ["dog", "sofa", "horse"], random.Random(seed))


@pytest.mark.parametrize("kind", list(errors(0).kinds))
def test_every_kind_makes_another_sentence_with_a_label_per_token(kind: str) -> None:
    made = 0
    for seed in range(40):
        words = SENTENCES[seed % len(SENTENCES)].split()
        found = errors(seed).kinds[kind](list(words))
        if found is not None:
            made += 1
            assert found.words != words
            assert len(found.labels) == len(found.words) + 1
            assert any(label != fluency.GOOD for label in found.labels)
            assert all(NOT_TOLD <= label < len(fluency.KINDS) for label in found.labels)
    assert made > 5


def test_errors_are_what_their_names_say() -> None:
    for seed in range(20):
        maker = errors(seed)
        words = SENTENCES[0].split()
        verb = maker.no_verb(words)
        assert verb is not None
        assert verb.words == ["a", "man", "a", "horse", "on", "the", "beach"]
        assert verb.labels[2] == fluency.MISSING
        number = maker.wrong_number(["two", "dogs", "are", "sitting", "in", "water"])
        assert number is not None
        assert number.words[1] == "dog"
        assert number.labels[1] == fluency.AGREEMENT
        doubled = maker.doubled(words)
        assert doubled is not None
        at = doubled.labels.index(fluency.REPEATED)
        assert doubled.words[at] == doubled.words[at - 1]
        verb_form = maker.wrong_verb(words)
        assert verb_form is not None
        assert verb_form.words[3] in ("ride", "rides")
        assert verb_form.labels[3] == fluency.AGREEMENT
        cut = maker.cut(words)
        assert cut is not None
        assert cut.words == words[: len(cut.words)]
        assert cut.labels[-1] == fluency.CUT


def test_a_participle_that_may_go_is_not_dropped() -> None:
    assert all(errors(seed).no_verb(["a", "dog", "sitting", "on", "a", "sofa"]) is None for seed in range(10))


def test_verbs_are_only_spoilt_where_they_must_agree() -> None:
    maker = errors(0)
    assert maker.wrong_forms(["a", "man", "rides", "a", "horse"], 2) == ["ride"]
    assert maker.wrong_forms(["two", "dogs", "ride", "a", "horse"], 2) == ["rides"]
    assert maker.wrong_forms(["a", "man", "riding", "a", "horse"], 2) == []
    assert maker.wrong_forms(["the", "man", "ride"], 2) == []  # it may be a noun
    assert maker.wrong_forms(["in", "water", "rides"], 2) == []


def test_people_stop_before_chains_and_lists_do() -> None:
    for seed in range(20):
        chain, things = errors(seed).chain([]), errors(seed).things([])
        assert chain is not None
        assert things is not None
        assert sum(word in ("a", "the", "two", "an") for word in chain.words) > CHAIN
        assert fluency.LIST in chain.labels
        assert sum(word in ("a", "the", "two", "an") for word in things.words) >= BARE_LISTED


def test_classes_by_counts() -> None:
    tagged = [[("a", "DT"), ("dog", "NN"), ("riding", "VBG"), ("a", "DT"), ("horse", "NN")]] * 40
    tagged += [[("dogs", "NNS"), ("in", "IN"), ("water", "NN")]] * 40
    counted = count(tagged)
    found = {word: class_of(word, uses) for word, uses in counted.items()}
    assert found["a"] == "=a"
    assert found["dog"] == "NN.c"
    assert found["water"] == "NN.m"
    assert found["riding"] == "VBG.t"
    assert class_of("xqz", Uses()) == ""
    lexicon = build(counted)
    assert lexicon.classes[lexicon.words["dog"]] == "NN"  # a class of few words joins a plainer one


def test_command_trains_a_model_the_metric_uses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    nouns = ["dog", "cat", "man", "horse", "bench", "car", "boat", "bird", "woman", "boy"]
    texts = [f"A {a} sitting next to a {b} on the {c}." for a in nouns for b in nouns for c in ("grass", "beach")]
    rows = [{"image_id": i, "caption": text} for i, text in enumerate(texts * 4)]
    (tmp_path / "captions.json").write_text(json.dumps({"annotations": rows}))
    arguments = ["train", "fluency", "--captions", str(tmp_path / "captions.json"), "--steps", "60"]
    assert main([*arguments, "--output", str(tmp_path / "mine")]) == 0
    assert "800 captions" in capsys.readouterr().out
    metric = f"fluency:model={tmp_path / 'mine'}"
    samples = [Sample("1", "a dog sitting next to a car on the beach"), Sample("2", "beach a next the dog on car to a")]
    result = Run([make(metric)]).score(samples)
    good, bad = result[metric]
    assert good > bad
    assert "|model:vericap-fluency-" in result.corpus[metric].signature
    meta = json.loads((tmp_path / "mine/meta.json").read_text())
    assert meta["trained"]["captions"] == 800


def test_values_are_fitted_to_shares_of_people() -> None:
    pytest.importorskip("torch")
    from vericap.train.fluency.training import Sources, calibrated

    model = fluency.load()
    held = [f"a {a} is sitting on a {b}".split() for a in ("dog", "cat", "man", "bird") for b in ("sofa", "bench")] * 20
    strict = fluency.FluencyModel(model.lexicon, {**model.weights, "power": np.array([9.0])}, model.seen)
    fitted = calibrated(strict, Sources([], [], held), 0)
    assert fitted.power < 3
    assert calibrated(strict, Sources([], []), 0) is strict


def test_the_search_finds_what_a_network_believes() -> None:
    model = fluency.load()
    search = Search(model.lexicon, [sentence.split() for sentence in SENTENCES], random.Random(0))
    found = search.found(model, 30)
    values = [one.value for one in model.texts([" ".join(words) for words in found])]
    started = [one.value for one in model.texts([" ".join(search.start()) for _ in range(30)])]
    assert np.mean(values) > np.mean(started) + 0.2


def test_nothing_to_train_on_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    assert main(["train", "fluency", "--output", str(tmp_path)]) == 2
    assert "nothing to train on" in capsys.readouterr().err


def test_torch_and_numpy_agree() -> None:
    torch = pytest.importorskip("torch")
    from vericap.train.fluency.network import FluencyNetwork, arrays

    torch.manual_seed(0)
    network = FluencyNetwork(len(LEXICON.classes)).eval()
    torch.nn.init.normal_(network.out.weight)
    model = fluency.FluencyModel(LEXICON, arrays(network))
    draw = np.random.default_rng(0)
    lengths = np.array([5, 9, 30])
    classes, flags = draw.integers(0, len(LEXICON.classes), (3, 30)), draw.integers(0, 64, (3, 30))
    inside = np.arange(30) < lengths[:, None]
    classes, flags = classes * inside, flags * inside
    with torch.no_grad():
        found = network(torch.tensor(classes), torch.tensor(flags), torch.tensor(inside).float()).exp().numpy()
    ours = model.chances(classes, flags, lengths)
    assert ours[:, 1:][inside[:, 1:]] == pytest.approx(found[:, 1:][inside[:, 1:]], abs=1e-5)

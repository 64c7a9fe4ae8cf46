"""A checkpoint of the public SCAN program scores here as there, and nothing inside it is run.

The witness below computes scores from the checkpoint's modules word by word, as the paper and that program do: it
shares no line with the model that scores.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from vericap.cli import main  # noqa: E402
from vericap.models import scan  # noqa: E402
from vericap.models.treebank import pieces  # noqa: E402
from vericap.vision.store import FeatureStore, FeatureWriter  # noqa: E402

WORDS = ["<pad>", "<start>", "<end>", "<unk>", "a", "dog", "runs", ".", ",", "two", "men", "n't", "ca", "'s", "the"]
CAPTIONS = ["A dog runs.", "Two men can't run, the dog's zebra", "the dog", "a dog , a dog , two dogs"]
WIDTH, SPACE, REGIONS, IMAGES = 20, 12, 5, 3


class Checkpoint:
    """Encoders as that program saves them."""

    def __init__(self, *, both_ways: bool, weight_norm: bool) -> None:
        torch.manual_seed(3)
        self.both_ways = both_ways
        self.image = torch.nn.Linear(WIDTH, SPACE)
        if weight_norm:  # as that program calls it: one length for the whole matrix
            self.image = torch.nn.utils.weight_norm(self.image, dim=None)
            with torch.no_grad():
                self.image.weight_g.mul_(1.7)
        self.embed = torch.nn.Embedding(len(WORDS), 7)
        self.rnn = torch.nn.GRU(7, SPACE, 1, batch_first=True, bidirectional=both_ways)

    def save(self, file: Path, *, old: bool = False, **options: object) -> None:
        text = {f"embed.{name}": value for name, value in self.embed.state_dict().items()}
        text.update({f"rnn.{name}": value for name, value in self.rnn.state_dict().items()})
        image = {f"fc.{name}": value for name, value in self.image.state_dict().items()}
        opt = argparse.Namespace(**{"embed_size": SPACE, "bi_gru": self.both_ways, "lambda_lse": 6.0, **options})
        found = {"epoch": 3, "model": [image, text], "best_rsum": 1.0, "opt": opt, "Eiters": 9}
        torch.save(found, file, _use_new_zipfile_serialization=not old)

    def words(self, caption: str) -> torch.Tensor:
        tokens = ["<start>", *(word for word, _, _ in pieces(caption)), "<end>"]
        numbers = torch.tensor([[WORDS.index(word) if word in WORDS else 3 for word in tokens]])
        states = self.rnn(self.embed(numbers))[0][0]
        if self.both_ways:
            states = (states[:, :SPACE] + states[:, SPACE:]) / 2
        return states / states.norm(dim=1, keepdim=True)

    def score(self, features: torch.Tensor, caption: str, options: dict[str, object]) -> float:
        """One image with one caption."""
        regions = self.image(features)
        regions = regions / regions.norm(dim=1, keepdim=True)
        words = self.words(caption)
        # Those that attend, and those that are attended to.
        ask, answer = (regions, words) if options["cross_attn"] == "i2t" else (words, regions)
        similar = [[float(a @ b) for b in answer] for a in ask]
        if options["raw_feature_norm"] == "clipped_l2norm":
            similar = [[value if value > 0 else 0.1 * value for value in row] for row in similar]
        lengths = [math.sqrt(sum(row[k] ** 2 for row in similar)) for k in range(len(answer))]
        found = []
        for row, own in zip(similar, ask):
            raised = [math.exp(options["lambda_softmax"] * value / n) for value, n in zip(row, lengths)]
            context = sum(weight / sum(raised) * vector for weight, vector in zip(raised, answer))
            found.append(float(own @ context / own.norm() / context.norm()))
        if options["agg_func"] == "LogSumExp":
            return math.log(sum(math.exp(6.0 * value) for value in found)) / 6.0
        return {"Mean": sum(found) / len(found), "Max": max(found), "Sum": sum(found)}[str(options["agg_func"])]


@pytest.fixture
def made(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    with FeatureWriter(tmp_path / "store", {"declared": "bottom-up", "width": WIDTH}, width=WIDTH) as writer:
        for image in range(IMAGES):
            boxes = np.sort(rng.random((REGIONS, 2, 2)), axis=1).reshape(-1, 4)
            writer.add(f"{image}.jpg", rng.normal(size=(REGIONS, WIDTH)), boxes)
    (tmp_path / "vocab.json").write_text(json.dumps({"word2idx": {word: k for k, word in enumerate(WORDS)}, "idx": 15}))
    return tmp_path


def taken(made: Path, *more: str) -> int:
    where = ["--features", str(made / "store"), "--output", str(made / "out"), "--import", str(made / "model.tar")]
    return main(["train", "scan", *where, "--vocabulary", str(made / "vocab.json"), *more])


@pytest.mark.parametrize(
    ("attention", "both_ways", "weight_norm", "old"),
    [
        ({"cross_attn": "i2t", "agg_func": "Mean", "lambda_softmax": 4.0}, True, False, True),
        ({"cross_attn": "i2t", "agg_func": "LogSumExp", "lambda_softmax": 9.0}, False, True, False),
        ({"cross_attn": "t2i", "agg_func": "LogSumExp", "lambda_softmax": 9.0}, True, False, False),
        (
            {"cross_attn": "t2i", "agg_func": "Max", "lambda_softmax": 4.0, "raw_feature_norm": "l2norm"},
            True,
            True,
            True,
        ),
        ({"cross_attn": "i2t", "agg_func": "Sum", "lambda_softmax": 20.0}, True, False, False),
    ],
)
def test_scores_are_those_of_the_checkpoint(
    attention: dict[str, object], both_ways: bool, weight_norm: bool, old: bool, made: Path
) -> None:
    options = {"raw_feature_norm": "clipped_l2norm", **attention}
    checkpoint = Checkpoint(both_ways=both_ways, weight_norm=weight_norm)
    checkpoint.save(made / "model.tar", old=old, **options)
    assert taken(made) == 0
    model = scan.load(str(made / "out" / "scan"))
    store = FeatureStore(made / "store")
    features = np.stack([np.asarray(store.get(f"{image}.jpg")[0], np.float32) for image in range(IMAGES)])
    regions, words, mask = model.regions(features), model.words(CAPTIONS), np.ones((IMAGES, REGIONS), np.float32)
    with torch.no_grad():
        expected = [[checkpoint.score(torch.from_numpy(one), text, options) for text in CAPTIONS] for one in features]
    np.testing.assert_allclose(model.matrix(regions, mask, words), expected, atol=2e-5)
    images, captions = np.divmod(np.arange(IMAGES * len(CAPTIONS)), len(CAPTIONS))
    pairs = model.pairs(regions, mask, words, images, captions)
    np.testing.assert_allclose(pairs, np.ravel(expected), atol=2e-5)
    assert model.meta["features"]["fingerprint"] == store.fingerprint


def test_metrics_read_it(made: Path) -> None:
    Checkpoint(both_ways=True, weight_norm=False).save(made / "model.tar", cross_attn="i2t", agg_func="Mean")
    rows = [{"image": f"{image}.jpg", "captions": [CAPTIONS[image], CAPTIONS[0]]} for image in range(IMAGES)]
    (made / "captions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert taken(made, "--captions", str(made / "captions.jsonl")) == 0
    samples = [
        {"id": k, "image": f"{k}.jpg", "candidate": CAPTIONS[k], "references": [CAPTIONS[0], CAPTIONS[2]]}
        for k in range(3)
    ]
    (made / "samples.jsonl").write_text("\n".join(map(json.dumps, samples)))
    command = ["score", str(made / "samples.jsonl"), "--features", str(made / "store"), "--explain"]
    command += ["--metrics", f"reo-relevance:model={made / 'out' / 'scan'},tiger:model={made / 'out' / 'scan'}"]
    assert main([*command, "--output", str(made / "scores.jsonl")]) == 0
    scores = [json.loads(line) for line in (made / "scores.jsonl").read_text().splitlines()]
    for metric in ("reo-relevance", "tiger"):
        values = [row[f"{metric}:model={made / 'out' / 'scan'}"] for row in scores]
        assert np.isfinite(values).all()
        assert len(set(values)) == 3
    whitening = scan.load(str(made / "out" / "scan")).whitening
    assert not np.allclose(whitening, np.eye(SPACE))


class Harm:
    """What a hostile file may hold: a call that is made when it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (open_marker, ("ran",))


def open_marker(name: str) -> object:
    Path(name).write_text("x")
    return {}


def test_nothing_inside_is_run(made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(made)
    torch.save({"model": [{}, {}], "opt": Harm()}, made / "model.tar")
    assert taken(made) == 2
    told = capsys.readouterr().err
    assert "is not a SCAN checkpoint" in told
    assert "it holds " in told
    assert "weights_only" not in told  # torch's advice is to unpickle all of it
    assert not (made / "ran").exists()


def test_what_is_not_taken_over_is_named(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = Checkpoint(both_ways=True, weight_norm=False)
    checkpoint.save(made / "model.tar", raw_feature_norm="softmax")
    assert taken(made) == 2
    assert "raw_feature_norm is 'softmax'" in capsys.readouterr().err
    checkpoint.save(made / "model.tar", no_imgnorm=True)
    assert taken(made) == 2
    assert "no_imgnorm" in capsys.readouterr().err
    checkpoint.save(made / "model.tar")
    (made / "vocab.json").write_text(
        json.dumps({"word2idx": {**{word: k for k, word in enumerate(WORDS)}, "more": 99}})
    )
    assert taken(made) == 2
    assert "the vocabulary has 100 words, the checkpoint 15" in capsys.readouterr().err
    (made / "vocab.json").write_text("{}")
    assert taken(made) == 2
    assert "is not a SCAN vocabulary" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words"),
    [  # the examples of NLTK's documentation of word_tokenize, lower-cased as SCAN does
        (
            "Good muffins cost $3.88\nin New York.  Please buy me\ntwo of them.\n\nThanks.",
            "good muffins cost $ 3.88 in new york . please buy me two of them . thanks .",
        ),
        ("They'll save and invest more.", "they 'll save and invest more ."),
        ("hi, my name can't hello,", "hi , my name ca n't hello ,"),
    ],
)
def test_words_are_cut_as_nltk_documents(text: str, words: str) -> None:
    found = pieces(text)
    assert [word for word, _, _ in found] == words.split()
    assert all(text.lower()[start:end] == word for word, start, end in found)

"""Every command of docs/own-features.md, on made data; trainings are cut to a few steps."""

from __future__ import annotations

import argparse
import base64
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from vericap.cli import main  # noqa: E402
from vericap.core import shipped  # noqa: E402
from vericap.vision.store import FeatureStore  # noqa: E402

PAGE = Path(__file__).parent.parent / "docs" / "own-features.md"
THINGS = ["dog", "cat", "horse", "boat", "train", "child", "bird", "pizza", "bus", "kite", "cup", "bed"]
SHORT = {
    "vse": ["--steps", "4"],
    "scan": ["--steps", "4", "--width", "16"],
    "faier": ["--steps", "4", "--d", "16", "--rarest", "1"],
    "faier-plus": ["--steps", "4"],
}


def commands() -> list[list[str]]:
    """The page's commands, lines that end in a backslash joined."""
    code = [line[4:] for line in PAGE.read_text("utf-8").splitlines() if line.startswith("    ")]
    return [shlex.split(line) for line in "\n".join(code).replace("\\\n", " ").splitlines()]


def bottom_up(file: Path, names: list[str], meaning: np.ndarray, rng: np.random.Generator) -> None:
    """The TSV of bottom-up attention: 36 regions of 2048 numbers."""
    with file.open("w") as stream:
        for name in names:
            features = np.maximum(meaning[THINGS.index(name[:-4])] + 0.3 * rng.normal(size=(36, 2048)), 0)
            corners = np.sort(rng.random((36, 2, 2)), axis=1).reshape(-1, 4) * [640, 480, 640, 480]
            packed = (base64.b64encode(x.astype(np.float32).tobytes()).decode() for x in (corners, features))
            stream.write("\t".join([name, "640", "480", "36", *packed]) + "\n")


def checkpoint(file: Path, words: list[str]) -> None:
    """A public SCAN checkpoint of the layout of its program."""
    torch.manual_seed(0)
    image, embed, rnn = (
        torch.nn.Linear(2048, 8),
        torch.nn.Embedding(len(words), 6),
        torch.nn.GRU(6, 8, bidirectional=True),
    )
    states = [
        {f"fc.{name}": value for name, value in image.state_dict().items()},
        {f"{part}.{name}": v for part, own in (("embed", embed), ("rnn", rnn)) for name, v in own.state_dict().items()},
    ]
    opt = argparse.Namespace(cross_attn="i2t", agg_func="Mean", raw_feature_norm="clipped_l2norm", lambda_softmax=4.0)
    torch.save({"epoch": 1, "model": states, "opt": opt}, file)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    rng = np.random.default_rng(0)
    meaning = rng.normal(size=(len(THINGS), 2048)) + rng.normal(size=2048)
    names = [f"{thing}.jpg" for thing in THINGS]
    bottom_up(folder / "train.tsv", names[:8], meaning, rng)
    bottom_up(folder / "val.tsv", names[8:], meaning, rng)
    # One to four captions of an image.
    forms = ("a {} on the grass", "the {} near a tree", "one {}", "some {} in a field")
    said = [[form.format(thing) for form in forms[: 1 + k % 4]] for k, thing in enumerate(THINGS)]
    rows = [{"image": name, "captions": captions} for name, captions in zip(names, said)]
    (folder / "captions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "dev.txt").write_text("\n".join(names[8:]))
    judged = [{"id": name, "image": name, "candidate": f"a {thing}", "references": [f"the {thing} is here"]}
              for name, thing in zip(names, THINGS)]  # fmt: skip
    (folder / "mine.jsonl").write_text("\n".join(map(json.dumps, judged)))
    (folder / "f30k_precomp").mkdir()
    np.save(folder / "f30k_precomp" / "test_ims.npy", rng.random((3, 36, 2048)).astype(np.float32))
    (folder / "f30k_precomp" / "test_ids.txt").write_text("0\n1\n2")
    words = ["<pad>", "<start>", "<end>", "<unk>", "a", "the", "dog", "grass", "on"]
    (folder / "f30k_precomp_vocab.json").write_text(json.dumps({"word2idx": {word: k for k, word in enumerate(words)}}))
    checkpoint(folder / "model_best.pth.tar", words)
    three = [{"id": str(k), "image": str(k), "candidate": "a dog on the grass"} for k in range(3)]
    (folder / "f30k-mine.jsonl").write_text("\n".join(map(json.dumps, three)))
    heard = [{"image": str(k), "caption": "a dog on the grass"} for k in range(3)]
    (folder / "f30k.jsonl").write_text("\n".join(map(json.dumps, heard)))
    return folder


def run(command: list[str]) -> None:
    """One command of the page; trainings are made short."""
    program, *words = command
    if "train" in words and "--import" not in words:
        model = words[words.index("train") + 1]
        words += [*SHORT[model], "--validate", "2", "--batch", "6", "--threads", "1"]
    if program == "torchrun":
        together = [sys.executable, "-m", "torch.distributed.run", "--standalone", *words]
        done = subprocess.run(together, capture_output=True, text=True, env=dict(os.environ), timeout=600)
        assert done.returncode == 0, done.stderr
        return
    assert program == "vericap"
    assert main(words) == 0, command


def test_the_page_runs(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made)
    page = commands()
    assert {words[2] for words in page if words[:2] == ["vericap", "train"]} == set(SHORT)
    for command in page:
        run(command)
    store = FeatureStore("store")
    assert (len(store), store.width, store.most) == (12, 2048, 37)  # the whole image before 36 regions
    scores = [json.loads(line) for line in Path("scores.jsonl").read_text().splitlines()]
    names = [name for name in scores[0] if name.startswith(("vse:", "reo-relevance:", "faier:", "faier-plus:"))]
    for metric in ("vse", "reo-relevance", "faier", "faier-plus"):
        (name,) = (n for n in names if n.split(":model=")[0] == metric and "." not in n.rsplit("/", 1)[-1])
        values = np.array([row[name] for row in scores], dtype=float)
        assert np.isfinite(values).all()
        assert len(set(values.tolist())) == len(THINGS)
    for part, folder in (
        ("vse", "vse/vse"),
        ("scan", "scan/scan"),
        ("faier", "faier/faier"),
        ("faier_plus", "plus/faier_plus"),
    ):
        meta = shipped.describe(f"runs/{folder}", part)
        assert meta["fingerprint"] == meta["features"]["fingerprint"] == store.fingerprint
        assert meta["features"]["content"] == store.content
        assert (meta["features"]["width"], meta["features"]["regions"]) == (2048, 37)
        assert meta["trained"]["photos"][0] == 8  # the others validate
    losses = [Path(f"runs/{name}/log.csv").read_text().splitlines()[1].split(",")[1] for name in ("scan", "two")]
    assert float(losses[0]) == pytest.approx(float(losses[1]), rel=1e-4)

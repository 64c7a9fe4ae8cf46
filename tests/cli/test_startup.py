"""What a command imports and opens: nothing heavy that it does not use."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from vericap.core import shipped

HEAVY = (
    "torch",
    "spacy",
    "onnxruntime",
    "scipy",
    "pyarrow",
    "pandas",
    "PIL",
    "tokenizers",
    "safetensors",
    "matplotlib",
)
PHOTOS = shipped.ROOT / "demo" / "photos"
CODE = """
import contextlib, io, json, sys
from vericap.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    code = main(sys.argv[1:])
onnx = sys.modules.get("vericap.core.onnx")
print(json.dumps([code, sorted(sys.modules), sorted(file.name for file in onnx.opened) if onnx else []]))
"""


def fresh(folder: Path, *words: str) -> tuple[set[str], list[str]]:
    """Heavy packages that a command imported, and networks that it opened."""
    run = [sys.executable, "-c", CODE, *words]
    found = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=True)
    code, modules, opened = json.loads(found.stdout.splitlines()[-1])
    assert code == 0
    return set(HEAVY) & set(modules), opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    row = {"image": "chelsea.jpg", "candidate": "a cat looks up", "references": ["a cat", "a cat with green eyes"]}
    (tmp_path / "captions.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    return tmp_path


def test_help_imports_nothing(folder: Path) -> None:
    assert fresh(folder, "--help") == (set(), [])


@pytest.mark.parametrize("metrics", ["bleu-4,rouge-l,cider-d", "meteor"])
def test_metrics_over_words_import_nothing_heavy(metrics: str, folder: Path) -> None:
    assert fresh(folder, "score", "captions.jsonl", "--metrics", metrics) == (set(), [])


def test_spice_takes_spacy_alone(folder: Path) -> None:
    heavy, opened = fresh(folder, "score", "captions.jsonl", "--metrics", "spice")
    assert heavy == {"spacy"}
    assert opened == []


def test_vse_opens_one_encoder_and_the_backbone(folder: Path) -> None:
    heavy, opened = fresh(
        folder, "score", "captions.jsonl", "--metrics", "vse", "--images", str(PHOTOS), "--cache", "off"
    )
    assert heavy == {"onnxruntime", "PIL", "safetensors"}
    assert opened == ["backbone.onnx", "encoder.onnx"]

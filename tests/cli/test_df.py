"""Document frequencies of a corpus, kept in a file, give the corpus's own CIDEr."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import vericap
from vericap.cli import main

REFERENCES = {"1": ["a dog runs", "the dog"], "2": ["two cats sleep"], "3": ["a red bus on a street"]}
CANDIDATES = {"1": "a dog", "2": "cats sleep", "3": "a bus"}


@pytest.mark.parametrize("name", ["df.npz", "df.json", "df.json.gz"])
def test_file_equals_corpus(tmp_path: Path, name: str, capsys) -> None:
    source = tmp_path / "references.json"
    source.write_text(json.dumps(REFERENCES), encoding="utf-8")
    assert main(["df", str(source), "--output", str(tmp_path / name)]) == 0
    assert "3 images" in capsys.readouterr().out
    own = vericap.score(CANDIDATES, REFERENCES, metrics="cider-d,cider")
    kept = vericap.score(CANDIDATES, REFERENCES, metrics="cider-d,cider", df=str(tmp_path / name))
    for metric in own.corpus:
        assert kept.corpus[metric].value == pytest.approx(own.corpus[metric].value, abs=1e-12)


def test_missing_folder_is_named(tmp_path: Path, capsys) -> None:
    source = tmp_path / "references.json"
    source.write_text(json.dumps(REFERENCES), encoding="utf-8")
    assert main(["df", str(source), "--output", str(tmp_path / "no" / "df.npz")]) == 2
    assert "does not exist" in capsys.readouterr().err

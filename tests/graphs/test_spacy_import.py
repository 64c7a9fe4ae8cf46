"""spaCy without torch and without its command line: the same pipeline, and nothing is lost for others."""

from __future__ import annotations

import subprocess
import sys

import pytest

from vericap.core import shipped
from vericap.graphs.spacy_import import import_spacy, load_english


def fresh(code: str) -> str:
    """What a new process prints."""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return found.stdout.strip()


def test_neither_torch_nor_the_command_line_is_imported() -> None:
    code = (
        "import sys; from vericap.graphs.spacy_import import import_spacy; spacy = import_spacy()\n"
        "print([name for name in ('torch', 'h5py', 'spacy.cli', 'jinja2', 'typer', 'requests') if name in sys.modules])"
    )
    assert fresh(code) == "[]"


def test_others_can_import_them_afterwards() -> None:
    code = (
        "from vericap.graphs.spacy_import import import_spacy; spacy = import_spacy()\n"
        "import spacy.cli\n"
        "print(spacy.cli.download.__name__, spacy.info(silent=True)['spacy_version'] == spacy.__version__)"
    )
    assert fresh(code) == "download True"


def test_torch_can_be_imported_afterwards() -> None:
    pytest.importorskip("torch", reason="the group train is not installed")
    code = (
        "from vericap.graphs.spacy_import import import_spacy; import_spacy()\n"
        "import torch; print(torch.tensor(1).item())"
    )
    assert fresh(code) == "1"


def test_the_tokeniser_has_the_exceptions_of_the_folder() -> None:
    spacy = import_spacy()
    folder = shipped.folder("spacy_en") / "pipeline"
    ours, theirs = load_english(folder), spacy.load(folder)
    assert ours.tokenizer.rules == theirs.tokenizer.rules
    assert len(spacy.lang.en.English.Defaults.tokenizer_exceptions) > 1000
    text = "It's a man who can't ride his friend's horse at 5p.m."
    assert [str(token) for token in ours.tokenizer(text)] == [str(token) for token in theirs.tokenizer(text)]

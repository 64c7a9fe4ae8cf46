"""Every metric keeps its promises: the contract kit over the whole registry."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vericap.core.metric import Metric, Option
from vericap.core.statistics import Statistics
from vericap.metrics import registry
from vericap.testing import check_metric

HERE = Path(__file__).resolve().parent
NEEDS_JAPANESE = ("jaspice", "jaspice-plus")
BROUGHT = ("clipscore", "refclipscore")  # need a model of the user's; tests/metrics/test_vse.py makes one


@pytest.mark.parametrize("name", [name for name in registry.METRICS if name not in BROUGHT])
def test_contract(name: str) -> None:
    if name in NEEDS_JAPANESE and importlib.util.find_spec("ginza") is None:
        pytest.skip("Japanese needs the group ja")
    check_metric(name)


@pytest.mark.parametrize(
    "text",
    [
        "mean(vse,reo-relevance)",
        "mean(bleu-4,cider-d)",
        "vifidel:references=none:p=1",
        "chair:objects=references",
        "reo-relevance:truth=image",
        "spice-soft:whole=0",
        "lm:form=logprob",
        "cider-d:df=coco-val",
    ],
)
def test_contract_of_options(text: str) -> None:
    check_metric(text, processes=text == "mean(vse,reo-relevance)")


def length(candidates, references, images):
    return [sum(any(map(str.isalnum, word)) for word in candidate.split()) for candidate in candidates]


def test_contract_of_a_function() -> None:
    check_metric(length)


class Good(Metric):
    name = "good"
    needs = ()
    options = {"most": Option(50, "largest length")}  # noqa: RUF012

    range = (0.0, 50.0)

    def statistics(self, batch, state=None):
        return Statistics(np.array([float(min(len(text), self.opt.most)) for text in batch.candidate_texts()]))


class Hidden(Good):
    """Keeps state: the second call differs."""

    name = "hidden"
    calls = 0.0

    def statistics(self, batch, state=None):
        Hidden.calls += 1
        return Statistics(np.full(len(batch), min(Hidden.calls, 40.0)))


class Wide(Good):
    name, width = "wide", 2


class Silent(Good):
    name = "outside"
    range = (0.0, 1.0)


class Ordered(Good):
    name = "ordered"

    def statistics(self, batch, state=None):
        return Statistics(np.array([float(len(batch.reference_texts(row)[0])) % 50 for row in range(len(batch))]))


class Crowd(Good):
    name = "crowd"

    def statistics(self, batch, state=None):
        return Statistics(np.full(len(batch), float(len(batch))))


class Odd(Good):
    name = "odd"

    def signature_parts(self, batch):
        return {"colour": "blue"}


class Marks(Good):
    name = "marks"

    def statistics(self, batch, state=None):
        return Statistics(np.array([float(len(text.strip()) > 0) for text in batch.candidate_texts()]))


class Idle(Good):
    name = "idle"

    def requires(self, settings):
        from vericap.run.analyses import Tokens

        return (Tokens(settings.tokenizer),)


@pytest.mark.parametrize(
    ("metric", "promise"),
    [
        (Hidden, "the second time"),
        (Silent, "leaves its range"),
        (Ordered, "order of references"),
        (Crowd, "other captions of a batch"),
        (Odd, "not canonical"),
        (Marks, "without a word differently"),
        (Idle, "does not read"),
    ],
)
def test_the_kit_finds_broken_promises(metric: type[Metric], promise: str) -> None:
    with pytest.raises(AssertionError, match=promise):
        check_metric(metric, processes=False)


def test_a_wrong_width_is_refused() -> None:
    with pytest.raises(RuntimeError, match="width 2"):
        check_metric(Wide, processes=False)


# --- other packages ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example package, installed by pip into a folder of its own."""
    folder, copy = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("plugin")
    for file in (HERE / "plugin").rglob("*"):
        if file.suffix in (".py", ".toml"):
            target = copy / file.relative_to(HERE / "plugin")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*words, "--no-index", "--target", str(folder), str(copy)], check=True, capture_output=True)
    return folder


def command(folder: Path, *words: str) -> str:
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); from vericap.cli import main; sys.exit(main())"
    found = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    return found.stdout


def test_a_metric_of_another_package(installed: Path, tmp_path: Path) -> None:
    listed = command(installed, "metrics")
    assert "letter-share" in listed
    assert "Set letters: letter-share" in listed
    assert "Share of the candidate's letters" in command(installed, "metrics", "letter-share")
    file = tmp_path / "captions.jsonl"
    file.write_text('{"id": "1", "candidate": "abc", "references": ["ab"]}\n', "utf-8")
    names = "letter-share,letter-share:case=true,mean(letter-share)"
    shown = command(installed, "score", str(file), "--metrics", names)
    assert shown.count("0.6667") == 3
    assert "Letters" in command(installed, "metrics", "--analyses")


def test_its_metric_keeps_the_contract(installed: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(installed)!r})\n"
        "from vericap.testing import check_metric\n"
        "print(check_metric('letter-share', processes=False))\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "explains" in found.stdout


def test_a_function_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from vericap.cli import main

    code = "def words(candidates, references, images):\n    return [len(c.split()) for c in candidates]\n"
    (tmp_path / "mine.py").write_text(code)
    (tmp_path / "captions.txt").write_text("a dog runs\n")
    name = f"py:{tmp_path / 'mine.py'}:words"
    assert main(["score", str(tmp_path / "captions.txt"), "--metrics", name, "--quiet"]) == 0
    assert "3.0000" in capsys.readouterr().out
    assert main(["score", str(tmp_path / "captions.txt"), "--metrics", name + "x", "--quiet"]) == 2
    assert "has no function 'wordsx'" in capsys.readouterr().err
    with pytest.raises(Exception, match="not accepted here"):
        registry.resolve(name)

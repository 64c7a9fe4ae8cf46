"""The command line takes names and lists as people write them, and answers mistakes in a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vericap.cli import COMMANDS, main, parser_for
from vericap.metrics.cards import _PURPOSES, tells
from vericap.metrics.registry import METRICS, SETS

ROWS = [
    {"id": 1, "candidate": "a dog runs", "references": ["a dog is running", "the dog runs"]},
    {"id": 2, "candidate": "two cats", "references": ["two cats sleep", "cats on a bed"]},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("captions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    Path("captions.txt").write_text("".join(f"{row['candidate']}\n" for row in ROWS), encoding="utf-8")
    for number in (0, 1):
        text = "".join(f"{row['references'][number]}\n" for row in ROWS)
        Path(f"references{number}.txt").write_text(text, encoding="utf-8")
    return tmp_path


def scored(words: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["score", *words.split(), "--json", "-q"]) == 0
    return list(json.loads(capsys.readouterr().out)["scores"])


@pytest.mark.parametrize(
    ("words", "metrics"),
    [
        ("captions.jsonl -m Bleu_4 -m ROUGE_L", ["bleu-4", "rouge-l"]),
        ("captions.jsonl -m Bleu_4 ROUGE_L", ["bleu-4", "rouge-l"]),
        ("-m Bleu_4 ROUGE_L captions.jsonl", ["bleu-4", "rouge-l"]),
        ("-m Bleu_4,ROUGE_L captions.jsonl", ["bleu-4", "rouge-l"]),
        ("captions.jsonl -m bleu-4,rouge-l -m CIDEr", ["bleu-4", "rouge-l", "cider-d"]),
        ("--metrics=BLEU captions.jsonl -mrouge", ["bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l"]),
        ("captions.jsonl --metric bleu-4 mean(bleu-4,rouge-l)", ["bleu-4", "mean(bleu-4,rouge-l)"]),
        ("captions.jsonl --seed -1 -m rouge-l", ["rouge-l"]),
        ("captions.jsonl --metric=rouge-l", ["rouge-l"]),
    ],
)
def test_metrics_add_up(words: str, metrics: list[str], folder: Path, capsys) -> None:
    assert scored(words, capsys) == metrics


@pytest.mark.parametrize(
    "words",
    [
        "captions.txt -r references0.txt references1.txt -m rouge-l",
        "-r references0.txt references1.txt captions.txt -m rouge-l",
        "-m rouge-l -r references0.txt references1.txt captions.txt",
        "-r references0.txt -r references1.txt -m rouge-l -- captions.txt",
        "-r references0.txt -m rouge-l -r references1.txt captions.txt",
        "--reference references0.txt references1.txt -m rouge-l -- captions.txt",
        "captions.txt --reference=references0.txt -r references1.txt -m rouge-l",
    ],
)
def test_references_leave_the_candidates_alone(words: str, folder: Path, capsys) -> None:
    assert main(["score", "captions.jsonl", "-m", "rouge-l", "--json", "-q"]) == 0
    wanted = json.loads(capsys.readouterr().out)["scores"]["rouge-l"]["value"]
    assert main(["score", "--json", "-q", *words.split()]) == 0
    assert json.loads(capsys.readouterr().out)["scores"]["rouge-l"]["value"] == wanted


def arguments(command: str, words: str):
    return parser_for(command).parse_args(words.split())


def test_systems_and_outputs_are_given_back_too(folder: Path) -> None:
    found = arguments("compare", "-r references0.txt a=captions.txt b=captions.txt c=captions.txt")
    assert (found.references, len(found.systems)) == (["references0.txt"], 3)
    found = arguments("filter", "-r references0.txt captions.txt kept.csv --keep x")
    assert (found.references, found.input, found.output) == (["references0.txt"], "captions.txt", "kept.csv")
    found = arguments("filter", "captions.txt -r references0.txt kept.csv")
    assert (found.references, found.input, found.output) == (["references0.txt"], "captions.txt", "kept.csv")
    # A file that is there is no output: parallel references stay references.
    found = arguments("filter", "captions.txt -r references0.txt references1.txt --dry-run")
    assert (found.references, found.output) == (["references0.txt", "references1.txt"], None)
    found = arguments("score", "--resume captions.txt")
    assert (found.resume, found.candidates) == ("", "captions.txt")


def test_a_file_called_like_a_metric_is_found(folder: Path) -> None:
    Path("spice").write_text("a dog\n", encoding="utf-8")
    found = arguments("score", "-m bleu spice")
    assert (found.metrics, found.candidates) == ("bleu", "spice")
    found = arguments("score", "captions.txt -m bleu spice")
    assert (found.metrics, found.candidates) == ("bleu,spice", "captions.txt")


@pytest.mark.parametrize("command", [*COMMANDS])
def test_help_of_a_command(command: str, capsys) -> None:
    with pytest.raises(SystemExit) as left:
        main(["help", command])
    assert left.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: vericap {command}")


def test_help_alone(capsys) -> None:
    assert main(["help"]) == 0
    assert "usage: vericap COMMAND" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("scroe", "did you mean 'score'?"),
        ("Score", "did you mean 'score'?"),
        ("captions.txt", "vericap score captions.txt"),
        ("SPICE", "vericap metrics SPICE"),
        ("--metrics", "options come after a command"),
        ("hlep", "did you mean 'help'?"),
        ("xyzzy", "vericap help"),
    ],
)
def test_an_unknown_command_is_answered_in_a_line(word: str, said: str, folder: Path, capsys) -> None:
    for words in ([word], ["help", word]):
        assert main(words) == 2
        error = capsys.readouterr().err
        assert said in error
        assert len(error.splitlines()) == 1


def test_the_version_is_a_word_too(capsys) -> None:
    assert main(["version"]) == main(["--version"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second


def test_the_list_says_what_each_metric_tells(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    """It fits a usual terminal; all that a metric says of itself is in the JSON."""
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["metrics"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("fluency ") and "does it read well?" in line for line in lines)
    assert main(["metrics", "--json"]) == 0
    (vifidel,) = (row for row in json.loads(capsys.readouterr().out) if row["metric"] == "vifidel")
    assert vifidel["range"] == [0, 1]
    assert vifidel["options"]["p"] == 2.0
    assert main(["metrics", "--analyses"]) == 0
    assert "weights of a model, opened once" in " ".join(capsys.readouterr().out.split())


def test_every_metric_and_set_has_its_line() -> None:
    told = {tells(name) for name in METRICS}
    assert len(told) == len(METRICS)
    assert not any(name not in _PURPOSES for name in SETS)


@pytest.mark.parametrize("name", ["reo", "REO", "coco", "recommended", "Bleu_4", "CIDEr"])
def test_cards_of_sets_and_of_other_spellings(name: str, capsys) -> None:
    assert main(["metrics", name]) == 0
    assert capsys.readouterr().out.startswith("# ")

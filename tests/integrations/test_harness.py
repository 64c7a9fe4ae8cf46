"""Outputs of evaluation harnesses, made in the shapes that their sources write, are scored."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import vericap
from vericap.cli import main
from vericap.core.errors import InputError
from vericap.integrations import lmms_eval_records

ROWS = [
    (139, "A dog runs.", ["a dog is running", "the dog runs"]),
    (285, "<think>Hm.</think>Two cats", ["two cats sleep", "cats on a bed"]),
]


def whole(metrics: str) -> dict[str, float | None]:
    plain = [text.rpartition(">")[2] for _, text, _ in ROWS]
    found = vericap.score(plain, [references for *_, references in ROWS], metrics)
    return {name: score.value for name, score in found.corpus.items()}


def lines(file: Path, rows: list[dict]) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


@pytest.mark.parametrize("kind", ["metric", "target", "document"])
def test_lmms_eval(kind: str, tmp_path: Path) -> None:
    rows = []
    for number, (image, text, references) in enumerate(ROWS):
        # What lmms_eval/tasks/coco_cap/utils.py hands to each of its metrics, and what the logger writes beside it.
        seen = {"answer": references, "pred": text, "image_id": image, "id": number}
        row = {"doc_id": number, "target": "", "resps": [[text]], "filtered_resps": [text], "doc": {}}
        if kind == "metric":
            row.update({f"coco_{name}": seen for name in ("Bleu_4", "CIDEr")})
        else:
            row.update({"target": references} if kind == "target" else {"doc": {"answer": references}})
        rows.append(row)
    records = lmms_eval_records(lines(tmp_path / "samples.jsonl", rows))
    assert records[1]["candidate"] == "Two cats"
    assert [record["id"] for record in records] == (["139", "285"] if kind == "metric" else ["0", "1"])
    found = vericap.score(records, metrics="CIDEr,Bleu_4")
    assert {name: score.value for name, score in found.corpus.items()} == whole("cider-d,bleu-4")


def test_vlmevalkit(tmp_path: Path, capsys) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="tables of Excel need the group xlsx")
    book = openpyxl.Workbook()
    book.active.append(["index", "question", "answer", "prediction"])
    for image, text, references in ROWS:
        book.active.append([image, "Please describe this image.", repr(references), text.rpartition(">")[2]])
    file = tmp_path / "Model_COCO_VAL.xlsx"
    book.save(file)
    words = ["--references-field", "answer", "--id-field", "index", "-m", "CIDEr", "Bleu_4", "--json", "-q"]
    assert main(["score", str(file), *words]) == 0
    scores = json.loads(capsys.readouterr().out)["scores"]
    assert {name: score["value"] for name, score in scores.items()} == pytest.approx(whole("cider-d,bleu-4"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "--log_samples"),
        ("no json\n", "line 1: not JSON"),
        ("[1]\n", "not a sample"),
        ('{"doc_id": 1, "target": "x"}\n', "no response"),
    ],
)
def test_other_files_are_refused(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "samples.jsonl"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        lmms_eval_records(file)
    with pytest.raises(InputError, match="cannot be read"):
        lmms_eval_records(tmp_path)


def test_adapters_bring_no_torch() -> None:
    code = (
        "import sys, vericap.integrations, vericap.compat.coco; print(sorted({'torch', 'evaluate'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

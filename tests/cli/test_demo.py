"""The demo, as a new user runs it: tables, result files, pictures; the system that invents things is found out."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from vericap.cli import main


def test_demo_prints_and_writes(tmp_path: Path, capsys) -> None:
    assert main(["demo", "--output", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "paired bootstrap" in said
    page = tmp_path / "report" / "index.html"
    assert page.is_file()
    assert said.rstrip().endswith(f"To see why, open {page.as_uri()} in a browser.")
    rows = list(csv.DictReader((tmp_path / "comparison.csv").open(encoding="utf-8")))
    scores = {(row["system"], row["metric"]): float(row["value"]) for row in rows}
    assert scores["careful", "meteor"] > scores["inventive", "meteor"]
    assert scores["careful", "chair"] < scores["inventive", "chair"]
    records = [json.loads(line) for line in (tmp_path / "inventive.jsonl").read_text("utf-8").splitlines()]
    assert len(records) == 12
    assert any(record["chair.hallucinated"] for record in records)
    assert len(list((tmp_path / "objects").iterdir())) == 6
    assert len(list((tmp_path / "graphs").glob("*.svg"))) == 12

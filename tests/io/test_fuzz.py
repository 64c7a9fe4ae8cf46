"""Nonsense in, a reason out: readers never break on damaged input. Long form: benchmarks/studies/fuzz_readers.py."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.core.errors import InputError
from vericap.io import load

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "studies" / "fuzz_readers.py"


@pytest.fixture(scope="module")
def fuzzer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz_readers", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_mutated_files_of_every_format(fuzzer: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "good.jsonl").write_text("".join(json.dumps(row) + "\n" for row in fuzzer.ROWS))
    outcomes = [fuzzer.read(tmp_path, *each) for each in fuzzer.inputs(600, seed=11)]
    assert [outcome for outcome in outcomes if outcome not in ("read", "refused")] == []
    assert outcomes.count("read") > 50  # else the changes are too coarse to reach what lies behind the first check
    assert outcomes.count("refused") > 50


def test_good_files_are_all_read(fuzzer: ModuleType, tmp_path: Path) -> None:
    for name, data in fuzzer.seeds().items():
        if name != "i.parquet":
            assert fuzzer.read(tmp_path, name, data, None, False) == "read", name


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(
    ("id", "image_id", "candidate", "caption", "captions", "references", "ref_1", "image", "objects", "x\ud800")
)
records = st.lists(st.dictionaries(names, values, max_size=5) | values, min_size=1, max_size=4)


@settings(max_examples=150, deadline=None)
@given(records, st.booleans(), st.sampled_from(("lines", "list", "object")))
def test_any_json_is_read_or_refused(tmp_path_factory: Any, rows: list[Any], escaped: bool, form: str) -> None:
    path = tmp_path_factory.mktemp("fuzz") / ("x.jsonl" if form == "lines" else "x.json")
    if form == "lines":
        text = "".join(json.dumps(row, ensure_ascii=escaped) + "\n" for row in rows)
    else:
        text = json.dumps(rows if form == "list" else {str(n): row for n, row in enumerate(rows)}, ensure_ascii=escaped)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        loaded = load(path)
    except InputError:
        return
    for sample in loaded.samples:
        json.dumps([sample.id, sample.candidate, *sample.references], ensure_ascii=False).encode("utf-8")
    for batch in loaded.batches:
        assert batch.columns.num_rows == len(batch.samples) or not batch.columns.column_names


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200), st.sampled_from(("x.csv", "x.txt", "x", "x.tar", "x.arrow", "x.json.gz")))
def test_any_bytes_are_read_or_refused(tmp_path_factory: Any, data: bytes, name: str) -> None:
    path = tmp_path_factory.mktemp("fuzz") / name
    path.write_bytes(data)
    try:
        found = load(path).samples
    except InputError as error:
        said = str(error)
    else:
        said = name if found else ""
    assert name in said

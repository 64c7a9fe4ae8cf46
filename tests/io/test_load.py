"""Every format gives the same samples; every mistake is named with its file and record."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vericap.core.errors import InputError
from vericap.io import load

CANDIDATES = {"1": "a dog runs", "2": "two cats sleep"}
REFERENCES = {"1": ["a dog is running", "the dog runs"], "2": ["cats asleep"]}


def expect(loaded) -> None:
    assert {s.id: s.candidate for s in loaded.samples} == CANDIDATES
    assert {s.id: list(s.references) for s in loaded.samples} == REFERENCES
    assert not loaded.problems


def write(path: Path, content: object) -> Path:
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def references(tmp_path: Path) -> Path:
    annotations = [
        {"image_id": int(key), "id": n, "caption": text}
        for key, texts in REFERENCES.items()
        for n, text in enumerate(texts)
    ]
    images = [{"id": 1, "file_name": "one.jpg"}, {"id": 2, "file_name": "two.jpg"}]
    return write(tmp_path / "annotations.json", {"images": images, "annotations": annotations})


def jsonl(records: list[dict]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


WHOLE = [{"id": k, "candidate": CANDIDATES[k], "references": REFERENCES[k]} for k in CANDIDATES]


def test_coco_results_and_annotations(tmp_path: Path, references: Path) -> None:
    results = write(tmp_path / "r.json", [{"image_id": int(k), "caption": c} for k, c in CANDIDATES.items()])
    loaded = load(results, [references])
    expect(loaded)
    assert [s.image for s in loaded.samples] == ["one.jpg", "two.jpg"]


def test_jsonl_with_its_own_references(tmp_path: Path) -> None:
    expect(load(write(tmp_path / "c.jsonl", jsonl(WHOLE))))


def test_format_found_by_content_when_the_name_says_nothing(tmp_path: Path) -> None:
    expect(load(write(tmp_path / "captions", jsonl(WHOLE))))


def test_gzip_by_content(tmp_path: Path) -> None:
    for name in ("c.jsonl.gz", "no-suffix"):
        (tmp_path / name).write_bytes(gzip.compress(jsonl(WHOLE).encode()))
        expect(load(tmp_path / name))


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(jsonl(WHOLE).encode())

    monkeypatch.setattr("sys.stdin", Stdin())
    expect(load("-"))


def test_csv_with_json_references_and_tsv_with_numbered_columns(tmp_path: Path) -> None:
    import csv

    with (tmp_path / "c.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "candidate", "references"])
        writer.writerows([k, CANDIDATES[k], json.dumps(REFERENCES[k])] for k in CANDIDATES)
    expect(load(tmp_path / "c.csv"))
    rows = "id\tcandidate\treference_1\treference_2\n" + "".join(
        "\t".join([k, CANDIDATES[k], *REFERENCES[k], ""][:4]) + "\n" for k in CANDIDATES
    )
    expect(load(write(tmp_path / "c.tsv", rows)))


def test_parquet(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(WHOLE), tmp_path / "c.parquet")
    expect(load(tmp_path / "c.parquet"))


def test_dicts_by_id(tmp_path: Path) -> None:
    candidates = write(tmp_path / "c.json", CANDIDATES)
    expect(load(candidates, [write(tmp_path / "r.json", REFERENCES)]))


def test_parallel_text(tmp_path: Path) -> None:
    candidates = write(tmp_path / "c.txt", "\n".join(CANDIDATES.values()) + "\n")
    first = write(tmp_path / "r1.txt", "a dog is running\ncats asleep\n")
    second = write(tmp_path / "r2.txt", "the dog runs\n\n")
    expect(load(candidates, [first, second]))


def test_parallel_text_of_different_length(tmp_path: Path) -> None:
    candidates = write(tmp_path / "c.txt", "one\ntwo\nthree\n")
    with pytest.raises(InputError, match=r"c\.txt has 3 lines but .*r\.txt has 2"):
        load(candidates, [write(tmp_path / "r.txt", "one\ntwo\n")])


def test_windows_line_ends_and_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + jsonl(WHOLE).replace("\n", "\r\n").encode())
    expect(load(path))


def problems(path: Path, *references: Path) -> list[str]:
    return [str(problem) for problem in load(path, references).problems]


GOOD = {"id": "ok", "candidate": "fine", "references": ["fine"]}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"id": "x", "candidate": ', "line 2: malformed JSON at column"),
        ('{"candidate": "a", "references": ["b"]}', "line 2: the id is missing"),
        ('{"id": "ok", "candidate": "again", "references": ["b"]}', "line 2 (id ok): the id occurs before"),
        ('{"id": "x", "references": ["b"]}', "has no candidate caption"),
        ('{"id": "x", "candidate": null, "references": ["b"]}', "the candidate is missing"),
        ('{"id": "x", "candidate": 7, "references": ["b"]}', "the candidate is a int, not text: '7'"),
        ('{"id": "x", "candidate": NaN, "references": ["b"]}', "the candidate is missing"),
        ('{"id": "x", "candidate": "a", "references": [3]}', "reference 1 is a int, not text"),
        ('{"id": "x", "candidate": "a", "references": {"b": 1}}', "references are a dict"),
        ("[1, 2]", "line 2: is a list, not an object"),
    ],
)
def test_one_bad_line_is_named_and_the_rest_is_kept(tmp_path: Path, line: str, reason: str) -> None:
    path = write(tmp_path / "c.jsonl", json.dumps(GOOD) + "\n" + line + "\n")
    found = problems(path)
    assert len(found) == 1
    assert reason in found[0]
    assert found[0].startswith(str(path))
    assert [s.id for s in load(path).samples] == ["ok"]


def test_mixed_encodings(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(json.dumps(GOOD).encode() + b'\n{"id": "x", "candidate": "caf\xe9"}\n')
    assert "line 2: is not UTF-8" in problems(path)[0]
    whole = tmp_path / "c.json"
    whole.write_bytes(b'[{"image_id": 1,\n "caption": "caf\xe9"}]')
    with pytest.raises(InputError, match="line 2 is not UTF-8"):
        load(whole)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("c.json", b'[{"image_id": 1, "caption": "a"},\n {"image_id": 2', "malformed JSON at line 2"),
        ("c.json", b"", "the file is empty"),
        ("c.json", b"hello", "does not begin like JSON"),
        ("c.json", b"3", "does not begin like JSON"),
        ("c.csv", b"a,b\n1,2\n", "no column for captions; found a, b"),
        ("c.parquet", b"PAR1 broken", "not a readable Parquet file"),
        ("c.jsonl.gz", gzip.compress(b'{"id": 1}' * 999, mtime=0)[:-20], "damaged or cut short"),
    ],
)
def test_unreadable_files(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=reason) as caught:
        load(tmp_path / name)
    assert name in str(caught.value)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load(tmp_path / "nothing.json")
    with pytest.raises(InputError, match="is a folder"):
        load(tmp_path)


def test_csv_row_with_too_few_cells(tmp_path: Path) -> None:
    path = write(tmp_path / "c.csv", "id,candidate,references\n1,a,b\n2,a\n")
    assert "line 3: has 2 cells, the header has 3" in problems(path)[0]


def test_subset_is_scored_and_said(tmp_path: Path, references: Path) -> None:
    results = write(tmp_path / "r.json", [{"image_id": 1, "caption": "a dog"}])
    loaded = load(results, [references])
    assert len(loaded.samples) == 1
    assert "1 of 2 referenced ids have no candidate" in loaded.notes[0]


def test_candidate_without_references(tmp_path: Path, references: Path) -> None:
    results = write(tmp_path / "r.json", [{"image_id": i, "caption": "a dog"} for i in (1, 9)])
    assert "(id 9): no usable references in" in problems(results, references)[0]


def test_no_id_in_common(tmp_path: Path, references: Path) -> None:
    results = write(tmp_path / "r.json", [{"image_id": "x", "caption": "a"}])
    with pytest.raises(InputError, match="no id in common"):
        load(results, [references])


def test_empty_caption_is_kept_with_a_warning(tmp_path: Path) -> None:
    records = [GOOD, {"id": "e", "candidate": "", "references": ["b"]}]
    loaded = load(write(tmp_path / "c.jsonl", jsonl(records)))
    assert len(loaded.samples) == 2
    assert "1 candidate caption(s) are empty" in loaded.warnings[0]


def test_forced_format_must_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown format"):
        load(write(tmp_path / "c.txt", "a\n"), format="xml")

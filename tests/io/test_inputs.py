"""Inputs people have: every layout gives the same samples, columns and photos."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from input_files import PHOTOS, TEXTS, captions, pixels, samples, tar

from vericap.core.errors import InputError
from vericap.io import Fields, load, open_input
from vericap.io.files import expand
from vericap.io.records import listed

# --- images with captions ---------------------------------------------------------------------------------------


def test_webdataset_tar(tmp_path: Path) -> None:
    found = samples(tar(tmp_path / "x.tar"))
    assert {s.id: s.candidate for s in found} == TEXTS
    assert [pixels(s) for s in found] == [10, 200]
    with open_input(tmp_path / "x.tar") as source:
        (records,) = source
        assert records.columns.column("url").to_pylist() == ["http://x/a", "http://x/b"]


def test_braces_and_globs_name_many_files(tmp_path: Path) -> None:
    tar(tmp_path / "s-008.tar", "a")
    tar(tmp_path / "s-009.tar", "b")
    for pattern in ("s-{008..009}.tar", "s-*.tar", "s-00?.tar"):
        assert captions(tmp_path / pattern) == TEXTS
    with pytest.raises(InputError, match="no file matches"):
        load(tmp_path / "t-*.tar")
    with pytest.raises(InputError, match=r"s-010\.tar: no such file"):
        load(tmp_path / "s-{009..010}.tar")
    assert expand("x-{9..11}-{0..1}.tar")[:3] == ["x-9-0.tar", "x-9-1.tar", "x-10-0.tar"]
    with pytest.raises(InputError, match="counts upwards"):
        expand("{9..1}.tar")


def test_gzipped_tar(tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_bytes(gzip.compress(tar(tmp_path / "x.tar").read_bytes()))
    assert captions(tmp_path / "x.tar.gz") == TEXTS


def test_names_are_never_run(tmp_path: Path) -> None:
    name = tmp_path / "a; touch hacked; $(touch hacked) | x.jsonl"
    name.write_text('{"id": "1", "candidate": "a dog"}\n')
    assert captions(name) == {"1": "a dog"}
    assert sorted(path.name for path in tmp_path.iterdir()) == [name.name]


def test_folder_of_photos_with_captions_beside(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    for key, place in (("a", tmp_path), ("b", tmp_path / "below")):
        (place / f"{key}.png").write_bytes(PHOTOS[key])
        (place / f"{key}.txt").write_text(TEXTS[key] + "\n")
    (tmp_path / "lonely.png").write_bytes(PHOTOS["a"])
    (tmp_path / "below" / "alone.txt").write_text("a bird")
    loaded = load(tmp_path)
    assert "1 text file(s) have no photo beside them" in loaded.notes[0]
    assert {s.id: s.candidate for s in loaded.samples} == {"a": "a dog runs", "below/b": "two cats sleep"}
    assert [pixels(s) for s in loaded.samples] == [10, 200]
    assert "lonely: has no caption" in str(loaded.problems[0])


def test_image_folder_with_splits(tmp_path: Path) -> None:
    for split, key in (("train", "a"), ("validation", "b")):
        (tmp_path / "data" / split).mkdir(parents=True)
        (tmp_path / "data" / split / "0.png").write_bytes(PHOTOS[key])
        (tmp_path / "data" / split / "metadata.csv").write_text(f"file_name,text\n0.png,{TEXTS[key]}\n")
    found = samples(tmp_path / "data")
    assert [(s.candidate, pixels(s)) for s in found] == [("a dog runs", 10), ("two cats sleep", 200)]
    assert found[0].image != found[1].image
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"neither photos with a \.txt or \.json beside them nor a metadata\.csv"):
        load(tmp_path / "empty")


def test_names_with_dots_in_a_tar_are_told(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        for name in ("a.png", "a.txt", "a.seg.png", "b.1.png", "b.1.txt", "readme.md"):
            data = PHOTOS["a"] if name.endswith("png") else b"a dog runs"
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    loaded = load(tmp_path / "x.tar")
    assert [s.id for s in loaded.samples] == ["a"]
    assert [problem.record for problem in loaded.problems] == ["b.1.png"]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_image_folder_metadata(tmp_path: Path, kind: str) -> None:
    rows = [{"file_name": f"{key}.png", "text": TEXTS[key], "source": "mine"} for key in TEXTS]
    for key, data in PHOTOS.items():
        (tmp_path / f"{key}.png").write_bytes(data)
    path = tmp_path / f"metadata.{kind}"
    if kind == "csv":
        path.write_text("file_name,text,source\n" + "".join(",".join(row.values()) + "\n" for row in rows))
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    found = samples(tmp_path)
    assert {s.id: s.candidate for s in found} == {"a.png": "a dog runs", "b.png": "two cats sleep"}
    assert [pixels(s) for s in found] == [10, 200]


@pytest.mark.parametrize("layout", ["hub", "bytes", "path"])
@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream"])
def test_tables_with_images(tmp_path: Path, layout: str, kind: str) -> None:
    images: list[object] = list(PHOTOS.values())
    if layout == "hub":  # as `datasets` writes them: every photo may have the same name
        images = [{"bytes": data, "path": "image.jpg"} for data in PHOTOS.values()]
    if layout == "path":
        images = []
        for key, data in PHOTOS.items():
            (tmp_path / f"{key}.png").write_bytes(data)
            images.append({"bytes": None, "path": f"{key}.png" if key == "a" else str(tmp_path / f"{key}.png")})
    table = pa.table({"id": list(TEXTS), "caption": list(TEXTS.values()), "image": images, "n": [1, 2]})
    path = tmp_path / f"x.{'parquet' if kind == 'parquet' else 'arrow'}"
    if kind == "parquet":
        pq.write_table(table, path)
    else:
        make = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
        with make(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=1)
    found = samples(path)
    assert {s.id: s.candidate for s in found} == TEXTS
    assert [pixels(s) for s in found] == [10, 200]
    assert len({s.image for s in found}) == 2
    with open_input(path) as source:
        assert [n for records in source for n in records.columns.column("n").to_pylist()] == [1, 2]


def test_absolute_and_relative_paths_without_a_folder(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    for key, data in PHOTOS.items():
        (tmp_path / "photos" / f"{key}.png").write_bytes(data)
    rows = [
        {"id": "a", "caption": "x", "image": "photos/a.png"},
        {"id": "b", "caption": "y", "image": str(tmp_path / "photos" / "b.png")},
        {"id": "c", "caption": "z", "image": "nowhere.png"},
    ]
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = samples(path)
    assert [pixels(s) for s in found[:2]] == [10, 200]
    assert found[2].photo == tmp_path / "nowhere.png"  # the others lie there: this one is missing
    assert [s.photo for s in samples(path, beside=False)] == [None] * 3


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_rows_of_small_and_large_groups_are_read_once(tmp_path: Path, kind: str) -> None:
    table = pa.table({"id": list(range(100)), "caption": [f"c{n}" for n in range(100)]})
    path, sizes = tmp_path / f"x.{kind}", [3, 0, 40, 1, 1, 30, 25]
    make = pq.ParquetWriter if kind == "parquet" else lambda p, schema: pa.ipc.new_file(str(p), schema)
    with make(path, table.schema) as writer:
        start = 0
        for size in sizes:
            writer.write_table(table.slice(start, size))
            start += size
    for records in (1, 7, 16, 1000):
        with open_input(path, records=records) as source:
            assert len(source.units) == -(-100 // records)
            assert [s.candidate for r in source for s in r.samples] == [f"c{n}" for n in range(100)]
            backwards = [source.read(unit).samples[0].id for unit in reversed(source.units)]
            assert backwards == [str(n) for n in range(0, 100, records)][::-1]


# --- several captions per image ---------------------------------------------------------------------------------


def test_coco_annotations_as_candidates(tmp_path: Path) -> None:
    data = {
        "images": [{"id": 7, "file_name": "seven.jpg"}, {"id": 8, "file_name": "eight.jpg"}],
        "annotations": [{"id": n, "image_id": 7 + n // 3, "caption": f"caption {n}"} for n in range(5)],
    }
    path = tmp_path / "captions.json"
    path.write_text(json.dumps(data))
    found = samples(path, references=[path])
    assert [s.id for s in found] == ["7", "7#2", "7#3", "8", "8#2"]
    assert [s.image for s in found] == ["seven.jpg"] * 3 + ["eight.jpg"] * 2
    assert [len(s.references) for s in found] == [3, 3, 3, 2, 2]


def test_beams_and_samples_are_all_kept(tmp_path: Path) -> None:
    results = [{"image_id": 1 + n % 2, "caption": f"beam {n}"} for n in range(6)]
    (tmp_path / "r.json").write_text(json.dumps(results))
    (tmp_path / "d.json").write_text(json.dumps({"1": ["beam 0", "beam 2", "beam 4"], "2": ["beam 1"]}))
    references = tmp_path / "refs.json"
    references.write_text(json.dumps({"1": ["one"], "2": ["two"]}))
    found = samples(tmp_path / "r.json", references=[references])
    assert {s.id: s.candidate for s in found}["1#3"] == "beam 4"
    assert {s.candidate: s.references for s in found} == {f"beam {n}": (("one", "two")[n % 2],) for n in range(6)}
    assert captions(tmp_path / "d.json") == {"1": "beam 0", "1#2": "beam 2", "1#3": "beam 4", "2": "beam 1"}


def test_a_list_of_captions_is_as_many_candidates(tmp_path: Path) -> None:
    rows = [{"image": f"{n}.jpg", "caption": [f"a dog {n}", f"the dog {n}"][: n or 1], "n": n} for n in (2, 1, 0)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "x.parquet")
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "x.json").write_text(json.dumps(rows))
    wanted = {"2.jpg": "a dog 2", "2.jpg#2": "the dog 2", "1.jpg": "a dog 1", "0.jpg": "a dog 0"}
    for name in ("x.parquet", "x.jsonl", "x.json"):
        assert captions(tmp_path / name) == wanted
        with open_input(tmp_path / name, records=1) as source:
            found = list(source)
        assert [sample.id for records in found for sample in records.samples] == list(wanted)
        assert [n for records in found for n in records.columns.column("n").to_pylist()] == [2, 2, 1, 0]


def test_repeated_ids_are_told_across_pieces(tmp_path: Path) -> None:
    rows = [{"image_id": n % 3, "caption": f"c{n}"} for n in range(9)]
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_input(path, records=2) as source:
        assert len(source.units) == 5
        ids = [s.id for records in source for s in records.samples]
    assert ids == ["0", "1", "2", "0#2", "1#2", "2#2", "0#3", "1#3", "2#3"]
    path.write_text("".join(json.dumps({"id": n % 4, "caption": f"c{n}"}) + "\n" for n in range(6)))
    with open_input(path, records=2) as source:
        batches = list(source)
    assert [s.id for records in batches for s in records.samples] == ["0", "1", "2", "3"]
    problems = [str(problem) for records in batches for problem in records.problems]
    assert ["line 5 (id 0)" in problems[0], "line 6 (id 1)" in problems[1]] == [True, True]


# --- text -------------------------------------------------------------------------------------------------------


def test_semicolons_and_other_encodings(tmp_path: Path) -> None:
    table = "id;caption;place\n1;ein Hund läuft;grün\n2;zwei Katzen;\n"
    for encoding, name in (("utf-16", "a.csv"), ("utf-8-sig", "b.csv"), ("utf-16", "c")):
        (tmp_path / name).write_bytes(table.encode(encoding))
        assert captions(tmp_path / name) == {"1": "ein Hund läuft", "2": "zwei Katzen"}
    (tmp_path / "d.csv").write_bytes(table.encode("cp1252"))
    assert captions(tmp_path / "d.csv", encoding="cp1252")["1"] == "ein Hund läuft"
    with pytest.raises(InputError, match="no such encoding"):
        load(tmp_path / "d.csv", encoding="klingon")
    (tmp_path / "e.csv").write_bytes(b"\xff\xfea\0b")
    with pytest.raises(InputError, match="not utf-16 throughout"):
        load(tmp_path / "e.csv")


def test_cells_may_hold_line_breaks(tmp_path: Path) -> None:
    rows = "".join(f'{n},"a ""dog"" {n}\nruns"\n' for n in range(7))
    (tmp_path / "x.csv").write_text("id,caption\n" + rows)
    with open_input(tmp_path / "x.csv", records=2) as source:
        assert len(source.units) == 4
        assert [s.candidate for r in source for s in r.samples] == [f'a "dog" {n}\nruns' for n in range(7)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("['a dog', 'the dog']", ["a dog", "the dog"]),
        ('["it\'s", \'a "dog"\']', ["it's", 'a "dog"']),
        ("['a dog' 'the dog']", ["a dog", "the dog"]),  # as NumPy prints them
        ("('a', 'b')", ["a", "b"]),
        ('["a", "b"]', ["a", "b"]),
        ("[a dog]", "[a dog]"),
        ("['a', __import__('os')]", "['a', __import__('os')]"),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_lists_written_as_text(text: str, found: object) -> None:
    assert listed(text) == found


def test_fields_of_other_names(tmp_path: Path) -> None:
    rows = [{"uid": "u1", "alt": "a dog", "gold": ["the dog"], "file": "a.png", "caption": "not this"}]
    (tmp_path / "x.jsonl").write_text(json.dumps(rows[0]) + "\n")
    fields = Fields(caption="alt", image="file", id="uid", references="gold")
    (found,) = samples(tmp_path / "x.jsonl", fields=fields)
    assert (found.id, found.candidate, found.references, found.image) == ("u1", "a dog", ("the dog",), "a.png")
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "x.parquet")
    assert samples(tmp_path / "x.parquet", fields=fields)[0].candidate == "a dog"
    with pytest.raises(InputError, match="no column 'nope'"):
        load(tmp_path / "x.parquet", fields=Fields(caption="nope"))


def test_spreadsheet(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["id", "caption", "references"], [1, "a dog", "['the dog']"], [2, "two cats", "cats"]):
        book.active.append(row)
    book.save(tmp_path / "x.xlsx")
    found = samples(tmp_path / "x.xlsx")
    assert [(s.id, s.candidate, s.references) for s in found] == [
        ("1", "a dog", ("the dog",)), ("2", "two cats", ("cats",)),
    ]  # fmt: skip


def test_spreadsheet_with_a_column_without_a_name(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["id", None, "caption"], [1, "a note", "a dog"], [2, None, "a cat"]):
        book.active.append(row)
    book.save(tmp_path / "x.xlsx")
    assert captions(tmp_path / "x.xlsx") == {"1": "a dog", "2": "a cat"}


def test_spreadsheet_names_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    with zipfile.ZipFile(tmp_path / "x.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", "x")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(Exception, match=r"\[xlsx\]"):
        load(tmp_path / "x.xlsx")


def test_a_long_json_list_is_read_item_by_item(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vericap.io import documents

    monkeypatch.setattr(documents, "BLOCK", 7)  # the window moves on inside words, numbers and characters
    rows = [{"image_id": 10**n, "caption": f"grün {n} “quoted” \\ 🐕"} for n in range(20)]
    for text in (json.dumps(rows), json.dumps(rows, ensure_ascii=False, indent=2), json.dumps([*rows, "a dog"])):
        (tmp_path / "x.json").write_text(text, encoding="utf-8")
        found = load(tmp_path / "x.json").samples
        assert [s.candidate for s in found][:20] == [row["caption"] for row in rows]
    (tmp_path / "x.json").write_text(json.dumps(rows)[:-30], encoding="utf-8")
    with pytest.raises(InputError, match="malformed JSON at line 1, column"):
        load(tmp_path / "x.json")


def test_units_of_one_row_group_are_read_on_from_where_the_last_ended(tmp_path: Path) -> None:
    rows = 400
    table = pa.table({"id": [str(n) for n in range(rows)], "caption": [f"a dog {n}" for n in range(rows)]})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=rows)
    with open_input(tmp_path / "x.parquet", records=30) as source:
        for order in (range(14), range(0, 14, 2), reversed(range(14)), (3, 3, 1, 13, 5)):
            for place in order:
                found = [sample.id for sample in source.read(source.units[place]).samples]
                assert found == [str(n) for n in range(30 * place, min(30 * place + 30, rows))]


def test_a_large_row_group_is_not_held(tmp_path: Path) -> None:
    images = [bytes([n % 256]) * 1_000_000 for n in range(300)]
    table = pa.table({"id": list(map(str, range(300))), "caption": ["a dog"] * 300, "image": images})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=300, data_page_size=1, write_batch_size=1,
                   use_dictionary=False, compression="none")  # fmt: skip
    before = pa.total_allocated_bytes()
    with open_input(tmp_path / "x.parquet", records=10) as source:
        for unit in source.units:
            assert len(source.read(unit)) == 10
            assert pa.total_allocated_bytes() - before < 100_000_000


def test_a_photo_that_is_missing_is_a_problem_of_its_record(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PHOTOS["a"])
    rows = [{"id": key, "caption": "a dog", "image": f"{key}.png"} for key in "ab"]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [sample.photo for sample in samples(tmp_path / "x.jsonl")] == [tmp_path / "a.png", tmp_path / "b.png"]
    (tmp_path / "a.png").unlink()  # where none lies there, they are looked for elsewhere
    assert [sample.photo for sample in samples(tmp_path / "x.jsonl")] == [None, None]

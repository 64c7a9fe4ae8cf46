"""Files in, what is kept and what is not out: formats, columns, order, subsets for other programs."""

from __future__ import annotations

import csv
import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vericap.core import shipped
from vericap.core.errors import InputError, VericapError
from vericap.core.settings import Settings
from vericap.io.filtering import Filtering, Outcome, Wish, check_outputs, rejected_name
from vericap.io.stream import open_input
from vericap.io.subsets import UID, TarWriter, halves
from vericap.run import processes

PHOTOS = shipped.ROOT / "demo" / "photos"
UIDS = ["139e4a9b22a614771f06c700a8ebe150", "6e356964a967af455c8016b75d691203", "00000000000000000000000000000001"]


def filtered(source: Path, output: Path | None, keep: str, *, records: int = 2, **wish: Any) -> Outcome:
    settings = wish.pop("settings", Settings())
    rejected = None if output is None else rejected_name(output)
    with open_input(source, records=records) as found:
        return Filtering(found, Wish(keep, **wish), settings).run(output, rejected)


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    records = [
        {"id": "1", "caption": "a dog runs on grass", "references": ["a dog runs"], "width": 300, "image": "p"},
        {"id": "2", "caption": "a dog", "references": ["a cat sleeps"], "width": 100, "image": "p"},
        {"id": "3", "caption": "two cats sleep", "references": ["two cats sleep"], "width": None, "image": "q"},
        {"id": "4", "caption": "http://a.b/c", "references": ["a bus"], "width": 900, "image": "r"},
        {"id": "5", "caption": "a red bus", "references": ["a red bus"], "width": 900, "image": "r"},
    ]
    file = tmp_path / "pairs.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return file


def test_kept_and_rejected_with_all_columns(pairs: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    outcome = filtered(pairs, kept, "rouge-l>=0.5 & !url & width>=200")
    assert [row["id"] for row in lines(kept)] == ["1", "5"]
    assert lines(kept)[0].keys() == {"id", "caption", "references", "width", "image", "rouge-l"}
    lost = {row["id"]: row for row in lines(tmp_path / "kept.rejected.jsonl")}
    assert {key: row["rejected"] for key, row in lost.items()} == {"2": "width>=200", "3": "width>=200", "4": "!url"}
    assert lost["4"]["rouge-l"] == 0.0
    assert outcome.summary.rejected == {"!url": 1, "width>=200": 2, "rouge-l>=0.5": 0}


def test_the_file_is_the_same_with_the_cascade_and_with_other_pieces(pairs: Path, tmp_path: Path) -> None:
    keep = "!url & rouge-l>=0.5 then top:0.5:bleu-1"
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    filtered(pairs, one, keep, records=100)
    outcome = filtered(pairs, other, keep, records=1, cascade=True)
    assert one.read_bytes() == other.read_bytes()
    assert outcome.summary.scored["bleu-1"] < outcome.summary.scored["rouge-l"] < 5
    reasons = [
        [(row["id"], row["rejected"]) for row in lines(rejected_name(file))] for file in (one, other)
    ]  # scores of the rejected are fewer with the cascade
    assert reasons[0] == reasons[1]


def test_processes_stay_open_from_piece_to_piece(pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    usual = processes.Workers.__init__
    monkeypatch.setattr(
        processes.Workers, "__init__", lambda self, count: (started.append(count), usual(self, count))[0]
    )
    rows = pairs.read_text().splitlines() * 40
    numbered = [{**json.loads(row), "id": str(number)} for number, row in enumerate(rows)]
    many = tmp_path / "many.jsonl"
    many.write_text("".join(json.dumps(row) + "\n" for row in numbered))
    keep = "rouge-l>=0.5 & !url then bleu-1>=0.4"
    for workers in (1, 2):
        kept = tmp_path / f"kept{workers}.jsonl"
        filtered(many, kept, keep, records=100, cascade=True, settings=Settings(workers=workers, cache="off"))
    assert started == [2]
    assert (tmp_path / "kept1.jsonl").read_bytes() == (tmp_path / "kept2.jsonl").read_bytes()
    assert (tmp_path / "kept1.rejected.jsonl").read_bytes() == (tmp_path / "kept2.rejected.jsonl").read_bytes()


def test_csv_in_csv_out(tmp_path: Path) -> None:
    source, kept = tmp_path / "in.csv", tmp_path / "kept.csv"
    source.write_text('id;caption;note\n7;"a dog; a cat";x\n8;bus;\n9;a;b;c\n', encoding="utf-8")
    outcome = filtered(source, kept, "words>=2")
    assert list(csv.reader(kept.open(encoding="utf-8"))) == [["id", "caption", "note"], ["7", "a dog; a cat", "x"]]
    rows = list(csv.DictReader(rejected_name(kept).open(encoding="utf-8")))
    assert (rows[0]["id"], rows[0]["rejected"]) == ("8", "words>=2")
    assert rows[1]["problem"] == "has 4 cells, the header has 3"
    assert [str(problem) for problem in outcome.problems] == [f"{source}: line 4: has 4 cells, the header has 3"]


def test_columns_that_come_later_are_in_the_csv_too(tmp_path: Path) -> None:
    source, kept = tmp_path / "in.jsonl", tmp_path / "kept.csv"
    items: list[dict[str, Any]] = [{"id": 1, "caption": 'a "big"\ndog'}, {"id": 2, "caption": "a red bus", "later": 7}]
    source.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    filtered(source, kept, "words>=2", records=1)
    found = list(csv.DictReader(kept.open(encoding="utf-8", newline="")))
    assert [(row["id"], row["caption"], row["later"]) for row in found] == [
        ("1", 'a "big"\ndog', ""), ("2", "a red bus", "7"),
    ]  # fmt: skip


def test_of_several_captions_each_row_has_its_own(tmp_path: Path) -> None:
    source, kept = tmp_path / "in.jsonl", tmp_path / "kept.jsonl"
    rows = [{"image": "a", "caption": ["a dog", "dog", "the dog"]}, {"image": "b", "caption": ["a cat"]}]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    filtered(source, kept, "words>=2", records=1)
    assert [(row["image"], row["caption"]) for row in lines(kept)] == [("a", "a dog"), ("a", "the dog"), ("b", "a cat")]
    assert [row["caption"] for row in lines(rejected_name(kept))] == ["dog"]


def test_of_many_problems_the_first_are_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vericap.io import filter_outcome

    monkeypatch.setattr(filter_outcome, "HELD", 3)
    source, kept = tmp_path / "in.jsonl", tmp_path / "kept.jsonl"
    source.write_text('{"caption": "a dog runs"}\n' + "nonsense\n" * 9)
    outcome = filtered(source, kept, "words>=2", records=4)
    assert (len(outcome.problems), outcome.problem_count, outcome.as_dict()["problem_count"]) == (3, 9, 9)
    assert len(lines(rejected_name(kept))) == 9


def test_nothing_kept_is_a_file_with_a_header(tmp_path: Path) -> None:
    source, kept = tmp_path / "in.csv", tmp_path / "kept.csv"
    source.write_text("id,caption\n1,a dog\n", encoding="utf-8")
    assert filtered(source, kept, "words>=9").summary.kept == 0
    assert kept.read_text() == "id,caption\n"


def test_parquet_keeps_types_and_bytes_of_images(tmp_path: Path) -> None:
    table = pa.table(
        {
            "id": pa.array([1, 2, 3], pa.int16()),
            "caption": ["a dog", "a cat on a mat", "x"],
            "image": [{"bytes": b"\xff\xd8\xff1", "path": "a.jpg"}] * 3,
            "day": pa.array([0, 1, 2], pa.date32()),
        }
    )
    source, kept = tmp_path / "in.parquet", tmp_path / "kept.parquet"
    pq.write_table(table, source)
    filtered(source, kept, "words>=2", sort="words")
    found = pq.read_table(kept)
    assert found.drop_columns([]).schema.remove_metadata().names == table.schema.names
    assert [found.schema.field(name).type for name in table.schema.names] == list(table.schema.types)
    assert found.to_pylist() == [table.to_pylist()[1], table.to_pylist()[0]]


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_text_formats_hold_the_paths_of_images(tmp_path: Path, kind: str) -> None:
    images = [{"bytes": b"\xff\xd8", "path": "a.jpg"}, None]
    table = pa.table({"image": images, "raw": [b"\xff", b"\xfe"], "caption": ["a dog runs", "two cats"]})
    pq.write_table(table, tmp_path / "in.parquet")
    filtered(tmp_path / "in.parquet", tmp_path / f"kept.{kind}", "words>=2")
    text = (tmp_path / f"kept.{kind}").read_text()
    assert "a.jpg" in text
    assert "xff" not in text


def test_cleaning_keeps_the_original(tmp_path: Path) -> None:
    source, kept = tmp_path / "in.jsonl", tmp_path / "kept.jsonl"
    source.write_text(
        '{"id": 1, "caption": "A&nbsp;DOG ON&nbsp;GRASS www.shop.com", "references": ["a dog on grass"]}\n'
    )
    outcome = filtered(source, kept, "rouge-l==1", clean=True)
    (row,) = lines(kept)
    assert (row["caption"], row["caption.original"]) == ("a dog on grass", "A&nbsp;DOG ON&nbsp;GRASS www.shop.com")
    assert outcome.cleaned == 1
    assert filtered(source, kept, "rouge-l==1").summary.kept == 0


def test_sorted_by_the_best_first(pairs: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    filtered(pairs, kept, "rouge-l>=0", sort="")
    scores = [row["rouge-l"] for row in lines(kept)]
    assert scores == sorted(scores, reverse=True)
    assert [row["id"] for row in lines(kept)][:2] == ["3", "5"]  # equal scores: in the order of the input
    filtered(pairs, kept, "words>=0", sort="bleu-1", metrics=("rouge-l",))
    assert {"bleu-1", "rouge-l"} <= lines(kept)[0].keys()


def test_the_best_caption_of_each_image(pairs: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    outcome = filtered(pairs, kept, "rouge-l>=0", best_per_image="")
    assert [row["id"] for row in lines(kept)] == ["1", "3", "5"]
    assert outcome.summary.not_best == 2
    lost = lines(rejected_name(kept))
    assert {row["rejected"] for row in lost} == {"best caption of the image by rouge-l"}
    with pytest.raises(VericapError, match="names no metric to rank by"):
        filtered(pairs, kept, "words>=0", best_per_image="")


def test_ties_at_the_cut_are_told(tmp_path: Path) -> None:
    source, kept = tmp_path / "in.jsonl", tmp_path / "kept.jsonl"
    source.write_text("".join(json.dumps({"id": i, "caption": "a dog"}) + "\n" for i in range(10)), encoding="utf-8")
    outcome = filtered(source, kept, "top:0.3:words")
    assert [row["id"] for row in lines(kept)] == [0, 1, 2]
    (cut,) = outcome.summary.cuts.values()
    assert (cut.kept, cut.tied) == (3, 7)


def test_lines_of_text(tmp_path: Path) -> None:
    source, kept = tmp_path / "in.txt", tmp_path / "kept.jsonl"
    source.write_text("a dog\nbus\n", encoding="utf-8")
    filtered(source, kept, "words>=2")
    assert lines(kept) == [{"id": "1", "caption": "a dog"}]


def test_a_dry_run_writes_nothing(pairs: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    assert filtered(pairs, None, "words>=3 & !url").summary.kept == 3
    assert sorted(tmp_path.iterdir()) == before


# --- subsets of other programs ----------------------------------------------------------------------------------


def test_uid_list_as_datacomp_writes_it(tmp_path: Path) -> None:
    source, kept = tmp_path / "in.jsonl", tmp_path / "kept.npy"
    items = [{"id": i, "uid": uid, "caption": "a dog on grass"} for i, uid in enumerate(UIDS)]
    items += [{"id": 8, "uid": "f" * 32, "caption": "x"}, {"id": 9, "uid": "zz", "caption": "a dog runs"}]
    source.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    outcome = filtered(source, kept, "words>=3")
    # The three lines of DataComp's README.
    wanted = np.array([(int(uid[:16], 16), int(uid[16:32], 16)) for uid in UIDS], np.dtype("u8,u8"))
    wanted.sort()
    found = np.load(kept, allow_pickle=False)
    assert found.dtype == UID == wanted.dtype
    np.testing.assert_array_equal(found, wanted)
    assert "id 9: is not written: its uid is 'zz'" in str(outcome.problems[0])
    assert [(row["id"], row["rejected"]) for row in lines(rejected_name(kept))][1] == (9, "writable")


def test_a_uid_list_needs_uids_and_says_so_at_once(pairs: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"needs a column 'uid'; .* has id, caption"):
        filtered(pairs, tmp_path / "kept.npy", "rouge-l>=0.5")
    assert not (tmp_path / "kept.npy").exists()


@pytest.mark.parametrize("uid", [None, 5, "12", "g" * 32, "a" * 33])
def test_a_uid_that_is_none(uid: Any) -> None:
    with pytest.raises(InputError, match="32 hexadecimal digits"):
        halves(uid)


def test_tar_shards_read_back(tmp_path: Path) -> None:
    photos = sorted(PHOTOS.glob("*.jpg"))[:3]
    items = [{"id": f"{i}.x/y", "image": photo.name, "caption": f"photo {i}"} for i, photo in enumerate(photos)]
    items.append({"id": "gone", "image": "gone.jpg", "caption": "photo 9"})
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    outcome = filtered(
        source, tmp_path / "kept-%06d.tar", "words>=2 & digits>=1", shard=2, settings=Settings(images=PHOTOS)
    )
    assert sorted(path.name for path in tmp_path.glob("kept-*.tar")) == ["kept-000000.tar", "kept-000001.tar"]
    assert "no image 'gone.jpg'" in str(outcome.problems[0])
    (lost,) = lines(tmp_path / "kept.rejected.jsonl")
    assert (lost["id"], lost["rejected"], outcome.kept, outcome.summary.kept) == ("gone", "writable", 3, 4)
    with open_input(str(tmp_path / "kept-{000000..000001}.tar")) as found:
        samples = [sample for records in found for sample in records.samples]
    assert [sample.candidate for sample in samples] == ["photo 0", "photo 1", "photo 2"]
    assert [sample.photo for sample in samples] == [photo.read_bytes() for photo in photos]
    with tarfile.open(tmp_path / "kept-000000.tar") as archive:
        assert archive.getnames() == [f"00000000{i}.{end}" for i in (0, 1) for end in ("jpg", "txt", "json")]
        stream = archive.extractfile("000000000.json")
        assert stream is not None
        assert json.load(stream) == items[0]
    again = tmp_path / "again"
    again.mkdir()
    filtered(source, again / "kept-%06d.tar", "words>=2 & digits>=1", shard=2, settings=Settings(images=PHOTOS))
    assert (again / "kept-000000.tar").read_bytes() == (tmp_path / "kept-000000.tar").read_bytes()


def test_an_empty_tar_is_a_tar(tmp_path: Path) -> None:
    with TarWriter(tmp_path / "x.tar", lambda sample: b""):
        pass
    with tarfile.open(tmp_path / "x.tar") as archive:
        assert archive.getnames() == []


def test_a_subset_has_an_order_of_its_own(pairs: Path, tmp_path: Path) -> None:
    with pytest.raises(VericapError, match="order of its own"):
        filtered(pairs, tmp_path / "kept.tar", "words>=2", sort="words")


# --- mistakes ---------------------------------------------------------------------------------------------------


def test_outputs_are_checked_before_the_work(pairs: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.jsonl"
    link.symlink_to(pairs)
    for output in (pairs, link):
        with pytest.raises(InputError, match="is one of the inputs"):
            check_outputs(output, None, [pairs])
    with pytest.raises(InputError, match="is one of the inputs"):
        check_outputs(tmp_path / "kept.csv", pairs, [pairs])
    with pytest.raises(InputError, match="choose one of these extensions"):
        check_outputs(tmp_path / "kept.xyz", None, [pairs])
    with pytest.raises(InputError, match="does not exist"):
        check_outputs(tmp_path / "no" / "kept.csv", None, [pairs])


def test_shards_are_never_inputs(tmp_path: Path) -> None:
    """`filter 'x/{000..099}.tar' x/%03d.tar` would write over the first shard while others are still read."""
    inputs = [tmp_path / f"{number:03d}.tar" for number in (0, 1)]
    for file in inputs:
        file.write_bytes(b"x")
    (tmp_path / "link.tar").symlink_to(inputs[1])
    (tmp_path / "other").mkdir()
    for source in (inputs, [tmp_path / "link.tar"]):
        with pytest.raises(InputError, match=r"one of the inputs, and would be lost"):
            check_outputs(tmp_path / "%03d.tar", None, source)
    check_outputs(tmp_path / "kept-%03d.tar", None, inputs)
    check_outputs(tmp_path / "other" / "%03d.tar", None, inputs)


def test_shards_of_an_earlier_run_are_told(pairs: Path, tmp_path: Path) -> None:
    (tmp_path / "kept-000007.tar").write_bytes(b"")
    outcome = filtered(pairs, tmp_path / "kept-%06d.tar", "words>=9")
    assert [note for note in outcome.notes if "kept-000007.tar" in note]


def test_a_metric_that_judges_nothing_is_a_mistake(tmp_path: Path) -> None:
    source, kept = tmp_path / "in.jsonl", tmp_path / "kept.jsonl"
    source.write_text('{"id": 1, "caption": "a dog", "image": "a.jpg"}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"vse could judge none of 1 records; the first: 1: no image 'a.jpg'"):
        filtered(source, kept, "vse>=0.3", settings=Settings(images=tmp_path))
    assert not kept.exists()
    assert not rejected_name(kept).exists()


def test_a_column_of_the_input_hidden_by_a_metric(tmp_path: Path) -> None:
    source, kept = tmp_path / "in.jsonl", tmp_path / "kept.jsonl"
    source.write_text('{"id": 1, "caption": "a dog", "references": ["a cat"], "rouge-l": 9}\n', encoding="utf-8")
    outcome = filtered(source, kept, "input.rouge-l==9 & rouge-l<1")
    assert lines(kept)[0]["rouge-l"] < 1
    assert "`input.rouge-l` in a condition reads the old ones" in outcome.notes[0]


def test_a_tar_gets_images_alone(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("root:x:0")
    (tmp_path / "in.jsonl").write_text(json.dumps({"caption": "a dog", "image": str(tmp_path / "secret")}) + "\n")
    outcome = filtered(tmp_path / "in.jsonl", tmp_path / "kept.tar", "words>=1")
    assert "its photo is no image" in str(outcome.problems[0])
    with tarfile.open(tmp_path / "kept.tar") as archive:
        assert archive.getnames() == []

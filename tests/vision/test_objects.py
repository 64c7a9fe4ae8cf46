"""Objects from every source, unions, and what is said of images nobody annotated."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vericap.core import onnx, shipped
from vericap.core.batch import Batch
from vericap.core.errors import InputError, Problem, VericapError
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.run import photos
from vericap.run.analyses import Annotations, Objects
from vericap.run.analyses.objects import Row
from vericap.run.plan import analysed
from vericap.vision.annotations import source_name, spellings
from vericap.vision.objects import ImageObjects, tidy

PHOTOS = shipped.ROOT / "demo" / "photos"

COCO = {
    "images": [
        {"id": 42, "file_name": "COCO_val2014_000000000042.jpg", "width": 100, "height": 50},
        {"id": 7, "file_name": "000000000007.jpg", "width": 10, "height": 10},
    ],
    "categories": [{"id": 1, "name": "person"}, {"id": 67, "name": "dining table"}],
    "annotations": [
        {"image_id": 42, "category_id": 1, "bbox": [10, 5, 20, 30]},
        {"image_id": 42, "category_id": 1, "bbox": [0, 0, 5, 5]},
        {"image_id": 42, "category_id": 67, "bbox": [0, 20, 100, 30]},
    ],
}
VOC = """<?xml version="1.0"?>
<annotation><filename>2008_000001.jpg</filename><size><width>500</width><height>375</height><depth>3</depth></size>
<object><name>tvmonitor</name><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>30</xmax><ymax>40</ymax></bndbox></object>
<object><name>pottedplant</name></object><object><name>pottedplant</name></object></annotation>"""


def write(path: Path, data: Any) -> str:
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return str(path)


def objects_of(key: Objects, samples: Iterable[Sample], settings: Settings | None = None) -> list[Row]:
    return analysed(Batch.of(samples, settings), key)[key]


def one(spec: str, key: str) -> Row:
    (found,) = objects_of(Objects(spec), [Sample("1", "x", image=key)])
    return found


def counts(spec: str, key: str) -> dict[str, int]:
    found = one(spec, key)
    assert isinstance(found, ImageObjects), found
    return found.as_counts()


@pytest.mark.parametrize(
    "key", ["42", "COCO_val2014_000000000042.jpg", "val2014/COCO_val2014_000000000042", "000000000042"]
)
def test_coco_instances(tmp_path: Path, key: str) -> None:
    spec = write(tmp_path / "instances.json", COCO)
    found = one(spec, key)
    assert isinstance(found, ImageObjects)
    assert found.as_counts() == {"person": 2, "dining table": 1}
    assert found.boxes[0] == ((10, 5, 30, 35), (0, 0, 5, 5))
    assert found.size == (100, 50)
    assert counts(spec, "7") == {}  # annotated, and nothing there


def test_gzip_is_read_too(tmp_path: Path) -> None:
    file = tmp_path / "instances.json.gz"
    file.write_bytes(gzip.compress(json.dumps(COCO).encode()))
    assert counts(str(file), "42") == {"person": 2, "dining table": 1}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"annotations": [{"image_id": 1}], "categories": []}, "not COCO instances"),
        ({"annotations": [{"image_id": 1, "category_id": 9}], "categories": [{"id": 1, "name": "a"}]}, "not COCO"),
        ("{broken", "not JSON"),
        ("3", "expected COCO instances"),
        ([{"labels": ["a"]}], "names no image"),
    ],
)
def test_broken_files_are_named(tmp_path: Path, data: Any, reason: str) -> None:
    spec = write(tmp_path / "bad.json", data)
    with pytest.raises(InputError, match=reason) as caught:
        one(spec, "a")
    assert "bad.json" in str(caught.value)


def test_voc_folder(tmp_path: Path) -> None:
    write(tmp_path / "2008_000001.xml", VOC)
    write(tmp_path / "2008_000002.xml", "<annotation><object></object></annotation>")
    found = one(str(tmp_path), "2008_000001.jpg")
    assert isinstance(found, ImageObjects)
    assert found.as_counts() == {"tv monitor": 1, "potted plant": 2}
    assert found.size == (500, 375)
    assert found.boxes[0] == ((1.0, 2.0, 30.0, 40.0),)
    assert "has no <name>" in str(one(str(tmp_path), "2008_000002"))
    assert "no objects are given" in str(one(str(tmp_path), "2008_000003"))


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE a [<!ENTITY x "boom">]><annotation><object><name>&x;</name></object></annotation>',
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><annotation><filename>&x;</filename></annotation>',
    ],
)
def test_xml_entities_are_never_expanded(tmp_path: Path, text: str) -> None:
    write(tmp_path / "a.xml", text)
    assert "entities" in str(one(str(tmp_path), "a"))
    (tmp_path / "a.xml").write_bytes(text.encode("utf-16"))  # the declaration in disguise
    assert isinstance(one(str(tmp_path), "a"), Problem)


@pytest.mark.parametrize(
    "text", ["<annotation>", "<other/>", "", "<annotation><object><name>a</name><bndbox/></object></annotation>"]
)
def test_bad_xml_is_a_problem_of_its_image(tmp_path: Path, text: str) -> None:
    write(tmp_path / "a.xml", text)
    write(tmp_path / "b.xml", VOC.replace("2008_000001", "b"))
    assert isinstance(one(str(tmp_path), "a"), Problem)
    assert isinstance(one(str(tmp_path), "b"), ImageObjects)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no PASCAL VOC"):
        one(str(tmp_path), "a")


def test_plain_json_lists_and_counts(tmp_path: Path) -> None:
    spec = write(
        tmp_path / "gold.json",
        {"a.jpg": ["dog", "dog", "Dining_Table"], "b": {"cat": 3, "dog": 0}, "c": [], "d": "dog", "e": {"cat": -1}},
    )
    assert counts(spec, "a.jpg") == {"dog": 2, "dining table": 1}
    assert counts(spec, "a") == {"dog": 2, "dining table": 1}
    assert counts(spec, "b.png") == {"cat": 3}
    assert counts(spec, "c") == {}
    assert "expected a list" in str(one(spec, "d"))
    assert "whole number" in str(one(spec, "e"))


def test_detection_lines(tmp_path: Path) -> None:
    record = ImageObjects.of(
        [("cat", 0.9, (0, 0, 5, 5)), ("dog", 0.4, (1, 1, 2, 2)), ("cat", 0.3, (3, 3, 4, 4))], (9, 9)
    )
    lines = [{"image": "a.jpg", **record.as_json()}, {"image": "b.jpg", "error": "the file is empty"}]
    spec = write(tmp_path / "objects.jsonl", "\n".join(map(json.dumps, lines)))
    assert one(spec, "a.jpg") == record
    assert "the file is empty" in str(one(spec, "b.jpg"))
    with pytest.raises(InputError, match="line 1"):
        one(write(tmp_path / "bad.jsonl", "{"), "a")


def boxes(folder: Path) -> Path:
    write(folder / "box_classes.json", ["person", "dog", "dining table"])
    (folder / "boxes_train2017.tsv.gz").write_bytes(gzip.compress(b"9\t1,0.5,0.5,0.2,0.4 1,0.1,0.1,0.1,0.1\n25\t"))
    (folder / "boxes_val2017.tsv").write_text("139\t2,0.390,0.416,0.040,0.160 0,0.5,0.5,1,1\n140\t7,1,1,1,1\n", "utf-8")
    return folder


@pytest.mark.parametrize("key", ["139", "000000000139.jpg", "COCO_val2014_000000000139.jpg"])
def test_tables_of_boxes(tmp_path: Path, key: str) -> None:
    folder = boxes(tmp_path)
    for source in (folder, folder / "boxes_val2017.tsv"):
        assert counts(str(source), key) == {"dining table": 1, "person": 1}
    found = one(str(folder), key)
    assert isinstance(found, ImageObjects)
    assert found.region("dining table") == pytest.approx((0.37, 0.336, 0.41, 0.496))
    assert counts(str(folder), "9") == {"dog": 2}
    assert counts(str(folder), "25") == {}
    assert source_name(folder) == "boxes_train2017+boxes_val2017"


def test_bad_boxes_are_named(tmp_path: Path) -> None:
    folder = boxes(tmp_path)
    wrong = one(str(folder), "140")
    assert isinstance(wrong, Problem)
    assert "boxes cannot be read" in wrong.reason
    unknown = one(str(folder), "141")
    assert isinstance(unknown, Problem)
    assert "no objects are given" in unknown.reason
    (folder / "boxes_val2017.tsv").write_text("139 2,1,1,1,1\n", "utf-8")
    with pytest.raises(InputError, match=r"line 1: expected"):
        one(str(folder), "9")
    (folder / "box_classes.json").unlink()
    with pytest.raises(InputError, match=r"box_classes.json"):
        one(str(folder / "boxes_train2017.tsv.gz"), "9")


def test_unions_keep_each_label_once(tmp_path: Path) -> None:
    first = write(tmp_path / "a.json", {"x": ["dog", "sofa", "person"], "y": ["cat"]})
    second = write(tmp_path / "b.json", {"x": {"couch": 2, "person": 3, "cup": 1}})
    union = f"{first}+{second}"
    assert counts(union, "x") == {"dog": 1, "sofa": 2, "person": 3, "cup": 1}
    assert isinstance(one(union, "y"), Problem)  # the second source cannot tell
    batch = Batch.of([Sample("1", "x", image="x")])
    assert Objects(union).signature(batch) == {"objects": f"{source_name(Path(first))}+{source_name(Path(second))}"}


def test_an_image_without_objects_keeps_its_size(tmp_path: Path) -> None:
    spec = write(tmp_path / "instances.json", COCO)
    assert one(spec, "7") == ImageObjects(size=(10, 10))


def test_a_plus_in_a_file_name_is_no_union(tmp_path: Path) -> None:
    assert counts(write(tmp_path / "a+b.json", {"x": ["dog"]}), "x") == {"dog": 1}


def test_unknown_sources_are_explained() -> None:
    with pytest.raises(InputError, match="not known"):
        one("oracle", "a")
    with pytest.raises(InputError, match=r"missing.json: no such file"):
        one("missing.json", "a")
    for nothing in ("", " ", "+"):
        with pytest.raises(VericapError, match="empty"):
            one(nothing, "a")
    with pytest.raises(VericapError, match="between 0 and 1"):
        one("detector@7", "a")


def test_a_wrong_name_is_told_before_any_photo_is_looked_at() -> None:
    before = photos.decoded
    batch = Batch.of([Sample("1", "x", image="chelsea")], Settings(images=PHOTOS))
    with pytest.raises(InputError, match="not known"):
        analysed(batch, Objects("detector+oracle"))
    assert photos.decoded == before


rows = st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.floats(0, 1), st.just((0.0, 0.0, 1.0, 1.0))))


@given(rows)
def test_objects_survive_writing(found: list[Any]) -> None:
    objects = ImageObjects.of(found, (4, 4))
    assert sum(objects.counts) == len(found)
    again = ImageObjects.from_json(json.loads(json.dumps(objects.as_json())))
    assert again.as_counts() == objects.as_counts()


@given(rows, rows)
def test_union_is_the_union_of_labels(one_side: list[Any], other: list[Any]) -> None:
    a, b = ImageObjects.of(one_side), ImageObjects.of(other)
    joined = a.union(b)
    assert set(joined.labels) == set(a.labels) | set(b.labels)
    assert all(n == max(a.as_counts().get(k, 0), b.as_counts().get(k, 0)) for k, n in joined.as_counts().items())
    assert a.union(ImageObjects()).as_counts() == a.as_counts()


def test_spellings_and_labels() -> None:
    assert spellings("val2014/COCO_val2014_000000000042.jpg")[-1] == "42"
    assert tidy(" Dining_Table ") == "dining table"


def test_a_file_that_changes_is_read_anew(tmp_path: Path) -> None:
    spec = write(tmp_path / "gold.json", {"a": ["dog"]})
    assert counts(spec, "a") == {"dog": 1}
    name = source_name(Path(spec))
    write(tmp_path / "gold.json", {"a": ["dog", "cat"]})
    assert counts(spec, "a") == {"dog": 1, "cat": 1}
    assert source_name(Path(spec)) != name


def test_a_file_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = write(tmp_path / "gold.json", {"a": ["dog"]})
    assert counts(spec, "a") == {"dog": 1}
    monkeypatch.setattr("json.loads", lambda *_: pytest.fail("read twice"))
    assert counts(spec, "a") == {"dog": 1}


def test_a_detector_without_images_says_what_to_give() -> None:
    with pytest.raises(VericapError, match="images=DIR"):
        one("detector", "cat")


def test_records_may_carry_their_objects(tmp_path: Path) -> None:
    samples = [
        Sample("1", "x", objects={"cat": 2}),
        Sample("2", "x", image="a"),
        Sample("3", "x"),
        Sample("4", "x", objects=["dog"]),  # type: ignore[arg-type]
        Sample("5", "x", objects=5),  # type: ignore[arg-type]
        Sample("6", "x", image="a", objects={}),
    ]
    spec = write(tmp_path / "gold.json", {"a": ["cup"]})
    found = objects_of(Objects(spec), samples)
    assert [item.as_counts() if isinstance(item, ImageObjects) else None for item in found] == [
        {"cat": 2}, {"cup": 1}, None, {"dog": 1}, None, {},
    ]  # fmt: skip
    assert "names no image" in str(found[2])
    assert "cannot be read" in str(found[4])


def test_a_source_that_a_metric_names_wins_over_the_record(tmp_path: Path) -> None:
    spec = write(tmp_path / "gold.json", {"a": ["cup"]})
    sample = Sample("1", "x", image="a", objects={"cat": 1})
    settings = Settings(objects="detector")
    (own,) = objects_of(Objects.of(settings), [sample], settings)
    (named,) = objects_of(Objects.of(settings, spec), [sample], settings)
    assert isinstance(own, ImageObjects)
    assert isinstance(named, ImageObjects)
    assert (own.labels, named.labels) == (("cat",), ("cup",))


@pytest.mark.parametrize("source", ["detector", "missing.json", "references", "none.onnx", "detector+gold.json"])
def test_no_source_is_asked_where_every_record_carries_its_objects(source: str) -> None:
    opened = len(onnx.opened)
    samples = [Sample(str(i), "x", image="a", objects={"dog": 1}) for i in range(2)]
    assert objects_of(Objects(source), samples) == [ImageObjects.counted({"dog": 1})] * 2
    assert Objects(source).signature(Batch.of(samples)) == {"objects": "record"}
    assert len(onnx.opened) == opened


def test_the_signature_of_a_source_opens_nothing(tmp_path: Path) -> None:
    opened = len(onnx.opened)
    batch = Batch.of([Sample("1", "x", image="a"), Sample("2", "x", objects={"dog": 1})])
    assert Objects().signature(batch) == {"objects": "record+efficientdet-lite2/1@0.35"}
    assert Objects("detector@0.5", own=False).signature(batch) == {"objects": "efficientdet-lite2/1@0.5"}
    folder = tmp_path / "voc"
    folder.mkdir()
    assert Objects(str(folder), own=False).signature(batch) == {"objects": "voc"}
    assert len(onnx.opened) == opened


def test_parts_of_a_source() -> None:
    assert [type(part) for part in Objects("a.json+b.xml").parts] == [Annotations, Annotations]
    assert Objects("detector + a.json").parts[1] == Annotations("a.json", own=True)


def test_regions_of_labels() -> None:
    found = ImageObjects.of([("dog", 0.5, (0, 0, 10, 10)), ("dog", 0.9, (5, 0, 10, 20)), ("cat", None, None)], (10, 20))
    assert found.region("dog") == (0.5, 0.0, 1.0, 1.0)
    assert found.region("cat") is None
    assert found.region("bird") is None
    assert ImageObjects.of([("dog", 0.5, (0, 0, 10, 10))]).region("dog") is None

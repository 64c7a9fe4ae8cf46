"""Readers of long captions, marked errors, statements, similarity and graphs, on tiny files of the published shape."""

from __future__ import annotations

import csv
import json

import pytest

from vericap.core.errors import InputError
from vericap.meta.catalogue import installed, listing, load
from vericap.meta.judgements import GoldGraphs, Spans
from vericap.meta.protocols import protocol_of
from vericap.meta.task import make_task

COCO = {"annotations": [{"image_id": 7, "id": i, "caption": c} for i, c in enumerate(["a dog", "the dog", "dogs"])]}


def write(folder, files):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def json_lines(records):
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def table(path, columns, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(rows)


LONG = [
    {"file_name": "a.jpg", "refs": ["a long text"], "cand": "c1", "score": 0.75},
    {"file_name": "b.jpg", "refs": ["another"], "cand": "c2", "score": 0.5},
]


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_longcap_arena(tmp_path, form):
    parts = {"desc": LONG, "rel": LONG[:1], "flu": [{**LONG[1], "score": 1.0}]}
    for part, records in parts.items():
        if form == "jsonl":
            write(tmp_path / "longcap-arena", {f"test.{part}.jsonl": json_lines(records)})
        else:
            import pyarrow as pa
            import pyarrow.parquet as pq

            (tmp_path / "longcap-arena" / "data").mkdir(parents=True, exist_ok=True)
            rows = [{**record, "image": {"bytes": b"x", "path": None}} for record in records]
            path = tmp_path / "longcap-arena" / "data" / f"test.{part}-00000-of-00001.parquet"
            pq.write_table(pa.Table.from_pylist(rows), path)
    data = load("longcap-arena", tmp_path)
    assert data.candidates == ["c1", "c2"]
    assert data.aspects["descriptiveness"][:, 0].tolist() == [0.75, 0.5]
    assert data.ratings[:, 0].tolist() == [0.75, 0.75]
    assert len(make_task(data, protocol_of("longcap-arena")).rows) == 2
    assert make_task(data, protocol_of("longcap-arena", "relevance")).judgement.tolist() == [0.75]
    assert data.problems == []


def test_caparena(tmp_path):
    battle = {"img": "i.jpg", "caption1": "one", "caption2": "two", "source1": "A", "source2": "B", "ref": "a text"}
    battles = [
        {**battle, "winner": "A", "cluster": "level 1"},
        {**battle, "winner": "B", "cluster": "level 2"},
        {**battle, "winner": "equal", "cluster": "level 2"},
        {**battle, "source1": "human", "winner": "human", "cluster": "level 1"},
    ]
    data = load("caparena", write(tmp_path / "caparena", {"caparena_annots_eval.json": battles}).parent)
    assert data.preferences["winner"].tolist() == [0, 1, 0.5]
    assert data.references[0] == ("a text",)
    assert data.systems[0] == ("A", "B")
    plain, levels = (make_task(data, protocol_of("caparena", name)) for name in ("battles", "levels"))
    assert (plain.groups(), levels.groups()) == ([""], ["level 1", "level 2"])
    assert len(plain.rows) == 2


def test_imageinwords(tmp_path):
    fields = ("Comprehensiveness", "Specificity", "Hallucination", "Human Like", "First few line(s) as tldr")
    answers = {f"metrics/{name}": value for name, value in zip(fields, ("++", "-", "Neutral", "IIW-P5B better", "+"))}
    record = {"image/key": "k", "IIW": "long", "IIW-P5B": "short", "iiw-human-sxs-iiw-p5b": answers}
    other = {"image": "d", "IIW": "x", "DOCCI": "y", **answers, "metrics/Human Like": "IIW Slightly Better"}
    unknown = {**other, "image": "e", "metrics/Specificity": "purple"}
    files = {
        "IIW-400/data.jsonl": json_lines([record, {"image/key": "unjudged", "IIW": "long", "IIW-P5B": "short"}]),
        "DOCCI_Test/data.jsonl": json_lines([other, unknown]),
    }
    data = load("imageinwords", write(tmp_path / "imageinwords", files).parent)
    assert data.ids == ["IIW-400/k", "DOCCI_Test/d", "DOCCI_Test/e"]
    assert data.preferences["comprehensiveness"].tolist() == [0, 0, 0]
    assert data.preferences["specificity"].tolist()[:2] == [1, 1]
    assert data.preferences["hallucination"].tolist() == [0.5] * 3
    assert data.preferences["human-likeness"].tolist() == [1, 0, 0]
    assert "'purple'" in str(data.problems[0])


def marked(data):
    return [[caption[start:end] for start, end in wrong] for caption, wrong in zip(data.captions, data.wrong)]


def test_hat(tmp_path):
    words = [["A", 0], ["dog", 1], ["and", 0], ["a", 0], ["dog.", 1]]
    records = [
        {"image_id": 7, "caption": "A dog and a dog.", "words": words, "references": ["a cat"]},
        {"image_id": 8, "caption": "A cat.", "words": [["bus", 1]], "references": []},
    ]
    data = load("hat", write(tmp_path / "hat", {"dev.jsonl": json_lines(records)}).parent)
    assert isinstance(data, Spans)
    assert marked(data) == [["dog", "dog."]]
    assert data.references == [("a cat",)]
    assert "not those of its caption" in str(data.problems[0])


def test_mhal_in_both_layouts(tmp_path):
    record = {"image_id": 7, "caption": "A dog. A red bus.", "wrong": [[6, 17]]}
    folder = write(tmp_path / "mhal", {"dev.jsonl": json_lines([record]), "captions_val2014.json": COCO})
    data = load("mhal", folder.parent)
    assert marked(data) == [["A red bus."]]  # without the blank before it
    assert data.references == [("a dog", "the dog", "dogs")]
    segments = [{"start": 0, "end": 6, "text": "A dog.", "label": "ACCURATE"}]
    segments += [{"start": 7, "end": 17, "text": "A red bus.", "label": "INACCURATE"}]
    sample = {"image": "COCO_val2014_000000000007.jpg", "response": "A dog. A red bus.", "annotations": segments}
    wrong = {**sample, "annotations": [{"start": 0, "end": 99, "label": "INACCURATE"}]}
    other = load("mhal", write(tmp_path / "other" / "mhal", {"val_raw.json": [sample, wrong]}).parent)
    assert marked(other) == [["A red bus."]]
    assert other.images == ["7"]
    assert "outside its text" in str(other.problems[0])


def test_detailverify(tmp_path):
    records = [
        {"filename": "a.png", "description_tag": "A <H>red</H> bus.", "GT_description": "A blue bus."},
        {"filename": "b.png", "description_tag": "A <H>red bus.", "GT_description": "A bus."},
    ]
    folder = write(tmp_path / "detailverify", {"data/real_test.jsonl": json_lines(records)})
    data = load("detailverify", folder.parent)
    assert (data.captions, marked(data)) == (["A red bus."], [["red"]])
    assert data.references == [("A blue bus.",)]
    assert "do not open and close" in str(data.problems[0])


def test_faithscore(tmp_path):
    record = {"id": "000000000007", "answer": "A dog.", "stage 1": {"A dog": 0}, "stage 2": {"A dog.": 0, "A bus.": 1}}
    folder = write(tmp_path / "faithscore", {"annotation.jsonl": json_lines([record]), "captions_val2014.json": COCO})
    data = load("faithscore", folder.parent)
    assert data.candidates == ["A dog.", "A bus."]
    assert data.ratings[:, 0].tolist() == [1, 0]
    assert data.references[1] == ("a dog", "the dog", "dogs")


@pytest.mark.parametrize(
    ("file", "record"),
    [
        ("statements.jsonl", {"image_id": 7, "statement": "The cat is under it.", "label": 1, "relation": "under"}),
        (
            "dev.jsonl",
            {"image": "000000000007.jpg", "caption": "The cat is under it.", "label": 1, "relation": "under"},
        ),
    ],
)
def test_vsr(tmp_path, file, record):
    records = json_lines([record, {**record, "label": 0}])
    data = load("vsr", write(tmp_path / "vsr", {file: records}).parent)
    assert (data.images, data.ratings[:, 0].tolist()) == (["7", "7"], [1, 0])
    (tmp_path / "vsr" / file).write_text(json_lines([{**record, "label": 3}]))
    with pytest.raises(InputError, match="line 1: label 3 is not 0 or 1"):
        load("vsr", tmp_path)


def test_statements_are_told_apart(tmp_path):
    rows = [{"image_id": k // 2, "statement": f"s{k}", "label": k % 2} for k in range(6)]
    data = load("vsr", write(tmp_path / "vsr", {"statements.jsonl": json_lines(rows)}).parent)
    task = make_task(data, protocol_of("vsr"))
    assert task.agreement([task.judgement]).value == 1
    assert task.agreement([-task.judgement]).value == 0
    decided = make_task(data, protocol_of("vsr", "accuracy"))
    assert decided.agreement([decided.judgement]).value == 1


def test_crisscrossed_captions(tmp_path):
    sits = [
        {"image_id": 7, "caption_id": 0, "caption": "a dog", "own": True, "rating": 5.0},
        {"image_id": 7, "caption_id": 9, "caption": "a bus", "own": False, "rating": 0.5},
    ]
    sts = {"a": 0, "b": 1, "caption_a": "a dog", "caption_b": "the dog", "image_a": 7, "image_b": 7, "rating": 4.0}
    files = {"sits_val.jsonl": json_lines(sits), "sts_val.jsonl": json_lines([sts]), "captions_val2014.json": COCO}
    write(tmp_path / "cxc", files)
    data = load("cxc-sits", tmp_path)
    assert [sample.references for sample in make_task(data, protocol_of("cxc-sits")).samples()] == [
        ("the dog", "dogs"),
        ("a dog", "the dog", "dogs"),
    ]
    assert make_task(data, protocol_of("cxc-sits", "foreign")).judgement.tolist() == [0.5]
    pairs = make_task(load("cxc-sts", tmp_path), protocol_of("cxc-sts"))
    assert [sample.candidate for sample in pairs.samples()] == ["a dog", "the dog"]


def test_crisscrossed_captions_as_published(tmp_path):
    folder = write(tmp_path / "cxc", {"captions_val2014.json": COCO})
    table(
        folder / "sits_val.csv",
        ["caption", "image", "agg_score", "sampling_method"],
        [["COCO:0", "COCO_val2014_000000000007.jpg", "4.5", "c2i_original"], ["COCO:99", "7", "1", "c2i_intrasim"]],
    )
    table(folder / "sts_val.csv", ["caption1", "caption2", "agg_score", "s"], [["1", "2", "3.5", "c2c_cocaption"]])
    data = load("cxc-sits", tmp_path)
    assert (data.candidates, data.images, data.own) == (["a dog"], ["7"], [0])
    assert "caption 99" in str(data.problems[0])
    pairs = load("cxc-sts", tmp_path)
    assert (pairs.candidates, pairs.references) == (["the dog"], [("dogs",)])


def test_factual(tmp_path):
    rows = [["1", "2", "a red bus on a road", "( bus , on , road ) , ( bus , is , red )"], ["1", "3", "sky", "( sky )"]]
    table(
        tmp_path / "factual" / "dev.csv",
        ["image_id", "region_id", "caption", "scene_graph"],
        [*rows, ["2", "4", "x", ""]],
    )
    data = load("factual", tmp_path)
    assert isinstance(data, GoldGraphs)
    assert set(data.graphs[0]) == {("bus",), ("road",), ("bus", "red"), ("bus", "on", "road")}
    assert data.graphs[1] == (("sky",),)
    assert "line 4" in str(data.problems[0])


def test_own_marked_errors(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text(json_lines([{"image": "a", "candidate": "a red bus", "wrong": [[2, 5]], "references": ["a bus"]}]))
    assert marked(load(str(path))) == [["red"]]
    path.write_text(json_lines([{"image": "a", "candidate": "a red bus", "wrong": [[2, 50]]}]))
    with pytest.raises(InputError, match="passage 2-50 does not lie inside its 9 characters"):
        load(str(path))


def test_first_images_of_every_kind(tmp_path):
    rows = [{"image_id": k // 2, "statement": f"s{k}", "label": k % 2} for k in range(8)]
    folder = write(tmp_path / "vsr", {"statements.jsonl": json_lines(rows)}).parent
    assert load("vsr", folder, images=2).candidates == ["s0", "s1", "s2", "s3"]
    assert load("vsr", folder, images=2).ratings.shape == (4, 1)
    pairs = [
        {"image": f"{k}.jpg", "group": "HC", "captions": ["one", "two"], "consensus48": k, "votes11": [6, 5]}
        for k in range(2)
    ]
    files = {"pairs.jsonl": json_lines(pairs), "references.json": {f"{k}.jpg": ["r"] for k in range(2)}}
    part = load("pascal50s", write(tmp_path / "pascal50s", files).parent, images=1)
    assert (part.images, part.preferences["consensus48"].tolist(), part.groups) == (["0.jpg"], [0], ["HC"])
    spans = tmp_path / "mine.jsonl"
    spans.write_text(json_lines([{"image": k, "candidate": "a bus", "wrong": [[2, 5]]} for k in "abc"]))
    assert load(str(spans), images=2).images == ["a", "b"]


def test_a_file_without_a_telling_name_needs_its_folder(tmp_path):
    record = {"image_id": 7, "caption": "A dog.", "wrong": []}
    write(tmp_path / "mhal", {"dev.jsonl": json_lines([record])})
    assert installed(tmp_path) == ["mhal"]
    assert installed(tmp_path / "mhal") == ["mhal"]
    listed = listing(tmp_path).text()
    assert "CC BY-NC 4.0" in listed
    assert "licence" in listed

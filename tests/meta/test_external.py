"""Scores from elsewhere: exported captions, files of scores, and a row of another program in our table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vericap.cli import main
from vericap.core.errors import InputError
from vericap.meta.catalogue import load
from vericap.meta.evaluation import evaluate
from vericap.meta.external import read_scores, write_items
from vericap.meta.judgements import Pairs
from vericap.meta.protocols import protocol_of
from vericap.meta.task import make_task

HERE = Path(__file__).parent
RATINGS = HERE / "coco_ratings.jsonl"
# Made by pycocoevalcap 1.2 (PTBTokenizer, Cider) from `vericap meta coco_ratings.jsonl --export items.jsonl`.
CIDER = HERE / "coco_cider.jsonl"


def items(path=RATINGS):
    data = load(str(path))
    return make_task(data, protocol_of(data.name)).items()


def scores_file(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_another_programs_cider_is_ours():
    given = read_scores(CIDER, items())
    assert list(given) == ["coco_cider"]
    found = evaluate(load(str(RATINGS)), "cider-d", scores=given)
    assert np.abs(found.runs["cider-d"][0] - found.runs["coco_cider"][0]).max() < 1e-12
    ours, theirs = found["cider-d"], found["coco_cider"]
    assert abs(ours.value - theirs.value) < 1e-12
    assert np.allclose(ours.interval, theirs.interval, atol=1e-12)


def test_command_line_goes_out_and_comes_back(tmp_path, capsys):
    exported = tmp_path / "items.jsonl"
    assert main(["meta", str(RATINGS), "--export", str(exported)]) == 0
    records = [json.loads(line) for line in exported.read_text().splitlines()]
    assert list(records[0]) == ["id", "candidate", "references", "image"]
    assert len(records) == 20
    length = scores_file(
        tmp_path / "length.jsonl", [{"id": own["id"], "score": len(own["candidate"])} for own in records]
    )
    arguments = ["--metrics", "cider-d", "--scores", str(length), "--scores", str(CIDER), "--quiet", "--table", "csv"]
    assert main(["meta", str(RATINGS), *arguments]) == 0
    rows = {line.split(",")[0]: line for line in capsys.readouterr().out.splitlines()}
    assert {"cider-d", "length", "coco_cider"} <= set(rows)
    assert rows["cider-d"].split(",")[1:3] == rows["coco_cider"].split(",")[1:3]
    assert main(["meta", str(RATINGS), "--metrics", "", "--scores", str(CIDER), "--quiet"]) == 0
    assert main(["meta", str(RATINGS), "--scores", str(CIDER), "--scores", str(CIDER), "--quiet"]) == 2
    assert "another file has scores called 'coco_cider'" in capsys.readouterr().err


def test_first_images_are_exported(tmp_path):
    exported = tmp_path / "items.jsonl"
    assert main(["meta", str(RATINGS), "--limit", "2", "--export", str(exported), "--quiet"]) == 0
    assert len(exported.read_text().splitlines()) == 8


@pytest.mark.parametrize("form", ["jsonl", "csv", "tsv", "parquet", "json"])
def test_files_of_all_forms(tmp_path, form):
    own = items()
    rows = [{"id": item.id, "polos": place / 7, "clair": float(place)} for place, item in enumerate(own)]
    path = tmp_path / f"scores.{form}"
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif form == "json":
        path.write_text(json.dumps(rows))
    elif form == "jsonl":
        scores_file(path, rows)
    else:
        mark = "," if form == "csv" else "\t"
        lines = [mark.join(rows[0])] + [mark.join(str(value) for value in row.values()) for row in rows]
        path.write_text("\n".join(lines))
    found = read_scores(path, own)
    assert list(found) == ["polos", "clair"]
    assert np.array_equal(found["polos"], [place / 7 for place in range(len(own))])


def test_scores_by_id_in_one_object(tmp_path):
    path = tmp_path / "polos.json"
    path.write_text(json.dumps({item.id: 1.0 for item in items()}, indent=1))
    assert list(read_scores(path, items())) == ["polos"]


def test_missing_repeated_and_extra_ids_are_named(tmp_path):
    own = items()
    records = [{"id": item.id, "score": 1.0} for item in own]
    with pytest.raises(
        InputError, match=r"x.jsonl: 4 of 20 judged captions have no line: p1.jpg-0, .*p1.jpg-2, \.\.\."
    ):
        read_scores(scores_file(tmp_path / "x.jsonl", records[4:]), own)
    with pytest.raises(InputError, match=r"x.jsonl: 1 id more than once: p1.jpg-0"):
        read_scores(scores_file(tmp_path / "x.jsonl", [*records, records[0]]), own)
    notes = []
    extra = [{"id": f"q{k}", "score": 0.0} for k in range(5)]
    assert len(read_scores(scores_file(tmp_path / "x.jsonl", records + extra), own, notes=notes)["x"]) == 20
    assert notes[0].endswith("x.jsonl: 5 ids of no judged caption, not used: q0, q1, q2, ...")


def test_what_cannot_be_read_is_told(tmp_path):
    own = items()
    records = [{"id": item.id, "score": 1.0} for item in own]
    for record, words in [
        ({"score": 1}, "line 1 has no id"),
        ({"id": own[0].id, "score": "high"}, "is 'high', not a number"),
        ({"id": own[0].id, "score": float("inf")}, "finite number or null"),
        ({"id": own[0].id, "score": 1, "rank": 2}, "`score` beside other columns"),
    ]:
        with pytest.raises(InputError, match=words):
            read_scores(scores_file(tmp_path / "x.jsonl", [record, *records[1:]]), own)
    with pytest.raises(InputError, match="no column of scores"):
        read_scores(scores_file(tmp_path / "x.jsonl", [{"id": item.id, "candidate": "a"} for item in own]), own)
    with pytest.raises(InputError, match=r"must end in \.jsonl"):
        write_items(own, tmp_path / "items.csv")


def test_null_is_a_caption_that_could_not_be_scored(tmp_path):
    own = items()
    records = [{"id": item.id, "score": None if place == 3 else place} for place, item in enumerate(own)]
    given = read_scores(scores_file(tmp_path / "x.jsonl", records), own)
    assert np.flatnonzero(np.isnan(given["x"])).tolist() == [3]
    assert evaluate(load(str(RATINGS)), scores=given, resamples=0)["x"].unscored == 1


def test_draws_of_references_and_pairs_have_ids_of_their_own(tmp_path):
    data = Pairs(
        name="pascal50s",
        images=["a", "b"],
        first=["one", "two"],
        second=["three", "four"],
        references=[tuple("pqrstuv")] * 2,
        preferences={"consensus48": np.array([0.0, 1.0])},
        ids=["x", "x"],  # a careless data set
    )
    task = make_task(data, protocol_of("pascal50s"))
    own = task.items()
    assert len({item.id for item in own}) == len(own) == 2 * 2 * 5
    assert own[0].id == "x~0@0"
    assert own[4].references != own[0].references
    path = scores_file(tmp_path / "x.jsonl", [{"id": item.id, "score": len(item.candidate)} for item in own])
    found = evaluate(data, scores=read_scores(path, own), resamples=0)
    # The longer, second caption wins both; people want the first of one pair and the second of the other.
    assert found["x"].value == 0.5
    assert len(found.runs["x"]) == 5

"""Every reader on a tiny file of the published shape, made here."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from vericap.core.errors import InputError, MissingPart, UnknownName
from vericap.meta.catalogue import DATASETS, installed, load
from vericap.meta.judgements import Pairs, Ratings
from vericap.meta.protocols import PROTOCOLS, protocol_of
from vericap.meta.task import make_task

TOKENS = "a.jpg#0\tA dog runs .\na.jpg#1\tThe dog is running .\nb.jpg#0\tA red car .\nb.jpg#1\tA parked car .\n"


def write(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def json_lines(records):
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def table(path, columns, rows, delimiter=","):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter=delimiter)
        writer.writerow(columns)
        writer.writerows(rows)


def test_flickr8k(tmp_path):
    write(
        tmp_path / "flickr8k",
        {
            "Flickr8k.token.txt": TOKENS,
            "ExpertAnnotations.txt": "a.jpg\tb.jpg#0\t1\t1\t2\na.jpg\ta.jpg#1\t4\t4\t4\nzz.jpg\ta.jpg#0\t1\t1\t1\n",
            "CrowdFlowerAnnotations.txt": "a.jpg\ta.jpg#0\t1\t3\t0\na.jpg\tb.jpg#0\t0.25\t1\t3\n",
        },
    )
    expert = load("flickr8k-expert", tmp_path)
    assert isinstance(expert, Ratings)
    assert expert.candidates == ["A red car .", "The dog is running ."]
    assert expert.ratings.tolist() == [[1, 1, 2], [4, 4, 4]]
    assert "zz.jpg" in str(expert.problems[0])
    assert "line 3" in str(expert.problems[0])
    task = make_task(expert, protocol_of("flickr8k-expert"))
    assert len(task.rows) == 1
    assert task.judgement.tolist() == [1, 1, 2]
    crowd = load("flickr8k-cf", tmp_path)
    assert crowd.votes.tolist() == [[3, 0], [1, 3]]
    task = make_task(crowd, protocol_of("flickr8k-cf"))
    # the judged caption of the image leaves the references of all its candidates
    assert [s.references for s in task.samples()] == [("The dog is running .",)] * 2


def test_pascal50s_lines(tmp_path):
    pairs = [
        {"image": "x.jpg", "group": "HC", "captions": ["one", "two"], "consensus48": 1, "votes11": [6, 5]},
        {"image": "x.jpg", "group": "MM", "captions": ["one", "three"], "consensus48": 0},
    ]
    files = {"pairs.jsonl": json_lines(pairs), "references.json": {"x.jpg": ["r1", "r2", "r3"]}}
    data = load("pascal50s", write(tmp_path / "pascal50s", files).parent)
    assert isinstance(data, Pairs)
    assert data.preferences["consensus48"].tolist() == [1, 0]
    assert data.preferences["votes11"][0] == 0
    assert "no preference (votes11)" in str(data.problems[0])
    assert len(make_task(data, protocol_of("pascal50s", "votes11")).rows) == 1


def test_pascal50s_matlab(tmp_path):
    from scipy.io import savemat

    folder = tmp_path / "pascal50s"
    folder.mkdir()
    pairs = np.empty((1, 2), dtype=object)
    pairs[0, 0] = np.array(["x.jpg", "a cat", "a dog"], dtype=object)
    pairs[0, 1] = np.array(["y.jpg", "a bus", "a car"], dtype=object)
    savemat(
        folder / "pair_pascal.mat",
        {"new_input": pairs, "category": [[1, 4]], "new_data": [[6, 6], [1, 2]], "votes": [[2, 9], [6, 5]]},
    )
    rows = [("r1", "a cat", "a dog", 1), ("r2", "a cat", "a dog", -1), ("r3", "a cat", "a dog", -1)]
    rows += [("q1", "a bus", "a car", 1), ("q2", "a bus", "a car", 1), ("q3", "a bus", "a car", -1)]
    triplets = np.empty((1, 6), dtype=[(name, object) for name in ("A", "B", "C", "winner")])
    for place, row in enumerate(rows):
        triplets[0, place] = row
    savemat(folder / "consensus_pascal.mat", {"triplets": triplets})
    data = load("pascal50s", tmp_path)
    assert data.images == ["x.jpg", "y.jpg"]
    assert data.first == ["a cat", "a bus"]
    assert data.groups == ["HC", "MM"]
    assert data.references[0] == ("r1", "r2", "r3")
    assert data.preferences["consensus48"].tolist() == [1, 0]
    assert data.preferences["votes11"].tolist() == [1, 0]


def test_composite(tmp_path):
    folder = write(tmp_path / "composite", {"Flickr8k.token.txt": TOKENS})
    columns = ["HITId", "Input.image_url", "Input.text1", "Input.text2", "Answer.Q1Answer", "Answer.Q2Answer"]
    rows = [
        ["1", "http://host/a.jpg", "A dog runs .", "a cat", "5", "1"],
        ["2", "http://host/a.jpg", "A dog runs .", "a cat", "4", "2"],
        ["3", "http://host/q.jpg", "x", "y", "1", "1"],
        ["", "", "", "", "", ""],
    ]
    table(folder / "8k_correctness.csv", columns, rows, ";")
    table(folder / "8k_throughness.csv", columns, rows[:1], ";")
    data = load("composite", tmp_path)
    assert data.ratings.tolist() == [[5, 4], [1, 2]]
    assert data.aspects["thoroughness"][:, 0].tolist() == [5, 1]
    assert "'q' has no references" in str(data.problems[0])
    samples = make_task(data, protocol_of("composite")).samples()
    assert samples[0].references == ("The dog is running .",)
    assert len(samples[1].references) == 2


COCO = {"annotations": [{"image_id": 7, "id": i, "caption": c} for i, c in enumerate(["a dog", "the dog", "dogs"])]}


def test_publicsys(tmp_path):
    outputs = ["baseline-gan", "nbt", "gan", "td", "td-sc"]
    files = {"human_scores/imageIDs.txt": "7\n", "captions_val2014.json": COCO}
    for place, name in enumerate(outputs):
        files[f"human_scores/0{place}_x.txt"] = f"img\t{place + 1}\n"
        files[f"generated_sentences/{name}_beam5_test.json"] = {"imgToEval": {"7": {"caption": f"caption {place}"}}}
    data = load("publicsys", write(tmp_path / "publicsys", files).parent)
    assert data.ratings[:, 0].tolist() == [1, 2, 3, 4, 5]
    assert data.systems[0] == "MPI-CE"
    assert data.references[0] == ("a dog", "the dog", "dogs")


def test_thumb(tmp_path):
    rows = [
        {"seg_id": "7", "SYS": s, "hyp": f"h {s}", "image": "COCO_val2014_7.jpg", "P": 5, "R": r, "Fl": 0,
         "Con": 0, "Inc": 0, "human_score": r}
        for s, r in (("Human", 4.5), ("VinVL", 3))
    ]  # fmt: skip
    files = {
        "mscoco_THumB-1.0.jsonl": json_lines([*rows, {**rows[0], "seg_id": "8"}]),
        "mscoco_references.json": json_lines([{"seg_id": "7", "refs": ["a", "b"]}]),
    }
    data = load("thumb", write(tmp_path / "thumb" / "mscoco", files).parent.parent)
    assert data.ratings[:, 0].tolist() == [4.5, 3]
    assert data.aspects["precision"][:, 0].tolist() == [5, 5]
    assert set(data.aspects) == {"precision", "recall", "fluency", "conciseness", "inclusive"}
    assert make_task(data, protocol_of("thumb", "recall")).judgement.tolist() == [4.5, 3]
    assert "seg_id 8" in str(data.problems[0])


@pytest.mark.parametrize(
    ("name", "file", "score"), [("polaris", "polaris_test.csv", "score"), ("nebula", "nebula_test.csv", "human_score")]
)
def test_polaris_and_nebula(tmp_path, name, file, score):
    rows = [["i1", "a dog", "['it''s', \"a dog's\"]", "0.75"], ["i2", "a cat", '["one", "two"]', "1.0"]]
    table(tmp_path / name / file, ["imgid", "mt", "refs", score], rows)
    data = load(name, tmp_path)
    assert data.ratings[:, 0].tolist() == [0.75, 1.0]
    assert data.references[0] == ("its", "a dog's")
    assert data.references[1] == ("one", "two")


@pytest.mark.parametrize(("name", "file"), [("shichimi", "shichimi.csv"), ("pfn-pic", "pfn_pic.csv")])
def test_japanese_ratings_are_filtered(tmp_path, name, file):
    columns = ["imgid", "mt", "refs", "score", "model", "worker", "seconds"]
    rows = [[f"i{k}", f"犬{k}", '["犬がいる"]', "3", "m", "lazy", "9"] for k in range(3)]
    rows += [[f"i{k}", f"犬{k}", '["犬がいる"]', str(k + 1), "m", "good", "9"] for k in range(3)]
    rows += [["i0", "犬0", '["犬がいる"]', "5", "m", "good", "0.2"]]
    table(tmp_path / name / file, columns, rows)
    data = load(name, tmp_path)
    assert data.lang == "ja"
    task = make_task(data, protocol_of(name))
    assert task.judgement.tolist() == [1, 2, 3]
    assert len(task.notes) == 2


def test_foil(tmp_path):
    entries = [
        {"id": 1, "image_id": 7, "caption": "a dog", "foil": False, "foil_id": 10},
        {"id": 1, "image_id": 7, "caption": "a cat", "foil": True, "foil_id": 11},
        {"id": 2, "image_id": 7, "caption": "a bus", "foil": True, "foil_id": 12},
    ]
    files = {"foilv1.0_test_2017.json": {"annotations": entries}, "captions_val2014.json": COCO}
    data = load("foil", write(tmp_path / "foil", files).parent)
    assert (data.first, data.second) == (["a dog"], ["a cat"])
    samples = make_task(data, protocol_of("foil")).samples()
    assert all(set(s.references) == {"the dog", "dogs"} for s in samples)
    assert "no original caption" in str(data.problems[0])


def test_nocaps(tmp_path):
    data = {
        "images": [{"id": 0, "file_name": "x.jpg", "domain": "near-domain"}],
        "annotations": [{"id": 1, "image_id": 0, "caption": "a yak"}, {"id": 2, "image_id": 5, "caption": "?"}],
    }
    found = load("nocaps", write(tmp_path / "nocaps", {"nocaps_val_4500_captions.json": data}).parent)
    assert (found.images, found.captions, found.domains) == (["x.jpg"], ["a yak"], ["near-domain"])
    assert "image 5" in str(found.problems[0])


def test_human_machine(tmp_path):
    record = {"image": "x", "human": "a dog", "machine": "dog dog", "references": ["the dog"], "system": "s"}
    folder = write(tmp_path / "human-machine", {"hm_pairs.jsonl": json_lines([record])})
    data = load("human-machine", folder.parent)
    assert (data.first, data.second, data.groups) == (["a dog"], ["dog dog"], ["s"])
    files = {
        "karpathy_test_references.json": {"7": ["h", "r1", "r2"]},
        "karpathy_test_s1.json": [{"image_id": 7, "caption": "m1"}],
        "karpathy_test_s2.json": [{"image_id": 7, "caption": "m2"}],
    }
    held = load("human-machine", write(tmp_path / "other" / "coco", files).parent)
    assert held.second == ["m1", "m2"]
    assert held.references[0] == ("r1", "r2")
    systems = load("karpathy-test", tmp_path / "other")
    assert list(systems.outputs) == ["s1", "s2"]


def test_jsts_and_jsick(tmp_path):
    record = {"sentence_pair_id": "0", "yjcaptions_id": "1-2-3", "sentence1": "犬", "sentence2": "猫", "label": 1.5}
    folder = write(tmp_path / "japanese", {"jsts_valid.jsonl": json_lines([record])})
    data = load("jsts", folder.parent)
    task = make_task(data, protocol_of("jsts"))
    assert [(s.candidate, s.references) for s in task.samples()] == [("犬", ("猫",)), ("猫", ("犬",))]
    assert task.scores(np.array([1.0, 3.0])).tolist() == [2.0]
    columns = ["pair_ID", "data", "sentence_A_Ja", "sentence_B_Ja", "relatedness_score_Ja"]
    table(
        tmp_path / "jsick" / "jsick.tsv",
        columns,
        [["1", "test", "犬", "猫", "4.2"], ["2", "train", "a", "b", "1"]],
        "\t",
    )
    found = load("jsick", tmp_path)
    assert found.candidates == ["犬"]
    assert found.ratings[0, 0] == 4.2


def test_missing_data_tells_source_layout_and_size(tmp_path):
    for name, entry in DATASETS.items():
        with pytest.raises(MissingPart) as error:
            load(name, tmp_path)
        for part in (entry.source, entry.layout, entry.size, entry.licence, "VERICAP_DATA"):
            assert part in str(error.value)
    assert installed(tmp_path) == []
    with pytest.raises(UnknownName, match="did you mean flickr8k-expert"):
        load("flickr8k-experts", tmp_path)


def test_every_judged_data_set_has_protocols():
    rated = set(DATASETS) - {"nocaps", "flickr8k-dev", "karpathy-test"}
    assert rated == set(PROTOCOLS)
    names = [protocol.name for found in PROTOCOLS.values() for protocol in found]
    assert len(names) == len(set(names))


def test_broken_files_name_file_and_line(tmp_path):
    write(tmp_path / "flickr8k", {"Flickr8k.token.txt": TOKENS, "ExpertAnnotations.txt": "a.jpg\ta.jpg#0\t1\t1\n"})
    with pytest.raises(InputError, match=r"ExpertAnnotations.txt, line 1: 4 columns"):
        load("flickr8k-expert", tmp_path)
    (tmp_path / "flickr8k" / "Flickr8k.token.txt").write_bytes(b"a.jpg#0\t\xff\xfe\n")
    with pytest.raises(InputError, match="not UTF-8"):
        load("flickr8k-expert", tmp_path)

"""Tiny data sets of every layout that the experiments read, made from the demo's photos and captions."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from vericap.reproduce import demo
from vericap.reproduce.experiment import Choices

PHOTOS = list(demo.CANDIDATES)  # six photos
OUTPUTS = ("baseline-gan", "nbt", "gan", "td", "td-sc")


def write(folder: Path, files: dict[str, object]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False), "utf-8")
    return folder


def photos(folder: Path, names: dict[str, str]) -> Path:
    """Copies of the demo's photos under other names."""
    folder.mkdir(parents=True, exist_ok=True)
    for photo, name in names.items():
        shutil.copy(demo.PHOTOS / f"{photo}.jpg", folder / name)
    return folder


def table(path: Path, columns: list[str], rows: list[list[object]], delimiter: str = ",") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter=delimiter)
        writer.writerows([columns, *rows])


def texts(photo: str) -> tuple[str, ...]:
    return demo.references(photo)[:5]


def flickr8k(root: Path) -> None:
    tokens = "\n".join(f"{p}.jpg#{n}\t{text}" for p in PHOTOS for n, text in enumerate(texts(p)))
    rows = []
    for place, photo in enumerate(PHOTOS):
        rows.append(f"{photo}.jpg\t{photo}.jpg#1\t4\t4\t4")
        for step in (1, 2, 3):
            other = PHOTOS[(place + step) % len(PHOTOS)]
            rows.append(f"{photo}.jpg\t{other}.jpg#{step}\t{1 + (place + step) % 3}\t{step}\t{1 + place % 4}")
    files = {"Flickr8k.token.txt": tokens, "ExpertAnnotations.txt": "\n".join(rows)}
    write(root / "flickr8k", {**files, "Flickr_8k.devImages.txt": "\n".join(f"{p}.jpg" for p in PHOTOS)})
    photos(root / "flickr8k" / "Images", {p: f"{p}.jpg" for p in PHOTOS})


def pascal50s(root: Path) -> None:
    pairs = [
        {
            "image": f"{photo}.jpg",
            "group": group,
            "captions": [demo.CANDIDATES[photo][first], demo.CANDIDATES[photo][second]],
            "consensus48": place % 2,
            "votes11": [place, 11 - place],
        }
        for place, photo in enumerate(PHOTOS)
        for group, first, second in (("HC", 0, 1), ("HI", 0, 3), ("HM", 1, 2), ("MM", 2, 3))
    ]
    files = {
        "pairs.jsonl": "\n".join(map(json.dumps, pairs)),
        "references.json": {f"{p}.jpg": list(demo.references(p)) for p in PHOTOS},
        "voc_objects.json": {f"{p}.jpg": {"person": 1, "chair": 2} for p in PHOTOS},
    }
    write(root / "pascal50s", files)
    photos(root / "pascal50s" / "images", {p: f"{p}.jpg" for p in PHOTOS})


def composite(root: Path) -> None:
    """Two images of each source: three captions, of which the first is a reference; thoroughness ranks them the other
    way round than correctness does."""
    parts = {"8k": PHOTOS[:2], "30k": PHOTOS[2:4], "coco": PHOTOS[4:]}
    names = {p: f"{p}.jpg" for p in PHOTOS[:4]} | {
        p: f"COCO_val2014_{900 + i:012d}.jpg" for i, p in enumerate(parts["coco"])
    }
    folder = root / "composite"
    for part, own in parts.items():
        for aspect, ratings in (("correctness", (5, 3, 1)), ("throughness", (1, 4, 5))):
            rows: list[list[object]] = [
                ["1", f"http://host/{names[p]}", texts(p)[0], demo.CANDIDATES[p][1], demo.CANDIDATES[p][3],
                 ratings[0], ratings[1] + place, ratings[2]]
                for place, p in enumerate(own)
            ]  # fmt: skip
            columns = ["HITId", "Input.image_url", *(f"Input.text{n}" for n in (1, 2, 3)),
                       *(f"Answer.Q{n}Answer" for n in (1, 2, 3))]  # fmt: skip
            table(folder / f"{part}_{aspect}.csv", columns, rows, ";")
    token = {
        part: "\n".join(f"{p}.jpg#{n}\t{t}" for p in parts[part] for n, t in enumerate(texts(p)))
        for part in ("8k", "30k")
    }
    captions = [{"image_id": 900 + i, "caption": t} for i, p in enumerate(parts["coco"]) for t in texts(p)]
    files = {"Flickr8k.token.txt": token["8k"], "results_20130124.token": token["30k"]}
    write(folder, {**files, "captions_val2014.json": {"annotations": captions}})
    stems = {p: f"{p}.jpg" for p in PHOTOS[:4]} | {p: f"{900 + i}.jpg" for i, p in enumerate(parts["coco"])}
    photos(root / "photos", stems)


def publicsys(root: Path) -> None:
    files: dict[str, object] = {"human_scores/imageIDs.txt": "900\n901\n"}
    captions = [{"image_id": 900 + i, "caption": t} for i, p in enumerate(PHOTOS[4:]) for t in texts(p)]
    files["captions_val2014.json"] = {"annotations": captions}
    for place, name in enumerate(OUTPUTS):
        files[f"human_scores/0{place}_x.txt"] = f"img\t{place % 5 + 1}\nimg\t{(place + 2) % 5 + 1}\n"
        own = {str(900 + i): {"caption": demo.CANDIDATES[p][place % 4]} for i, p in enumerate(PHOTOS[4:])}
        files[f"generated_sentences/{name}_beam5_test.json"] = {"imgToEval": own}
    write(root / "publicsys", files)


def nocaps(root: Path) -> None:
    images = [{"id": i, "file_name": f"{p}.jpg", "domain": "near"} for i, p in enumerate(PHOTOS)]
    captions = [{"id": n, "image_id": i, "caption": t} for i, p in enumerate(PHOTOS) for n, t in enumerate(texts(p))]
    write(root / "nocaps", {"nocaps_val_4500_captions.json": {"images": images, "annotations": captions}})
    photos(root / "nocaps" / "images", {p: f"{p}.jpg" for p in PHOTOS})


def coco(root: Path) -> None:
    """Six COCO photos that no model was trained on: the whole photo is a person, a corner is a cup."""
    ids = {p: 500 + i for i, p in enumerate(PHOTOS)}
    captions = [{"image_id": ids[p], "caption": t} for p in PHOTOS for t in ("a person with a cup", *texts(p)[:4])]
    captions += [{"image_id": 700, "caption": t} for t in ("a person", *texts(PHOTOS[0])[:4])]  # may be trained on once
    boxes = "\n".join(f"{i}\t0,0.2,0.2,0.3,0.3 1,0.8,0.8,0.2,0.2" for i in (*ids.values(), 700))
    files: dict[str, object] = {
        "captions_val2014.json": {"annotations": captions},
        "boxes_val2017.tsv": boxes,
        "box_classes.json": ["person", "cup"],
        "never_train_image_ids.txt": "\n".join(map(str, [*ids.values(), 700])),
        "karpathy_test_references.json": {str(i): list(texts(p)) for p, i in ids.items()},
    }
    for place, system in enumerate(("one", "two")):
        own = [{"image_id": i, "caption": demo.CANDIDATES[p][3 - place]} for p, i in ids.items()]
        files[f"karpathy_test_{system}.json"] = own
    write(root / "coco", files)
    photos(root / "coco-photos", {p: f"{i:012d}.jpg" for p, i in ids.items()})
    photos(root / "coco-photos", {PHOTOS[0]: f"{700:012d}.jpg"})


def coco_entities(root: Path) -> None:
    annotated = {}
    for place, _ in enumerate(PHOTOS):
        annotated[str(500 + place)] = {
            "a person with a small cup": {
                "det_sequences": ["person", "person", None, "cup", "cup", "cup"],
                "noun_chunks": [["a person", "person"], ["a small cup", "cup"]],
                "detections": {"person": [[0, [0.0, 0.0, 90.0, 90.0]]], "cup": [[1, [100.0, 100.0, 150.0, 150.0]]]},
                "split": "test",
            },
            "somebody holds a cup": {
                "det_sequences": ["person", None, "cup", "cup"],
                "noun_chunks": [["somebody", "person"], ["a cup", "cup"]],
                "detections": {"person": [[0, [0.0, 0.0, 90.0, 90.0]]], "cup": [[1, [100.0, 100.0, 150.0, 150.0]]]},
                "split": "test",
            },
            "not for the test": {"det_sequences": [], "noun_chunks": [], "detections": {}, "split": "train"},
        }
    write(root / "coco-entities", {"coco_entities_release.json": annotated})


JAPANESE = (
    ("犬が芝生を走っている", "茶色い犬が公園を走っている", 4),
    ("男性が自転車に乗っている", "男の人が道路で自転車に乗っている", 5),
    ("猫がソファで寝ている", "女性がキッチンで料理をしている", 1),
    ("テーブルの上に赤いコップがある", "机の上にコップが置いてある", 3),
    ("二人の子供が海で遊んでいる", "子供たちが浜辺で遊んでいる", 4),
    ("白い車が道路に止まっている", "電車が駅に到着した", 2),
)


def japanese(root: Path) -> None:
    columns = ["imgid", "mt", "refs", "score", "model", "worker", "seconds"]
    rows: list[list[object]] = [
        [str(place), one, json.dumps([other, other + "ところ"], ensure_ascii=False),
         min(5, max(1, rating + worker - 1)), f"model{place % 3}", f"w{worker}", 5 + worker]
        for place, (one, other, rating) in enumerate(JAPANESE)
        for worker in range(3)
    ]  # fmt: skip
    table(root / "shichimi" / "shichimi.csv", columns, rows)
    table(root / "pfn-pic" / "pfn_pic.csv", columns, rows)
    pairs = [
        {"sentence_pair_id": str(i), "yjcaptions_id": f"{i}-1-2", "sentence1": a, "sentence2": b, "label": float(r)}
        for i, (a, b, r) in enumerate(JAPANESE)
    ]
    golden = {
        "scores": [{"candidate": JAPANESE[0][0], "references": [JAPANESE[0][1]], "score": 0.5}],
        "tuples": [{"caption": "犬が芝生を走っている", "tuples": [["犬"], ["芝生"], ["犬", "走る", "芝生"]]}],
    }
    lines = "\n".join(json.dumps(pair, ensure_ascii=False) for pair in pairs)
    write(root / "japanese", {"jsts_valid.jsonl": lines, "jaspice_golden.json": golden})
    captions = {text for one, other, _ in JAPANESE for text in (one, other, other + "ところ")}
    english = [{"text": text, "translation": f"a dog number {len(text)} runs"} for text in sorted(captions)]
    write(root, {"english.jsonl": "\n".join(json.dumps(line, ensure_ascii=False) for line in english)})


@pytest.fixture(scope="session")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all data sets."""
    root = tmp_path_factory.mktemp("papers")
    for make in (flickr8k, pascal50s, composite, publicsys, nocaps, coco, coco_entities, japanese):
        make(root)
    return root


@pytest.fixture
def choices(everything: Path) -> Choices:
    return Choices(
        data=everything, draws=2, photos=everything / "coco-photos", translations=everything / "english.jsonl"
    )

"""A folder with everything that pages name: small files under the names of large ones."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from vericap.core.shipped import ROOT

DEMO = ROOT / "demo"
PAIRS = """caption,image,references
a cup of coffee on a table,coffee.jpg,"[""a cup of coffee""]"
a cat,chelsea.jpg,"[""a cat looks""]"
see www.shop.com for more,rocket.jpg,"[""a rocket""]"
two red buses,china.jpg,"[""a temple""]"
"""


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DEMO / name).read_text("utf-8").splitlines()]


def write_lines(file: Path, rows: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def fill(folder: Path) -> Path:
    """Write the files."""
    shutil.copytree(DEMO, folder / "try")
    shutil.copytree(DEMO / "photos", folder / "photos", ignore=shutil.ignore_patterns("*.md"))
    shutil.copytree(folder / "photos", folder / "more")
    shutil.copy(folder / "photos" / "coffee.jpg", folder / "photo.jpg")
    references = {row["id"]: row for row in lines("references.jsonl")}
    systems = {name: lines(f"{name}.jsonl") for name in ("careful", "terse", "inventive")}
    rows = [{**row, "references": references[row["id"]]["references"]} for row in systems["careful"]]
    for name in ("captions.jsonl", "mine.jsonl", "items.jsonl"):
        write_lines(folder / name, rows)
    for name, system in (("ours", "careful"), ("theirs", "terse")):
        write_lines(folder / f"{name}.jsonl", systems[system])
    numbers = {key: number for number, key in enumerate(references, 1)}
    annotations = [
        {"image_id": numbers[key], "id": place, "caption": text}
        for place, (key, text) in enumerate(
            (key, text) for key, row in references.items() for text in row["references"]
        )
    ]
    images = [{"id": numbers[key], "file_name": row["image"]} for key, row in references.items()]
    coco = json.dumps({"images": images, "annotations": annotations})
    (folder / "captions_val2014.json").write_text(coco)
    (folder / "refs.json").write_text(json.dumps({key: row["references"] for key, row in references.items()}))
    for name, system in (("captions", "careful"), ("old", "careful"), ("base", "careful"), ("new", "inventive")):
        results = [{"image_id": numbers[row["id"]], "caption": row["candidate"]} for row in systems[system]]
        (folder / f"{name}.json").write_text(json.dumps(results))
    _tables(folder)
    _shards(folder)
    ja = [{"id": "1", "candidate": "猫が座っている", "references": ["猫が右を見ている", "縞模様の猫"]}]
    write_lines(folder / "ja.jsonl", ja)
    (folder / "list.txt").write_text("photos/coffee.jpg\n")
    (folder / "gold.json").write_text(
        json.dumps({row["image"]: ["cup", "person", "cat"] for row in references.values()})
    )
    _vectors(folder / "glove.6B.300d.txt", rows)
    return folder


def _tables(folder: Path) -> None:
    (folder / "pairs.csv").write_text(PAIRS, encoding="utf-8")
    names = ["coffee.jpg", "chelsea.jpg", "rocket.jpg", "china.jpg"]
    captions = ["a cup of coffee on a table", "a cat looks to the right", "a rocket starts", "a temple in china"]
    pq.write_table(pa.table({"uid": names, "text": captions, "image": names}), folder / "pool.parquet")


def _shards(folder: Path) -> None:
    """A hundred tars of one small photo each."""
    (folder / "shards").mkdir()
    stream = io.BytesIO()
    Image.open(DEMO / "photos" / "coffee.jpg").resize((64, 64)).save(stream, "JPEG")
    for number in range(100):
        with tarfile.open(folder / "shards" / f"{number:03d}.tar", "w") as tar:
            for name, data in ((f"{number:06d}.jpg", stream.getvalue()), (f"{number:06d}.txt", b"a cup of coffee")):
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))


def _vectors(file: Path, rows: list[dict[str, Any]]) -> None:
    """GloVe's form, with numbers of chance."""
    rng = np.random.default_rng(0)
    words = sorted(
        {word.strip(".,").lower() for row in rows for word in row["candidate"].split()} | {"dog", "cat", "cup"}
    )
    file.write_text("".join(f"{word} {' '.join(f'{x:.3f}' for x in rng.normal(size=300))}\n" for word in words))

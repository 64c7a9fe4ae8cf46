"""JSTS (JGLUE) and JSICK: pairs of Japanese sentences with a human similarity."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vericap.meta.datasets.common import first_of, json_lines, need, number, table
from vericap.meta.judgements import Ratings


def read_jsts(folder: Path) -> Ratings:
    """`jsts_valid.jsonl` or JGLUE's `valid-v1.1.json`: sentence1, sentence2, label 0-5."""
    return _read_jsts(folder, "jsts", ("jsts_valid.jsonl", "valid-v1.1.json", "valid-v1.3.json"))


def read_jsts_train(folder: Path) -> Ratings:
    """`jsts_train.jsonl[.gz]`: the training part, for choices that must not see the validation part."""
    return _read_jsts(folder, "jsts-train", ("jsts_train.jsonl", "train-v1.1.json", "train-v1.3.json"))


def _read_jsts(folder: Path, name: str, files: tuple[str, ...]) -> Ratings:
    path = first_of(folder, *files)
    rows = []
    for line, record in json_lines(path):
        # The captions' image ids come first: 100371-104675-104678, or 100312_421853-... for two images.
        images = str(record.get("yjcaptions_id", record.get("sentence_pair_id", line))).split("-")[0]
        label = number(need(record, ["label"], path, line), path, line, "label")
        one, two = (str(need(record, [key], path, line)) for key in ("sentence1", "sentence2"))
        rows.append((str(record.get("sentence_pair_id", line)), images, one, two, label))
    return _pairs(name, rows, (0.0, 5.0))


def read_jsick(folder: Path) -> Ratings:
    """`jsick.tsv`: sentence_A_Ja, sentence_B_Ja, relatedness_score_Ja 1-5; the test part."""
    path = first_of(folder, "jsick.tsv", "jsick/jsick.tsv")
    rows = []
    for line, record in table(path, delimiter="\t"):
        if record.get("data", "test") != "test":
            continue
        label = number(need(record, ["relatedness_score_Ja"], path, line), path, line, "relatedness")
        one, two = (str(need(record, [key], path, line)) for key in ("sentence_A_Ja", "sentence_B_Ja"))
        identifier = record.get("pair_ID") or str(line)
        rows.append((identifier, record.get("image_ID") or identifier, one, two, label))
    return _pairs("jsick", rows, (1.0, 5.0))


def _pairs(name: str, rows: list[tuple[str, str, str, str, float]], scale: tuple[float, float]) -> Ratings:
    return Ratings(
        name=name,
        candidates=[one for _, _, one, _, _ in rows],
        references=[(two,) for _, _, _, two, _ in rows],
        ratings=np.array([label for *_, label in rows], dtype=np.float64),
        scale=scale,
        images=[images for _, images, _, _, _ in rows],
        ids=[identifier for identifier, *_ in rows],
        lang="ja",
    )

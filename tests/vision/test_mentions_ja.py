"""Objects of Japanese captions by hand, and CHAIR on them."""

from __future__ import annotations

import pytest

from vericap.core import shipped
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics.registry import resolve
from vericap.run.engine import Run

pytest.importorskip("sudachipy")

from vericap.vision.mentions_ja import japanese_class_of, japanese_name, japanese_words, mentions_ja


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        ("犬が芝生の上を走っている", [("犬", "dog")]),
        ("2人の男性が自転車に乗っている", [("2人の男性", "person"), ("自転車", "bicycle")]),
        ("男性2人がベンチに座っている", [("男性2人", "person"), ("ベンチ", "bench")]),
        ("数人の人が傘をさしている", [("数人の人", "person"), ("傘", "umbrella")]),
        ("机のピザとワイングラス", [("ピザ", "pizza"), ("ワイングラス", "wine glass")]),
        ("ノートパソコンとマウス", [("ノートパソコン", "laptop"), ("マウス", "mouse")]),
        # absent
        ("人がいない通りにバスが停まっている", [("バス", "bus")]),
        ("車のない道路", []),
        ("男性も女性もいない部屋のソファ", [("ソファ", "couch")]),
        ("犬ではなく猫がいる", [("猫", "cat")]),
        # likenesses and kinds
        ("おもちゃの車とキリン柄のソファ", [("ソファ", "couch")]),
        ("馬の像の前に女の子がいる", [("女の子", "person")]),
        ("クマのぬいぐるみがベッドの上にある", [("クマのぬいぐるみ", "teddy bear"), ("ベッド", "bed")]),
        ("子供用の椅子", [("椅子", "chair")]),
        # longer words, counters, colours
        ("犬小屋の隣の車椅子", []),
        ("二階建てバスとバス停", [("二階建てバス", "bus")]),
        ("3本のボトルと本", [("ボトル", "bottle"), ("本", "book")]),
        ("オレンジ色の猫とオレンジ", [("猫", "cat"), ("オレンジ", "orange")]),
        ("オレンジのシャツの男性", [("男性", "person")]),
        ("", []),
    ],
)  # fmt: skip
def test_mentions(caption: str, expected: list[tuple[str, str]]) -> None:
    assert [(mention.text, mention.classes[0]) for mention in mentions_ja(caption)] == expected
    for mention in mentions_ja(caption):
        assert caption[mention.start : mention.end] == mention.text


def test_every_class_has_a_name_that_is_read_back() -> None:
    names = japanese_words().names
    assert set(names) == set(shipped.meta("detector")["labels"])
    assert len(set(names.values())) == 80
    for label, name in names.items():
        assert japanese_name(label) == name
        assert japanese_class_of(name) == japanese_class_of(label) == (label,)
        assert [mention.classes for mention in mentions_ja(f"{name}がある")] == [(label,)]


def test_references_are_read_generously() -> None:
    assert mentions_ja("机の上の雑誌") == ()
    assert [mention.classes[0] for mention in mentions_ja("机の上の雑誌", evidence=True)] == ["dining table", "book"]


def test_chair_of_japanese_captions() -> None:
    samples = [
        Sample("1", "犬が猫を追いかけている", ("犬と男性",), objects={"dog": 1, "sofa": 1}),
        Sample("2", "テーブルの上のカップ", ("コーヒー",), objects={"diningtable": 1, "コップ": 2}),
        Sample("3", "???", objects={"dog": 1}),
    ]
    run = Run(resolve("chair,chair-s"), Settings(lang="ja"))
    result = run.score(samples)
    statistics = result.statistics["chair"]
    assert statistics.columns["hallucinated"].tolist() == ["猫", "", ""]
    assert statistics.columns["missed"].tolist() == ["couch, person", "", ""]
    assert float(result.corpus["chair"]) == 1 / 4
    assert float(result.corpus["chair-s"]) == 1 / 2
    assert [problem.record for problem in result.problems] == ["3"]
    assert "|words:ja-2|" in result.corpus["chair"].signature
    first, *_ = run.explain(samples)["chair"]
    assert first is not None
    assert {word.text: word.support for word in first.words if word.support is not None} == {"犬": 1.0, "猫": 0.0}
    assert [item.text for item in first.missing] == ["ソファ", "人"]

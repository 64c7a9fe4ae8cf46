"""What a sentence means, from raw text: numbers, chains, clauses, voice, places, sources, negation, two of a kind."""

from __future__ import annotations

import pytest

pytest.importorskip("ja_ginza", reason="ja_ginza is not installed (pip install 'vericap[ja]')")

from vericap.core.errors import InputError
from vericap.graphs import japanese
from vericap.graphs.ja import conjugation
from vericap.graphs.ja.match import MatchRules, score_tuples
from vericap.graphs.ja.options import DEFAULT, PAPER, GraphOptions

RULES = MatchRules(spelling=True)


def read(text: str) -> set[tuple[str, ...]]:
    return {tuple(item.split("/")) for item in text.split()}


def score(candidate: str, reference: str, options: GraphOptions = DEFAULT) -> float:
    one, other = (graph.tuples() for graph in japanese.parse_many([candidate, reference], options=options))
    return score_tuples(one, [other], rules=RULES).f1


# sentence -> tuples it has, tuples it must not have
SENTENCES = {
    "数人の男性と2匹の犬が歩く": ("男性/数人 犬/2匹 男性/歩く 犬/歩く", "犬/男性 男性/2匹"),
    "女性と三人の男性が座っている": ("女性/座る 男性/座る 男性/三人", "男性/女性 女性/三人"),
    "犬と2匹の猫": ("犬 猫 猫/2匹", "猫/犬 犬/2匹"),
    "男女4人が踊っている": ("男女/4人 男女/踊る", "男女4人"),
    "自転車3台が並んでいる": ("自転車/3台 自転車/並ぶ", "自転車3台"),
    "選手十人が整列している": ("選手/十人 選手/整列する", "選手十人"),
    "皿2枚とコップが置かれている": ("皿/2枚 皿/置く コップ/置く", "コップ/2枚"),
    "黒くて小さい猫がいる": ("猫/黒い 猫/小さい", ""),
    "赤くて丸い果物を食べる": ("果物/赤い 果物/丸い", ""),
    "大きく、白い船が浮かんでいる": ("船/白い 船/浮かぶ", ""),
    "明るくて広い部屋に机がある": ("部屋/明るい 部屋/広い 机/ある/部屋", ""),
    "すごく大きい犬がいる": ("犬/大きい", "犬/すごい"),
    "子供が割れた皿を見ている": ("皿/割れる 子供/見る/皿", "子供/割れる/皿"),
    "男性が枯れた木を切っている": ("木/枯れる 男性/切る/木", "男性/枯れる/木"),
    "女性が濡れた犬を拭いている": ("女性/拭く/犬 犬/濡れる", "女性/濡れる"),
    "人が座っているベンチが壊れた": ("人/座る/ベンチ", ""),
    "男性が乗った車が停まっている": ("男性/乗る/車 車/停まる", ""),
    "杖をついて道を歩く男性": ("男性/つく/杖 男性/歩く/道", "男性/歩く/杖"),
    "頬杖をついた少女": ("少女/つく/頬杖", ""),
    "消しゴムで字を消す": ("消しゴム", "ゴム"),
    "白い消しゴムがある": ("消しゴム/白い", "ゴム/白い ゴム"),
    "箱を動かせ": ("[PHI]/動かす/箱", "[PHI]/動く/箱"),
    "二階建てバスの写真": ("二階建てバス", "写真 バス"),
    "赤いバスの写真です": ("バス/赤い", "写真 バス/の/写真"),
    "壁に写真が飾ってある": ("写真/飾る/壁", ""),
    "犬が車に追われている": ("", "車/追う"),
    "猫が犬に追いかけられている": ("犬/追いかける/猫", "猫/追いかける/犬"),
    "男性に押された車": ("男性/押す/車", "車/押す/男性"),
    "霧に包まれた山": ("霧/包む/山", "山/包む/霧"),
    "馬に乗せられた子供": ("", "馬/乗せる/子供"),
    "料理が皿に盛られている": ("料理/盛る/皿", ""),
    "羊が毛を刈られている": ("", "羊/刈る/毛"),
    "父親が子供に自転車の練習をさせている": ("", "父親/練習する/自転車"),
    "女性が犬にボールを追わせている": ("女性/追わせる/犬 犬/追う/ボール", "女性/追う/ボール"),
    "少年が紙飛行機を飛ばしている": ("少年/飛ばす/紙飛行機", ""),
    "子供が母親に髪を結んでもらっている": ("母親/結ぶ/髪", "子供/結ぶ/髪"),
    "車の上に猫がいる": ("猫/いる/車 車/上/猫", "上"),
    "ベンチの横に自転車がある": ("ベンチ/横/自転車 自転車/ある/ベンチ", "横 ベンチ/の/横"),
    "ベンチの横の自転車": ("ベンチ/横/自転車", "横"),
    "男性が棚の上に本を置いている": ("男性/置く/本 棚/上/本", "棚/上/男性"),
    "木の下で犬が寝ている": ("犬/寝る/木 木/下/犬", ""),
    "上を見る男性": ("男性/見る/上", ""),
    "男性が屋根から降りている": ("男性/カラ降りる/屋根", "男性/降りる/屋根"),
    "駅から学校まで歩く生徒": ("生徒/カラ歩く/駅 生徒/歩く/学校", "生徒/歩く/駅"),
    "白い車の隣に赤い車がある": ("車（赤い）/ある/車（白い） 車（白い）/隣/車（赤い）", "車/ある/車"),
    "人の中で立っている人": ("人/立つ", "人/立つ/人"),
    "木に葉がない": ("葉/ない/木", "葉/ある/木"),
    "人が乗っていない馬": ("人/乗らない/馬", "人/乗る/馬"),
    "男性は眼鏡をかけていません": ("男性/かけない/眼鏡", "男性/かける/眼鏡"),
    "犬ではなく猫がいる": ("猫/いる", "犬/いる 猫/犬"),
    "雨が降るかもしれない": ("雨/降る", "雨/降らない"),
    "友達が笑っている": ("友達/笑う", "友"),
    "子供たちが走る": ("子供/走る", "子供たち"),
    "黄色になった葉": ("葉/黄色", "黄色"),
    "三人で食べている子供": ("子供/三人", "三人"),
    "立ったまま食べる男性": ("男性/立つ 男性/食べる", "まま"),
    "橋の下を船が通っている": ("船/通る/橋", "船/通う/橋"),
}


@pytest.mark.parametrize("text", SENTENCES)
def test_sentence(text: str) -> None:
    wanted, unwanted = map(read, SENTENCES[text])
    found = set(japanese.parse(text).tuples())
    assert wanted <= found, found
    assert not unwanted & found, found


DIFFERENT = [
    ("男性が犬に噛まれている", "男性が犬を噛んでいる"),
    ("犬が洗われている", "犬が洗っている"),
    ("母親が子供に野菜を食べさせている", "母親が野菜を食べている"),
    ("右下の箱から左上の箱に缶を移して", "左上の箱から右下の箱に缶を移して"),
    ("右上の箱の中のペンを左下の箱に入れて", "左下の箱の中のペンを右上の箱に入れて"),
    ("箱から缶を取り出して", "箱に缶を入れて"),
    ("花が入っていない花瓶", "花が入っている花瓶"),
    ("白い皿の上に赤い皿がある", "赤い皿の上に白い皿がある"),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_sentences_of_other_meaning_do_not_equal(one: str, other: str) -> None:
    assert score(one, one) == 1.0
    assert score(one, other) < 0.9


ALIKE = [
    ("テーブルの上の皿", "テーブルの上に皿がある"),
    ("犬が男性を噛んでいる", "男性が犬に噛まれている"),
    ("雪が山を覆っている", "雪に覆われた山"),
    ("箱を移動してください", "箱を移動させてください"),
]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_sentences_of_one_meaning_are_near(one: str, other: str) -> None:
    assert score(one, other) > 0.7
    assert score(one, other) >= score(one, other, PAPER)


def test_a_place_keeps_its_owner() -> None:
    """The paper's rules give .75: 上, 皿 and (皿, ある, 上) match whatever they are on."""
    assert score("テーブルの上に皿がある", "車の上に皿がある", PAPER) == pytest.approx(0.75)
    assert score("テーブルの上に皿がある", "車の上に皿がある") == pytest.approx(0.25)


def test_an_unmarked_box_may_be_a_marked_one() -> None:
    marked, other = ("[PHI]", "入れる", "箱（右上）"), ("[PHI]", "入れる", "箱（左下）")
    assert score_tuples([("[PHI]", "入れる", "箱")], [[marked]], rules=RULES).f1 == 1.0
    assert score_tuples([other], [[marked]], rules=RULES).f1 == 0.0


def test_negation_is_a_switch() -> None:
    ignored = GraphOptions(negation=False)
    assert score("花が入っていない花瓶", "花が入っている花瓶", ignored) == 1.0
    assert ("花", "入る", "花瓶") in japanese.parse("花が入っていない花瓶", options=ignored).tuples()


def test_dependencies_alone_fill_no_gaps() -> None:
    found = japanese.parse("傘を差した女性が歩く", options=GraphOptions(structure="dependencies")).tuples()
    assert ("女性", "歩く") in found
    assert ("女性", "差す", "傘") not in found
    assert ("女性", "差す", "傘") in japanese.parse("傘を差した女性が歩く").tuples()


def test_zero_pronouns_are_a_switch() -> None:
    text = "男性が、手に持ったパンを食べている"
    filled, left = (set(japanese.parse(text, options=GraphOptions(zero=zero)).tuples()) for zero in (True, False))
    assert filled - left == {("男性", "持つ", "パン"), ("男性", "持つ", "手")}
    assert left - filled == {("[PHI]", "持つ", "パン"), ("[PHI]", "持つ", "手")}


def test_options_read_what_they_write() -> None:
    for options in (GraphOptions(), PAPER, GraphOptions("dependencies", "paper", False, False)):
        assert GraphOptions.read(str(options)) == options
    with pytest.raises(InputError, match="no switch 'colour'"):
        GraphOptions.read("colour=red")
    with pytest.raises(InputError, match="choose one of pas, dependencies"):
        GraphOptions(structure="none")


@pytest.mark.parametrize(
    ("verb", "kind", "forms"),
    [
        ("噛む", "五段-マ行", "噛まない 噛まれる 噛ませる"),
        ("洗う", "五段-ワア行", "洗わない 洗われる 洗わせる"),
        ("食べる", "下一段-バ行", "食べない 食べられる 食べさせる"),
        ("見る", "上一段-マ行", "見ない 見られる 見させる"),
        ("移動する", "サ行変格", "移動しない 移動される 移動させる"),
    ],
)
def test_forms(verb: str, kind: str, forms: str) -> None:
    made = (conjugation.negative(verb, kind), conjugation.passive(verb, kind), conjugation.causative(verb, kind))
    assert " ".join(made) == forms


def test_negative_of_adjectives_and_nouns() -> None:
    assert conjugation.negative("白い", "形容詞") == "白くない"
    assert conjugation.negative("医者", "") == "医者でない"
    assert conjugation.negative("ある", "五段-ラ行") == "ない"

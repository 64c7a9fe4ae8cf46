"""Predicate-argument structure -> tuples, on structures written by hand."""

from __future__ import annotations

from vericap.graphs.ja import rules
from vericap.graphs.ja.network import Network
from vericap.graphs.ja.options import PAPER
from vericap.graphs.ja.pas import Argument, Bunsetsu, Modifier, ParsedSentence, Predicate
from vericap.graphs.ja.zero_pronoun import complete


def noun(text: str, head: int = -1, particle: str = "", *categories: str, joined: bool = False) -> Bunsetsu:
    return Bunsetsu(text, "NP", head=head, particle=particle, categories=frozenset(categories), coordinate=joined)


def verb(text: str, head: int = -1) -> Bunsetsu:
    return Bunsetsu(text, "VP", head=head)


def made(bunsetsu: list[Bunsetsu], *predicates: Predicate, modifiers: list[Modifier] | None = None) -> set:
    """Tuples by the rules as published."""
    return set(rules.tuples([ParsedSentence(bunsetsu, list(predicates), modifiers or [])], options=PAPER))


def deed(text: str, place: int, *arguments: tuple[str, str, int], imperative: bool = False) -> Predicate:
    return Predicate(text, place, [Argument(*argument) for argument in arguments], imperative)


def test_every_case_makes_its_edge() -> None:
    for case in ("ヲ", "ニ", "カラ", "ト", "ヘ", "マデ", "デ", "外の関係"):
        found = made([noun("人", 2), noun("物", 2), verb("する")], deed("する", 2, ("ガ", "人", 0), (case, "物", 1)))
        assert found == {("人",), ("物",), ("人", "する", "物")}, case


def test_yori_joins_the_predicate() -> None:
    found = made([noun("犬", 1), verb("大きい"), noun("猫")], deed("大きい", 1, ("ガ", "猫", 2), ("ヨリ", "犬", 0)))
    assert ("猫", "ヨリ大きい", "犬") in found


def test_time_is_said_of_the_subject() -> None:
    found = made([noun("夜", 2), noun("犬", 2), verb("走る")], deed("走る", 2, ("ガ", "犬", 1), ("時間", "夜", 0)))
    assert found == {("犬",), ("犬", "走る"), ("犬", "夜")}


def test_a_deed_without_object_is_an_attribute_and_both_subjects_have_it() -> None:
    found = made([noun("象", 2), noun("鼻", 2), verb("長い")], deed("長い", 2, ("ガ２", "象", 0), ("ガ", "鼻", 1)))
    assert found == {("象",), ("鼻",), ("象", "長い"), ("鼻", "長い")}


def test_a_no_b() -> None:
    assert made([noun("男性", 1, "の"), noun("車")]) == {("男性",), ("車",), ("男性", "の", "車")}
    assert made([noun("水色", 1, "の", "色"), noun("傘")]) == {("傘",), ("傘", "水色")}
    for category in ("形・模様", "数量", "時間", "動物-部位", "植物-部位", "場所-施設部位"):
        assert made([noun("A", 1, "の", category), noun("B")]) == {("B",), ("B", "A")}
    assert made([noun("人", 1, "の", "人"), noun("B")]) == {("人",), ("B",), ("人", "の", "B")}


def test_place_words() -> None:
    assert made([noun("皿", 1, "の"), noun("上", 2, "の"), noun("林檎")]) == {("皿",), ("林檎",), ("皿", "上", "林檎")}
    assert made([noun("右上", 1, "の"), noun("箱")]) == {("箱",), ("[PHI]", "右上", "箱")}
    assert made([noun("机", 1, "の"), noun("下")]) == {("机",), ("机", "下")}
    found = made(
        [noun("箱", 1, "の"), noun("中", 2, "に"), verb("ある", 3), noun("カップ")],
        deed("ある", 2, ("ニ", "中", 1), ("ガ", "カップ", 3)),
    )
    assert found == {("箱",), ("中",), ("カップ",), ("カップ", "ある", "中")}


def test_joined_nouns_share_what_comes_before_no() -> None:
    found = made([noun("犬", 1, "と", joined=True), noun("猫", 2, "の"), noun("絵")])
    assert {("犬", "の", "絵"), ("猫", "の", "絵")} <= found


def test_same_verb_twice_keeps_its_own_arguments() -> None:
    found = made(
        [noun("男", 2), noun("棒", 2), verb("持つ", 5), noun("女", 5), noun("球", 5), verb("持つ")],
        deed("持つ", 2, ("ガ", "男", 0), ("ヲ", "棒", 1)),
        deed("持つ", 5, ("ガ", "女", 3), ("ヲ", "球", 4)),
    )
    assert ("男", "持つ", "棒") in found
    assert ("男", "持つ", "球") not in found


def test_zero_pronoun_takes_the_subject_of_a_relation_to_the_same_object() -> None:
    found = made(
        [noun("人", 2), noun("傘", 2), verb("さす", 3), verb("回す")],
        deed("さす", 2, ("ガ", "人", 0), ("ヲ", "傘", 1)),
        deed("回す", 3, ("ヲ", "傘", 1)),
    )
    assert ("人", "回す", "傘") in found


def test_zero_pronoun_stays_where_nobody_is_named_and_in_instructions() -> None:
    assert made([noun("傘", 1), verb("さす")], deed("さす", 1, ("ヲ", "傘", 0))) == {("傘",), ("[PHI]", "さす", "傘")}
    found = made(
        [noun("球", 2), noun("箱", 2), verb("入る", 3), verb("動かす")],
        deed("入る", 2, ("ガ", "球", 0), ("ニ", "箱", 1)),
        deed("動かす", 3, ("ヲ", "箱", 1), imperative=True),
    )
    assert ("[PHI]", "動かす", "箱") in found


def test_place_words_and_no_lend_no_subject() -> None:
    network = Network()
    network.relation("建物", "前", "道")
    network.relation("町", "の", "道")
    alone = network.other("歩く")
    network.edge(alone, network.object("道"))
    complete(network)
    assert ("[PHI]", "歩く", "道") in network.tuples()


def test_several_sentences_make_one_set() -> None:
    one = ParsedSentence([noun("犬")], [])
    assert rules.tuples([one, one, ParsedSentence([noun("猫")], [])]) == [("犬",), ("猫",)]

"""Reading KNP's output (text in KNP's format, written for these tests)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vericap.core.errors import InputError
from vericap.graphs import japanese
from vericap.graphs.ja import knp

OUTPUT = (Path(__file__).parent / "captions.knp").read_text("utf-8")


def test_structure_of_the_first_sentence() -> None:
    sentence = knp.read(OUTPUT)[0]
    assert [phrase.text for phrase in sentence.bunsetsu][:4] == ["人通り", "少ない", "道路", "青い"]
    assert [phrase.kind for phrase in sentence.bunsetsu][:4] == ["NP", "AD", "NP", "AD"]
    ride = sentence.predicates[-1]
    assert [(argument.case, argument.text) for argument in ride.arguments] == [
        ("ガ", "男の子"),
        ("ニ", "ボード"),
        ("デ", "道路"),
    ]
    assert sentence.predicates[-2].get("ガ")[0].text == "男の子"  # 被る shares the subject of 乗る


def test_all_tuples_the_authors_assert(data_dir: Path) -> None:
    expected = json.loads((data_dir / "japanese" / "jaspice_golden.json").read_text("utf-8"))["tuples"][0]
    assert set(japanese.parse_knp(OUTPUT)[0].tuples()) == {tuple(item) for item in expected["tuples"]}


def test_instruction_and_coordination() -> None:
    _, instruction, joined = japanese.parse_knp(OUTPUT)
    assert set(instruction.tuples()) == {
        ("カップ",),
        ("箱",),
        ("カップ", "水色"),
        ("[PHI]", "動かす", "カップ"),
        ("[PHI]", "動かす", "箱"),
        ("[PHI]", "右上", "箱"),
    }
    assert set(joined.tuples()) == {("犬",), ("猫",), ("犬", "走る"), ("猫", "走る")}


def test_through_rhoknp() -> None:
    rhoknp = pytest.importorskip("rhoknp", reason="rhoknp is not installed (pip install 'vericap[ja]')")
    document = rhoknp.Document.from_knp(OUTPUT)
    assert [graph.tuples() for graph in japanese.parse_knp(document)] == [
        graph.tuples() for graph in japanese.parse_knp(OUTPUT)
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("* 1D <体言>\n", "ends within a sentence"),
        ("犬 いぬ 犬 名詞 6 普通名詞 1 * 0 * 0 NIL\nEOS\n", "outside any phrase"),
        ("* x\nEOS\n", "is not"),
        ("* -1D <体言>\n+ -1D <体言>\n犬 いぬ\nEOS\n", "fields"),
    ],
)
def test_damaged_output_is_named_by_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        knp.read(text)


def test_empty_output_has_no_sentences() -> None:
    assert knp.read("") == []

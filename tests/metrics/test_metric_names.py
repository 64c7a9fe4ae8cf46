"""Metrics are found under the names people type, and their columns have one name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vericap
from vericap.core.errors import UnknownName, VericapError
from vericap.metrics.cards import card, set_card, tells
from vericap.metrics.registry import ALIASES, METRICS, SETS, _plain, canonical, make, resolve

CANDIDATES = ["a dog runs on grass", "two cats sleep on a bed"]
REFERENCES = [["a dog is running on the grass", "the dog runs"], ["two cats are asleep on the bed", "cats on a bed"]]


def labels(wanted: str) -> list[str]:
    return [metric.label for metric in resolve(wanted)]


def test_the_coco_tools_spellings() -> None:
    # The names that pycocoevalcap's COCOEvalCap.eval has, and the class names of its scorers.
    assert labels("Bleu_1,Bleu_2,Bleu_3,Bleu_4,METEOR,ROUGE_L,CIDEr,SPICE") == [
        "bleu-1", "bleu-2", "bleu-3", "bleu-4", "meteor", "rouge-l", "cider-d", "spice"
    ]  # fmt: skip
    assert labels("Bleu,Rouge,Cider,Meteor,Spice") == [*SETS["bleu"], "rouge-l", "cider-d", "meteor", "spice"]


@pytest.mark.parametrize("text", ["BLEU", "Bleu", "bleu", " bleu "])
def test_bleu_is_all_four(text: str) -> None:
    assert labels(text) == ["bleu-1", "bleu-2", "bleu-3", "bleu-4"]


def test_cider_exactly_so_stays_the_papers() -> None:
    assert labels("cider") == ["cider"]
    assert {name for text in ("CIDEr", "CIDER", "Cider", "CIDEr-D", "cider_d", "ciderd") for name in labels(text)} == {
        "cider-d"
    }


@given(st.sampled_from([*METRICS, *SETS]), st.sampled_from("_- "), st.booleans())
def test_case_and_separators_do_not_matter(name: str, between: str, upper: bool) -> None:
    typed = name.replace("-", between).upper() if upper else name.replace("-", between)
    if typed != "CIDER":  # the one name whose spelling has a meaning
        assert canonical(typed) == name


def test_names_stay_apart_without_what_does_not_matter() -> None:
    plain = [_plain(name) for name in [*METRICS, *SETS]]
    assert len(set(plain)) == len(plain)
    assert set(ALIASES) & set(plain) == {"cider"}
    assert set(ALIASES.values()) <= set(METRICS)


def test_options_and_means_keep_their_form() -> None:
    assert canonical("Rouge_L:beta=1") == "rouge-l:beta=1"
    assert make("ROUGE_L:beta=1").label == "rouge-l:beta=1"
    assert make("Mean(CIDEr, SPICE)").label == "mean(cider-d,spice)"
    assert canonical("py:Mine.py:My_Function") == "py:Mine.py:My_Function"
    assert canonical("No Such_Name") == "No Such_Name"


def test_columns_have_one_name_however_a_metric_was_asked_for() -> None:
    one = vericap.score(CANDIDATES, REFERENCES, ["ROUGE_L", "rouge-l", "Rouge L"])
    assert list(one.corpus) == ["rouge-l"]
    assert "rouge-l" in one.table


@pytest.mark.parametrize(
    ("typed", "suggested"),
    [
        ("cidr", "did you mean cider"),
        ("METOER", "did you mean meteor"),
        ("Blue_4", "did you mean bleu-4"),
        ("bleu-4 METEOR", "separated by commas: bleu-4,meteor"),
        ("reos", "did you mean reo"),
        ("mean(BLEU,spice)", "a set of metrics"),
    ],
)
def test_a_typo_suggests(typed: str, suggested: str) -> None:
    with pytest.raises(UnknownName, match=suggested):
        resolve(typed)


@pytest.mark.parametrize("name", [*SETS, "REO", "Bleu"])
def test_sets_have_cards(name: str) -> None:
    text = card(name)
    members = SETS[canonical(name)]
    assert text.startswith(f"# {canonical(name)}: a set of {len(members)} metrics\n\n")
    assert len(text.splitlines()[2]) > 30  # what it is for
    for member in members:
        assert f"| `{member}` | {tells(member)} |" in text


def test_the_card_of_a_family_follows_the_set() -> None:
    assert "Jiang" in set_card("reo")
    assert card("ROUGE_L") == card("rouge-l")


def test_spider_is_half_of_cider_d_and_spice_together() -> None:
    found = vericap.score(CANDIDATES, REFERENCES, "SPIDEr,CIDEr,SPICE")
    np.testing.assert_allclose(found["spider"], (found["cider-d"] + found["spice"]) / 2, rtol=1e-15)
    halves = [found.corpus[name].value / 2 for name in ("cider-d", "spice")]
    assert found.corpus["spider"].value == pytest.approx(sum(halves))
    assert list(found.table["spider.spice"]) == list(found["spice"])


def test_options_of_spider_reach_its_parts_and_read_back() -> None:
    metric = make("spider:df=coco-val:actions=false")
    assert str(metric) == "spider:df=coco-val:actions=False"
    assert str(make(str(metric))) == str(metric)
    alone = vericap.score(CANDIDATES, REFERENCES, "cider-d:df=coco-val,spice:actions=false")
    found = vericap.score(CANDIDATES, REFERENCES, [metric])
    wanted = (alone["cider-d:df=coco-val"] + alone["spice:actions=false"]) / 2
    np.testing.assert_allclose(found[metric.label], wanted, rtol=1e-15)
    assert "df:coco-val" in found.corpus[metric.label].signature
    with pytest.raises(VericapError, match="no option 'beta'"):
        make("spider:beta=1")

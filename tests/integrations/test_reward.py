"""The reward: numbers in [0, 1], captions taken out of completions, one scorer that stays warm."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vericap
from vericap.core.errors import InputError, VericapError
from vericap.core.metric import Metric
from vericap.core.statistics import Statistics
from vericap.integrations import plain_caption, reward
from vericap.integrations.reward import unit

CAPTIONS = ["a dog runs on grass", "two cats sleep on a bed", "a red bus on a street"]
REFERENCES = [
    ["a dog is running on the grass", "the dog runs"],
    ["two cats are asleep on the bed", "cats on a bed"],
    ["a bus drives down the street", "a red bus"],
]


@pytest.mark.parametrize(
    ("completion", "caption"),
    [
        ("a dog", "a dog"),
        ("<think>A cat? No.</think>\n\na dog", "a dog"),
        ("It is a dog, I think.\n</think>\na dog", "a dog"),
        ("<think>It could be", ""),
        ("<thinking>x</thinking><answer> a dog </answer>", "a dog"),
        ("<answer>a dog", "a dog"),
        ("<|im_start|>assistant\na dog<|im_end|>\n<|im_start|>user\nand now?", "a dog"),
        ("<start_of_turn>model\na dog<end_of_turn>", "a dog"),
        ("<s>[INST] [/INST] a dog</s>", "a dog"),
        ("<|start_header_id|>assistant<|end_header_id|>\n\na dog<|eot_id|>", "a dog"),
        ("assistant: a dog", "a dog"),
        ("```\na dog\n```", "a dog"),
        ("```a dog```", "a dog"),
        ("```text\na dog on\ngrass```", "a dog on grass"),
        ("Here you are:\n```\na dog\n```", "a dog"),
        ([{"role": "assistant", "content": "a dog"}], "a dog"),
        ([{"role": "assistant", "content": [{"type": "text", "text": "a dog"}]}], "a dog"),
        ([{"role": "assistant", "content": "hm"}, {"role": "tool", "content": "x"}], "hm"),
        ([{"role": "assistant", "content": None}], ""),
        ([], ""),
        ("", ""),
    ],
)
def test_captions_are_taken_out_of_completions(completion, caption: str) -> None:
    assert plain_caption(completion) == caption


@given(st.text(st.characters(categories=["Ll", "Zs"])))
def test_plain_text_stays(text: str) -> None:
    assert plain_caption(text) == " ".join(text.split())


def test_a_completion_of_another_kind_is_refused() -> None:
    with pytest.raises(InputError, match="is a int"):
        reward("rouge-l")([5], references=[["a dog"]])


def test_rewards_are_the_scores_brought_to_the_unit() -> None:
    judge = reward("cider-d,rouge-l", weights={"cider-d": 3, "rouge-l": 1})
    scores = vericap.score(CAPTIONS, REFERENCES, "cider-d,rouge-l", df="coco-val")
    wanted = (3 * scores["cider-d"] / 10 + scores["rouge-l"]) / 4
    found = judge(CAPTIONS, references=REFERENCES, prompts=["x"] * 3, trainer_state=object())
    assert found == pytest.approx(wanted.tolist())
    assert all(isinstance(value, float) and 0 <= value <= 1 for value in found)
    assert judge.unjudged == 0
    assert judge.__name__ == "cider-d+rouge-l"


def test_a_reward_does_not_depend_on_the_batch() -> None:
    judge = reward("cider-d")
    together = judge(CAPTIONS, references=REFERENCES)
    alone = [judge([caption], references=[references])[0] for caption, references in zip(CAPTIONS, REFERENCES)]
    assert together == pytest.approx(alone)
    with pytest.raises(VericapError, match="must not depend"):
        reward("cider-d", df="corpus")
    with pytest.raises(VericapError, match="must not depend"):
        reward("cider-d", lang="ja")


def test_what_cannot_be_judged_gets_nothing_and_is_counted() -> None:
    judge = reward("rouge-l")
    found = judge(["<think>no end", "???", "a dog", CAPTIONS[0]], references=[["a"], ["a"], None, REFERENCES[0]])
    assert found[:3] == [0.0, 0.0, 0.0]
    assert found[3] > 0.5
    assert judge.unjudged == 3
    judge([""], references=[["a dog"]])
    assert judge.unjudged == 4


class Errors(Metric):
    """Number of words, of which fewer are better."""

    name, direction, needs, range = "errors", "lower", (), (0.0, float("inf"))

    def statistics(self, batch, state=None):
        return Statistics(np.array([len(batch.texts[i].split()) for i in batch.candidates], dtype=float))


def test_lower_is_better_is_turned_round() -> None:
    found = reward([Errors()])(["one", "one two three"])
    assert found == pytest.approx([1 - 1 / 2, 1 - 3 / 4])
    assert reward("rouge-l", weights=[1])([], references=[]) == []


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
@pytest.mark.parametrize("ends", [(0.0, 10.0), (-1.0, 1.0), (0.0, np.inf), (-np.inf, 2.0), (-np.inf, np.inf)])
@pytest.mark.parametrize("direction", ["higher", "lower"])
def test_the_unit_keeps_the_order(ends, direction: str, one: float, two: float) -> None:
    metric = Errors()
    metric.range, metric.direction = ends, direction
    low, high = unit(metric, np.array(sorted([one, two])))
    assert 0 <= low <= 1
    assert 0 <= high <= 1
    assert low <= high if direction == "higher" else low >= high


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [0.0, 0.0], [np.nan, 1.0], {"spice": 1.0}])
def test_weights_that_cannot_be_meant_are_refused(weights) -> None:
    with pytest.raises(VericapError, match=r"rouge-l, bleu-1"):
        reward("rouge-l,bleu-1", weights=weights)


def test_columns_may_have_other_names_and_lengths_are_checked() -> None:
    judge = reward("rouge-l", columns={"references": "captions"})
    assert judge(CAPTIONS, captions=REFERENCES, image=[object()] * 3)[0] > 0.5  # text metrics do not look at images
    with pytest.raises(InputError, match="3 completions but 2 entries in column 'captions'"):
        judge(CAPTIONS, captions=REFERENCES[:2])
    with pytest.raises(VericapError, match="needs references"):
        judge(CAPTIONS)


def test_an_image_is_named_not_handed_over(tmp_path) -> None:
    judge = reward("vse", images=tmp_path)
    with pytest.raises(InputError, match="not a file's name"):
        judge(CAPTIONS, image=[object()] * 3)


def test_sixteen_captions_are_quick_once_warm() -> None:
    judge = reward("cider-d")
    completions, references = (CAPTIONS * 6)[:16], (REFERENCES * 6)[:16]
    judge(completions, references=references)
    times = []
    for _ in range(30):
        start = time.process_time()
        judge(completions, references=references)
        times.append(time.process_time() - start)
    assert min(times) < 0.003

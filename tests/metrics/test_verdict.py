"""The verdict's family: true captions above false ones, each part moved by its own fault, reasons for every word."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from vericap.core.errors import VericapError
from vericap.core.explanation import Explanation
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.shipped import ROOT
from vericap.metrics.registry import SETS, make
from vericap.metrics.toolbox import words_of
from vericap.metrics.verdict.reasons import MOST
from vericap.run.engine import Run
from vericap.run.results import Result

FAMILY = ("fidelity", "adequacy", "fluency", "verdict")
PHOTOS = ROOT / "demo" / "photos"
COFFEE, CAT = "coffee.jpg", "chelsea.jpg"


def judged(*captions: str, image: str = COFFEE, references: tuple[str, ...] = (), folder: Path = PHOTOS) -> Result:
    samples = [Sample(str(n), caption, references, image) for n, caption in enumerate(captions)]
    return Run([make(name) for name in FAMILY], Settings(images=folder, cache="off")).score(samples, explain=True)


def reasons(result: Result, row: int = 0, metric: str = "verdict") -> Explanation:
    found = result.explanations[metric][row]
    assert found is not None
    return found


def test_true_captions_are_above_false_ones() -> None:
    found = judged("A cup of coffee and a spoon on a wooden table.", "A dog runs on a beach with a frisbee.")
    for name in ("fidelity", "adequacy", "verdict"):
        assert found[name][0] > found[name][1] + 0.2, name


def test_one_false_object_lowers_fidelity_and_adds_nothing_to_adequacy() -> None:
    found = judged("A cup of coffee on a wooden table.", "A cup of coffee on a wooden table next to a giraffe.")
    assert found["fidelity"][1] < found["fidelity"][0] - 0.2
    assert found["adequacy"][1] == pytest.approx(found["adequacy"][0], abs=0.05)
    assert found["fluency"][1] == pytest.approx(found["fluency"][0], abs=0.1)


def test_one_false_object_shows_however_long_the_rest_is() -> None:
    true = "There is a cup of coffee on a wooden table. A spoon lies on the saucer. The cup stands on a saucer. "
    found = judged(true * 2, true * 2 + "A giraffe stands next to an airplane.")
    assert found["fidelity"][1] < found["fidelity"][0] - 0.1
    support = [one.support for one in reasons(found, 1).sentences]
    assert int(np.argmin(support)) == len(support) - 1


def test_a_detailed_caption_says_more_than_a_bland_one_and_both_are_true() -> None:
    found = judged("A cup.", "A cup of coffee and a spoon on a saucer on a wooden table.")
    assert found["adequacy"][1] > found["adequacy"][0] + 0.1
    assert found["fidelity"][0] > 0.5


def test_scrambled_words_lower_fluency_and_the_verdict_with_it() -> None:
    found = judged("A cup of coffee on a wooden table.", "table coffee on a wooden of A cup a")
    assert found["fluency"][1] < found["fluency"][0] - 0.3
    assert found["verdict"][1] < found["verdict"][0]


def test_what_is_said_does_not_depend_on_the_order_of_words_that_have_none() -> None:
    found = judged("A cup of coffee and a spoon on a wooden table.", "table coffee spoon on a wooden of and A cup a a.")
    assert found["fidelity"][1] == pytest.approx(found["fidelity"][0], abs=0.1)
    assert found["adequacy"][1] == pytest.approx(found["adequacy"][0], abs=0.05)


def test_later_sentences_are_trusted_less() -> None:
    told = reasons(judged("A cup of coffee on a table. A cup of coffee on a table. A cup of coffee on a table."))
    first, second, third = (one.support or 0.0 for one in told.sentences)
    assert first > second > third > 0.5


def test_details_are_trusted_less_in_texts_of_several_sentences() -> None:
    """By a prior that is declared: in full in long texts, little in those of two; a caption of one is not touched."""
    plain, detail = "A cup of coffee on a table.", "A cup of coffee is visible on a table."
    alone = judged(plain, detail)
    assert alone["fidelity"][1] == pytest.approx(alone["fidelity"][0], abs=0.02)
    falls = []
    for before in (f"{plain} ", f"{plain} " * 3):
        found = judged(before + plain, before + detail)
        first, second = ([one.support or 0.0 for one in reasons(found, row).sentences] for row in (0, 1))
        assert second[:-1] == pytest.approx(first[:-1], abs=1e-6)
        falls.append(first[-1] - second[-1])
        assert found["fidelity"][1] < found["fidelity"][0]
    assert falls[1] > 2 * falls[0] > 0.02


def test_references_are_read_beside_the_image_unless_they_are_left_aside() -> None:
    references = ("A woman astronaut in an orange suit.", "A smiling astronaut in front of a flag.")
    caption = "A woman in an orange suit in front of a flag."
    sample = Sample("a", caption, references, "astronaut.jpg")
    run = Run([make("verdict"), make("verdict:references=none")], Settings(images=PHOTOS, cache="off"))
    found = run.score([sample], explain=True)
    alone = Run([make("verdict")], Settings(images=PHOTOS, cache="off")).score([Sample("a", caption, (), sample.image)])
    both, none = found["verdict"][0], found["verdict:references=none"][0]
    assert both > none
    assert none == pytest.approx(alone["verdict"][0], abs=1e-9)
    said = {word.text: word.source for word in reasons(found).words if word.support is not None}
    assert said["woman"] == "references"


@pytest.mark.parametrize(
    "caption",
    [
        "A cup of coffee on a wooden table.",
        "A well-known hot dog next to a fire hydrant's shadow",
        "It's a cup; isn't it? Two cups -- or three -- on tables.",
        "xqz blorf wug",
        "The image features a cup. In the background, there are several people. They enjoy it.",
    ],
)
def test_every_word_has_its_entry_in_order(caption: str) -> None:
    found = judged(caption)
    for metric in ("verdict", "fidelity", "adequacy"):
        told = reasons(found, metric=metric)
        assert [(word.text, word.start, word.end) for word in told.words] == words_of(caption)
        assert all(word.support is None or 0 <= word.support <= 1 for word in told.words)
        assert all((word.support is None) == (word.source == "") for word in told.words)
        assert all(caption[one.start : one.end] == one.text for one in told.sentences)
        assert [item.weight for item in told.missing] == sorted((item.weight for item in told.missing), reverse=True)
        record = json.loads(json.dumps(told.as_dict()))
        assert set(record["words"][0]) == {"text", "start", "end", "support", "source", "region"}
        assert set(record["sentences"][0]) == {"text", "start", "end", "support"}


def test_words_inside_compounds_are_judged() -> None:
    words = {word.text: word for word in reasons(judged("A fire hydrant")).words}
    assert words["fire"].support == words["hydrant"].support is not None
    assert words["A"].support is None


def test_an_unknown_word_is_judged_through_its_nearest_and_that_is_said() -> None:
    facts = reasons(judged("A demitasse on a table")).facts
    assert facts["through"]["demitasse"]
    assert "table" not in facts["through"]


def test_a_word_that_nobody_knows_is_not_judged_and_moves_nothing_but_fluency() -> None:
    found = judged("A cup of coffee on a table", "A cup of coffee on a table with a fnord", "xqz blorf wug zzt")
    assert found["fidelity"][1] == pytest.approx(found["fidelity"][0], abs=0.02)
    assert found["adequacy"][1] == pytest.approx(found["adequacy"][0], abs=0.01)
    word = reasons(found, 1).words[-1]
    assert (word.text, word.support, word.source) == ("fnord", None, "")
    assert any("fnord" in note for note in reasons(found, 1).notes)
    assert (found["fidelity"][2], found["adequacy"][2]) == (0.5, 0.0)
    assert found["verdict"][2] < 0.05
    assert "no word of it can be judged" in reasons(found, 2).notes


def test_scrambling_lowers_fluency_alone() -> None:
    found = judged("A cup of coffee on a wooden table.", "wooden on coffee a cup table a of A")
    assert found["fluency"][1] < 0.1
    for name in ("fidelity", "adequacy"):
        assert found[name][1] == pytest.approx(found[name][0], abs=0.02), name


def test_nothing_is_called_unsupported_above_the_threshold() -> None:
    told = reasons(judged("A giraffe next to a cup of coffee"))
    doubted = {word.start for word in told.words if word.support is not None and word.support < told.facts["threshold"]}
    assert set(told.facts["doubted"]) == doubted
    assert "A giraffe next to a cup of coffee".index("giraffe") in doubted


def test_what_is_left_out_is_named_and_what_is_said_is_not() -> None:
    short, long = judged("A table", "A cup of coffee on a table").explanations["verdict"]
    assert short is not None
    assert long is not None
    said = {"cup", "coffee", "table"}
    assert said & {item.text for item in short.missing}
    assert not said & {item.text for item in long.missing}


def test_what_is_left_out_is_told_in_full_however_long_the_caption_is() -> None:
    references = ("A cat, a dog, a horse, a bus, a kite, a boat and a surfboard.",) * 4
    long = "There is a small wooden chair standing on the old grey floor of a large room with white walls. " * 3
    found = judged("A chair", long, references=references)
    short, told = reasons(found, 0), reasons(found, 1)
    assert len(short.missing) == len(told.missing) == MOST
    assert "left_out" not in told.facts
    assert "claims" not in told.facts  # these are spared first


def test_words_sentences_and_missing_are_written_also_where_they_are_empty() -> None:
    caption = "A cup of coffee on a plate with a spoon on a wooden table, beside a bowl."
    found = judged(caption)
    for metric in ("verdict", "fidelity", "adequacy"):
        told = reasons(found, metric=metric)
        assert told.missing == ()
        assert told.as_dict()["missing"] == []
        assert Explanation.from_dict(told.as_dict()).as_dict() == told.as_dict()


def test_a_thousand_words_are_judged_to_the_last() -> None:
    text = "There is a cup of coffee on the wooden table. " * 100
    found = judged(text + "There is a tree.", text + "There is a grand piano.")
    assert len(reasons(found, 0).words) > 1000
    assert found["verdict"][0] != found["verdict"][1]
    assert any("sentence by sentence" in note for note in reasons(found).notes)


def test_a_sentence_longer_than_the_encoder_is_read_in_windows_and_that_is_said() -> None:
    told = reasons(judged("a cup of coffee and " * 60 + "a spoon"))
    assert any("windows" in note for note in told.notes)
    assert told.words[-1].support is not None


@pytest.mark.parametrize("caption", ["", "   ", "...", "🙂"])
def test_a_caption_without_a_word_is_not_judged_and_says_why(caption: str) -> None:
    found = judged(caption, "A cup of coffee")
    assert np.isnan(found["verdict"]).tolist() == [True, False]
    assert any("no word" in problem.reason for problem in found.problems)


@pytest.mark.parametrize("size", [(1, 1), (2, 900), (900, 2), (64, 64)])
def test_odd_photos_are_judged(tmp_path: Path, size: tuple[int, int]) -> None:
    Image.new("RGB", size, "white").save(tmp_path / "blank.png")
    found = judged("A dog on a sofa", "xqz", image="blank.png", folder=tmp_path)
    assert np.isfinite(found["verdict"]).all()


def test_a_photo_that_cannot_be_read_costs_its_captions_alone(tmp_path: Path) -> None:
    (tmp_path / "broken.jpg").write_bytes(b"no photo")
    Image.new("RGB", (64, 64)).save(tmp_path / "good.png")
    samples = [Sample("a", "A dog", (), "broken.jpg"), Sample("b", "A dog", (), "good.png")]
    found = Run([make("verdict")], Settings(images=tmp_path, cache="off")).score(samples)
    assert np.isnan(found["verdict"]).tolist() == [True, False]
    assert len(found.problems) == 1


def test_other_languages_are_refused_with_what_to_do() -> None:
    with pytest.raises(VericapError, match=r"verdict.*(English|en)"):
        Run([make("verdict")], Settings(images=PHOTOS, lang="ja"))


def test_the_recommended_set_starts_with_the_four() -> None:
    assert SETS["recommended"][:4] == FAMILY


def test_values_do_not_depend_on_company() -> None:
    alone = judged("A cup of coffee on a table")
    together = judged("A dog", "A cup of coffee on a table", "A cup. A spoon. A table.", "A cup of coffee on a table")
    for name in FAMILY:
        assert together[name][1] == pytest.approx(alone[name][0], abs=1e-5)
        assert together[name][1] == together[name][3]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=60))
def test_any_text_has_values_between_0_and_1_or_a_reason(text: str) -> None:
    found = judged(text)
    for name in FAMILY:
        assert np.isnan(found[name][0]) or 0 <= found[name][0] <= 1
    assert not np.isnan(found["verdict"][0]) or found.problems

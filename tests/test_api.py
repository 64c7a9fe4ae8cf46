"""The Python API: lists, dicts, tables in; scores, columns, tables out."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa
import pytest

import vericap
from vericap.core.errors import InputError, UnknownName, VericapError
from vericap.core.shipped import ROOT

CANDIDATES = ["a dog runs", "two cats"]
REFERENCES = [["a dog is running", "the dog runs"], ["two cats sleep"]]


def test_lists_dicts_and_tables_agree() -> None:
    lists = vericap.score(CANDIDATES, REFERENCES, metrics=["rouge-l", "bleu-1"])
    keyed = vericap.score(dict(enumerate(CANDIDATES)), dict(enumerate(REFERENCES)), metrics="rouge-l,bleu-1")
    table = vericap.score(pa.table({"candidate": CANDIDATES, "references": REFERENCES}), metrics="rouge-l,bleu-1")
    for other in (keyed, table):
        np.testing.assert_array_equal(lists["rouge-l"], other["rouge-l"])
        assert lists.corpus["bleu-1"].value == other.corpus["bleu-1"].value


def test_pandas_in_and_out() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": ["x", "y"], "candidate": CANDIDATES, "references": REFERENCES})
    found = vericap.score(frame, metrics="rouge-l").to_pandas()
    assert list(found["id"]) == ["x", "y"]
    assert found["rouge-l"].gt(0).all()


def test_dict_subset_is_scored() -> None:
    result = vericap.score({1: "a dog"}, {1: ["a dog"], 2: ["a cat"]}, metrics="rouge-l")
    assert result.ids == ["1"]


def test_coco_shape_with_one_caption_lists() -> None:
    assert vericap.score({1: ["a dog"]}, {1: ["a dog"]}, metrics="rouge-l").corpus["rouge-l"].value == 1.0


def test_several_captions_of_an_image_are_all_scored() -> None:
    beams = vericap.score({1: ["a dog", "two dogs"], 2: "a cat"}, {1: ["a dog"], 2: ["a cat"]}, metrics="rouge-l")
    assert (beams.ids, beams["rouge-l"].tolist()) == (["1", "1#2", "2"], [1.0, 0.0, 1.0])
    listed = vericap.score([{"caption": ["a dog", "two dogs"], "references": ["a dog"]}], metrics="rouge-l")
    assert listed.ids == ["0", "0#2"]
    table = pa.table({"image_id": [7, 7], "caption": ["a dog", "two dogs"], "references": [["a dog"], ["two dogs"]]})
    assert vericap.score(table, metrics="rouge-l").ids == ["7", "7#2"]
    assert vericap.score(table, {7: ["a dog"]}, metrics="rouge-l")["rouge-l"].tolist() == [1.0, 0.0]
    with pytest.raises(InputError, match="id '7' occurs more than once"):
        vericap.score([{"id": 7, "caption": "a", "references": ["a"]}] * 2, metrics="rouge-l")


def test_result_converts() -> None:
    result = vericap.score(CANDIDATES, REFERENCES, metrics="rouge-l", confidence=True, resamples=50)
    assert result.to_arrow().column_names == ["id", "candidate", "rouge-l"]
    assert result.corpus["rouge-l"].interval is not None
    assert result.summary()["scores"]["rouge-l"]["count"] == 2


def test_user_metric_sits_beside_ours() -> None:
    from vericap import Metric, Statistics

    class Words(Metric):
        name = "words"
        needs = ()

        def statistics(self, batch, state=None):
            return Statistics(np.array([len(t.split()) for t in batch.candidate_texts()]))

    assert vericap.score(CANDIDATES, REFERENCES, metrics=[Words(), "rouge-l"]).corpus["words"].value == 2.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], [["a"], ["b"]]), "1 candidates but 2 entries"),
        (("a dog", [["a"]]), "single text"),
        (({1: "a"}, [["a"]]), "must be dicts keyed by id"),
        ((pa.table({"x": [1]}),), "no column 'candidate'"),
    ],
)
def test_mistakes_are_named(arguments, message) -> None:
    with pytest.raises(InputError, match=message):
        vericap.score(*arguments, metrics="rouge-l")


def test_bad_records_keep_their_place_and_reason() -> None:
    given = ["a dog", 3, None, "a cat"]
    result = vericap.score(given, [["a dog"], ["x"], ["y"], [None]], metrics="rouge-l,bleu-1")
    assert [bool(np.isnan(value)) for value in result["rouge-l"]] == [False, True, True, True]
    assert [problem.record for problem in result.problems] == ["1", "2", "3"]
    assert "is a int" in result.problems[0].reason
    assert "reference 1 is missing" in result.problems[2].reason
    assert result.to_arrow().column("problem").to_pylist()[0] is None
    with pytest.raises(VericapError, match="nothing to score: the candidate is a int"):
        vericap.score([3], [["a"]], metrics="rouge-l")


def test_warnings_reach_who_called() -> None:
    with pytest.warns(vericap.VericapWarning, match="document frequencies come from one image"):
        vericap.score(["a dog"], [["a dog"]], metrics="cider-d")


def test_an_id_names_its_image() -> None:
    photos = ROOT / "demo" / "photos"
    result = vericap.score({"coffee": "a cup of coffee"}, metrics="vifidel", images=photos)
    assert result["vifidel"][0] > 0
    with pytest.raises(VericapError, match="`images=DIR`"):
        vericap.score(["a cup of coffee"], metrics="vse", images=photos)  # a number in a list is no id of the user's


def test_a_plain_function_is_a_metric() -> None:
    def words(candidates, references, images):
        return [len(candidate.split()) for candidate in candidates]

    result = vericap.score(CANDIDATES, REFERENCES, metrics=["rouge-l", words])
    assert result.corpus["words"].value == 2.5
    with pytest.raises(VericapError, match="must give one number each"):
        vericap.score(CANDIDATES, metrics=[lambda candidates, references, images: [1.0]])


def test_scorer_stays_warm() -> None:
    scorer = vericap.Scorer("cider-d", df="coco-val")
    captions = [f"a dog runs on grass number {i}" for i in range(16)]
    references = [["a dog is running", "the dog runs on the lawn"]] * 16
    first = scorer.score(captions, references)
    times = []
    for _ in range(20):
        start = time.perf_counter()
        again = scorer.score(captions, references)
        times.append(time.perf_counter() - start)
    np.testing.assert_array_equal(first["cider-d"], again["cider-d"])
    assert sorted(times)[5] < 0.006  # 2 ms on a quiet machine (speed/scorer_speed); other tests run beside


def test_ids_must_be_parallel_and_differ() -> None:
    with pytest.raises(InputError, match="2 candidates but 1 ids"):
        vericap.score(CANDIDATES, REFERENCES, ids=["x"], metrics="rouge-l")
    with pytest.raises(InputError, match="'x' occurs more than once"):
        vericap.score(CANDIDATES, REFERENCES, ids=["x", "x"], metrics="rouge-l")


def test_unknown_option() -> None:
    with pytest.raises(VericapError, match="unknown option tokeniser"):
        vericap.score(CANDIDATES, REFERENCES, tokeniser="ptb")
    with pytest.raises(VericapError, match="unknown option metric; did you mean metrics\\?"):
        vericap.score(CANDIDATES, REFERENCES, metric="cider-d")


def test_a_folder_of_images_that_is_not_there_is_told_of() -> None:
    with pytest.raises(InputError, match="`images=nosuch`: no such folder"):
        vericap.score(CANDIDATES, metrics="vse", images="nosuch")


def test_python_adds_what_a_misspelt_name_may_mean() -> None:
    with pytest.raises(AttributeError) as told:
        vericap.scor  # noqa: B018
    assert (told.value.name, told.value.obj) == ("scor", vericap)


def test_compare_systems() -> None:
    systems = {"a": CANDIDATES, "b": ["a dog runs", "two cats sleep"]}
    found = vericap.compare(systems, REFERENCES, metrics="rouge-l", resamples=100)
    assert found.baseline == "a"
    assert 0 < found.p_values["b", "rouge-l"] <= 1
    assert "rouge-l" in found.table().text()


RECORDS = [{"id": f"r{n}", "caption": c, "refs": r} for n, (c, r) in enumerate(zip(CANDIDATES, REFERENCES))]


class Dataset:
    """What `datasets.Dataset` shows: columns by name, rows by number, images decoded when a row is read."""

    column_names = ("id", "caption", "refs")

    def __len__(self) -> int:
        return len(RECORDS)

    def __getitem__(self, place: int) -> dict[str, object]:
        return RECORDS[place]


@pytest.mark.parametrize("form", ["records", "pandas", "arrow", "dataset"])
def test_records_and_tables_of_every_kind(form: str) -> None:
    given: object = RECORDS
    if form == "pandas":
        given = pytest.importorskip("pandas").DataFrame(RECORDS)
    elif form == "arrow":
        given = pa.Table.from_pylist(RECORDS)
    elif form == "dataset":
        given = Dataset()
    result = vericap.score(given, metrics="rouge-l")
    assert result.ids == ["r0", "r1"]
    np.testing.assert_array_equal(
        result["rouge-l"], vericap.score(CANDIDATES, REFERENCES, metrics="rouge-l")["rouge-l"]
    )


def test_images_as_files_bytes_pil_and_arrays() -> None:
    from PIL import Image

    file = ROOT / "demo" / "photos" / "chelsea.jpg"
    image = Image.open(file).convert("RGB")
    forms = [file, str(file), file.read_bytes(), {"bytes": file.read_bytes(), "path": None}, image, np.asarray(image)]
    forms += [np.asarray(image) / 255.0, image.convert("RGBA")]
    found = vericap.score(["a cat looks up"] * len(forms), metrics="vse", image_names=forms, cache="off")
    assert found.problems == []
    np.testing.assert_allclose(found["vse"], found["vse"][0], atol=1e-6)
    named = vericap.score(
        ["a cat looks up"], metrics="vse", image_names=["chelsea.jpg"], images=file.parent, cache="off"
    )
    np.testing.assert_allclose(found["vse"][0], named["vse"][0], atol=1e-6)
    bad = vericap.score(["a", "b"], metrics="vse", image_names=[image, np.zeros((2, 2, 7))], cache="off")
    assert "array of shape (2, 2, 7)" in bad.problems[0].reason


def test_scores_are_found_under_the_name_that_was_asked_for() -> None:
    result = vericap.score(CANDIDATES, REFERENCES, metrics="ROUGE_L,Bleu_1")
    np.testing.assert_array_equal(result["ROUGE_L"], result["rouge-l"])
    assert list(result.table)[2:] == ["rouge-l", "bleu-1"]
    assert repr(result).startswith("<Result: 2 captions; rouge-l=")
    with pytest.raises(UnknownName, match="no scores of 'spice'; there are: rouge-l, bleu-1"):
        result["spice"]


def test_a_setting_that_is_no_path_is_told() -> None:
    with pytest.raises(VericapError, match="`images` is a list, not the path of a folder or a file"):
        vericap.Settings(images=["a.jpg"])  # type: ignore[arg-type]

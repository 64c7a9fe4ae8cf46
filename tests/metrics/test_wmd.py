from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.metrics.registry import make
from vericap.run.batch import Batch
from vericap.run.engine import score_batch
from vericap.samples import Sample

NOUNS = ["dog", "cat", "horse", "table", "chair", "ball", "car", "street", "beach", "pizza"]
captions = st.lists(st.sampled_from([*NOUNS, "a", "the"]), min_size=1, max_size=8).map(" ".join)


def distance(metric: str, *samples: Sample) -> np.ndarray:
    return np.asarray(make(metric).statistics(Batch.of(samples)).columns["distance"])


def test_best_worst_and_mean_reference() -> None:
    references = ("a dog on the beach", "a pizza on a table", "a dog")
    single = [distance("wmd", Sample("1", "a dog runs on a beach", (r,)))[0] for r in references]
    for pool, pick in (("best", min), ("worst", max), ("mean", np.mean)):
        found = distance(f"wmd:pool={pool}", Sample("1", "a dog runs on a beach", references))[0]
        assert found == pytest.approx(pick(single), rel=1e-6)


def test_score_is_one_for_the_same_words_and_exp_of_minus_distance() -> None:
    result = score_batch([Sample("1", "The dog, a ball!", ("ball and dog",)), Sample("2", "dog", ("cat",))], "wmd")
    assert result["wmd"][0] == 1.0
    assert result["wmd"][1] == pytest.approx(np.exp(-result.statistics["wmd"].columns["distance"][1]))
    assert "vectors:gte-small" in result.corpus["wmd"].signature


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
    ]
    result = score_batch(samples, "wmd")
    assert result["wmd"][0] == 0.0
    assert np.isnan(result["wmd"][1:3]).all()
    assert result["wmd"][3] == 1.0
    reasons = {samples[row].id: why for row, why in result.statistics["wmd"].problems.items()}
    assert {problem.record for problem in result.problems} == {"none", "empty reference"}
    assert "no content word" in reasons["stop"]
    assert "no reference to compare" in reasons["none"]
    assert "no reference has" in reasons["empty reference"]


def test_unknown_words_are_dropped_and_counted(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("dog 1 0\ncat 0 1\n", "utf-8")
    batch = Batch.of([Sample("1", "dog unicycle", ("dog",))])
    found = make(f"wmd:vectors={tmp_path / 'v.txt'}:centre=no").statistics(batch)
    assert found.values[0, 0] == 1.0
    assert found.columns["unknown_words"].tolist() == [1]


@settings(max_examples=40, deadline=None)
@given(captions, captions)
def test_symmetric_bounded_and_blind_to_stop_words(one: str, two: str) -> None:
    there, back, more = distance(
        "wmd", Sample("1", one, (two,)), Sample("2", two, (one,)), Sample("3", f"the {one} of a", (two,))
    )
    assert there == pytest.approx(back, rel=1e-5, nan_ok=True)
    assert more == pytest.approx(there, rel=1e-6, nan_ok=True)
    assert np.isnan(there) or 0.0 <= there <= 4.0

"""What metrics know of a corpus: stored without pickle, merged in pieces, trimmed without moving a score."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.core.batch import Batch
from vericap.core.samples import Sample
from vericap.metrics.registry import resolve
from vericap.run import states
from vericap.run.analyses import NGrams
from vericap.run.plan import analysed
from vericap.run.stream import one_signature

captions = st.lists(st.sampled_from(("a", "dog", "cat", "runs", "on", "grass", "é")), max_size=6).map(" ".join)
corpora = st.lists(st.tuples(captions, st.lists(captions, min_size=1, max_size=3)), min_size=1, max_size=8)


def batch(rows) -> Batch:
    given_samples = [Sample(str(n), candidate, tuple(refs)) for n, (candidate, refs) in enumerate(rows)]
    return analysed(Batch.of(given_samples), NGrams("ptb"))


@settings(max_examples=40, deadline=None)
@given(corpora, corpora, st.integers(1, 5))
def test_pieces_merge_to_the_whole(tmp_path_factory, one, two, count) -> None:
    (metric,) = resolve("cider-d")
    first, second = (metric.prepare(batch(rows)) for rows in (one, two))
    whole = metric.merge([first, second])
    folder: Path = tmp_path_factory.mktemp("states")
    merged = []
    for number, state in enumerate((first, second)):
        states.save({"cider-d": state}, folder / f"{number}.states", count)
    for piece in range(count):
        parts = [states.load(folder / f"{number}.states", piece)["cider-d"] for number in (0, 1)]
        merged.append(states.trimmed(metric.merge(parts)))
    found = metric.merge(merged)
    assert found.images == whole.images
    often = {text: n for text, n in whole.items() if n > 1}
    assert {text: n for text, n in found.items() if n > 1} == often
    asked = batch(one)
    np.testing.assert_array_equal(metric.statistics(asked, found).values, metric.statistics(asked, whole).values)


def test_what_cannot_be_stored_is_told() -> None:
    (mean,) = resolve("mean(cider-d,bleu-4)")
    state = mean.prepare(batch([("a dog", ["a dog"])]))
    assert states.storable({"mean": state})
    assert states.divisible(state)
    assert not states.storable({"other": object()})
    assert not states.divisible([{}])


def test_given_tables_are_named_and_not_copied(tmp_path: Path) -> None:
    (metric,) = resolve("cider-d:df=coco-val")
    state = metric.prepare(batch([("a dog", ["a dog"])]))
    states.save({"x": state}, tmp_path / "x.states", 16)
    assert (tmp_path / "x.states").stat().st_size < 5000
    assert states.load(tmp_path / "x.states", 7)["x"] is state


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        (["a:1|refs:5|v:1", "a:1|refs:5|v:1"], "a:1|refs:5|v:1"),
        (["a:1|refs:5|v:1", "a:1|refs:2-4|v:1"], "a:1|refs:2-5|v:1"),
        (["m:x|objects:record|v:1", "m:x|objects:record+detector@0.5|v:1"], "m:x|objects:record+detector@0.5|v:1"),
        (
            ["mean|(refs:4|v:1) + (refs:4|v:1)", "mean|(refs:3|v:1) + (refs:3|v:1)"],
            "mean|(refs:3-4|v:1) + (refs:3-4|v:1)",
        ),
        ([], ""),
    ],
)
def test_one_signature_of_many(parts: list[str], whole: str) -> None:
    assert one_signature(parts) == whole

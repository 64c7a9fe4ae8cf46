"""What metrics know of a corpus: stored without pickle, merged in parts, trimmed without moving a score."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.core.batch import Batch
from vericap.core.numbers import BUCKETS, FileArray
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
def test_parts_merge_to_the_whole(tmp_path_factory, one, two, count) -> None:
    (metric,) = resolve("cider-d")
    first, second = (metric.prepare(batch(rows)) for rows in (one, two))
    whole = metric.merge([first, second])
    folder: Path = tmp_path_factory.mktemp("states")
    for number, state in enumerate((first, second)):
        states.save({"cider-d": states.numbered(state)}, folder / f"{number}.states")
    borders = [BUCKETS * part // count for part in range(count + 1)]
    files = [folder / f"part-{part}.states" for part in range(count)]
    for file, low, high in zip(files, borders, borders[1:]):
        parts = [states.between(states.load(folder / f"{n}.states")["cider-d"], low, high) for n in (0, 1)]
        states.save({"cider-d": states.trimmed(metric.merge(parts))}, file)
    states.join(files, folder / "all.states")
    found = states.load(folder / "all.states")["cider-d"]
    assert found.images == whole.images
    assert len(found.numbers) == sum(n > 1 for _, n in whole.items())
    asked = batch(one)
    np.testing.assert_array_equal(metric.statistics(asked, found).values, metric.statistics(asked, whole).values)


def test_numbers_of_a_file_are_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table larger than what is held at once is found as a whole, and a piece of it at a time."""
    monkeypatch.setattr("vericap.core.numbers.BLOCK", 7)
    (metric,) = resolve("cider-d")
    asked = batch([("a dog runs on grass", ["a dog on grass", "the cat runs"]), ("a cat", ["a dog", "two cats sit"])])
    state = metric.prepare(asked)
    states.save({"x": states.numbered(state)}, tmp_path / "x.states")
    found = states.load(tmp_path / "x.states")["x"]
    assert isinstance(found.numbers.keys, FileArray)
    assert max(len(keys) for keys, _ in found.numbers.blocks()) == 7 < len(found.numbers)
    np.testing.assert_array_equal(found.lookup(asked[NGrams("ptb")]), state.counts)


def test_a_file_that_was_cut_is_an_error(tmp_path: Path) -> None:
    (metric,) = resolve("cider-d")
    states.save({"x": states.numbered(metric.prepare(batch([("a dog", ["a dog"])])))}, tmp_path / "x.states")
    found = states.load(tmp_path / "x.states")["x"]
    with (tmp_path / "x.states").open("rb+") as stream:
        stream.truncate(found.numbers.keys.begin + 8)
    with pytest.raises(OSError, match="shorter than it was"):
        list(found.numbers.blocks())


def test_what_cannot_be_stored_is_told() -> None:
    (mean,) = resolve("mean(cider-d,bleu-4)")
    state = states.numbered(mean.prepare(batch([("a dog", ["a dog"])])))
    assert states.storable({"mean": state})
    assert states.divisible(state)
    assert states.size(state) == 3
    assert not states.storable({"other": object()})
    assert not states.divisible([{}])


def test_given_tables_are_named_and_not_copied(tmp_path: Path) -> None:
    (metric,) = resolve("cider-d:df=coco-val")
    state = states.numbered(metric.prepare(batch([("a dog", ["a dog"])])))
    states.save({"x": state}, tmp_path / "x.states")
    assert (tmp_path / "x.states").stat().st_size < 5000
    assert states.load(tmp_path / "x.states")["x"] is state


def test_states_of_any_arrays_come_back(tmp_path: Path) -> None:
    state = ["é\n", 3, None, np.arange(6).reshape(2, 3), [np.float32(2) * np.ones(2), True]]
    states.save({"x": state}, tmp_path / "x.states")
    text, number, nothing, table, (row, flag) = states.load(tmp_path / "x.states")["x"]
    assert (text, number, nothing, flag) == ("é\n", 3, None, True)
    assert table.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert row.tolist() == [2, 2]


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

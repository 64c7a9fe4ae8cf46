"""Batches of other pipelines: dicts of arrays, pandas, Arrow; images in all forms; the shapes of Spark and Data-Juicer.

Ray Data, Spark and Data-Juicer themselves are not needed: the objects are called as these programs call them.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from vericap.core import shipped
from vericap.core.errors import InputError, VericapError
from vericap.integrations import BatchFilter, BatchScorer
from vericap.integrations.data_juicer import KEPT, STATS, VericapFilter
from vericap.integrations.spark import map_in_pandas

pandas = pytest.importorskip("pandas")
PHOTO = sorted((shipped.ROOT / "demo" / "photos").glob("*.jpg"))[0]

COLUMNS: dict[str, list[Any]] = {
    "caption": ["a dog runs", "www.a.com", "ein Hund auf Gras", "a cat", "two dogs run"],
    "references": [["a dog runs"]] * 5,
    "width": [300, 300, 300, 300, 100],
}
KEEP = "lang==en & !url & rouge-l>=0.3 & width>=200"


def batch_of(kind: str, columns: dict[str, list[Any]]) -> Any:
    if kind == "numpy":
        arrays = {name: np.empty(len(values), dtype=object) for name, values in columns.items()}
        for name, values in columns.items():
            arrays[name][:] = values
        return arrays
    return {"pandas": pandas.DataFrame, "arrow": pa.table, "lists": dict}[kind](columns)


def listed(batch: Any, name: str) -> list[Any]:
    return batch[name].to_pylist() if hasattr(batch, "to_pydict") else list(batch[name])


@pytest.mark.parametrize("kind", ["numpy", "pandas", "arrow", "lists"])
def test_a_batch_comes_back_as_what_it_was(kind: str) -> None:
    batch = batch_of(kind, COLUMNS)
    kept = BatchFilter(KEEP)(batch)
    assert type(kept) is type(batch)
    assert listed(kept, "caption") == ["a dog runs", "a cat"]
    assert listed(kept, "rouge-l")[0] == 1.0
    scored = BatchScorer("rouge-l,bleu-1", problem="why")(batch)
    assert len(listed(scored, "bleu-1")) == 5
    assert listed(scored, "rouge-l")[0] == 1.0
    assert listed(scored, "why")[0] == ""


def test_the_cascade_changes_nothing() -> None:
    kept = [BatchFilter(KEEP, cascade=cascade)(pa.table(COLUMNS)) for cascade in (True, False)]
    assert kept[0].equals(kept[1])


def test_cleaning_keeps_the_original() -> None:
    kept = BatchFilter("rouge-l==1", clean=True)(
        {"caption": ["A <b>dog</b>&nbsp;runs"], "references": [["a dog runs"]]}
    )
    assert kept["caption"].tolist() == ["A dog runs"]
    assert kept["caption.original"].tolist() == ["A <b>dog</b>&nbsp;runs"]


def test_shares_need_all_records() -> None:
    with pytest.raises(VericapError, match="a batch is not all"):
        BatchFilter("top:0.3:vse")


def test_a_bad_record_is_not_kept_and_does_not_stop_the_others() -> None:
    columns = {"caption": [None, 5, "a dog"], "references": [["a dog"]] * 3}
    assert BatchFilter("rouge-l>=0.5")(columns)["caption"] == ["a dog"]
    scored = BatchScorer("rouge-l", problem="why")(columns)
    assert np.isnan(scored["rouge-l"][:2]).all()
    assert "missing" in scored["why"][0]
    with pytest.raises(InputError, match="no column 'caption'; it has: text"):
        BatchFilter("words>=1")({"text": ["a"]})


def test_images_in_all_their_forms() -> None:
    data = PHOTO.read_bytes()
    forms = [PHOTO.name, data, {"bytes": data, "path": None}, Image.open(PHOTO), np.asarray(Image.open(PHOTO)), PHOTO]
    captions = ["a photo of something"] * len(forms)
    batch = {"caption": captions, "image": forms}
    scores = BatchScorer("vse", images=PHOTO.parent, cache="off")(batch)["vse"]
    np.testing.assert_allclose(scores, scores[0], atol=1e-6)
    bad = BatchScorer("vse", images=PHOTO.parent, problem="why")(
        {"caption": captions[:3], "image": [data, np.zeros((2, 2)), 5.0]}
    )
    assert "give uint8" in bad["why"][1]
    assert "the image is a float" in bad["why"][2]


def test_objects_travel_before_their_first_batch() -> None:
    keep = pickle.loads(pickle.dumps(BatchFilter(KEEP)))
    assert listed(keep(dict(COLUMNS)), "width") == [300, 300]


# --- Spark: mapInPandas calls with an iterator of tables, in a worker that unpickled the function -------------------


def test_map_in_pandas() -> None:
    keep = map_in_pandas(KEEP)
    assert keep.columns(COLUMNS) == [("rouge-l", "double")]
    table = pandas.DataFrame(COLUMNS)
    list(keep([table]))  # networks that are open must not travel
    worker = pickle.loads(pickle.dumps(keep))
    found = list(worker(iter([table, table.iloc[1:2], table])))
    assert [len(one) for one in found] == [2, 0, 2]
    assert [list(one.columns) for one in found] == [["caption", "references", "width", "rouge-l"]] * 3
    assert all(one["rouge-l"].dtype == np.float64 for one in found)
    with pytest.raises(VericapError, match="did you mean"):
        map_in_pandas("words=3")


# --- Data-Juicer: `Filter` maps compute_stats over batches, then filters by process ---------------------------------


def juicer(samples: dict[str, list[Any]], operator: VericapFilter) -> list[bool]:
    """What `Filter.run` does with a batch."""
    return list(operator.process_batched(operator.compute_stats_batched(samples)))


def test_a_filter_of_data_juicer(tmp_path: Path) -> None:
    operator = VericapFilter("words>=2 & !url & rouge-l>=0.5", references="refs")
    stats: list[Any] = [{"text_len": 3}, {}, None]
    samples = {"text": ["a dog", "www.a.com", "two"], "refs": [["a dog"]] * 3, "images": [[], [], []], STATS: stats}
    assert juicer(samples, operator) == [True, False, False]
    assert samples[STATS][0] == {"text_len": 3, "rouge-l": 1.0, KEPT: True}
    assert samples[STATS][1]["rouge-l"] is None  # the cascade did not ask
    one = {"text": "a dog", "refs": ["a dog"], "images": [], STATS: {}}
    assert operator.process_single(operator.compute_stats_single(one)) is True


def test_what_has_stats_is_not_scored_again() -> None:
    operator = VericapFilter("words>=2")
    samples = {"text": ["a dog", "b"], STATS: [{KEPT: False}, {KEPT: True}]}
    assert juicer(samples, operator) == [False, True]


def test_photos_of_data_juicer() -> None:
    operator = VericapFilter("vse>=-1", cache="off")
    samples = {"text": ["a photo"], "images": [[str(PHOTO)]], STATS: [{}]}
    with pytest.raises(VericapError):
        juicer(samples, operator)  # names lead nowhere without a folder
    operator = VericapFilter("vse>=-1", images=str(PHOTO.parent), cache="off")
    assert juicer({"text": ["a photo"], "images": [[str(PHOTO)]], STATS: [{}]}, operator) == [True]

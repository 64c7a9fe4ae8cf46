"""The torchmetrics-shaped class against torchmetrics itself: base class, collections, processes, checkpoints."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import vericap
from vericap.core.errors import InputError, UnknownName, VericapError

torchmetrics = pytest.importorskip("torchmetrics", reason="needs the package torchmetrics")
import torch  # noqa: E402

from vericap.integrations.torchmetrics import CaptionMetric  # noqa: E402

CAPTIONS = ["a dog runs on grass", "two cats sleep on a bed", "a red bus on a street"]
REFERENCES = [
    ["a dog is running on the grass", "the dog runs"],
    ["two cats are asleep on the bed", "cats on a bed"],
    ["a bus drives down the street", "a red bus"],
]


def whole(metric: str) -> float:
    return float(vericap.score(CAPTIONS, REFERENCES, metric).corpus[metric].value)


def updated(metric: CaptionMetric) -> CaptionMetric:
    metric.update(CAPTIONS[:1], REFERENCES[:1])
    metric.update(CAPTIONS[1:], REFERENCES[1:])
    return metric


def test_batches_give_the_corpus_score() -> None:
    metric = updated(CaptionMetric("CIDEr"))
    assert isinstance(metric, torchmetrics.Metric)
    assert metric.compute().item() == pytest.approx(whole("cider-d"), rel=1e-6)
    metric.reset()
    with pytest.raises(InputError, match="no captions"):
        metric.compute()
    assert metric.higher_is_better is True
    assert CaptionMetric("chair").higher_is_better is False


def test_several_metrics_are_a_dict_and_forward_is_of_the_batch() -> None:
    metric = CaptionMetric("bleu-4,rouge-l")
    batch = metric(CAPTIONS[:2], REFERENCES[:2])
    assert set(batch) == {"bleu-4", "rouge-l"}
    metric(CAPTIONS[2:], REFERENCES[2:])
    assert metric.compute()["rouge-l"].item() == pytest.approx(whole("rouge-l"), rel=1e-6)
    assert batch["rouge-l"].item() != pytest.approx(whole("rouge-l"))


def test_a_collection_and_one_caption() -> None:
    several = torchmetrics.MetricCollection({"c": CaptionMetric("cider-d"), "r": CaptionMetric("rouge-l")})
    several.update(CAPTIONS, REFERENCES)
    assert several.compute()["r"].item() == pytest.approx(whole("rouge-l"), rel=1e-6)
    one = CaptionMetric("rouge-l")
    one.update("a dog", ["a dog", "dogs"])
    assert one.compute().item() == 1.0


def test_copies_pickles_and_checkpoints_keep_what_was_seen() -> None:
    metric = updated(CaptionMetric("rouge-l"))
    for copy in (metric.clone(), pickle.loads(pickle.dumps(metric))):
        assert copy.compute().item() == pytest.approx(whole("rouge-l"), rel=1e-6)
    metric.persistent(True)
    fresh = CaptionMetric("rouge-l")
    fresh.persistent(True)
    fresh.load_state_dict(metric.state_dict())
    fresh._update_count = 1  # as torchmetrics does not keep it
    assert fresh.compute().item() == pytest.approx(whole("rouge-l"), rel=1e-6)


def test_states_of_other_processes_are_joined() -> None:
    one, other = CaptionMetric("cider-d"), CaptionMetric("cider-d")
    one.update(CAPTIONS[:1], REFERENCES[:1])
    other.update(CAPTIONS[1:], REFERENCES[1:])
    one.merge_state(other)
    assert one.compute().item() == pytest.approx(whole("cider-d"), rel=1e-6)


PROCESS = """
import os, sys
import torch.distributed as dist
from vericap.integrations.torchmetrics import CaptionMetric
sys.path.insert(0, {here!r})
from test_torchmetrics import CAPTIONS, REFERENCES
rank = int(sys.argv[1])
dist.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=rank, world_size=2)
metric = CaptionMetric("cider-d")
part = slice(0, 1) if rank == 0 else slice(1, None)
metric.update(CAPTIONS[part], REFERENCES[part])
print(repr(metric.compute().item()))
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_two_processes_agree_with_one(tmp_path: Path) -> None:
    if not torch.distributed.is_available():
        pytest.skip("torch has no distributed part here")
    script = tmp_path / "process.py"
    script.write_text(PROCESS.format(here=str(Path(__file__).parent)), encoding="utf-8")
    words = [[sys.executable, str(script), str(rank), str(tmp_path / "meet")] for rank in (0, 1)]
    running = [subprocess.Popen(one, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for one in words]
    told = [process.communicate(timeout=600) for process in running]
    assert [process.returncode for process in running] == [0, 0], told
    assert [float(out) for out, _ in told] == pytest.approx([whole("cider-d")] * 2, rel=1e-6)


def test_plots() -> None:
    pytest.importorskip("matplotlib", reason="plots need matplotlib").use("Agg")
    metric = updated(CaptionMetric("rouge-l"))
    figure, axes = metric.plot()
    assert figure is not None
    assert axes is not None
    metric.plot([metric.compute(), metric.compute() / 2])


def test_mistakes() -> None:
    with pytest.raises(InputError, match="3 entries in `preds` but 2 in `target`"):
        CaptionMetric("rouge-l").update(CAPTIONS, REFERENCES[:2])
    with pytest.raises(UnknownName, match="did you mean"):
        CaptionMetric("ruoge-l")
    with pytest.raises(VericapError, match="did you mean tokenizer"):
        CaptionMetric("rouge-l", tokeniser="ptb")

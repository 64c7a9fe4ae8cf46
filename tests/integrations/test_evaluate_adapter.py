"""The evaluate-shaped module against Hugging Face evaluate itself: compute, add, batches, combine, load."""

from __future__ import annotations

import pytest

import vericap

evaluate = pytest.importorskip("evaluate", reason="needs the package evaluate")

from vericap.integrations import evaluate as module  # noqa: E402
from vericap.integrations.evaluate import CaptionMetric  # noqa: E402

CAPTIONS = ["a dog runs on grass", "two cats sleep on a bed", "a red bus on a street"]
REFERENCES = [
    ["a dog is running on the grass", "the dog runs"],
    ["two cats are asleep on the bed", "cats on a bed", "cats"],
    ["a bus drives down the street"],
]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_EVALUATE_OFFLINE", "1")
    monkeypatch.setattr(evaluate.config, "HF_EVALUATE_CACHE", tmp_path)


def whole(metrics: str, **settings: str) -> dict[str, float | None]:
    found = vericap.score(CAPTIONS, REFERENCES, metrics, **settings)
    return {name: score.value for name, score in found.corpus.items()}


def test_compute(tmp_path) -> None:
    found = CaptionMetric("CIDEr,ROUGE_L", cache_dir=str(tmp_path))
    assert isinstance(found, evaluate.EvaluationModule)
    assert found.compute(predictions=CAPTIONS, references=REFERENCES) == whole("cider-d,rouge-l")
    again = CaptionMetric("cider-d", cache_dir=str(tmp_path))
    told = again.compute(predictions=CAPTIONS, references=REFERENCES, df="coco-val")
    assert told == whole("cider-d", df="coco-val")


def test_batches_and_single_captions_add_up(tmp_path) -> None:
    found = CaptionMetric("bleu-4", cache_dir=str(tmp_path))
    found.add(prediction=CAPTIONS[0], reference=REFERENCES[0])
    found.add_batch(predictions=CAPTIONS[1:], references=REFERENCES[1:])
    assert found.compute() == whole("bleu-4")


def test_one_reference_each(tmp_path) -> None:
    found = CaptionMetric("rouge-l", cache_dir=str(tmp_path))
    wanted = vericap.score(["a dog"], [["a dog runs"]], "rouge-l").corpus["rouge-l"].value
    assert found.compute(predictions=["a dog"], references=["a dog runs"]) == {"rouge-l": wanted}


def test_combined_with_others(tmp_path) -> None:
    both = evaluate.combine([CaptionMetric(name, cache_dir=str(tmp_path)) for name in ("rouge-l", "bleu-1")])
    assert both.compute(predictions=CAPTIONS, references=REFERENCES) == whole("rouge-l,bleu-1")


def test_loaded_by_its_file(tmp_path) -> None:
    found = evaluate.load(module.__file__, "rouge-l", cache_dir=str(tmp_path))
    assert found.compute(predictions=CAPTIONS, references=REFERENCES) == whole("rouge-l")

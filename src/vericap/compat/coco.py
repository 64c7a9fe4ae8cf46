"""The COCO caption tool's shapes: scorers with `compute_score(gts, res)` and `COCOEvalCap`.

    from vericap.compat.coco import Bleu, Cider, COCOEvalCap, Meteor, PTBTokenizer, Rouge, Spice

`gts` and `res` are dicts id -> list of captions that are already tokenised (words split by blanks),
as `PTBTokenizer().tokenize` returns them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from vericap.core.errors import InputError
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics.registry import resolve
from vericap.run.engine import Run
from vericap.run.results import Result
from vericap.text.tokens import tokenize

Captions = Mapping[Any, Sequence[Any]]


class PTBTokenizer:
    """Captions by image -> tokenised captions by image."""

    def tokenize(self, captions_for_image: Mapping[Any, Sequence[Mapping[str, Any]]]) -> dict[Any, list[str]]:
        texts = [str(item["caption"]) for items in captions_for_image.values() for item in items]
        tokens = iter(tokenize(texts, "ptb"))
        return {key: [" ".join(next(tokens)) for _ in items] for key, items in captions_for_image.items()}


def samples(gts: Captions, res: Captions) -> list[Sample]:
    """One sample per image; every image has exactly one candidate and at least one reference."""
    found = []
    for key, candidates in res.items():
        if len(candidates) != 1:
            raise InputError(f"image {key!r} has {len(candidates)} candidates in `res`; exactly one is needed")
        if key not in gts or not gts[key]:
            raise InputError(f"image {key!r} has a candidate in `res` but no reference in `gts`")
        found.append(Sample(str(key), str(candidates[0]), tuple(map(str, gts[key]))))
    return found


class CocoScorer:
    """What all scorers share: corpus value and per-image values of some metrics."""

    metrics: tuple[str, ...] = ()
    title = ""

    def _result(self, gts: Captions, res: Captions) -> Result:
        return Run(resolve(self.metrics), Settings(tokenizer="none")).score(samples(gts, res))

    def compute_score(self, gts: Captions, res: Captions) -> tuple[Any, Any]:
        result = self._result(gts, res)
        name = self.metrics[0]
        return float(result.corpus[name]), result[name]

    def method(self) -> str:
        return self.title


class Bleu(CocoScorer):
    title = "Bleu"

    def __init__(self, n: int = 4) -> None:
        self.metrics = tuple(f"bleu-{order}" for order in range(1, n + 1))

    def compute_score(self, gts: Captions, res: Captions, verbose: int = 0) -> tuple[Any, Any]:
        result = self._result(gts, res)
        return (
            [float(result.corpus[name]) for name in self.metrics],
            [result[name].tolist() for name in self.metrics],
        )


class Rouge(CocoScorer):
    title = "Rouge"
    metrics = ("rouge-l",)


class Cider(CocoScorer):
    """CIDEr-D, which the COCO tool prints as CIDEr."""

    title = "CIDEr"
    metrics = ("cider-d",)


class Meteor(CocoScorer):
    title = "METEOR"
    metrics = ("meteor",)

    def compute_score(self, gts: Captions, res: Captions) -> tuple[Any, Any]:
        value, scores = super().compute_score(gts, res)
        return value, scores.tolist()


class Spice(CocoScorer):
    """vericap's SPICE: close to the original's scores, not equal to them (see `vericap metrics spice`)."""

    title = "SPICE"
    metrics = ("spice",)


class COCOEvalCap:
    """Evaluate results as the COCO tool does: `COCOEvalCap(coco, coco_result).evaluate()`.

    `coco` and `coco_result` are pycocotools objects, or anything with `imgToAnns`, or dicts
    image id -> list of {"caption": ...}.
    """

    # metric -> the name the COCO tool prints
    names: ClassVar[dict[str, str]] = {
        "bleu-1": "Bleu_1",
        "bleu-2": "Bleu_2",
        "bleu-3": "Bleu_3",
        "bleu-4": "Bleu_4",
        "meteor": "METEOR",
        "rouge-l": "ROUGE_L",
        "cider-d": "CIDEr",
        "spice": "SPICE",
    }

    def __init__(self, coco: Any, coco_result: Any, *, metrics: Iterable[str] | None = None) -> None:
        self.coco, self.cocoRes = coco, coco_result
        self.metrics = list(self.names if metrics is None else metrics)
        self.params = {"image_id": list(_annotations(coco))}
        self.eval: dict[str, float] = {}
        self.imgToEval: dict[Any, dict[str, Any]] = {}
        self.evalImgs: list[dict[str, Any]] = []

    def evaluate(self) -> None:
        """Fill `eval`, `imgToEval` and `evalImgs` for the images of `params["image_id"]`."""
        references, candidates = _annotations(self.coco), _annotations(self.cocoRes)
        keys = [key for key in self.params["image_id"] if key in candidates]
        gts = {key: [item["caption"] for item in references[key]] for key in keys}
        res = {key: [item["caption"] for item in candidates[key]] for key in keys}
        result = Run(resolve(self.metrics)).score(samples(gts, res))
        columns = {self.names.get(name, name): result[name] for name in self.metrics}
        self.eval = {self.names.get(name, name): float(result.corpus[name]) for name in self.metrics}
        self.imgToEval = {
            key: {"image_id": key, **{name: _item(values[row]) for name, values in columns.items()}}
            for row, key in enumerate(keys)
        }
        self.evalImgs = list(self.imgToEval.values())
        for name, value in self.eval.items():
            print(f"{name}: {value:.3f}")


def _annotations(source: Any) -> Mapping[Any, Sequence[Mapping[str, Any]]]:
    found = getattr(source, "imgToAnns", source)
    if not isinstance(found, Mapping):
        raise InputError(f"a {type(source).__name__} has no imgToAnns and is not a dict of annotations by image id")
    return found


def _item(value: np.float64) -> float:
    return float(value)

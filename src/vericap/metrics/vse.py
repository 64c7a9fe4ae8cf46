"""`vse`: the shipped image-sentence encoder; `clipscore` and `refclipscore`: any CLIP-like pair a user
brings.

Hessel et al. 2021: CLIPScore = w max(cos(image, caption), 0), w = 2.5;
RefCLIPScore = harmonic mean of CLIPScore and max(max_r cos(caption, reference r), 0).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vericap.metrics.base import Metric, Option, Statistics
from vericap.models import store, vse
from vericap.run.batch import Batch
from vericap.vision.store import Regions, check_same

Array = NDArray[np.float64]


def image_problems(batch: Batch, problems: dict[int, str]) -> dict[int, str]:
    """Rows without a usable image, with the reason."""
    found: dict[int, str] = {}
    for row, image in enumerate(batch.images):
        if image < 0:
            found[row] = "no image is named"
        elif int(image) in problems:
            found[row] = problems[int(image)]
    return found


def blank(batch: Batch) -> dict[int, str]:
    """Rows whose candidate says nothing."""
    return {row: "the candidate is empty" for row, text in enumerate(batch.candidates) if not batch.texts[text].strip()}


class Vse(Metric):
    name, title = "vse", "Image-sentence similarity"
    range = (-1.0, 1.0)
    needs = ("image",)
    reads_references = False
    analyses = ("sentences", "regions")
    options: ClassVar = {"model": Option("default", "the shipped encoder (default) or a folder of a trained one")}

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        model = vse.load(self.opt.model)
        regions: Regions = batch.analysis("regions")
        check_same(regions.fingerprint, "this run", model.fingerprint, model.name)
        problems = {**blank(batch), **image_problems(batch, regions.problems)}
        scores = np.full(len(batch), np.nan)
        rows = np.array([row for row in range(len(batch)) if row not in problems], dtype=np.int64)
        if rows.size:
            embedded = model.embed(regions.features)
            texts = batch.analysis("sentences")[batch.candidates[rows]]
            scores[rows] = model.pairs(embedded, regions.mask, batch.images[rows], texts)
        explanations = self._explain(batch, model, regions, problems) if batch.settings.explain else None
        return Statistics(scores, problems, explanations=explanations)

    def _explain(
        self, batch: Batch, model: vse.Vse, regions: Regions, problems: dict[int, str]
    ) -> list[dict[str, Any] | None]:
        """Cosine of every region with the candidate."""
        embedded = model.embed(regions.features)
        texts = batch.analysis("sentences")
        found: list[dict[str, Any] | None] = []
        for row, image in enumerate(batch.images):
            if row in problems:
                found.append(None)
                continue
            inside = regions.mask[image]
            cosines = embedded[image][inside] @ texts[batch.candidates[row]]
            boxes = regions.boxes[image][inside]
            found.append({"boxes": boxes.round(4).tolist(), "cosines": cosines.round(4).tolist()})
        return found

    def signature_parts(self, batch: Batch) -> dict[str, str]:
        from vericap.text.encoder import name

        model = vse.load(self.opt.model)
        return {"vse": store.version(model.meta), "encoder": name(), "features": model.fingerprint}


class ClipScore(Metric):
    name, title = "clipscore", "CLIPScore"
    range = (0.0, 2.5)
    needs: ClassVar[tuple[str, ...]] = ("image",)
    options: ClassVar = {
        "model": Option("", "folder of a CLIP-like pair: image.onnx + text.onnx + tokenizer.json, or transformers"),
        "w": Option(2.5, "factor of the cosine"),
        "prompt": Option("A photo depicts", "words put before every caption"),
    }

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        scores, problems, _ = self._scores(batch)
        return Statistics(scores, problems)

    def _scores(self, batch: Batch) -> tuple[Array, dict[int, str], Any]:
        from vericap.models import clip

        model = clip.load(self.opt.model)
        images, broken = clip.embed_images(model, batch)
        texts = model.texts([f"{self.opt.prompt} {text}".strip() for text in batch.texts])
        problems = {**blank(batch), **image_problems(batch, broken)}
        scores = np.full(len(batch), np.nan)
        rows = [row for row in range(len(batch)) if row not in problems]
        for row in rows:
            cosine = float(images[batch.images[row]] @ texts[batch.candidates[row]])
            scores[row] = self.opt.w * max(cosine, 0.0)
        return scores, problems, texts

    def signature_parts(self, batch: Batch) -> dict[str, str]:
        from vericap.models import clip

        return {"weights": clip.load(self.opt.model).name}


class RefClipScore(ClipScore):
    name, title = "refclipscore", "RefCLIPScore"
    needs = ("image", "references")

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        scores, problems, texts = self._scores(batch)
        for row in range(len(batch)):
            references = batch.references(row)
            if row in problems:
                continue
            if not len(references):
                problems[row], scores[row] = "no references", np.nan
                continue
            nearest = max(float((texts[references] @ texts[batch.candidates[row]]).max()), 0.0)
            scores[row] = harmonic(scores[row], nearest)
        return Statistics(scores, problems)


def harmonic(first: float, second: float) -> float:
    """Harmonic mean; 0 where either is 0."""
    return 0.0 if first <= 0 or second <= 0 else 2.0 * first * second / (first + second)

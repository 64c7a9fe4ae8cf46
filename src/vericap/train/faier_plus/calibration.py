"""Bring the claims' parts of FAIEr-plus to the teacher's scale: a least-squares line each, no network is trained."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from vericap.core import shipped
from vericap.core.batch import Batch
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.typing import Array, Floats32, Ints
from vericap.models.faier_plus import CLAIMS, PARTS, FaierPlusModel
from vericap.models.faier_plus.scorer import FaierPlusScorer, ImageCase, ReadTexts
from vericap.run.analyses import Graphs, PhraseVectors, Regions, RegionVectors, TokenStates
from vericap.run.plan import analysed
from vericap.train import losses
from vericap.train.claims import ClaimTable
from vericap.train.data import PER_IMAGE, Captioned
from vericap.train.validate import Pairs, near_pairs

_GIVEN = 3  # references of the pairs that have any; the teacher reads the other captions
_TOGETHER = 64  # photos scored at once


def fit(folder: Path, features: str, data: Captioned, sentences: Array, said: ClaimTable | None = None) -> None:
    """Add the table `claims` to the weights in a folder, from graded pairs of training photos; where what their
    captions claim is given, it is half of the target."""
    weights, meta = shipped.weights(str(folder), "faier_plus")
    captions = [(key, text) for key, five in zip(data.keys, data.captions) for text in five]
    samples = [Sample(str(number), text, (), key) for number, (key, text) in enumerate(captions)]
    batch = Batch.of(samples, Settings(features=Path(features)))
    scorer = _scorer(FaierPlusModel(weights, meta), batch)
    lines = []
    for part in PARTS:
        given = 0 if part == "alone" else _GIVEN
        images, candidates, target = _graded(np.asarray(sentences, np.float32), given)
        if said is not None:
            target = losses.half(target, said.graded(images, candidates, given))
        lines.append(_line(_values(scorer, batch, images, candidates, given, part), target))
    table = np.array(lines).astype(np.float16)
    save_file({**weights, CLAIMS: table}, folder / "faier_plus.safetensors")
    shipped.write_meta(folder, {**meta, "claims": {"photos": len(data), "references": _GIVEN}})


def _scorer(model: FaierPlusModel, batch: Batch) -> FaierPlusScorer:
    """The model with the captions of some photos: caption k of photo i is row 5 i + k of the batch."""
    graphs, regions = Graphs.of(batch.settings), Regions.of(batch.settings)
    phrases, embedded = PhraseVectors(graphs), RegionVectors(model.meta["encoder"])
    analysed(batch, TokenStates(), phrases, embedded)
    texts = ReadTexts(batch.texts, batch[TokenStates()], batch[graphs], batch[phrases])
    return FaierPlusScorer(model, texts, batch[regions], batch[embedded])


def _graded(sentences: Floats32, given: int) -> Pairs:
    """Graded pairs of photos and captions, and the teacher's word on them: the photo's captions that are not given."""
    images, captions, _ = near_pairs(sentences)
    flat = sentences.reshape(-1, sentences.shape[-1])
    target = np.empty(len(images), dtype=np.float32)
    for row, (image, caption) in enumerate(zip(images, captions)):
        place = int(caption) - int(image) * PER_IMAGE
        if 0 <= place < PER_IMAGE:
            caption, place = image * PER_IMAGE + given, given  # an own caption that is not given
            captions[row] = caption
        held = [k for k in range(given, PER_IMAGE) if k != place]
        target[row] = flat[caption] @ sentences[image, held].mean(axis=0)
    return images, captions, target


def _values(scorer: FaierPlusScorer, batch: Batch, images: Ints, captions: Ints, given: int, part: str) -> Floats32:
    """One part of the claims' level for pairs of photos and captions, with a photo's first captions as references."""
    found = np.empty(len(images), dtype=np.float32)
    for start in range(0, int(images.max()) + 1, _TOGETHER):
        inside = (images >= start) & (images < start + _TOGETHER)
        cases = []
        for image in np.unique(images[inside]):
            first = image * PER_IMAGE
            own = batch.candidates[captions[images == image]]
            cases.append(ImageCase(own, int(batch.images[first]), batch.candidates[first : first + given]))
        found[inside] = scorer.parts(scorer.group(cases))[part][CLAIMS]
    return found


def _line(values: Array, target: Array) -> tuple[float, float]:
    """Slope and offset of the least-squares line."""
    there = ~np.isnan(values)
    slope, offset = np.polyfit(values[there], target[there], 1)
    return float(slope), float(offset)

"""Bring the claims' parts of FAIEr-plus to the teacher's scale: a least-squares line each, no network is trained."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vericap.core import shipped
from vericap.core.batch import Batch
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.typing import Array, Floats32, Ints
from vericap.models.faier_plus import CLAIMS, PARTS, FaierPlusModel
from vericap.models.faier_plus.scorer import FaierPlusScorer, ImageCase, ReadTexts
from vericap.run.analyses import Graphs, PhraseVectors, Regions, RegionVectors, Sentences, TokenStates
from vericap.run.plan import analysed
from vericap.train import losses
from vericap.train.claims import ClaimTable
from vericap.train.data import Captioned, CaptionPlaces
from vericap.train.validate import Pairs, near_pairs

_GIVEN = 3  # references of the pairs that have any; the teacher reads the other captions
_TOGETHER = 64  # photos scored at once


def fit(folder: Path, features: str, data: Captioned, sentences: Array, said: ClaimTable | None = None) -> None:
    """Add the table `claims` to the weights in a folder, from graded pairs of training photos; where what their
    captions claim is given, it is half of the target.

    Where no photo has a second caption no reference can be given: the line of the image alone serves with them too.
    """
    weights, meta = shipped.weights(str(folder), "faier_plus")
    each = sentences.shape[1]
    captions = [(key, text) for key, own in zip(data.keys, data.captions) for text in Captioned([], [own]).texts(each)]
    samples = [Sample(str(number), text, (), key) for number, (key, text) in enumerate(captions)]
    batch = Batch.of(samples, Settings(features=Path(features)))
    scorer, places = _scorer(FaierPlusModel(weights, meta), batch), data.places(each)
    lines: list[tuple[float, float]] = []
    for part in PARTS:
        given = np.zeros(len(data), dtype=np.int64) if part == "alone" else np.minimum(_GIVEN, places.counts - 1)
        if part != "alone" and not given.any():
            lines.append(lines[0])
            continue
        images, candidates, target = _graded(np.asarray(sentences, np.float32), places, given, part != "alone")
        if said is not None:
            target = losses.half(target, said.graded(images, candidates, given[images]))
        lines.append(_line(_values(scorer, batch, each, images, candidates, given, part), target))
    shipped.save_weights({**weights, CLAIMS: np.array(lines)}, folder, "faier_plus")
    most = int(np.minimum(_GIVEN, places.counts - 1).max(initial=0))
    shipped.write_meta(folder, {**meta, "claims": {"photos": len(data), "references": most}})


def _scorer(model: FaierPlusModel, batch: Batch) -> FaierPlusScorer:
    """The model with the captions of some photos, one row of the batch for each."""
    graphs, regions = Graphs.of(batch.settings), Regions.of(batch.settings)
    reader, embedded = model.meta.get("text_encoder", "gte-small"), RegionVectors(model.meta["encoder"])
    states, sentences, phrases = TokenStates(reader), Sentences(encoder=reader), PhraseVectors(graphs, reader)
    analysed(batch, states, sentences, phrases, embedded)
    texts = ReadTexts(batch.texts, batch[states], batch[sentences], batch[graphs], batch[phrases])
    return FaierPlusScorer(model, texts, batch[regions], batch[embedded])


def _graded(sentences: Floats32, places: CaptionPlaces, given: Ints, guided: bool) -> Pairs:
    """Graded pairs of photos and captions, and the teacher's word on them: the photo's captions that are not given.

    `guided` leaves out photos without references.
    """
    images, columns, _ = near_pairs(sentences, places)
    numbers = places.columns[columns]
    if guided:
        images, numbers = images[given[images] > 0], numbers[given[images] > 0]
    flat, each = sentences.reshape(-1, sentences.shape[-1]), places.each
    target = np.empty(len(images), dtype=np.float32)
    for row, (image, number) in enumerate(zip(images.tolist(), numbers.tolist())):
        first, count = int(given[image]), int(places.counts[image])
        if number // each == image:
            numbers[row] = number = image * each + first  # an own caption that is not given
        held = [k for k in range(first, count) if image * each + k != number] or [first]
        target[row] = flat[number] @ sentences[image, held].mean(axis=0)
    return images, numbers, target


def _values(
    scorer: FaierPlusScorer, batch: Batch, each: int, images: Ints, captions: Ints, given: Ints, part: str
) -> Floats32:
    """One part of the claims' level for pairs of photos and captions, with a photo's first captions as references."""
    found = np.empty(len(images), dtype=np.float32)
    for start in range(0, int(images.max()) + 1, _TOGETHER):
        inside = (images >= start) & (images < start + _TOGETHER)
        cases = []
        for image in np.unique(images[inside]):
            first = image * each
            own = batch.candidates[captions[images == image]]
            cases.append(ImageCase(own, int(batch.images[first]), batch.candidates[first : first + given[image]]))
        if cases:
            found[inside] = scorer.parts(scorer.group(cases))[part][CLAIMS]
    return found


def _line(values: Array, target: Array) -> tuple[float, float]:
    """Slope and offset of the least-squares line."""
    there = ~np.isnan(values)
    slope, offset = np.polyfit(values[there], target[there], 1)
    return float(slope), float(offset)

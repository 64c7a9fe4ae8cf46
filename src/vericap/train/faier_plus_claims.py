"""Bring the claims' parts of FAIEr-plus to the teacher's scale: a least-squares line each, no network is trained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from vericap.metrics.faier_plus import Scorer
from vericap.models import faier_plus
from vericap.models.faier_plus import CLAIMS, PARTS
from vericap.models.store import write_meta
from vericap.run.batch import Batch, Settings
from vericap.samples import Sample
from vericap.train import losses
from vericap.train.claims import Claims
from vericap.train.data import PER_IMAGE, Captioned
from vericap.train.validate import near_pairs

Array = NDArray[Any]
_GIVEN = 3  # references of the pairs that have any; the teacher reads the other captions


def fit(folder: Path, features: str, data: Captioned, sentences: Array, said: Claims | None = None) -> None:
    """Add the table `claims` to the weights in a folder, from graded pairs of training photos; where what their
    captions claim is given, it is half of the target."""
    file = folder / "faier_plus.safetensors"
    weights = load_file(file)
    weights[CLAIMS] = np.tile(np.array([1.0, 0.0], np.float16), (len(PARTS), 1))
    save_file(weights, file)
    faier_plus.load.cache_clear()
    sentences = np.asarray(sentences, np.float32)
    found = {part: _parts(folder, features, data, sentences, said, part) for part in PARTS}
    table = np.array([_line(*found[part]) for part in PARTS])
    save_file({**weights, CLAIMS: table.astype(np.float16)}, file)
    meta = json.loads((folder / "meta.json").read_text("utf-8"))
    write_meta(folder, {**meta, "claims": {"photos": len(data), "references": _GIVEN}})


def _parts(
    folder: Path, features: str, data: Captioned, sentences: Array, said: Claims | None, part: str
) -> tuple[Array, Array]:
    """Values of one part on graded pairs, and what the teacher says of them."""
    given = 0 if part == "alone" else _GIVEN
    images, captions, _ = near_pairs(sentences)
    flat = sentences.reshape(-1, sentences.shape[-1])
    texts = [text for five in data.captions for text in five]
    samples: list[Sample] = []
    cosines: list[float] = []
    for row, (image, caption) in enumerate(zip(images, captions)):
        place = int(caption) - int(image) * PER_IMAGE
        if 0 <= place < PER_IMAGE:
            caption, place = image * PER_IMAGE + given, given  # an own caption that is not given
            captions[row] = caption
        held = [k for k in range(given, PER_IMAGE) if k != place]
        cosines.append(float(flat[caption] @ sentences[image, held].mean(axis=0)))
        references = tuple(data.captions[image][:given])
        samples.append(Sample(str(len(samples)), texts[caption], references, data.keys[image]))
    batch = Batch.of(samples, Settings(features=Path(features)))
    scorer = Scorer(batch, str(folder), references=True)
    values = np.full(len(samples), np.nan)
    for group in scorer.groups():
        values[group.rows] = scorer.parts(group)[part][CLAIMS]
    target = np.array(cosines, dtype=np.float32)
    return values, target if said is None else losses.half(target, said.graded(images, captions, given))


def _line(values: Array, target: Array) -> tuple[float, float]:
    """Slope and offset of the least-squares line."""
    there = ~np.isnan(values)
    slope, offset = np.polyfit(values[there], target[there], 1)
    return float(slope), float(offset)

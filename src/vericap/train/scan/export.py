"""Write a trained SCAN: 8-bit matrices, with the whitening of REO's distance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from vericap.core.shipped import save_weights, write_meta
from vericap.core.typing import Array
from vericap.models import scan
from vericap.train.scan.data import ScanSource
from vericap.train.scan.network import ScanModule, weights_of


def export(model: ScanModule, folder: Path, meta: dict[str, Any], source: ScanSource, shrinkage: float) -> None:
    """Write the model with the whitening of REO's distance."""
    weights = weights_of(model)
    contexts = sample_contexts(scan.ScanModel(weights, meta), model, source)
    weights["whitening"] = shrunk_whitening(contexts, shrinkage)
    target = folder / "scan"
    save_weights(weights, target, "scan")
    write_meta(target, meta)


def sample_contexts(network: scan.ScanModel, model: ScanModule, source: ScanSource, images: int = 500) -> Array:
    """Context vectors of training captions over the regions of their own images."""
    rows = np.linspace(0, len(source) - 1, min(images, len(source))).astype(np.int64)
    with torch.no_grad():
        regions = network.regions(np.asarray(source.features[rows], dtype=np.float32))
        mask = np.ones(regions.shape[:2], dtype=np.float32) if source.regions is None else source.regions[rows]
        text = source.text.read(rows * source.per_image)
        words = model.words(text).numpy()
    found = []
    for image, h in enumerate(np.split(words, np.cumsum(text.counts.numpy())[:-1])):
        inside = mask[image].astype(bool)
        own = regions[image][inside]
        found.append(scan.weights(own @ h.T, np.ones(len(own), dtype=np.float32), network.attention) @ h)
    return np.concatenate(found).astype(np.float64)


def shrunk_whitening(contexts: Array, shrinkage: float) -> Array:
    """W with W'W = S^-1 for S = (1 - shrinkage) covariance + shrinkage (its mean variance) I, scaled to trace D."""
    centred = contexts - contexts.mean(axis=0)
    covariance = centred.T @ centred / max(len(contexts) - 1, 1)
    width = len(covariance)
    covariance *= width / np.trace(covariance)  # a common factor only changes the unit of the distance
    values, vectors = np.linalg.eigh((1 - shrinkage) * covariance + shrinkage * np.eye(width))
    return np.asarray((vectors / np.sqrt(np.maximum(values, 1e-6))) @ vectors.T, dtype=np.float32)

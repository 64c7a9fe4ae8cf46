"""Take over a checkpoint of the public SCAN program (github.com/kuanghuei/SCAN) without running anything inside it.

Its file holds `model`, the state dicts of the image and the text encoder, and `opt`, the options it was trained with;
the vocabulary is a JSON file with `word2idx`. The weights stay float32: scores are those of that program.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
import torch

from vericap.core.errors import InputError
from vericap.core.shipped import save_weights, write_meta
from vericap.core.typing import Array, Floats32
from vericap.models.scan import Attention, ScanModel, weights
from vericap.models.words import MARKS
from vericap.train.scan.export import shrunk_whitening
from vericap.vision.store import FeatureStore

_POOLING = {"LogSumExp": "logsumexp", "Mean": "average", "Max": "max", "Sum": "sum"}
_SLOPES = {"clipped_l2norm": 0.1, "l2norm": 1.0}  # of negative similarities
_THEIRS = ("<unk>", "<start>", "<end>")  # in the order of our marks
_OBJECT = re.compile(r"GLOBAL ([\w.]+)")  # as torch names what it does not unpickle
_SAMPLED = 500  # images whose contexts give the covariance of REO's distance


def read_checkpoint(file: Path) -> tuple[list[dict[str, torch.Tensor]], dict[str, Any]]:
    """State dicts of both encoders, and the options; nothing but tensors and plain values is read."""
    try:
        with torch.serialization.safe_globals([argparse.Namespace]):
            found = torch.load(file, map_location="cpu", weights_only=True)
        states = [{name.removeprefix("module."): value for name, value in part.items()} for part in found["model"]]
        options = found.get("opt", {})
        return states, dict(options if isinstance(options, dict) else vars(options))
    except (OSError, RuntimeError, UnpicklingError, KeyError, TypeError, AttributeError, EOFError) as error:
        raise InputError(
            f"{file} is not a SCAN checkpoint (two state dicts in `model`, `opt`) of plain values ({_reason(error)})"
        ) from error


def _reason(error: Exception) -> str:
    """The first line of what went wrong; torch's advice to unpickle everything is not passed on."""
    if isinstance(error, UnpicklingError):
        found = _OBJECT.search(str(error))
        return f"it holds {found[1]}" if found else "it holds objects"
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def read_vocabulary(file: Path) -> dict[str, int]:
    """Words and their rows of the embedding."""
    try:
        found = json.loads(file.read_text("utf-8"))["word2idx"]
        places = {str(word): int(place) for word, place in found.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{file} is not a SCAN vocabulary: JSON with `word2idx` ({error})") from error
    missing = [mark for mark in _THEIRS if mark not in places]
    if missing:
        raise InputError(f"{file}: the vocabulary lacks {', '.join(missing)}")
    return places


def attention_of(options: Mapping[str, Any]) -> Attention:
    """The attention that the options describe."""

    def one(name: str, known: Mapping[str, Any], default: str) -> Any:
        given = options.get(name, default)
        if given not in known:
            raise InputError(f"the checkpoint's {name} is '{given}'; taken over are: {', '.join(known)}")
        return known[given]

    for name in ("no_imgnorm", "no_txtnorm"):
        if options.get(name):
            raise InputError(f"the checkpoint was trained with {name}: vectors of any length are not taken over")
    return Attention(
        sharpness=float(options.get("lambda_softmax", 9.0)),
        slope=float(one("raw_feature_norm", _SLOPES, "clipped_l2norm")),
        pooling=one("agg_func", _POOLING, "LogSumExp"),
        lse=float(options.get("lambda_lse", 6.0)),
        direction=one("cross_attn", {"i2t": "i2t", "t2i": "t2i"}, "t2i"),
    )


def arrays_of(states: Sequence[Mapping[str, torch.Tensor]], places: Mapping[str, int]) -> dict[str, Floats32]:
    """Our weights: the image's projection, word embeddings after our marks, the GRU."""
    try:
        image, text = states
        found = {"image": _projection(image), "image_bias": image["fc.bias"], "embedding": text["embed.weight"]}
        layers = [name for name in text if name.startswith("rnn.") and not name.split("_l")[1].startswith("0")]
        if layers:
            raise InputError(f"the checkpoint's GRU has more than one layer ({layers[0]}), which is not taken over")
        for name, value in text.items():
            if name.startswith("rnn."):
                found[f"gru_{name.removeprefix('rnn.').replace('_l0', '')}"] = value
    except (KeyError, ValueError, IndexError) as error:
        raise InputError(f"the checkpoint lacks {error}: it is not one of SCAN's precomputed-feature models") from error
    if max(places.values()) >= len(found["embedding"]):
        raise InputError(
            f"the vocabulary has {max(places.values()) + 1} words, the checkpoint {len(found['embedding'])}: name "
            "the one it was trained with"
        )
    rows = [places[mark] for mark in _THEIRS] + [places[word] for word in words_of(places)]
    arrays = {name: np.asarray(value.float().numpy()) for name, value in found.items()}
    return {**arrays, "embedding": arrays["embedding"][rows]}


def words_of(places: Mapping[str, int]) -> list[str]:
    """The vocabulary without marks, in the order of its numbers."""
    return [word for word in sorted(places, key=places.__getitem__) if word not in (*_THEIRS, "<pad>")]


def _projection(image: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """The image's linear layer; with weight normalisation it is g v / |v|."""
    if "fc.weight" in image:
        return image["fc.weight"]
    direction, length = image["fc.weight_v"], image["fc.weight_g"]
    by_row = length.numel() > 1
    norm = direction.norm(dim=1, keepdim=True) if by_row else direction.norm()
    return direction * (length.reshape(-1, 1) if by_row else length.reshape(())) / norm


def take_over(
    checkpoint: Path,
    vocabulary: Path,
    store: FeatureStore,
    output: Path,
    *,
    captions: Sequence[tuple[str, str]] = (),
    shrinkage: float = 0.5,
    name: str = "scan",
) -> ScanModel:
    """Write `scan/` below the output folder.

    `captions` (image, text) estimate the covariance of REO's distance; without any it is plain Euclidean.
    """
    states, options = read_checkpoint(checkpoint)
    places = read_vocabulary(vocabulary)
    arrays = arrays_of(states, places)
    if arrays["image"].shape[1] != store.width:
        raise InputError(
            f"the checkpoint reads features of width {arrays['image'].shape[1]}, {store.folder} has {store.width}"
        )
    features = store.trained_on()
    meta = {
        "name": name,
        "fingerprint": features["fingerprint"],
        "features": features,
        "words": "gru",
        "tokens": "treebank",
        "attention": asdict(attention_of(options)),
        "standardise": False,
        "encoder": "",
        "licence": "that of the checkpoint",
        "source": f"taken over from {checkpoint.name} of the public SCAN program",
        "trained": {"options": {key: value for key, value in options.items() if _plain(value)}},
        "vocabulary": [*MARKS, *words_of(places)],
    }
    model = ScanModel(arrays, meta)
    if captions:
        arrays["whitening"] = shrunk_whitening(_contexts(model, store, captions), shrinkage)
    folder = output / "scan"
    save_weights(arrays, folder, "scan", "float32")
    write_meta(folder, meta)
    return ScanModel(arrays, meta)


def _plain(value: object) -> bool:
    return isinstance(value, (str, int, float, bool))


def _contexts(model: ScanModel, store: FeatureStore, captions: Sequence[tuple[str, str]]) -> Array:
    """Context vectors of captions over the regions of their own images."""
    chosen = [captions[place] for place in np.unique(np.linspace(0, len(captions) - 1, _SAMPLED).astype(np.int64))]
    words = model.words([text for _, text in chosen])
    found = []
    for number, (image, _) in enumerate(chosen):
        if len(words[number]):
            regions = model.regions(np.asarray(store.get(image)[0], dtype=np.float32))
            alpha = weights(regions @ words[number].T, np.ones(len(regions), np.float32), model.attention)
            found.append(alpha @ words[number])
    if not found:
        raise InputError("no caption has a word of the checkpoint's vocabulary")
    return np.concatenate(found).astype(np.float64)

"""Teach the shipped head of whole photos further, over a feature store; cells, words and phrases stay as they are.

The first region of a store of the shipped extractor is the whole photo, whose first values are the mean of the final
map: what the head reads. So no map is made again, and regions, which are made of the cells, keep their fingerprint.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file

from vericap.core import shipped
from vericap.core.settings import Settings
from vericap.core.typing import Array, Floats32
from vericap.models import visual_words
from vericap.run.runtime import Runtime
from vericap.train import data, kept, options
from vericap.train.trainer import Trainer
from vericap.train.words import export
from vericap.train.words.data import DEV, held_out
from vericap.train.words.network import WholeModule
from vericap.train.words.training import MeansData, Standard, WholeOptions, WholeTask
from vericap.train.words.vocabulary import Said, Vocabulary, told_by_photo
from vericap.vision.cells import PART, whole_numbers
from vericap.vision.identity import check_same
from vericap.vision.images import find, load_image
from vericap.vision.regions import cells_digest, shipped_fingerprint
from vericap.vision.store import FeatureStore

_WEIGHED = 400  # dev photos of each set by which the two heads are weighed
_RATE = 5e-4


def run(args: argparse.Namespace) -> int:
    store, output = FeatureStore(args.features), Path(args.output)
    check_same(shipped_fingerprint(), "the shipped extractor", store.fingerprint, str(store.folder))
    arrays, meta = shipped.weights("default", PART)
    model = visual_words.load()
    vocabulary = Vocabulary(list(zip(model.kinds, model.entries)), [])
    train, dev = _photos(args, store)
    parts = [
        _data(own, store, vocabulary, width=len(arrays["whole_mean"]), threads=args.threads) for own in (*train, *dev)
    ]
    chosen = WholeOptions(rate=_RATE)
    shares = (
        [chosen.batch - args.flickr8k_share, args.flickr8k_share][: len(train)] if args.flickr8k else [chosen.batch]
    )
    torch.manual_seed(args.seed)
    head = _begun(arrays)
    standard = Standard(arrays["whole_mean"], arrays["whole_deviation"])
    task = WholeTask(head, chosen, parts[: len(train)], shares, parts[len(train) :], standard, seed=args.seed)
    about = {"photos": [len(part) for part in parts], "options": asdict(chosen), "shares": shares}
    print(f"{about['photos']} photos, before: {_figures(task)}", flush=True)
    trainer = Trainer(
        head,
        [{"params": list(head.parameters()), "lr": chosen.rate}],
        options.plan_of(args),
        output / "whole",
        describe=about,
    )
    trainer.run(task.losses, task.validate)
    trainer.load_best()
    fusion = _weighed(args, task, dev, model)
    trained = {**meta["trained"], "again": {**about, "steps": trainer.state.best_step, "dev": _figures(task)}}
    described = {"name": meta["name"], "trained": trained, "cells": cells_digest()}
    _write(output / "visual_words", arrays, head, fusion, described)
    print(f"after: {_figures(task)}; written to {output / 'visual_words'}")
    return 0


def _photos(args: argparse.Namespace, store: FeatureStore) -> tuple[list[data.Captioned], list[data.Captioned]]:
    """What trains and what validates: COCO's photos, some of them drawn by their names, and Flickr8k's."""
    left_out = {name for key in held_out(args.held_out) for name in options.names(key)}
    coco = options.in_store(data.coco(args.captions, never=args.never), store).without(left_out)
    drawn = sorted(coco.keys, key=lambda key: sha256(key.encode()).digest())[: min(DEV, len(coco) // 10)]
    train, dev = [coco.without(drawn)], [coco.only(drawn)]
    if args.flickr8k:
        train.append(options.in_store(data.flickr8k(args.flickr8k, "train"), store))
        dev.append(options.in_store(data.flickr8k(args.flickr8k, "dev"), store))
    return train, dev


def _data(
    photos: data.Captioned, store: FeatureStore, vocabulary: Vocabulary, *, width: int, threads: int
) -> MeansData:
    graphs = kept.graphs([text for own in photos.captions for text in own], threads=threads)
    said = Said.of(told_by_photo(graphs, photos.captions), vocabulary)
    means = np.stack([store.at(place)[0][0, :width] for place in store.places(photos.keys)])
    return MeansData(means, np.arange(len(photos)), said)


def _begun(arrays: dict[str, Array]) -> WholeModule:
    """The head with the shipped weights."""
    weights = whole_numbers(arrays)
    hidden, words = weights["whole_hidden"], weights["whole_words"]
    head = WholeModule(np.full(len(words), 0.5, np.float32), width=hidden.shape[1], hidden=hidden.shape[0])
    given = {"hidden": ("whole_hidden", "whole_hidden_bias"), "words": ("whole_words", "whole_words_bias")}
    head.load_state_dict(
        {
            f"{layer}.{part}": torch.from_numpy(np.array(weights[name], dtype=np.float32))
            for layer, names in given.items()
            for part, name in zip(("weight", "bias"), names)
        }
    )
    return head


def _figures(task: WholeTask) -> dict[str, float]:
    with torch.no_grad():
        return {name: round(value, 3) for name, value in task.validate().items()}


def _weighed(
    args: argparse.Namespace, task: WholeTask, dev: Sequence[data.Captioned], model: visual_words.VisualWords
) -> Floats32:
    """How the two heads are weighed, by what is said of dev photos."""
    folders = [args.photos, f"{args.flickr8k}/Images"]
    first, second, target = [], [], []
    with torch.no_grad():
        for part, own, folder in zip(task.dev, dev, folders):
            keys = own.keys[:_WEIGHED]
            first.append(task.logits(part)[: len(keys)])
            second.append(torch.from_numpy(_cells(keys, folder, model)))
            target.append(torch.from_numpy(part.said.table(np.arange(len(keys)))))
    kinds = np.array([export.KINDS.index(kind) for kind in model.kinds])
    return export.weighed(torch.cat(first), torch.cat(second), torch.cat(target), torch.from_numpy(model.prior), kinds)


def _cells(keys: Sequence[str], folder: str, model: visual_words.VisualWords) -> Floats32:
    """What the head of cells says of photos (photos, entries)."""
    extractor, every = Runtime.of(Settings()).extractor(), np.arange(len(model.entries))
    found = []
    for key in keys:
        photo = load_image(find(key, folder))
        ((final, middle, last),) = extractor.all_maps([photo], ("middle", "last"))
        (seen,) = model.look(final.mean(axis=(0, 1))[None], model.head(middle[None], last[None]))
        found.append(visual_words.pooled(model.at_cells(seen, every)))
    return np.stack(found)


def _write(
    folder: Path, arrays: dict[str, Array], head: WholeModule, fusion: Floats32, about: dict[str, object]
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    made = dict(arrays)
    for name, layer in {"whole_hidden": head.hidden, "whole_words": head.words}.items():
        made |= export.small(name, layer.weight.detach().numpy())
        made[f"{name}_bias"] = layer.bias.detach().numpy().copy()
    made["fusion"] = fusion
    save_file({name: np.ascontiguousarray(value) for name, value in made.items()}, folder / "visual_words.safetensors")
    shutil.copyfile(shipped.path(PART, "entries.json"), folder / "entries.json")
    shipped.write_meta(folder, about)

"""Train the visual words: what people see and say of a photo, and where.

Two heads over the shipped backbone: one reads the mean of its final map, one the cells of its finer map. Both learn
from the captions which words and short phrases are said of a photo; the cells also learn where, and boxes around
objects, from boxes people drew. Feature maps of all photos are made first and kept in --work (about 67 kB a photo).
With --features the shipped head of whole photos learns further from a feature store, and nothing else changes.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from vericap.core import shipped
from vericap.core.errors import InputError
from vericap.train import kept, maps, options
from vericap.train.trainer import Trainer, TrainPlan
from vericap.train.words import boxes, data, export, whole_again
from vericap.train.words.network import CellsModule, WholeModule, log_odds
from vericap.train.words.training import (
    CellsOptions,
    CellsTask,
    MeansData,
    Standard,
    WholeOptions,
    WholeTask,
    WordsData,
)
from vericap.train.words.vocabulary import Vocabulary

_MEASURED = 500  # photos on which channels are measured


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--photos", required=True, metavar="DIR", help="COCO's photos, named by their number")
    parser.add_argument("--captions", nargs="+", required=True, metavar="FILE", help="COCO's captions; .gz too")
    parser.add_argument("--boxes", nargs="+", metavar="FILE", help="lines `image_id<tab>class,x,y,w,h ...`")
    parser.add_argument("--classes", metavar="FILE", help="names of the boxes' classes, a JSON list")
    parser.add_argument("--flickr8k", metavar="DIR", help="train on its 6,000 training photos too")
    parser.add_argument(
        "--features",
        metavar="STORE",
        help="teach the shipped head of whole photos further, over a store's regions; all else stays",
    )
    parser.add_argument(
        "--flickr8k-share", type=int, default=24, metavar="N", help="with --features, Flickr8k's photos of 128 (24)"
    )
    parser.add_argument("--never", metavar="FILE", help="image ids that are never trained on, one per line")
    parser.add_argument(
        "--held-out", nargs="+", default=[], metavar="FILE", help="image ids (lines or JSONL) kept for calibration"
    )
    parser.add_argument("--work", metavar="DIR", help="where feature maps are kept")
    parser.add_argument("--output", "-o", required=True, metavar="DIR")
    parser.add_argument("--name", default="vericap-words")
    parser.add_argument("--words", type=int, default=100, help="photos a word needs to be learned (100)")
    parser.add_argument("--phrases", type=int, default=300, help="photos a phrase needs to be learned (300)")
    parser.add_argument("--whole-steps", type=int, default=7000, help="steps of the head of whole photos (7000)")
    options.add_plan(parser, steps=4000)


def run(args: argparse.Namespace) -> int:
    if args.features:
        return whole_again.run(args)
    if missing := [name for name in ("boxes", "classes", "work") if not getattr(args, name)]:
        raise InputError(f"name {', '.join(f'`{name}=...`' for name in missing)} too, or a store with `features=STORE`")
    work, output = Path(args.work), Path(args.output)
    flickr8k = Path(args.flickr8k) if args.flickr8k else None
    store = data.maps_of(Path(args.photos), flickr8k, work / "maps", threads=args.threads)
    train, dev = data.divided(data.told(args, store))
    vocabulary = Vocabulary.of(train.graphs, words=args.words, phrases=args.phrases)
    found = boxes.read(args.boxes)
    parts = [data.assembled(part, store, vocabulary, found) for part in (train, dev)]
    classes = data.entry_classes(vocabulary, boxes.read_classes(args.classes))
    seen = {"photos": [len(part) for part in parts], "entries": len(vocabulary), "graphs": kept.graphs_version()}
    print(f"{len(parts[0])} photos to train on, {len(vocabulary)} words and phrases", flush=True)
    whole = _whole(args, store, parts[0], parts[1], output / "whole", seen)
    cells = _cells(args, parts[0], parts[1], classes, output / "cells", seen)
    _written(args, whole, cells, vocabulary, {**seen, "backbone": store.meta["backbone"]}, output / "visual_words")
    return 0


def _plan(args: argparse.Namespace, steps: int) -> TrainPlan:
    chosen = options.plan_of(args)
    chosen.steps, chosen.warmup = steps, min(100, max(steps // 10, 1))
    return chosen


def _whole(
    args: argparse.Namespace, store: maps.MapStore, train: WordsData, dev: WordsData, folder: Path, seen: dict[str, Any]
) -> WholeTask:
    head = maps.Head(shipped.path("backbone", shipped.meta("backbone")["model"]))
    means = maps.means(store, head, store.folder / "means.npy")
    torch.manual_seed(args.seed)
    chosen, model = WholeOptions(), WholeModule(train.said.mean(), width=means.shape[1])
    standard = Standard.of(means[train.rows[:20_000]].astype(np.float32))
    own = [MeansData(means, part.rows, part.said) for part in (train, dev)]
    task = WholeTask(model, chosen, own[:1], [chosen.batch], own[1:], standard, seed=args.seed)
    _run(model, chosen.rate, _plan(args, args.whole_steps), folder, {**seen, "options": asdict(chosen)}, task)
    return task


def _cells(
    args: argparse.Namespace, train: WordsData, dev: WordsData, classes: Any, folder: Path, seen: dict[str, Any]
) -> CellsTask:
    spread = train.rows[np.linspace(0, len(train) - 1, min(_MEASURED, len(train))).astype(int)]
    standards = {kind: Standard.of(train.maps.read(kind, spread)) for kind in maps.KINDS}
    torch.manual_seed(args.seed)
    chosen = CellsOptions()
    widths = {kind: len(train.maps.scales[kind]) for kind in maps.KINDS}
    model = CellsModule(train.said.mean(), middle=widths["middle"], last=widths["last"])
    task = CellsTask(model, chosen, train, dev, standards, classes, seed=args.seed)
    _run(model, chosen.rate, _plan(args, args.steps), folder, {**seen, "options": asdict(chosen)}, task)
    return task


def _run(model: torch.nn.Module, rate: float, plan: TrainPlan, folder: Path, seen: dict[str, Any], task: Any) -> None:
    groups = [{"params": list(model.parameters()), "lr": rate}]
    trainer = Trainer(model, groups, plan, folder, describe=seen)
    trainer.run(task.losses, task.validate)
    trainer.load_best()


def _written(
    args: argparse.Namespace,
    whole: WholeTask,
    cells: CellsTask,
    vocabulary: Vocabulary,
    seen: dict[str, Any],
    folder: Path,
) -> None:
    first, second = export.logits(whole, cells)
    (train,), (dev,) = whole.train, whole.dev
    target = torch.from_numpy(dev.said.table(np.arange(len(dev))))
    vocabulary = Vocabulary(vocabulary.entries, vocabulary.photos, train.said.mean().tolist())
    prior = log_odds(train.said.mean())
    fusion = export.weighed(first, second, target, prior, export.kinds_of(vocabulary))
    with torch.no_grad():
        figures = {**cells.validate(), **{f"whole_{name}": value for name, value in whole.validate().items()}}
    described = {"name": args.name, "trained": {**seen, "dev": figures, "steps": [args.whole_steps, args.steps]}}
    export.write(folder, (whole.model, whole.standard), (cells.model, cells.standards), vocabulary, fusion, described)
    print(f"{figures}; written to {folder}")

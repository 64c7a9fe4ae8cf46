"""Speed and memory of FAIEr: a training step against a loop over pairs, scoring with images encoded, memory.

    python -m benchmarks.speed.faier_speed [--parts step,scoring,memory] [--metrics faier faier-plus] [--threads 1]
        [--save]

step      one training step (forward, hardest-negative loss, backward) over all image-caption pairs of a batch, against
          the same scores pair by pair: once with everything computed for every pair, once with encodings shared and
          only the matching in a loop. The scores must agree.
scoring   candidates per second once region features, scene graphs and token states are there, with no reference and
          with the photo's five; then with the captions' analyses done anew.
memory    resident memory while captions stream through.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.library.data import data_folder
from benchmarks.library.results import add_save, tell
from benchmarks.library.runs import photos, short, usable
from benchmarks.speed.spice_memory import captions as coco_captions
from benchmarks.speed.spice_memory import resident
from vericap.core.batch import Batch
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.table import Table
from vericap.metrics.registry import make
from vericap.run.analyses import Graphs, PhotoRegions, Regions
from vericap.run.engine import Run
from vericap.run.plan import analysed

REGIONS, WIDTH, WORDS = 36, 1280, 5000


def fastest(function: Callable[[], Any], times: int) -> tuple[float, float, Any]:
    """Wall seconds, processor seconds, result of the run that took the processor least."""
    best: tuple[float, float, Any] = (float("inf"), float("inf"), None)
    for _ in range(times):
        wall, cpu = time.perf_counter(), time.process_time()
        result = function()
        found = time.perf_counter() - wall, time.process_time() - cpu, result
        best = min(best, found, key=lambda item: item[1])
    return best


class Made:
    """A batch of made-up images and captions: a candidate and two references each."""

    def __init__(self, batch: int, d: int, seed: int = 0) -> None:
        import torch

        from vericap.models.faier import EMPTY, UNKNOWN, FaierConfig
        from vericap.train.faier.network import FaierModule

        torch.manual_seed(seed)
        words = random.Random(seed)
        vocabulary = [UNKNOWN, EMPTY, *(f"w{i}" for i in range(WORDS))]
        self.net = FaierModule(FaierConfig(width=WIDTH, d=d), vocabulary)
        self.features = torch.randn(batch, REGIONS, WIDTH)
        self.boxes, self.mask = torch.rand(batch, REGIONS, 4), torch.ones(batch, REGIONS, dtype=torch.bool)

        def text(count: int) -> list[str]:
            return [vocabulary[words.randrange(2, len(vocabulary))] for _ in range(count)]

        self.words = [text(words.randrange(8, 16)) for _ in range(3 * batch)]
        self.triplets = [[text(3) for _ in range(words.randrange(1, 4))] for _ in range(3 * batch)]
        self.batch = batch
        self.chosen = np.stack([np.arange(batch) + batch, np.arange(batch) + 2 * batch], axis=1)

    def sides(self, rows: np.ndarray, text: dict[str, Any], chosen: np.ndarray) -> dict[str, Any]:
        net = self.net
        visual = net.regions(self.features[rows], self.boxes[rows], self.mask[rows])
        return {level: net.sides(level, visual[level], self.mask[rows], text[level], chosen) for level in net.levels}

    def all_pairs(self) -> Any:
        text = self.net.captions(self.words, self.triplets)
        sides = self.sides(np.arange(self.batch), text, self.chosen)
        own = np.arange(self.batch)
        return self.net.scores(sides, {level: found.rows(own) for level, found in text.items()})

    def each_pair(self) -> Any:
        """Everything for every pair: image, references and candidate are encoded and matched one pair at a time."""
        import torch

        rows = []
        for image in range(self.batch):
            row = []
            for caption in range(self.batch):
                places = [caption, *self.chosen[image]]
                text = self.net.captions([self.words[i] for i in places], [self.triplets[i] for i in places])
                sides = self.sides(np.array([image]), text, np.array([[1, 2]]))
                own = {level: found.rows(np.array([0])) for level, found in text.items()}
                row.append(self.net.scores(sides, own)[0, 0])
            rows.append(torch.stack(row))
        return torch.stack(rows)

    def matched_in_a_loop(self) -> Any:
        """Encodings shared; only the matching goes pair by pair."""
        import torch

        text = self.net.captions(self.words, self.triplets)
        images = [self.sides(np.array([i]), text, self.chosen[i : i + 1]) for i in range(self.batch)]
        own = [{level: found.rows(np.array([c])) for level, found in text.items()} for c in range(self.batch)]
        return torch.stack([torch.stack([self.net.scores(sides, one)[0, 0] for one in own]) for sides in images])

    def step(self, scores: Callable[[], Any]) -> Any:
        from vericap.train.losses import hardest_negative

        self.net.zero_grad()
        found = scores()
        hardest_negative(found, margin=0.2).backward()
        return found.detach().numpy()


def training_step(args: argparse.Namespace) -> Table:
    import torch

    torch.set_num_threads(args.threads)
    made = Made(args.batch, args.d)
    wall, cpu, scores = fastest(lambda: made.step(made.all_pairs), 5)
    shown = Table(("training step", "seconds", "CPU seconds", "times the CPU", "largest difference"), digits=3)
    shown.title = f"{args.batch} images of {REGIONS} regions, d = {args.d}, 2 references, {args.threads} thread(s)"
    shown.add("all pairs at once", wall, cpu, 1.0, None)
    for name, way in (
        ("encodings shared, matched in a loop", made.matched_in_a_loop),
        ("pair by pair", made.each_pair),
    ):
        wall, busy, found = fastest(lambda way=way: made.step(way), 1)
        shown.add(name, wall, busy, busy / cpu, f"{np.abs(found - scores).max():.1e}")
    return shown


def rows_of(count: int, images: int, references: int, seed: int = 0) -> list[Sample]:
    """Captions of the dev split against photos of it, right ones and others."""
    from vericap.train.data import flickr8k

    data = flickr8k(data_folder() / "flickr8k", "dev")
    generator = random.Random(seed)
    texts = [text for five in data.captions[:images] for text in five]
    samples = []
    for i in range(count):
        image = i % images
        text = texts[generator.randrange(len(texts))]
        samples.append(Sample(str(i), text, tuple(data.captions[image][:references]), data.keys[image]))
    return samples


def scoring(args: argparse.Namespace) -> Table:
    settings = photos(data_folder() / "flickr8k" / "Images")
    shown = Table(
        ("metric", "references", "analyses", "candidates", "per second", "per CPU second"),
        title=f"Scoring, photos encoded ({args.images} photos, {args.threads} thread(s))",
        digits=0,
    )
    sample = rows_of(1, 1, 5)[0]
    good, left_out = usable(args.metrics, sample, settings)
    for name in good:
        metric = make(name)
        for references in (0, 5):
            if not references and "references" in metric.needs:
                continue
            batch = Batch.of(rows_of(args.candidates, args.images, references), settings)
            analysed(batch, *metric.requires(settings))
            wall, cpu, _ = fastest(partial(metric.statistics, batch), 3)
            shown.add(short(name), references, "ready", len(batch), len(batch) / wall, len(batch) / cpu)
        if metric.name == "faier":
            wall, cpu = encoded(batch)
            shown.add(short(name), 5, "photos with references encoded", len(batch), len(batch) / wall, len(batch) / cpu)
        seconds, busy = anew(metric, batch)
        shown.add(short(name), 5, "of captions anew", len(batch), len(batch) / seconds, len(batch) / busy)
    shown.notes = left_out
    return shown


def encoded(batch: Batch) -> tuple[float, float]:
    """FAIEr with the union of every photo and its references ready, as when many systems are judged: candidates are
    read, encoded and matched."""
    from vericap.metrics.batching import references_of
    from vericap.metrics.faier.judge import Judge, UnionBlock
    from vericap.models import faier
    from vericap.models.faier.together import Encodings

    regions, graphs = batch[Regions.of(batch.settings)], batch[Graphs.of(batch.settings)]
    judge = Judge(batch, faier.load("default"), graphs, regions, references_of(batch))
    blocks = list(judge.blocks(np.arange(len(batch))))

    def score() -> None:
        judge._encodings = Encodings(judge.model)
        for block in blocks:
            nodes = judge.read(np.unique(batch.candidates[block.rows]))
            fresh = UnionBlock(block.cases, nodes, block.visual, block.mask, block.levels)
            for level in judge.model.levels:
                judge.scores(fresh, level)

    wall, cpu, _ = fastest(score, 3)
    return wall, cpu


def anew(metric: Metric, batch: Batch) -> tuple[float, float]:
    """A run with an empty cache: every distinct caption is parsed and encoded, photos are there already."""
    settings = Settings(images=data_folder() / "flickr8k" / "Images", cache="off")
    samples = [batch.sample(row) for row in range(len(batch))]

    def score() -> None:
        fresh = Batch.of(samples, settings)
        fresh.put(PhotoRegions(), batch[Regions.of(settings)])
        metric.statistics(analysed(fresh, *metric.requires(settings)))

    wall, cpu, _ = fastest(score, 2)  # the first one opens parser and encoder
    return wall, cpu


def streamed(count: int, images: int) -> Iterator[list[Sample]]:
    """COCO captions, 2,000 at a time, each against some photo and its references: texts do not come twice."""
    from vericap.train.data import flickr8k

    data = flickr8k(data_folder() / "flickr8k", "dev")
    part: list[Sample] = []
    for number, text in enumerate(coco_captions()):
        if number == count:
            break
        image = number % images
        part.append(Sample(str(number), text, tuple(data.captions[image]), data.keys[image]))
        if len(part) == 2000:
            yield part
            part = []
    if part:
        yield part


def memory(args: argparse.Namespace) -> Table:
    settings = photos(data_folder() / "flickr8k" / "Images")
    shown = Table(("metric", "captions so far", "resident MB"), title="Memory while captions stream", digits=0)
    good, left_out = usable(args.metrics, rows_of(1, 1, 5)[0], settings)
    for name in good:
        done = 0
        for part in streamed(args.captions, args.images):
            Run([make(name)], settings).score(part)
            done += len(part)
            shown.add(short(name), done, resident())
    shown.notes = left_out
    return shown


PARTS = {"step": training_step, "scoring": scoring, "memory": memory}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--metrics", nargs="+", default=["faier", "faier-plus"])
    parser.add_argument("--threads", type=int, default=int(os.environ.get("OMP_NUM_THREADS", 2)))
    parser.add_argument("--batch", type=int, default=16, help="images of the training step")
    parser.add_argument("--d", type=int, default=512)
    parser.add_argument("--candidates", type=int, default=5000)
    parser.add_argument("--images", type=int, default=200)
    parser.add_argument("--captions", type=int, default=20_000, help="captions of the memory part")
    add_save(parser)
    args = parser.parse_args()
    unknown = [name for name in args.parts.split(",") if name not in PARTS]
    if unknown:
        parser.error(f"unknown part {', '.join(unknown)}; there are: {', '.join(PARTS)}")
    tables = {name: PARTS[name](args) for name in args.parts.split(",")}
    tell("benchmarks.speed.faier_speed", tables, save=args.save)


if __name__ == "__main__":
    main()

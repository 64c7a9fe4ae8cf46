"""Does more data still pay? Human agreement and retrieval against the number of COCO photos trained on.

    python -m benchmarks.studies.learning_curve --work WORK --output runs/curve [--sizes 5000 10000 ...] [--save]

WORK is the folder `vericap train backbone` kept its files in: lower maps of the COCO photos (coco-256.npy) and caption
vectors (coco-captions.npy, dev-captions.npy), and the rounded lower blocks the maps were made with (lower.onnx): the
photos that are scored go through the same. The backbone is the one of ImageNet, not tuned on captions, so that the
number of photos is all that differs; for every number an image-sentence encoder is trained for the same number of steps
and scored on Flickr8k-Expert (tau-c), the PASCAL-50S pairs (48 votes) and Flickr8k test retrieval. Flickr8k
photos are not trained on; its dev photos choose the step. Whatever is finished is found again. A table goes to the
screen, a picture to --picture.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from benchmarks.library.data import data_folder
from benchmarks.library.judged import expert, pascal
from benchmarks.library.results import add_save, tell
from vericap.core import onnx
from vericap.core.batch import Batch
from vericap.core.samples import Sample
from vericap.core.table import Number, Table
from vericap.metrics.vse import Vse
from vericap.run.analyses import PhotoRegions, Regions, RegionVectors, Sentences, VseWeights
from vericap.run.plan import analysed
from vericap.text.encoders import GTE_SMALL, open_encoder
from vericap.train import data, kept
from vericap.train.backbone import lite, onnx_files
from vericap.train.trainer import TrainPlan
from vericap.train.validate import recall
from vericap.train.vse.training import VseOptions, VseSource, train_encoder
from vericap.vision.images import find, load_image
from vericap.vision.pooling import pool
from vericap.vision.regions import Extractor, pyramid
from vericap.vision.store import RegionTable

SIZES = (5_000, 10_000, 20_000, 40_000, 80_000, 113_113)
COLUMNS = {"expert": "Expert tau-c", "pascal": "PASCAL-50S", "i2t": "R@1 image to text", "t2i": "R@1 text to image"}


class Backbone:
    """The ImageNet network: upper blocks over kept maps, and the whole for photos."""

    def __init__(self, output: Path, lower: Path, size: int) -> None:
        network = lite.load()
        upper, whole = output / "upper.onnx", output / "imagenet.onnx"
        onnx_files.export(network, upper, first=lite.CUT)
        onnx_files.join(lower, upper, whole)
        self._upper = onnx.session(upper)
        self._windows = pyramid()
        self.extractor = Extractor(whole, size=size)
        self.output = output

    def of_maps(self, maps: np.ndarray, name: str, threads: int) -> np.ndarray:
        """Windows (n, 14, 1280) over lower maps (n, h, w, 120), kept in a file."""

        def compute(rows: np.ndarray) -> np.ndarray:
            found = []
            for part in np.array_split(rows, max(len(rows) // 16, 1)):
                given = np.ascontiguousarray(np.asarray(maps[part], dtype=np.float32).transpose(0, 3, 1, 2))
                (out,) = self._upper.run(None, {"x": given})
                found += [pool(one.transpose(1, 2, 0), self._windows) for one in out]
            return np.stack(found)

        shape = (len(maps), len(self._windows), 1280)
        file = self.output / f"{name}-windows.npy"
        return kept.filled(file, shape, compute, what="windows", threads=threads)

    def of_photos(self, keys: list[str], folder: Path, name: str, threads: int) -> np.ndarray:
        """Windows of photos, kept in a file."""

        def compute(rows: np.ndarray) -> np.ndarray:
            return np.stack([self.extractor.regions(load_image(find(keys[row], folder)))[0] for row in rows])

        shape = (len(keys), len(self._windows), 1280)
        file = self.output / f"{name}-windows.npy"
        return kept.filled(file, shape, compute, what=f"{name} photos", threads=threads)


class Judges:
    """Photos with judgements, looked at once; every encoder is scored on them."""

    def __init__(self, network: Backbone, threads: int, images: int | None) -> None:
        self.print = network.extractor.fingerprint
        self.expert, self.pascal = expert(), pascal()
        test = data.flickr8k(data_folder() / "flickr8k", "test")
        self.test = test.first(images)
        flickr = sorted({str(sample.image) for sample in self.expert.samples} | set(self.test.keys))
        voc = sorted({str(sample.image) for sample in self.pascal.samples})
        self.windows = dict(
            zip(flickr, network.of_photos(flickr, data_folder() / "flickr8k" / "Images", "flickr8k", threads))
        )
        found = network.of_photos(voc, data_folder() / "pascal50s" / "images", "pascal", threads)
        self.windows.update(zip(voc, found))

    def score(self, folder: Path) -> dict[str, float]:
        """All figures of an encoder."""
        tau = self.expert.tau(self._captions(self.expert.samples, folder))
        accuracy = self.pascal.accuracy(self._captions(self.pascal.samples, folder))["mean"]
        samples = [
            Sample(f"{key}-{k}", text, (), key)
            for key, five in zip(self.test.keys, self.test.captions)
            for k, text in enumerate(five)
        ]
        batch, encoder = self._batch(samples, folder), VseWeights(str(folder))
        vectors, mask = batch[RegionVectors(str(folder))], batch[Regions()].mask
        scores = batch[encoder].matrix(vectors, mask, batch[Sentences(encoder=GTE_SMALL)])
        found = recall(scores[:, batch.candidates])
        return {"expert": tau, "pascal": accuracy, "i2t": found["i2t_r1"], "t2i": found["t2i_r1"], **found}

    def _captions(self, samples: list[Sample], folder: Path) -> np.ndarray:
        return Vse(model=str(folder)).statistics(self._batch(samples, folder)).values[:, 0]

    def _batch(self, samples: list[Sample], folder: Path) -> Batch:
        """Samples with the windows as regions, and what `vse` reads of them."""
        batch = Batch.of(samples)
        boxes = pyramid()
        items = [(np.asarray(self.windows[key], dtype=np.float32), boxes) for key in batch.image_keys]
        batch.put(PhotoRegions(), RegionTable.of(items, self.print))
        return analysed(batch, *Vse(model=str(folder)).requires(batch.settings))


def trained(size: int, sources: tuple[VseSource, VseSource], judges: Judges, args: argparse.Namespace) -> dict:
    """Figures of the encoder trained on the first `size` photos."""
    folder = args.output / str(size)
    result = folder / "result.json"
    if result.is_file():
        return json.loads(result.read_text())
    windows, validation = sources
    plan = TrainPlan(
        steps=args.steps, validate=args.validate, warmup=min(100, max(args.steps // 10, 1)), threads=args.threads
    )
    options = VseOptions(batch=args.batch, mirror=False, head_rate=1e-3)
    part = VseSource(windows.maps[:size], windows.texts[:size])
    features = {"fingerprint": judges.print, "width": windows.maps.shape[-1], "regions": windows.maps.shape[1]}
    about = {"features": features, "text_encoder": GTE_SMALL}
    state = train_encoder(part, None, validation, folder, plan=plan, options=options, quiet=args.quiet, **about)
    found = {"photos": size, "steps": state["steps"], "agreement": state["agreement"], **judges.score(folder / "vse")}
    result.write_text(json.dumps(found, indent=1))
    return found


def draw(rows: list[dict], picture: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(10, 3.2))
    photos = [row["photos"] for row in rows]
    for axis, names in zip(axes, (("expert",), ("pascal",), ("i2t", "t2i"))):
        for name in names:
            axis.plot(photos, [row[name] for row in rows], marker="o", label=COLUMNS[name])
        axis.set_xscale("log")
        axis.set_xticks(photos, [f"{n / 1000:.0f}k" if n >= 1000 else str(n) for n in photos], fontsize=7)
        axis.minorticks_off()
        axis.set_xlabel("COCO photos")
        axis.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="work folder of `vericap train backbone`")
    parser.add_argument("--maps", type=Path, help="lower maps of the COCO photos (WORK/coco-256.npy)")
    parser.add_argument("--captions", type=Path, help="vectors of their captions (WORK/coco-captions.npy)")
    parser.add_argument("--output", type=Path, required=True, help="windows (36 kB a photo), models, results")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--validate", type=int, default=100)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--size", type=int, default=256, help="input side of the photos that are scored")
    parser.add_argument("--images", type=int, help="photos of dev and test to use (all)")
    parser.add_argument("--picture", type=Path, default=Path("docs/pictures/learning-curve.png"))
    parser.add_argument("--quiet", action="store_true")
    add_save(parser)
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    maps = np.load(args.maps or args.work / "coco-256.npy", mmap_mode="r", allow_pickle=False)
    captions = np.load(args.captions or args.work / "coco-captions.npy", mmap_mode="r", allow_pickle=False)
    if len(maps) != len(captions):
        raise SystemExit(f"{len(maps)} maps and captions of {len(captions)} photos do not belong together")
    sizes = sorted({min(size, len(maps)) for size in args.sizes})
    network = Backbone(args.output, args.work / "lower.onnx", args.size)
    dev = data.flickr8k(data_folder() / "flickr8k", "dev").first(args.images)
    validation = VseSource(
        network.of_photos(dev.keys, data_folder() / "flickr8k" / "Images", "dev", args.threads),
        kept.sentences(dev, args.work, "dev", open_encoder(GTE_SMALL), threads=args.threads),
    )
    windows = network.of_maps(maps[: max(sizes)], "coco", args.threads)
    judges = Judges(network, args.threads, args.images)
    rows = [trained(size, (VseSource(windows, captions), validation), judges, args) for size in sizes]
    table = Table(["COCO photos", *COLUMNS.values()], digits=1)
    for row in rows:
        table.add(row["photos"], *(Number(row[name]) for name in COLUMNS))
    tell("benchmarks.studies.learning_curve", {"sizes": table}, save=args.save)
    draw(rows, args.picture)


if __name__ == "__main__":
    main()

"""Retrieval of the image models: R@1/5/10 both ways, every image with every caption.

    python -m benchmarks.agreement.image_retrieval [--models vse scan] [--set flickr8k-test] [--images 1000] [--save]
    python -m benchmarks.agreement.image_retrieval --set karpathy-test --photos train2017/

Flickr8k dev and test: 1,000 photos with 5 captions each. Karpathy test: those of the 5,000 photos that are in --photos,
in the order of the references' file, the first --images of them. No references are read: captions are what is searched.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.library.data import data_folder
from benchmarks.library.results import add_save, tell
from benchmarks.library.runs import short
from vericap.core.batch import Batch
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.table import Number, Table
from vericap.models import faier, scan
from vericap.models.faier_plus.scorer import FaierPlusScorer, ReadTexts
from vericap.run.analyses import (
    FaierPlusWeights,
    FaierWeights,
    Graphs,
    Grounding,
    PhraseVectors,
    Regions,
    RegionVectors,
    Sentences,
    TokenStates,
    VseWeights,
)
from vericap.run.plan import analysed
from vericap.train.data import PER_IMAGE, Captioned, flickr8k
from vericap.train.validate import recall

Matrix = Callable[[Batch, str], np.ndarray]  # batch of all captions, model -> (images, texts of the batch)


def vse_matrix(batch: Batch, model: str) -> np.ndarray:
    encoder, vectors, regions = VseWeights(model), RegionVectors(model), Regions.of(batch.settings)
    sentences = Sentences(encoder=encoder.text_encoder)
    analysed(batch, encoder, vectors, regions, sentences)
    return batch[encoder].matrix(batch[vectors], batch[regions].mask, batch[sentences])


def scan_matrix(batch: Batch, model: str) -> np.ndarray:
    found = np.zeros((len(batch.image_keys), len(batch.texts)), dtype=np.float32)
    for share, name in scan.halves(model):
        own = analysed(batch, Grounding(name))[Grounding(name)]
        found += share * own.model.matrix(own.regions, own.mask, own.words)
    return found


def faier_matrix(batch: Batch, model: str) -> np.ndarray:
    """FAIEr without references: each word's and triplet's best region, averaged over the caption."""
    weights, graphed, seen = FaierWeights(model), Graphs.of(batch.settings), Regions.of(batch.settings)
    analysed(batch, weights, graphed, seen)
    network, graphs, regions = batch[weights], batch[graphed], batch[seen]
    words, triplets = zip(*(faier.reading(text, graph) for text, graph in zip(batch.texts, graphs)))
    nodes = network.captions(words, triplets)
    visual = network.regions(regions.features, regions.boxes, regions.mask)
    scores = np.zeros((len(regions.features), len(batch.texts)), dtype=np.float32)
    for level in network.levels:
        counts = np.array([len(part) for part in nodes.level(level)])
        flat = np.concatenate(nodes.level(level))
        owner = np.repeat(np.arange(len(counts)), counts)
        for image, inside in enumerate(regions.mask):
            matched = network.matched(network.sides(level, visual[level][image][inside], []), flat)
            scores[image] += np.bincount(owner, weights=matched, minlength=len(counts)) / np.maximum(counts, 1)
    return scores


def faier_plus_matrix(batch: Batch, model: str) -> np.ndarray:
    weights, graphs, regions = FaierPlusWeights(model), Graphs.of(batch.settings), Regions.of(batch.settings)
    reader, vectors = weights.text_encoder, RegionVectors(weights.encoder.name)
    read = (TokenStates(reader), Sentences(encoder=reader), graphs, PhraseVectors(graphs, reader))
    analysed(batch, weights, *read, regions, vectors)
    texts = ReadTexts(batch.texts, *(batch[key] for key in read))
    return FaierPlusScorer(batch[weights], texts, batch[regions], batch[vectors]).matrix()


# One line for a new model: name -> function of a batch and of the model's name or folder.
MODELS: dict[str, Matrix] = {
    "vse": vse_matrix,
    "scan": scan_matrix,
    "faier": faier_matrix,
    "faier-plus": faier_plus_matrix,
}


def karpathy(photos: Path) -> Captioned:
    """Karpathy-test images whose photo is in a folder, five captions each."""
    references = json.loads((data_folder() / "coco" / "karpathy_test_references.json").read_text("utf-8"))
    five = {key: texts[:PER_IMAGE] for key, texts in references.items() if len(texts) >= PER_IMAGE}
    return Captioned(list(five), list(five.values())).with_photos(photos)


def chosen(args: argparse.Namespace) -> tuple[Captioned, Path]:
    """Captioned images and the folder of their photos."""
    if args.set == "karpathy-test":
        if args.photos is None:
            raise SystemExit("name the folder of the COCO photos with --photos")
        return karpathy(args.photos), args.photos
    return flickr8k(
        data_folder() / "flickr8k", args.set.removeprefix("flickr8k-")
    ), data_folder() / "flickr8k" / "Images"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="flickr8k-test", choices=("flickr8k-dev", "flickr8k-test", "karpathy-test"))
    parser.add_argument("--photos", type=Path, help="folder of the COCO photos")
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--models", nargs="+", default=["vse", "scan"], help="NAME, or NAME=FOLDER of a trained one")
    add_save(parser)
    args = parser.parse_args()
    data, folder = chosen(args)
    keys, captions = data.keys[: args.images], data.captions[: args.images]
    samples = [Sample(f"{key}-{k}", text, (), key) for key, five in zip(keys, captions) for k, text in enumerate(five)]
    batch = Batch.of(samples, Settings(images=folder, progress=True))
    about = f"{args.set}: {len(keys)} photos, {len(samples)} captions; image to text, text to image"
    table = Table(["model", *(f"{way} R@{rank}" for way in ("i2t", "t2i") for rank in (1, 5, 10))], digits=1)
    table.notes.append(about)
    for given in args.models:
        name, _, model = given.partition("=")
        scores = MODELS[name](batch, model or "default")[:, batch.candidates]
        table.add(short(given), *map(Number, recall(scores).values()))
    tell("benchmarks.agreement.image_retrieval", {args.set: table}, save=args.save)


if __name__ == "__main__":
    main()

"""The caption encoder beside gte-small in one run: speed, size, agreement with people, and general English.

    python -m benchmarks.studies.encoder_student FOLDER [FOLDER ...] --work DIR [--wordnet WHEEL] [--judged] [--save]

FOLDER is what `vericap train encoder` writes. Scores are those of the metric `sentence`: the mean cosine to five
references after centring. Without --judged only what training may look at is measured: CxC caption pairs of images
kept out, WordNet glosses kept out, word states, speed. gte-small's vectors are kept in DIR.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from benchmarks.library.data import data_folder
from benchmarks.library.judged import Preferred, Rated, crowd, expert, pascal
from benchmarks.library.results import add_save, tell
from vericap.core import shipped
from vericap.core.keys import content_key
from vericap.core.samples import Sample
from vericap.core.table import Table
from vericap.meta.datasets.systems import read_karpathy
from vericap.text.encoders import normalise
from vericap.text.encoders.captions import CaptionEncoder
from vericap.text.encoders.gte_small import GteSmall
from vericap.train import data
from vericap.train.encoder import corpus

Encode = Callable[[Sequence[str]], np.ndarray]
SYSTEMS = 1000  # Karpathy-test images


class Kept:
    """gte-small's vectors, computed once for every text."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / "gte-small.npz"
        self._network = GteSmall()
        kept = (
            np.load(self._file) if self._file.is_file() else {"keys": np.zeros(0, "S64"), "vectors": np.zeros((0, 384))}
        )
        self._places = {key: row for row, key in enumerate(kept["keys"].tolist())}
        self._vectors = list(kept["vectors"])

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        keys = [np.bytes_(str(content_key("sentence", text))).item()[:64] for text in texts]
        new = list({key: text for key, text in zip(keys, texts) if key not in self._places}.items())
        for start in range(0, len(new), 1000):
            part = new[start : start + 1000]
            self._vectors.extend(self._network.sentences([text for _, text in part]))
            self._places.update((key, len(self._places)) for key, _ in part)
        if new:
            ordered = sorted(self._places, key=self._places.__getitem__)
            np.savez(self._file, keys=np.array(ordered, "S64"), vectors=np.array(self._vectors, np.float16))
        rows = [self._places[key] for key in keys]
        vectors = np.array([self._vectors[row] for row in rows], dtype=np.float32)
        return normalise(vectors - self._network.caption_mean())


def scores(samples: Sequence[Sample], encode: Encode) -> np.ndarray:
    """Mean cosine of every candidate to its references."""
    places: dict[str, int] = {}
    for sample in samples:
        for text in (sample.candidate, *sample.references):
            places.setdefault(text, len(places))
    vectors = encode(list(places))
    found = [
        float((vectors[[places[r] for r in sample.references]] @ vectors[places[sample.candidate]]).mean())
        for sample in samples
    ]
    return np.array(found)


def judged(encode: Encode) -> dict[str, float | str]:
    """Agreement with people on the sets nothing is trained on."""
    sets: dict[str, Rated] = {"Expert tau-c": expert(), "CF tau-b": crowd()}
    found: dict[str, float | str] = {name: part.tau(scores(part.samples, encode)) for name, part in sets.items()}
    draws: list[Preferred] = [pascal(draw=draw) for draw in range(5)]
    rows = [part.accuracy(scores(part.samples, encode)) for part in draws]
    found |= {f"PASCAL-50S {group}": float(np.mean([row[group] for row in rows])) for group in rows[0]}
    return found | systems(encode)


def systems(encode: Encode) -> dict[str, float | str]:
    """The four Karpathy systems, best first."""
    karpathy = read_karpathy(data_folder() / "coco")
    images = sorted(karpathy.images())[:SYSTEMS]
    means = {}
    for name, outputs in karpathy.outputs.items():
        samples = [Sample(image, outputs[image], tuple(karpathy.references[image])) for image in images]
        means[name] = float(scores(samples, encode).mean())
    ranked = sorted(means, key=lambda name: -means[name])
    return {"systems": " > ".join(f"{name} {100 * means[name]:.1f}" for name in ranked)}


def rated(encode: Encode) -> dict[str, float | str]:
    """Spearman with people's ratings of caption pairs whose images were kept out."""
    pairs = corpus.rated_pairs(data_folder() / "cxc/sts_val.jsonl.gz", None, train=False)
    first, second = encode([pair.first for pair in pairs]), encode([pair.second for pair in pairs])
    ratings = [pair.rating for pair in pairs]
    return {"CxC pairs Spearman": 100 * float(spearmanr((first * second).sum(axis=1), ratings).statistic)}


def likeness(encode: Encode, teacher: Encode, texts: Sequence[str], name: str) -> dict[str, float | str]:
    """How far an encoder's pair similarities follow the teacher's."""
    ours, theirs = encode(texts), teacher(texts)
    upper = np.triu_indices(len(texts), 1)
    pairs = [(side @ side.T)[upper] for side in (ours, theirs)]
    return {
        f"{name}: Spearman of pairs": 100 * float(spearmanr(*pairs).statistic),
        f"{name}: cosine": float((ours * theirs).sum(axis=1).mean()),
    }


def states(encoder: Any, texts: Sequence[str]) -> dict[str, float | str]:
    """Mean cosine of word states with gte-small's, both centred."""
    own, theirs = (part.token_states(texts).states.astype(np.float32) for part in (encoder, GteSmall()))
    own, theirs = own - own.mean(axis=0), theirs - theirs.mean(axis=0)
    cosine = (own * theirs).sum(axis=1) / (np.linalg.norm(own, axis=1) * np.linalg.norm(theirs, axis=1))
    return {"word states: cosine": float(cosine.mean())}


def speed(encoder: Any, texts: Sequence[str]) -> float:
    """Distinct captions per processor second, tokenising included; the best of three."""
    encoder.encode(texts[:200])
    seconds = []
    for _ in range(3):
        start = time.process_time()
        encoder.encode(texts)
        seconds.append(time.process_time() - start)
    return len(texts) / min(seconds)


def size(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.iterdir()) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--wordnet", help="folder or wheel with WordNet's data files")
    parser.add_argument("--judged", action="store_true", help="Flickr8k-Expert, -CF, PASCAL-50S and the systems too")
    add_save(parser)
    args = parser.parse_args()
    teacher = Kept(args.work)
    captions = [text for five in data.flickr8k(data_folder() / "flickr8k", "dev").captions for text in five]
    general = corpus.glosses(corpus.Sources([], wordnet=args.wordnet))
    general = [text for text in general if corpus.gloss_kept_out(text)][:2000]
    many = [text for five in data.coco([data_folder() / "coco/captions_val2014.json.gz"]).captions for text in five]
    many = random.Random(0).sample(sorted(set(many)), 20_000)
    rows: dict[str, dict[str, float | str]] = {}
    networks: list[tuple[str, Any, Encode, Path]] = [("gte-small", GteSmall(), teacher, shipped.folder("encoder"))]
    for folder in args.folders:
        student = CaptionEncoder(folder)
        networks.append((str(folder), student, student.encode, folder))
    for name, network, encode, folder in networks:
        own: dict[str, float | str] = {"MB": size(folder)}
        own["captions/s"] = speed(network, many[:600] if name == "gte-small" else many)
        own |= rated(encode) | likeness(encode, teacher, captions[:2000], "captions")
        if general:
            own |= likeness(encode, teacher, general, "general")
        own |= states(network, captions[2000:2300])
        rows[name] = own | (judged(encode) if args.judged else {})
    table = Table(["figure", *(Path(name).name for name in rows)])
    for figure in rows["gte-small"]:
        values = [row[figure] for row in rows.values()]
        table.add(figure, *(value if isinstance(value, str) else f"{value:.3f}" for value in values))
    tell("benchmarks.studies.encoder_student", {"encoders": table}, save=args.save)


if __name__ == "__main__":
    main()

"""All four trainings on made data with different numbers of captions and regions; run alone or under `torchrun`.

python four_trainings.py FOLDER [STOP_AFTER] writes FOLDER/{vse,scan,faier,plus}/log.csv and the models; where it is
told to stop it trains SCAN alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from vericap.models.arrays import unit
from vericap.models.faier_plus.layout import CaptionLayout
from vericap.train import parallel
from vericap.train.data import CaptionPlaces
from vericap.train.faier import training as faier
from vericap.train.faier.data import CaptionTable, FaierSource, ParsedCaptions, StoredRegions, vocabulary
from vericap.train.faier_plus import training as plus
from vericap.train.faier_plus.data import CaptionStates, FaierPlusSource
from vericap.train.kept import StoreBoxes, StoreFeatures
from vericap.train.scan import training as scan
from vericap.train.scan.data import ScanSource, TextStates
from vericap.train.scan.network import ScanOptions
from vericap.train.trainer import Trainer, TrainPlan
from vericap.train.vse import training as vse
from vericap.vision.store import FeatureStore, FeatureWriter

IMAGES, WIDTH, D, EACH = 30, 24, 16, 5
TEXT = {"text_encoder": "captions"}


class Made:
    """Images around topics, with 1 to 5 captions and 3 to 6 regions each."""

    def __init__(self, folder: Path) -> None:
        rng = np.random.default_rng(0)
        topics = rng.normal(size=(IMAGES, D))
        self.places = CaptionPlaces(1 + np.arange(IMAGES) % EACH, EACH)
        own = unit(topics[:, None] + 0.3 * rng.normal(size=(IMAGES, EACH, D)))
        turn = np.arange(EACH) % self.places.counts[:, None]  # captions come in turn again
        self.sentences = np.take_along_axis(own, turn[..., None], axis=1).astype(np.float16)
        self.topics = topics
        if parallel.rank() == 0 and not (folder / "store").is_dir():
            mixing = rng.normal(size=(D, WIDTH))
            with FeatureWriter(folder / "store", {"made": "here"}, width=WIDTH) as writer:
                for image in range(IMAGES):
                    count = 3 + image % 4
                    boxes = np.sort(rng.random((count, 2, 2)), axis=1).reshape(-1, 4)
                    writer.add(str(image), topics[image] @ mixing + 0.3 * rng.normal(size=(count, WIDTH)), boxes)
        parallel.wait()
        self.store = FeatureStore(folder / "store")
        self.features = StoreFeatures(self.store, [str(image) for image in range(IMAGES)])

    def states(self, vectors: np.ndarray) -> CaptionStates:
        lengths = 4 + np.arange(len(vectors)) % 3
        rng = np.random.default_rng(1)
        states = np.repeat(vectors, lengths, axis=0) + 0.1 * rng.normal(size=(int(lengths.sum()), D))
        layouts = [CaptionLayout(list(range(1, n - 1)), [[1, 2]] if n > 4 else []) for n in lengths]
        return CaptionStates(states.astype(np.float16), np.concatenate([[0], np.cumsum(lengths)]), layouts)

    def parsed(self) -> ParsedCaptions:
        words = [[i % 9, 9 + (i * 5 + k) % 7, 16 + k] for i in range(IMAGES) for k in range(EACH)]
        some = np.arange(len(words)) % 4 > 0  # not every caption has a triplet
        triplets = [row for row, there in zip(words, some) if there]
        flat, phrases = np.array(words, dtype=np.int32), np.array(triplets, dtype=np.int32)
        ones = np.ones(len(words), dtype=np.int32)
        table = [f"word{i}" for i in range(30)]
        three = np.full(len(triplets), 3, dtype=np.int32)
        return ParsedCaptions(table, flat.reshape(-1), ones * 3, phrases.reshape(-1), three, some.astype(np.int32))


def plan(steps: int = 8) -> TrainPlan:
    return TrainPlan(steps=steps, warmup=2, validate=2, threads=1, average=0.5)


def train_vse(made: Made, folder: Path) -> None:
    source = vse.VseSource(made.features, made.sentences, None, made.places)
    chosen = vse.VseOptions(batch=12, extra=5, pool=40, near=10, hidden=8, mirror=False)
    about = {"features": made.store.trained_on(), **TEXT}
    vse.train_encoder(source, source, source, folder / "vse", plan=plan(), options=chosen, quiet=True, **about)


def train_scan(made: Made, folder: Path) -> None:
    text = made.states(made.sentences.reshape(-1, D).astype(np.float32))
    given = (made.features, made.sentences, TextStates(text.states, text.offsets), EACH, None, made.places)
    source = ScanSource(*given, made.features.mask)
    about = {"features": made.store.trained_on(), **TEXT}
    chosen = ScanOptions(width=12, hidden=8, batch=11)
    scan.train([source, source], [6, 5], source, folder / "scan", plan=plan(), options=chosen, quiet=True, **about)


def train_faier(made: Made, folder: Path) -> None:
    parsed = made.parsed()
    words = vocabulary([parsed], 1)
    images = StoredRegions(made.store, [str(image) for image in range(IMAGES)])
    source = FaierSource(images, CaptionTable([parsed], words), made.sentences, made.places)
    chosen = faier.FaierOptions(d=16, words=8, batch=11, hard_warmup=4)
    more = {"features": made.store.trained_on(), "vocabulary": words, "quiet": True}
    adam = TrainPlan(**{**vars(plan()), "optimizer": "adam"})
    faier.train([source, source], [6, 5], source, folder / "faier", plan=adam, options=chosen, **more)


def train_faier_plus(made: Made, folder: Path) -> None:
    regions = unit(made.topics[:, None] + 0.3 * np.random.default_rng(2).normal(size=(IMAGES, 6, D)))
    mask = made.features.mask
    source = FaierPlusSource(
        (regions * mask[..., None]).astype(np.float16),
        StoreBoxes(made.features),
        made.sentences,
        EACH,
        made.states(made.sentences.reshape(-1, D).astype(np.float32)),
        made.states(unit(made.topics[::-1])),
        unit(made.topics[::-1]),
        np.arange(IMAGES) % 3 > 0,
        None,
        made.places,
        mask,
    )
    about = {"features": made.store.trained_on(), **TEXT, "encoder": "default", "token_mean": np.zeros(D)}
    chosen = plus.FaierPlusOptions(batch=11, hidden=8)
    plus.train([source, source], [6, 5], source, folder / "plus", plan=plan(), options=chosen, quiet=True, **about)


def main(folder: str, until: int | None = None) -> None:
    parallel.start()
    if until is not None:
        whole = Trainer.run
        Trainer.run = lambda self, *given: whole(self, *given, until=until)  # type: ignore[method-assign]
    made = Made(Path(folder))
    for train in (train_vse, train_scan, train_faier, train_faier_plus) if until is None else (train_scan,):
        train(made, Path(folder))
    parallel.finish()


if __name__ == "__main__":
    main(sys.argv[1], *(int(given) for given in sys.argv[2:]))

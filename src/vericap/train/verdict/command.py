"""Calibrate the verdict: support of claims, fidelity, adequacy and the expected rating, with few weights each.

Photos are those people rated in Crisscrossed Captions; `vericap train words` keeps them out. Weights are fitted on a
part of the photos and checked on the rest: support on captions made wrong in one place, relations on statements people
judged, the verdict on people's ratings.
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np

from vericap.core import shipped
from vericap.core.settings import Settings
from vericap.metrics.verdict import reasons
from vericap.metrics.verdict.lexicon import rivals_of
from vericap.metrics.verdict.parts import CaptionParts, Parts
from vericap.metrics.verdict.sight import PhotoSight
from vericap.models.visual_words import load
from vericap.run.analyses import VisualWords, VisualWordsWeights
from vericap.run.runtime import Runtime
from vericap.train import data
from vericap.train.ratings import FIT, HELD, share_of
from vericap.train.verdict.calibrate import Known, calibrated
from vericap.train.verdict.cases import Case, analysed, made_wrong, rated, statements, strange
from vericap.train.verdict.texts import there_or_not, with_foreign
from vericap.train.words import boxes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--photos", required=True, type=Path, metavar="DIR", help="COCO's photos, named by their number"
    )
    parser.add_argument("--captions", nargs="+", required=True, metavar="FILE", help="COCO's captions; .gz too")
    parser.add_argument("--never", metavar="FILE", help="image ids that are never trained on, one per line")
    parser.add_argument("--ratings", required=True, metavar="FILE", help="ratings of images with captions (CxC)")
    parser.add_argument(
        "--boxes", nargs="+", required=True, metavar="FILE", help="lines `image_id<tab>class,x,y,w,h ...`"
    )
    parser.add_argument("--classes", required=True, metavar="FILE", help="names of the boxes' classes, a JSON list")
    parser.add_argument("--statements", required=True, metavar="FILE", help="statements judged true or false (VSR)")
    parser.add_argument(
        "--words", default="default", metavar="NAME", help="visual words: shipped (default) or a folder"
    )
    parser.add_argument(
        "--encoder", default="default", metavar="NAME", help="image-sentence encoder: shipped (default) or a folder"
    )
    parser.add_argument(
        "--cases", type=int, default=4000, metavar="N", help="photos whose captions are made wrong (4000)"
    )
    parser.add_argument("--rated", type=int, default=16000, metavar="N", help="ratings that are used (16000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", metavar="off|DIR", help="where slow analyses are kept")
    parser.add_argument("--output", "-o", required=True, type=Path, metavar="DIR")


def run(args: argparse.Namespace) -> int:
    settings = Settings(images=args.photos, cache=args.cache)
    known = {
        name: known_of(cases, settings, Parts(args.words, args.encoder))
        for name, cases in cases_of(args, settings).items()
    }
    weights, figures = calibrated(known)
    args.output.mkdir(parents=True, exist_ok=True)
    (args.output / "weights.json").write_text(json.dumps({**weights, "found": figures}, indent=1), "utf-8")
    model = load(args.words)
    rivals = rivals_of(model)
    np.save(args.output / "rivals.npy", rivals.astype(np.int16), allow_pickle=False)
    described = {"name": "vericap-verdict", "words": model.name, "made_by": "vericap train verdict"}
    shipped.write_meta(args.output, described)
    print(json.dumps(figures, indent=1))
    return 0


def cases_of(args: argparse.Namespace, settings: Settings) -> dict[str, list[Case]]:
    """Everything that weights are found from."""
    own = data.coco(args.captions, never=args.never)
    ratings = rated(args.ratings, own)
    photos = {case.image for case in ratings}
    generator = random.Random(args.seed)
    rest = own.only(key for key in own.keys if key.isdigit() and f"{int(key):012d}.jpg" in photos).sample(args.cases)
    made = made_wrong(rest, Runtime.of(settings), seed=args.seed)
    classes, found = boxes.read_classes(args.classes), boxes.read(args.boxes)
    return {
        "made": [_fewer(case, generator) for case in made],
        "there": there_or_not(rest, found, classes, seed=args.seed),
        "foreign": with_foreign(rest, seed=args.seed),
        "rated": generator.sample(ratings, min(args.rated, len(ratings))),
        "strange": strange(rest, seed=args.seed),
        "stated": statements(args.statements),
    }


def _fewer(case: Case, generator: random.Random) -> Case:
    """A case with one to four references; the photos that check keep all."""
    count = generator.randint(1, 4)
    return case if share_of(case.image) >= HELD else replace(case, references=case.references[:count])


def known_of(cases: list[Case], settings: Settings, key: Parts) -> list[Known]:
    batch = analysed(cases, settings, key)
    seen, model = batch[VisualWords(key.words)], batch[VisualWordsWeights(key.words)]
    known = []
    every: list[CaptionParts | None] = batch[key]
    for row, (case, parts) in enumerate(zip(cases, every)):
        photo = seen.photos[int(batch.images[row])]
        if parts is not None and photo is not None:
            asked = (
                not case.wrong and not case.kind and case.rating != case.rating and HELD > share_of(case.image) >= FIT
            )
            unsaid = reasons.unsaid(case.caption, PhotoSight(model, photo), model) if asked else []
            known.append(Known(case, parts, [(text, share) for text, share, _ in unsaid]))
    return known

"""What the models behind a metric were trained on, and a warning where that may have held a judged set.

A model's own meta file says it (`trained_on`, names such as "coco-train2017"); for those that do not, it is written
down here with its source. Photos and captions of the same source flatter a metric even where the judged photos
themselves were left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from vericap.core import shipped
from vericap.core.analysis import Key, closure
from vericap.core.batch import Batch
from vericap.core.errors import VericapError
from vericap.core.metric import Metric
from vericap.core.settings import Settings
from vericap.models import scan


@dataclass(frozen=True)
class Training:
    """What a part was trained on: sources of photos and captions, and where that is written."""

    sources: tuple[str, ...]
    what: str
    origin: str


_OURS = "README.md of the model's folder in vericap/data; the photos of COCO's Karpathy test split were left out"
_PHOTOS = "photos and captions of COCO and of Flickr8k's training part"
_RATINGS = "people's ratings in Crisscrossed Captions (part of its validation half, COCO photos)"
_RATED = f"{_PHOTOS}; tuned on {_RATINGS}"
_RATED_SOURCES = ("coco", "flickr8k", "cxc")
TRAININGS = {
    "encoder": Training(
        ("coco", "flickr8k", "flickr30k", "cxc"),
        "captions of COCO and of Flickr8k's training part, people's ratings of caption pairs in Crisscrossed Captions; "
        "learned from a sentence encoder whose training pairs may hold COCO and Flickr30k captions (Flickr30k holds "
        "Flickr8k)",
        "meta.json of vericap/data/caption_encoder; Li et al. 2023, arXiv 2308.03281 (GTE: collections of text pairs; "
        "the model card names none of them)",
    ),
    "vectors": Training(
        ("coco", "flickr8k", "flickr30k"),
        "word vectors from that sentence encoder, of words in COCO and Flickr8k training captions",
        "meta.json of vericap/data/word_vectors",
    ),
    "backbone": Training(("coco", "flickr8k"), _PHOTOS, _OURS),
    "vse": Training(_RATED_SOURCES, _RATED, _OURS),
    "scan": Training(_RATED_SOURCES, _RATED, _OURS),
    "faier_plus": Training(_RATED_SOURCES, _RATED, _OURS),
    "visual_words": Training(("coco", "flickr8k"), f"{_PHOTOS}, boxes of COCO", _OURS),
    "verdict": Training(("coco", "cxc"), f"{_RATINGS}, captions of COCO made wrong in one place", _OURS),
    "fluency": Training(("coco", "flickr8k"), "captions of COCO's and of Flickr8k's training photos", _OURS),
    "learn_to_eval": Training(
        ("coco",), "photos and captions of COCO, and captions that machines of our own made of these photos", _OURS
    ),
    "faier": Training(
        ("coco", "flickr8k", "flickr30k", "cxc"),
        f"{_PHOTOS}, boxes of COCO; tuned on what the caption encoder says of captions, and chosen with "
        "Flickr8k-Expert in view",
        _OURS,
    ),
    "detector": Training(
        ("coco",),
        "a detector trained on the boxes of COCO train2017, which holds most photos of val2014",
        "google/automl, EfficientDet-lite2; meta.json of vericap/data/detector",
    ),
    "lm": Training(("coco",), "COCO training captions", "meta.json of vericap/data/lm"),
}
UNKNOWN = Training((), "a model of your own: nobody wrote down what it was trained on", "")

# Where the photos and captions of a judged set come from.
SOURCES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("flickr8k-expert", "flickr8k-cf", "flickr8k-dev"), ("flickr8k",)),
    **dict.fromkeys(("human-machine", "karpathy-test", "publicsys", "thumb", "foil"), ("coco",)),
    **dict.fromkeys(("vsr", "mhal", "hat", "faithscore", "polaris"), ("coco",)),
    **dict.fromkeys(("cxc-sits", "cxc-sts"), ("coco", "cxc")),
    "composite": ("flickr8k", "flickr30k", "coco"),
    "jsick": ("flickr8k",),
    **dict.fromkeys(("jsts", "jsts-train", "shichimi"), ("coco",)),
}


def parts_of(metric: Metric, settings: Settings) -> dict[str, Training]:
    """The trained parts that a metric reads under these settings, by name."""
    if metric.languages and settings.lang not in metric.languages:
        return {}
    batch = Batch.of([], settings)
    found: dict[str, Training] = {}
    try:
        for key in closure(metric.requires(settings), settings):
            found.update(_of_key(key, batch))
    except (VericapError, OSError):
        return found  # a metric that cannot run for want of a model says so in the table
    return found


def _of_key(key: Key, batch: Batch) -> dict[str, Training]:
    part = getattr(key, "part", "")
    if part in TRAININGS:  # weights in a folder
        name = scan.named(str(getattr(key, "name", "default")))[0]  # one of two models in a folder: the folder
        return {part if name == "default" else name: _stated(shipped.describe(name, part), name, part)}
    kind = type(key).__name__
    if kind == "LanguageModelScores":
        return {"lm": TRAININGS["lm"] if getattr(key, "model", "") == "coco" else UNKNOWN}
    if kind in ("ClipImages", "ClipTexts"):
        return {"clip": UNKNOWN}
    if kind == "Judgements":
        return {"verdict": TRAININGS["verdict"]}
    if kind == "Detections":
        return {"detector": TRAININGS["detector"]}
    signed = key.signature(batch) if batch.settings.lang == "en" else {}
    known = {"encoder": "encoder", "vectors": "vectors", "regions": "backbone"}
    return {known[name]: TRAININGS[known[name]] for name in signed if name in known}


def _stated(meta: dict[str, object], name: str, part: str) -> Training:
    """What the model's own meta file says, else what is written down for the shipped one."""
    stated = meta.get("trained_on")
    if isinstance(stated, str):
        stated = [stated]
    if isinstance(stated, list) and stated:
        names = tuple(dict.fromkeys(str(item).split("-")[0].lower() for item in stated))
        return Training(names, ", ".join(map(str, stated)), "meta.json of the model")
    return TRAININGS[part] if name == "default" else UNKNOWN


def seen(metric: Metric, dataset: str, settings: Settings) -> list[str]:
    """The parts of a metric whose training may have held the source of a data set."""
    here = set(SOURCES.get(dataset, ()))
    return [part for part, own in parts_of(metric, settings).items() if here & set(own.sources) or own is UNKNOWN]

"""The objects of images, from a detector, from files, or from the samples' own records.

A source is written as text (`objects=...` of a run, or the option `objects` of a metric):

    detector            the shipped detector; detector@0.5 with a threshold of its own
    model.onnx          another detector (see vericap.vision.detector); model.onnx@0.4
    hub/NAME            a hub model or local folder, through transformers
    words               what people would say is there (`vericap words`); words@0.2: what that share of them would say
    gold.json           COCO instances, or {image: labels}
    folder/             PASCAL VOC XML files, or tables of boxes (boxes_*.tsv.gz with box_classes.json)
    boxes.tsv.gz        one table of boxes
    objects.jsonl       what `vericap detect` wrote
    gold.json+detector  both: a label found by either
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from vericap.core import shipped
from vericap.core.analysis import Analysis, Index, Key
from vericap.core.batch import Batch
from vericap.core.errors import Problem, VericapError
from vericap.core.settings import Settings
from vericap.run.analyses.visual_words import VisualWords, VisualWordsWeights
from vericap.run.photos import Found, Pixels
from vericap.vision.annotations import check_source, open_source, source_name
from vericap.vision.detector import FLOOR
from vericap.vision.detector_source import detector_name, detector_spec, detector_threshold
from vericap.vision.objects import ImageObjects, of_labels, union
from vericap.vision.stamp import stamp

if TYPE_CHECKING:
    from PIL.Image import Image

    from vericap.models.visual_words import PhotoWords
    from vericap.models.visual_words import VisualWords as VisualWordsModel
    from vericap.run.runtime import Runtime

Row = ImageObjects | Problem
WORDS, SHARE = "words", 0.15  # the source of visual words; how many of the people would have to say a word
_MOST = 40  # objects of a photo
_SIDE = 1000  # boxes of visual words are shares of a photo's sides; here they are pixels of such a photo


@dataclass(frozen=True)
class Detections(Pixels[list[Row]]):
    """Objects a detector finds in every image, those it is not sure of left out."""

    model: str = "detector"
    threshold: float | None = None  # None: the detector's own
    own: bool = False  # whether objects that a record carries stand in for the image's
    cost: ClassVar[int] = 2000

    def wanted(self, batch: Batch) -> bool:
        return needs_images(batch, self.own)

    def kind(self, runtime: Runtime) -> str:
        return f"objects-{detector_name(self.model)}"

    @property
    def level(self) -> float:
        return detector_threshold(self.model) if self.threshold is None else self.threshold

    @property
    def name(self) -> str:
        return f"{detector_name(self.model)}@{self.level:g}"

    def look(self, photos: Sequence[Image], runtime: Runtime) -> list[bytes]:
        # All that any threshold may ask for, so that another threshold needs no second look.
        found = runtime.detector(self.model).detect(photos, threshold=FLOOR)
        return [json.dumps(item.as_json()).encode() for item in found]

    def table(self, found: list[Found]) -> list[Row]:
        level = self.level
        return [item if isinstance(item, Problem) else read(item).above(level) for item in found]


def read(stored: bytes) -> ImageObjects:
    """What `Detections` keeps of a photo."""
    return ImageObjects.from_json(json.loads(stored))


@dataclass(frozen=True)
class Annotations(Analysis[list[Row]]):
    """Objects of every image from a file or folder of annotations."""

    path: str
    own: bool = False
    index: ClassVar[Index] = "image"
    cost: ClassVar[int] = 2000

    def wanted(self, batch: Batch) -> bool:
        if not needs_images(batch, self.own):
            return False
        check_source(Path(self.path))  # a wrong name is told before any photo is looked at
        return True

    def compute(self, batch: Batch, runtime: Runtime) -> list[Row]:
        path = Path(self.path)
        source = runtime.once(("annotations", self.path, stamp(path)), lambda: open_source(path))
        return source.objects(batch.image_keys)

    @property
    def name(self) -> str:
        return source_name(Path(self.path))


@dataclass(frozen=True)
class SeenObjects(Analysis[list[Row]]):
    """Objects that people would name of every image, by the visual words: those that a share of them would say."""

    share: float = SHARE
    own: bool = False
    index: ClassVar[Index] = "image"
    cost: ClassVar[int] = 2000

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return (VisualWords(), VisualWordsWeights())

    def wanted(self, batch: Batch) -> bool:
        return needs_images(batch, self.own)

    def compute(self, batch: Batch, runtime: Runtime) -> list[Row]:
        seen, model = batch[VisualWords()], batch[VisualWordsWeights()]
        return [
            Problem(key, seen.problems[place]) if photo is None else self._objects(model, photo)
            for place, (key, photo) in enumerate(zip(batch.image_keys, seen.photos))
        ]

    def _objects(self, model: VisualWordsModel, photo: PhotoWords) -> ImageObjects:
        from vericap.models.visual_words import most_likely

        found = [one for one in most_likely(model, photo, "object", _MOST) if one.share >= self.share]
        boxes = [tuple(side * _SIDE for side in one.region) for one in found]
        named = [(one.text, one.share, (box[0], box[1], box[2], box[3])) for one, box in zip(found, boxes)]
        return ImageObjects.of(named, (_SIDE, _SIDE))

    @property
    def name(self) -> str:
        return f"{shipped.version(VisualWordsWeights().meta)}@{self.share:g}"


@dataclass(frozen=True)
class Objects(Analysis[list[Row]]):
    """The objects of every sample: those its record carries (`own`), else those of its image."""

    source: str = "detector"
    own: bool = True
    index: ClassVar[Index] = "sample"
    cost: ClassVar[int] = 64

    @classmethod
    def of(cls, settings: Settings, source: str = "") -> Objects:
        """Objects from a source that a metric's option names; without one the run's, and the records' own."""
        return cls(source, own=False) if source else cls(settings.objects)

    @cached_property
    def parts(self) -> tuple[Detections | Annotations | SeenObjects, ...]:
        """The single sources."""
        text = self.source.strip()
        # A file whose name holds a plus is one file.
        names = [text] if Path(text).exists() else [part.strip() for part in text.split("+") if part.strip()]
        if not text or not names:
            raise VericapError("the object source is empty; give detector, an annotation file, or a+b")
        return tuple(_single(name, self.own) for name in names)

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return self.parts

    def compute(self, batch: Batch, runtime: Runtime) -> list[Row]:
        columns = [batch[part] for part in self.parts if part.wanted(batch)]
        images = [union(found) for found in zip(*columns)]
        return [self._row(batch, row, images) for row in range(len(batch))]

    def _row(self, batch: Batch, row: int, images: Sequence[Row]) -> Row:
        given, place = batch.sample_objects[row], int(batch.images[row])
        if self.own and given is not None:
            return _checked(batch.ids[row], given)
        if place >= 0:
            return images[place]
        return Problem(batch.ids[row], "the record names no image and carries no objects")

    def signature(self, batch: Batch) -> dict[str, str]:
        given = sum(item is not None for item in batch.sample_objects) if self.own else 0
        names = ["record"] if given else []
        if given < len(batch):
            names += [part.name for part in self.parts]
        return {"objects": "+".join(names)}


def needs_images(batch: Batch, own: bool) -> bool:
    """Whether the objects of any image are asked for: not where every record carries its own."""
    return any(
        image >= 0 and not (own and given is not None) for given, image in zip(batch.sample_objects, batch.images)
    )


def _single(spec: str, own: bool) -> Detections | Annotations | SeenObjects:
    words, _, share = spec.partition("@")
    if words == WORDS and not Path(spec).exists():
        return SeenObjects(_share(spec, share), own)
    found = None if Path(spec).is_dir() else detector_spec(spec)
    return Annotations(spec, own) if found is None else Detections(*found, own)


def _share(spec: str, share: str) -> float:
    try:
        found = float(share or SHARE)
    except ValueError:
        found = -1.0
    if not 0 < found < 1:
        raise VericapError(f"the object source '{spec}': write {WORDS}, or {WORDS}@0.2 with a share between 0 and 1")
    return found


def _checked(identifier: str, given: Any) -> Row:
    try:
        return of_labels(given)
    except (ValueError, TypeError) as error:
        return Problem(identifier, f"its objects cannot be read: {error}")

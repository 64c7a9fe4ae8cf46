"""COCO photos outside training with captions and annotated boxes; COCO Entities, which says which words mean them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vericap.core.errors import InputError, MissingPart
from vericap.core.samples import Sample
from vericap.core.typing import Floats
from vericap.meta.datasets.common import coco_captions, json_file
from vericap.meta.datasets.entry import Entry
from vericap.reproduce.experiment import Choices
from vericap.text.stopwords import ENGLISH
from vericap.vision.box_files import BoxTable, box_files
from vericap.vision.images import find, load_image
from vericap.vision.mentions import mentions
from vericap.vision.objects import ImageObjects

NEVER = "never_train_image_ids.txt"
TEST = "karpathy_test_references.json"
CAPTIONS = (
    "captions_val2014.json.gz",
    "captions_train2014.json.gz",
    "captions_val2014.json",
    "captions_train2014.json",
)
LAYOUT = (
    f"coco/ with captions_{{train,val}}2014.json[.gz], boxes_{{train,val}}2017.tsv.gz (image_id, then class,x,y,w,h), "
    f"box_classes.json, {NEVER} (ids of photos that may not be trained on, one a line) and, if it is there, {TEST}, "
    "whose photos alone are taken: the list of ids has grown since some models were trained"
)
ENTITIES = Entry(
    "coco-entities",
    "COCO Entities",
    "",
    ("coco-entities", "coco_entities", "coco"),
    ("coco_entities_release.json",),
    "https://github.com/aimagelab/show-control-and-tell (dataset_coco.tgz)",
    "Cornia, Baraldi, Cucchiara 2019, CVPR",
    "coco_entities_release.json: {image id: {caption: {det_sequences: a label or null per word, noun_chunks, "
    "detections: {label: [[id, [x1, y1, x2, y2]], ...]}, split}}}, boxes in pixels of the original photo",
    "120,000 images; 86 MB packed",
    "see the repository (captions: COCO, CC BY 4.0)",
)


@dataclass(frozen=True)
class Meant:
    """Letters of a caption that name one of several labels."""

    start: int
    end: int
    labels: tuple[str, ...]


@dataclass(frozen=True)
class BoxedPhoto:
    """A photo with captions and boxes as shares of its sides; `meant` says for each caption which words name what."""

    image: str
    captions: tuple[str, ...]
    boxes: Mapping[str, Floats]  # label -> (boxes, 4)
    meant: tuple[tuple[Meant, ...], ...]

    def sample(self, references: int) -> Sample:
        """The first caption as the candidate, the next ones as its references."""
        return Sample(self.image, self.captions[0], self.captions[1 : 1 + references], self.image)

    def of(self, labels: Iterable[str]) -> Floats:
        """The boxes of any of some labels."""
        own = [self.boxes[label] for label in labels if label in self.boxes]
        return np.concatenate(own) if own else np.zeros((0, 4))


def boxed_photos(choices: Choices, count: int) -> list[BoxedPhoto]:
    """The first photos outside training that are in the folder of photos and have boxes and five captions."""
    folder, coco = choices.coco_photos(), choices.folder / "coco"
    files, captions = box_files(coco), [coco / name for name in CAPTIONS if (coco / name).is_file()]
    if not files or not captions or not (coco / NEVER).is_file():
        raise MissingPart(f"COCO's boxes and captions are not in {coco}; expected: {LAYOUT}")
    table, texts = BoxTable(files), {}
    for path in captions:
        texts.update(coco_captions(path))
    found: list[BoxedPhoto] = []
    for image in _outside(coco):
        objects = table.find(image)
        if len(texts.get(image, ())) >= 5 and isinstance(objects, ImageObjects) and is_there(image, folder):
            own = texts[image][:5]
            found.append(BoxedPhoto(image, own, _boxes(objects), tuple(map(_mentioned, own))))
        if len(found) == count:
            break
    if not found:
        raise InputError(f"`photos={folder}`: no photo that {coco / NEVER} names is there")
    return found


def _outside(coco: Path) -> list[str]:
    """Photos that no model ever saw: of the ids that may not be trained on those that were on the list from the first
    day, the Karpathy test split; all where that is not there."""
    never = (coco / NEVER).read_text("utf-8").split()
    if not (coco / TEST).is_file():
        return never
    test = {str(image) for image in json_file(coco / TEST)}
    return [image for image in never if image in test]


def is_there(image: str, folder: Path) -> bool:
    try:
        find(image, folder)
    except InputError:
        return False
    return True


def _boxes(objects: ImageObjects) -> dict[str, Floats]:
    found: dict[str, list[Sequence[float]]] = {}
    for label, _, box in objects.instances():
        if box is not None:
            found.setdefault(label, []).append(box)
    return {label: np.array(own, dtype=np.float64) for label, own in found.items()}


def _mentioned(caption: str) -> tuple[Meant, ...]:
    return tuple(Meant(found.start, found.end, found.classes) for found in mentions(caption) if found.classes)


# --- COCO Entities ----------------------------------------------------------------------------------------------


def entities(choices: Choices, count: int) -> list[BoxedPhoto]:
    """Photos of COCO Entities' test split that are in the folder of photos."""
    root = ENTITIES.locate(choices.folder)
    if root is None:
        raise ENTITIES.missing(choices.folder)
    folder, path = choices.coco_photos(), root / ENTITIES.files[0]
    data = json_file(path)
    if not isinstance(data, dict):
        raise InputError(f"{path}: expected {ENTITIES.layout}")
    found = []
    for image, annotated in data.items():
        test = {text: own for text, own in annotated.items() if own.get("split") == "test"}
        if len(test) >= 2 and is_there(image, folder):
            found.append(_entity_photo(image, test, folder, path))
        if len(found) == count:
            break
    if not found:
        raise InputError(f"{path}: no photo of its test split with two captions is in {folder}")
    return found


def _entity_photo(image: str, annotated: Mapping[str, dict], folder: Path, path: Path) -> BoxedPhoto:  # type: ignore[type-arg]
    width, height = load_image(find(image, folder)).size
    boxes: dict[str, list[list[float]]] = {}
    for own in annotated.values():
        for label, detections in own["detections"].items():
            boxes.setdefault(label, []).extend(box for _, box in detections)
    scale = np.array([width, height, width, height], dtype=np.float64)
    shares = {label: np.array(own, dtype=np.float64) / scale for label, own in boxes.items()}
    outside = [label for label, own in shares.items() if own.max(initial=0.0) > 1.02]
    if outside:
        raise InputError(
            f"{path}, image {image}: a box of '{outside[0]}' lies outside its photo of {width} x {height}; boxes are "
            "in pixels of the original photo, and reduced photos do not fit them"
        )
    meant = tuple(_entity_words(text, own["det_sequences"]) for text, own in annotated.items())
    return BoxedPhoto(image, tuple(annotated), shares, meant)


def _entity_words(text: str, labels: Sequence[str | None]) -> tuple[Meant, ...]:
    """Content words with the label of their noun chunk; `_` marks a chunk without one."""
    found, start = [], 0
    for word, label in zip(text.split(), labels):
        start = text.index(word, start)
        if label and label != "_" and word.lower() not in ENGLISH:
            found.append(Meant(start, start + len(word), (label,)))
        start += len(word)
    return tuple(found)

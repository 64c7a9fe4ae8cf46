"""Ids of records, their references, their images: from a record to a sample."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vericap.core.errors import InputError
from vericap.core.samples import Photo, Sample, caption, make
from vericap.io.records import Record
from vericap.io.references import Known, References
from vericap.io.units import Unit


def mode_of(records: Sequence[Record]) -> str:
    """Where ids come from: records without any id are numbered; one image per record may serve as its id."""
    if not records or any(record.get("id") is not None for record in records):
        return "id"
    images = [record.get("image") for record in records]
    if all(isinstance(image, str) and image for image in images) and len(set(images)) == len(images):
        return "image"
    return "number"


@dataclass
class Identity:
    """Ids of the records of one unit.

    An image may have several captions: where ids are those of images the second one is called `42#2`. Ids that are
    the records' own must differ.
    """

    mode: str
    start: int  # records before this unit
    repeats: Mapping[int, int]  # place of a sample -> how often its id occurs in units before
    name: str
    names: list[str] = field(default_factory=list)
    _counts: dict[str, int] = field(default_factory=dict)
    _photos: dict[str, Photo] = field(default_factory=dict)

    def of(self, record: Record, row: int) -> Any:
        """The id of a record, before it is known whether it occurs before."""
        if self.mode == "number":
            return str(self.start + row + 1)
        return record.get("image" if self.mode == "image" else "id")

    def join(self, records: Sequence[Record], references: References | None) -> dict[str, Known]:
        """What a references file knows of the records of a unit."""
        if references is None:
            return {}
        keys = (join_key(record, self.of(record, row), references) for row, record in enumerate(records))
        return references.find(key for key in keys if key is not None)

    def settle(self, sample: Sample, record: Record) -> Sample:
        """The sample under an id of its own; an InputError where the id must not occur twice."""
        place, name = len(self.names), sample.id  # the same place whatever other units hold
        before = self._counts.get(name, 0) + (self.repeats.get(place, 0) if self.repeats else 0)
        if before:
            shared = self.mode == "image" or record.get("several") or _is_image_id(record)
            if not shared:
                if place in self.repeats:
                    self.names.append(name)
                raise InputError("the id occurs before; the first record is used")
            sample = replace(sample, id=f"{name}#{before + 1}")
        self._counts[name] = self._counts.get(name, 0) + 1
        self.names.append(name)
        return sample if sample.photo is None else self._distinct_photo(sample)

    def _distinct_photo(self, sample: Sample) -> Sample:
        """Two photos of one name (every row's `image.jpg`) are two images."""
        if sample.photo is None or sample.image is None:
            return sample
        known = self._photos.setdefault(sample.image, sample.photo)
        same = known is sample.photo or known == sample.photo
        return sample if same else replace(sample, image=f"{sample.image}#{sample.id}")


def _is_image_id(record: Record) -> bool:
    return "image_id" in record and record["image_id"] == record.get("id")


def join_key(record: Record, identifier: Any, references: References) -> str | None:
    """The id under which a record's references are filed."""
    if references.by_image and record.get("image_id") is not None:
        return str(record["image_id"])
    return None if identifier is None else str(identifier)


def make_sample(
    record: Record,
    identifier: Any,
    references: References | None,
    known: Mapping[str, Known],
    unit: Unit,
    *,
    beside: bool,
    lying: bool = False,
) -> Sample:
    """One sample; references from the references file win over those in the record."""
    if identifier is None or identifier != identifier:
        raise InputError("the id is missing, while other records have one")
    candidate = record["candidate"] if "candidate" in record else _no_candidate(record)
    if isinstance(candidate, list) and len(candidate) == 1:
        candidate = candidate[0]
    if type(candidate) is not str:
        caption(candidate, "the candidate")  # before other things that may be wrong; a text is looked at below
    image, photo = photo_of(record, identifier, unit, beside=beside, lying=lying)
    own = record.get("references", ())
    checked = False
    if references is not None:
        key = join_key(record, identifier, references)
        if key is not None and key in known:  # checked when they were read, once for all systems
            own, named = known[key]
            image, checked = image or named, True
        elif not own:
            reason = references.bad.get(str(key))
            raise InputError(f"no usable references in {references.name}" + (f": {reason}" if reason else ""))
    return make(identifier, candidate, own, image, record.get("objects"), photo=photo, checked=checked)


def _no_candidate(record: Record) -> Any:
    raise InputError("has no candidate caption; name its field with `caption_field=NAME`")


def photo_of(
    record: Record, identifier: Any, unit: Unit, *, beside: bool, lying: bool = False
) -> tuple[Any, Photo | None]:
    """The key of a record's image, and its bytes or file where the record tells.

    `lying`: photos of other records do lie there, so that one that does not is missing, not looked for elsewhere.
    """
    image = record.get("image")
    if image is None:
        return None, None
    photo = record.get("photo")
    if photo is not None:
        return image, photo
    if isinstance(image, Mapping):  # as `datasets` keeps images
        data, path = image.get("bytes"), image.get("path")
        if data:
            return (os.path.basename(path) if isinstance(path, str) and path else str(identifier)), bytes(data)
        image = path
    if isinstance(image, bytes | bytearray):
        return str(identifier), bytes(image)
    if image is None or not isinstance(image, str) or not beside:
        return image, None
    return image, _beside(image, unit.folder, lying)


def _beside(image: str, folder: str, lying: bool) -> Path | None:
    """The file of an absolute name, or of one relative to the input; None where there is none."""
    try:
        path = os.path.join(folder, image)
        return Path(path) if lying or os.path.isfile(path) else None
    except ValueError:  # a NUL in the name
        return None


def photos_lie(records: Sequence[Record], unit: Unit) -> bool:
    """Whether some records bring their photo, as bytes or as a file beside the input."""
    return any(photo_of(record, "", unit, beside=True)[1] is not None for record in records)

"""WebDataset tar files and folders of photos with captions beside them.

A sample is a group of files with one name and several endings: 000123.jpg, 000123.txt, 000123.json. Nothing is ever
unpacked to disk; names that leave the archive, links and devices are refused.
"""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vericap.core.errors import InputError, Problem
from vericap.io.files import InputFile
from vericap.io.records import Fields, rename
from vericap.io.units import BYTES, RECORDS, Content, Unit
from vericap.vision import images

PHOTOS = tuple(dict.fromkeys(suffix.lower() for suffix in images.SUFFIXES))
TEXTS = (".txt", ".caption", ".json", ".cls", ".id")
_MOST_TEXT = 16 << 20  # bytes of a caption or of its JSON
_DAMAGED = (tarfile.TarError, EOFError, OSError, ValueError, OverflowError)


def split_name(name: str) -> tuple[str, str]:
    """The sample's name and the ending, as WebDataset cuts them: at the first dot of the last part.

    Examples
    --------
    >>> split_name("train/0001.seg.png")
    ('train/0001', '.seg.png')
    """
    folder, _, last = name.rpartition("/")
    stem, dot, rest = last.partition(".")
    return (f"{folder}/{stem}" if folder else stem), (dot + rest).lower()


# --- tar ----------------------------------------------------------------------------------------------------------


def tar_units(file: InputFile, *, records: int = RECORDS, size: int = BYTES) -> Iterator[Unit]:
    """Units of whole samples: files of one name stand one after the other."""
    common = ("tar", str(file.path), file.name)
    start, first, count, stop, last = 0, 1, 0, 0, None
    for member in _members(file.path, 0, None, file.name):
        key = split_name(member.name)[0]
        if key != last:
            if count and (count >= records or member.offset - start >= size):
                yield Unit(*common, start, member.offset, first, str(file.folder))
                start, first, count = member.offset, first + count, 0
            last, count = key, count + 1
        stop = member.offset_data + member.size
    if count:
        yield Unit(*common, start, stop, first, str(file.folder))


def _members(path: Path | str, start: int, stop: int | None, name: str) -> Iterator[tarfile.TarInfo]:
    try:
        with open(path, "rb") as stream:
            stream.seek(start)
            with tarfile.open(fileobj=stream, mode="r:") as archive:
                while (member := archive.next()) is not None:
                    if stop is not None and member.offset >= stop:
                        return
                    if not member.isdir():
                        yield member
                    archive.members = []  # type: ignore[attr-defined]  # else it holds every member it has met
    except _DAMAGED as error:
        raise InputError(f"{name}: the tar file is damaged or cut short ({error}); copy it again") from None


def read_tar(unit: Unit, fields: Fields) -> Content:
    """Samples of a piece of a tar file."""
    found = Content(raw=[])
    groups: dict[str, dict[str, Any]] = {}
    unknown: dict[str, str] = {}  # names that no sample has, because of a dot in them
    with open(unit.path, "rb") as stream:
        for member in _members(unit.path, unit.start, unit.stop, unit.name):
            reason = refused(member)
            key, ending = split_name(member.name)
            if reason:
                found.problems.append(Problem(shown(member.name), reason, unit.name))
            elif _of_sample(ending):
                stream.seek(member.offset_data)
                groups.setdefault(key, {})[ending] = stream.read(member.size)
            elif _of_sample(os.path.splitext(ending)[1]):
                unknown.setdefault(key, member.name)
    for key in unknown.keys() - groups.keys():
        reason = "is of no sample: names of a tar end at their first dot, as WebDataset reads them; rename the files"
        found.problems.append(Problem(shown(unknown[key]), reason, unit.name))
    for number, (key, parts) in enumerate(groups.items(), unit.first):
        _add(found, key, parts, f"sample {number} ({shown(key)})", unit.name, fields)
    return found


def refused(member: tarfile.TarInfo) -> str:
    """Why a member of a tar file is not read; empty where it is."""
    if member.issym() or member.islnk():
        return "is a link; links in archives are not followed"
    if not member.isreg():
        return "is a device or a pipe, no file"
    parts = member.name.replace("\\", "/").split("/")
    if member.name.startswith(("/", "\\")) or ".." in parts or (len(parts[0]) == 2 and parts[0][1] == ":"):
        return "has a name that points outside the archive"
    ending = split_name(member.name)[1]
    limit = images.MAX_BYTES if ending in PHOTOS else _MOST_TEXT
    if _of_sample(ending) and member.size > limit:
        return f"is {member.size >> 20} MB large; the limit is {limit >> 20} MB"
    return ""


def shown(name: str) -> str:
    """A name as messages can hold it."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _of_sample(ending: str) -> bool:
    return ending in PHOTOS or ending in TEXTS


def _add(found: Content, key: str, parts: dict[str, bytes | Path], where: str, name: str, fields: Fields) -> None:
    """One sample from its files; what is wrong with it is a problem of that sample alone."""
    try:
        item = _item(key, parts)
    except ValueError as error:
        found.problems.append(Problem(where, str(error), name))
        return
    photo = next((parts[ending] for ending in parts if ending in PHOTOS), None)
    if "txt" not in item and photo is not None and not any(ending in TEXTS for ending in parts):
        found.problems.append(Problem(where, "has no caption (.txt or .json) beside the image", name))
        return
    record = rename(item, fields)
    for known, own in (("id", item["__key__"]), ("candidate", item.get("txt"))):
        if own is not None and known not in fields.named():
            record[known] = own  # the file's own name and caption, whatever else its JSON holds
    record.pop("image_id", None)
    if photo is not None:
        record["image"], record["photo"] = key, photo
    found.records.append({**record, "where": where})
    if found.raw is not None:
        found.raw.append(item)


def _item(key: str, parts: dict[str, bytes | Path]) -> dict[str, Any]:
    item: dict[str, Any] = {}
    for ending, content in parts.items():
        if ending == ".json":
            given = _json(_bytes(content))
            item = {**given, **item}
        elif ending in (".txt", ".caption"):
            item["txt"] = _text(_bytes(content), ending).strip("\r\n")
    return {"__key__": key, **item}


def _bytes(content: bytes | Path) -> bytes:
    if isinstance(content, bytes):
        return content
    try:
        if content.stat().st_size > _MOST_TEXT:
            raise ValueError(f"{content.name} is larger than {_MOST_TEXT >> 20} MB")
        return content.read_bytes()
    except OSError as error:
        raise ValueError(f"{content.name} cannot be read ({error.strerror or error})") from None


def _text(data: bytes, what: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"its {what} is not UTF-8 (byte {error.start})") from None


def _json(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(_text(data, ".json"))
    except RecursionError:
        raise ValueError("its .json is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"its .json is malformed ({error})") from None
    if not isinstance(found, dict):
        raise ValueError(f"its .json holds a {type(found).__name__}, not an object")
    return {name: value for name, value in found.items() if name != "__key__"}


# --- folders --------------------------------------------------------------------------------------------------------


def folder_units(folder: Path, *, records: int = RECORDS) -> Iterator[Unit]:
    """Units of samples in a folder: photos with a .txt or .json of the same name, folders below included."""
    names, first = [], 1
    for name in _samples(folder):
        names.append(name)
        if len(names) == records:
            yield _folder_unit(folder, names, first)
            names, first = [], first + records
    if names:
        yield _folder_unit(folder, names, first)


def _folder_unit(folder: Path, names: list[str], first: int) -> Unit:
    return Unit("folder", str(folder), str(folder), 0, len(names), first, str(folder), names=tuple(names))


def _samples(folder: Path) -> Iterator[str]:
    """Files of samples, those of one sample on one line: name, then endings."""
    for root, folders, files in os.walk(folder):
        _sort(folders)
        groups: dict[str, list[str]] = {}
        for name in sorted(files):
            stem, ending = os.path.splitext(name)
            if not name.startswith(".") and _of_sample(ending.lower()):
                groups.setdefault(stem, []).append(ending)
        below = Path(root).relative_to(folder).as_posix()
        for stem, endings in groups.items():
            if any(ending.lower() in PHOTOS for ending in endings):
                yield "\0".join([stem if below == "." else f"{below}/{stem}", *endings])


def is_sample_folder(folder: Path) -> bool:
    """Whether a folder holds photos with captions beside them."""
    return any(
        any(ending.lower() in TEXTS for ending in name.split("\0")[1:])
        for name, _ in zip(_samples(folder), range(1000))
    )


def lonely_texts(folder: Path) -> list[str]:
    """What to say of captions without a photo beside them; there may be other texts in a folder, so it is no error."""
    found = []
    for root, folders, files in os.walk(folder):
        _sort(folders)
        photos = {os.path.splitext(name)[0] for name in files if os.path.splitext(name)[1].lower() in PHOTOS}
        texts = (name for name in sorted(files) if name.endswith((".txt", ".caption")) and not name.startswith("."))
        found += [os.path.join(root, name) for name in texts if os.path.splitext(name)[0] not in photos]
    if not found:
        return []
    return [f"{len(found)} text file(s) have no photo beside them and are not read: {', '.join(found[:3])}"]


def metadata_of(folder: Path) -> list[Path]:
    """The metadata files of a Hugging Face ImageFolder: its own, or those of its splits below."""
    if (own := _metadata(folder)) is not None:
        return [own]
    if is_sample_folder(folder):
        return []
    found = []
    for root, folders, _ in os.walk(folder):
        _sort(folders)
        found += [file for file in [_metadata(Path(root))] if file is not None]
    return found


def _sort(folders: list[str]) -> None:
    """In which order `os.walk` goes on, and where not."""
    folders[:] = sorted(name for name in folders if not name.startswith("."))


def _metadata(folder: Path) -> Path | None:
    names = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
    return next((folder / name for name in names if (folder / name).is_file()), None)


def read_folder(unit: Unit, fields: Fields) -> Content:
    """Samples of a piece of a folder; photos are read later, when somebody looks at them."""
    found = Content(raw=[])
    for line in unit.names:
        stem, *endings = line.split("\0")
        parts: dict[str, bytes | Path] = {e.lower(): Path(unit.path, stem + e) for e in endings}
        _add(found, stem, parts, stem, unit.name, fields)
    return found

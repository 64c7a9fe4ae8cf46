"""Subsets as other programs read them: WebDataset tar shards, and the uid list of DataComp's resharder."""

from __future__ import annotations

import io
import json
import re
import tarfile
from array import array
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from vericap.core.errors import InputError
from vericap.io.write import check_output, json_lines, records_of, replacing
from vericap.vision import images

if TYPE_CHECKING:
    import pyarrow

    from vericap.core.samples import Sample

SHARD = 10_000  # samples of a tar file, where the name counts them
UID = np.dtype("u8,u8")  # a 128-bit number in two halves, as the resharder compares it
_UID = re.compile(r"[0-9a-fA-F]{32}")
COUNTED = re.compile(r"%0?\d*d")  # in the name of shards: the number of each
_ENDINGS = (
    (b"\xff\xd8\xff", "jpg"), (b"\x89PNG", "png"), (b"GIF8", "gif"), (b"RIFF", "webp"), (b"BM", "bmp"),
    (b"II*\0", "tif"), (b"MM\0*", "tif"), (b"\0\0\0\x0cjP", "jp2"), (b"P", "ppm"),
)  # fmt: skip


class TarWriter:
    """WebDataset shards: for each sample its photo as it was, the caption (.txt) and all columns (.json).

    Parameters
    ----------
    path : `kept.tar`, or `kept-%06d.tar` for shards of `shard` samples.
    photo : the bytes of a sample's photo; an InputError where there is none.
    """

    def __init__(self, path: str | Path, photo: Callable[[Sample], bytes], *, shard: int = SHARD) -> None:
        self.pattern, self.photo, self.shard = Path(path), photo, shard
        check_output(self._name(0), kinds=(".tar",), what="samples")
        self.rows = 0
        self.names: list[Path] = []  # files written
        self._context: Any = None
        self._tar: tarfile.TarFile | None = None

    def __enter__(self) -> TarWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._tar is None and not self.names:
            self._open()  # a subset without a sample is a file too
        self._close(kind, error, trace)

    def add(self, sample: Sample, columns: Mapping[str, Any]) -> None:
        """Add a sample; nothing of it is written where its photo cannot be read."""
        data = self.photo(sample)
        if not images.begins_like_image(data):  # a record may name any file
            raise InputError("its photo is no image")
        if self._tar is None:
            self._open()
        key = f"{self.rows:09d}"
        (line,) = json_lines([columns])
        self._put(f"{key}.{ending_of(data)}", data)
        self._put(f"{key}.txt", sample.candidate.encode())
        self._put(f"{key}.json", line.encode())
        self.rows += 1
        if self._counts and self.rows % self.shard == 0:
            self._close(None, None, None)

    @property
    def _counts(self) -> bool:
        return COUNTED.search(self.pattern.name) is not None

    def _name(self, number: int) -> Path:
        return self.pattern.with_name(COUNTED.sub(lambda found: found[0] % number, self.pattern.name))

    def others(self) -> list[Path]:
        """Files with the name of a shard that are not of this run."""
        if not self._counts:
            return []
        return sorted(
            file for file in self.pattern.parent.iterdir() if is_shard(file, self.pattern) and file not in self.names
        )

    def _open(self) -> None:
        self.names.append(self._name(len(self.names)))
        self._context = replacing(self.names[-1])
        self._tar = tarfile.TarFile(self._context.__enter__(), "w", format=tarfile.PAX_FORMAT)

    def _put(self, name: str, data: bytes) -> None:
        member = tarfile.TarInfo(name)  # no owner and no time: equal samples give equal bytes
        member.size = len(data)
        if self._tar is not None:
            self._tar.addfile(member, io.BytesIO(data))

    def _close(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._tar is not None:
            self._tar.close()
            self._context.__exit__(kind, error, trace)
            self._tar = None


def is_shard(file: str | Path, pattern: str | Path) -> bool:
    """Whether a file has the name of a shard.

    Examples
    --------
    >>> is_shard("a/kept-000012.tar", "a/kept-%06d.tar"), is_shard("b/kept-000012.tar", "a/kept-%06d.tar")
    (True, False)
    """
    before, after = COUNTED.split(Path(pattern).name, maxsplit=1)
    named = re.fullmatch(re.escape(before) + r"\d+" + re.escape(after), Path(file).resolve().name) is not None
    return named and Path(file).resolve().parent == Path(pattern).resolve().parent


def ending_of(data: bytes) -> str:
    """The ending of a photo's name by its content."""
    return next((ending for start, ending in _ENDINGS if data.startswith(start)), "avif")


class UidWriter:
    """The list of uids that DataComp's resharder reads: sorted pairs of 64-bit numbers in a `.npy` file."""

    def __init__(self, path: str | Path) -> None:
        self.path = check_output(path, kinds=(".npy",), what="uids")
        self._found = array("Q")  # 16 bytes each: millions are held

    def __enter__(self) -> UidWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            with replacing(self.path) as file, file.open("wb") as stream:
                np.save(stream, np.unique(np.frombuffer(self._found, dtype=UID)), allow_pickle=False)

    @property
    def rows(self) -> int:
        return len(self._found) // 2

    def add(self, sample: Sample, columns: Mapping[str, Any]) -> None:
        """Add the uid of a sample."""
        self._found.extend(halves(columns.get("uid")))


def halves(uid: Any) -> tuple[int, int]:
    """A uid of 32 hexadecimal digits as two numbers.

    Examples
    --------
    >>> halves("139e4a9b22a614771f06c700a8ebe150") == (0x139E4A9B22A61477, 0x1F06C700A8EBE150)
    True
    """
    if not isinstance(uid, str) or _UID.fullmatch(uid) is None:
        shown = "has no column 'uid'" if uid is None else f"its uid is {str(uid)[:40]!r}"
        raise InputError(f"{shown}; a DataComp list needs 32 hexadecimal digits")
    return int(uid[:16], 16), int(uid[16:], 16)


def plain_columns(table: pyarrow.Table) -> list[dict[str, Any]]:
    """Rows as JSON can hold them: bytes of photos are left out."""
    return [json.loads(line) for line in json_lines(records_of(table))]

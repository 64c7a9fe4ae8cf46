"""Photos decoded for networks: as many together as memory allows, the next ones while a network looks at the last."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol, TypeVar

from vericap.core import devices
from vericap.core.errors import InputError
from vericap.vision import images

if TYPE_CHECKING:
    from PIL.Image import Image

MEMORY = 128 << 20  # bytes of decoded photos that networks are given at once; as many wait
_ON_PROCESSOR = 4  # photos together, at the least: a processor gains nothing from more
_ON_DEVICE = 64  # photos together on a GPU
_AHEAD = 2  # threads that decode for a GPU, at the least


class Encoded(Protocol):
    """A photo as it lies in its file."""

    @property
    def key(self) -> str: ...

    @property
    def data(self) -> bytes: ...


P = TypeVar("P", bound=Encoded)


def in_groups(photos: Sequence[P], threads: int) -> Iterator[list[tuple[P, Image | str]]]:
    """Photos with what they show, or why they cannot be decoded, in groups for networks.

    One thread on the processor decodes and looks in turns; with more threads, or a GPU, the next group is decoded
    meanwhile.
    """
    device = on_device()
    most = _ON_DEVICE if device else max(_ON_PROCESSOR, 2 * threads)
    parts = list(_groups(photos, most))
    if threads == 1 and not device:
        for part in parts:
            yield [(photo, _decoded(photo)) for photo in part]
        return
    with ThreadPoolExecutor(max(threads, _AHEAD) if device else threads) as pool:
        coming = [pool.submit(_decoded, photo) for photo in parts[0]] if parts else []
        for part, following in zip(parts, [*parts[1:], []]):
            found = [one.result() for one in coming]
            coming = [pool.submit(_decoded, photo) for photo in following]
            yield list(zip(part, found))


def on_device() -> bool:
    """Whether networks run on something else than the processor."""
    given = os.environ.get(devices.VARIABLE, "")
    return bool(given) and not given.startswith(devices.PROVIDERS["cpu"])


def _groups(photos: Sequence[P], most: int) -> Iterator[list[P]]:
    group: list[P] = []
    held = 0
    for photo in photos:
        size = _bytes(photo)
        if group and (len(group) == most or held + size > MEMORY):
            yield group
            group, held = [], 0
        group.append(photo)
        held += size
    if group:
        yield group


def _bytes(photo: Encoded) -> int:
    """What a photo takes when it is decoded, from its header; 0 where it cannot be read at all."""
    try:
        width, height = images.opened(photo.data).size
    except Exception:  # as many kinds as there are formats; decoding says what is wrong
        return 0
    return 3 * width * height


def _decoded(photo: Encoded) -> Image | str:
    try:
        return images.decode(photo.data, photo.key)
    except InputError as error:
        return str(error).removeprefix(f"{photo.key}: ")

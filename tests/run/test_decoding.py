"""Photos for networks: groups that fit into memory, decoded ahead, in order."""

from __future__ import annotations

import io
import threading
from dataclasses import dataclass

import pytest
from PIL import Image

from vericap.core import devices
from vericap.run import decoding
from vericap.run.decoding import in_groups


@dataclass(frozen=True)
class Photo:
    key: str
    data: bytes


def photo(name: str, side: int = 8) -> Photo:
    stream = io.BytesIO()
    Image.new("RGB", (side, side), (int(name) % 256, 0, 0)).save(stream, "PNG")
    return Photo(name, stream.getvalue())


@pytest.mark.parametrize("threads", [1, 3])
def test_every_photo_once_in_order(threads: int) -> None:
    given = [photo(str(number)) for number in range(23)]
    groups = list(in_groups(given, threads))
    assert [one for group in groups for one, _ in group] == given
    assert max(map(len, groups)) == max(4, 2 * threads)
    assert [image.getpixel((0, 0))[0] for group in groups for _, image in group] == list(range(23))


@pytest.mark.parametrize("threads", [1, 2])
def test_groups_are_as_large_as_memory_allows(monkeypatch, threads: int) -> None:
    monkeypatch.setattr(decoding, "MEMORY", 3 * 100 * 100 * 2)
    given = [photo("1", 100), photo("2", 100), photo("3", 100), photo("4", 500), photo("5"), photo("6")]
    assert [len(group) for group in in_groups(given, threads)] == [2, 1, 1, 2]


def test_a_gpu_is_given_more_and_waits_for_nothing(monkeypatch) -> None:
    monkeypatch.setenv(devices.VARIABLE, "CUDAExecutionProvider,CPUExecutionProvider")
    given = [photo(str(number)) for number in range(70)]
    started: set[str] = set()
    all_started = threading.Event()
    plain = decoding._decoded

    def decoded(one: Photo) -> Image.Image | str:
        started.add(one.key)
        if len(started) == len(given):
            all_started.set()
        return plain(one)

    monkeypatch.setattr(decoding, "_decoded", decoded)
    groups = in_groups(given, 1)
    assert len(next(groups)) == 64
    assert all_started.wait(10)  # the other six are decoded while the first group is looked at
    assert len(next(groups)) == 6


@pytest.mark.parametrize("threads", [1, 2])
def test_damaged_photos_keep_their_place(threads: int) -> None:
    given = [photo("1"), Photo("bad", b"no image"), Photo("empty", b""), photo("2")]
    found = [image for group in in_groups(given, threads) for _, image in group]
    assert [isinstance(one, str) for one in found] == [False, True, True, False]
    assert "not an image" in str(found[1])
    assert list(in_groups([], 2)) == []

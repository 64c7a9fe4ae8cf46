"""Images are found by key, never outside their folder, and read or refused with a reason."""

from __future__ import annotations

import contextlib
import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from vericap.core.errors import InputError
from vericap.vision import images


def picture(width: int = 12, height: int = 8) -> Image.Image:
    """Left half red, right half blue."""
    pixels = np.zeros((height, width, 3), dtype=np.uint8)
    pixels[:, : width // 2, 0] = 255
    pixels[:, width // 2 :, 2] = 255
    return Image.fromarray(pixels)


def near(image: Image.Image, place: tuple[int, int], colour: tuple[int, int, int], slack: int = 40) -> bool:
    return bool(np.all(np.abs(np.array(image.getpixel(place)) - np.array(colour)) <= slack))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "photos"
    (root / "sub").mkdir(parents=True)
    for name in ("cat.jpg", "sub/dog.png", "COCO_val2014_000000000042.jpg", "000000000007.jpg", "plain"):
        picture().save(root / name, format="PNG")  # the extension lies, the bytes tell
    picture().save(tmp_path / "secret.png")
    return root


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("cat.jpg", "cat.jpg"),
        ("cat", "cat.jpg"),
        ("cat.png", "cat.jpg"),
        ("sub/dog", "sub/dog.png"),
        ("./sub/../cat.jpg", "cat.jpg"),
        ("elsewhere/cat.jpg", "cat.jpg"),
        ("42", "COCO_val2014_000000000042.jpg"),
        (42, "COCO_val2014_000000000042.jpg"),
        ("000000000042.jpg", "COCO_val2014_000000000042.jpg"),
        ("COCO_train2014_000000000007.jpg", "000000000007.jpg"),
        (7, "000000000007.jpg"),
        ("plain", "plain"),
    ],
)
def test_keys_find_their_file(folder: Path, key: str | int, name: str) -> None:
    assert images.find(key, folder) == folder / name
    assert images.load_image(images.find(key, folder)).size == (12, 8)


@pytest.mark.parametrize(
    "key", ["../secret.png", "sub/../../secret.png", "..\\secret.png", "/etc/passwd", "C:\\secret.png", "", "a\0b"]
)
def test_keys_never_leave_the_folder(folder: Path, key: str) -> None:
    with pytest.raises(InputError):
        images.find(key, folder)


@given(st.text(alphabet="./\\ab~\0:", max_size=12))
@settings(max_examples=200, deadline=None)
def test_any_key_stays_inside_or_is_refused(key: str) -> None:
    root = Path("/some/folder")
    try:
        inside = images._inside(key, root)
    except InputError:
        return
    assert ".." not in inside.parts
    assert not inside.is_absolute()


def test_an_absolute_key_inside_the_folder_is_fine(folder: Path) -> None:
    assert images.find(str(folder / "cat.jpg"), folder).samefile(folder / "cat.jpg")


def test_a_missing_image_and_folder_are_named(folder: Path) -> None:
    with pytest.raises(InputError, match="no image 'cow'"):
        images.find("cow", folder)
    with pytest.raises(InputError, match="does not exist"):
        images.find("cow", folder / "nowhere")


@pytest.mark.parametrize("mode", ["RGB", "L", "1", "P", "RGBA", "LA", "CMYK", "YCbCr"])
def test_every_mode_becomes_rgb(tmp_path: Path, mode: str) -> None:
    file = tmp_path / "image.tif"
    if mode == "YCbCr":
        picture().convert(mode).save(tmp_path / "image.jpg")
        file = tmp_path / "image.jpg"
    else:
        picture().convert(mode).save(file)
    image = images.load_image(file)
    assert image.mode == "RGB"
    assert image.size == (12, 8)
    if mode in ("RGB", "P", "RGBA", "CMYK"):
        assert near(image, (2, 2), (255, 0, 0))
        assert near(image, (10, 2), (0, 0, 255))


def test_transparent_pixels_are_white() -> None:
    clear = Image.new("RGBA", (4, 4), (255, 0, 0, 0))
    data = io.BytesIO()
    clear.save(data, format="PNG")
    assert images.decode(data.getvalue()).getpixel((1, 1)) == (255, 255, 255)


def test_sixteen_bit_grey_keeps_its_range(tmp_path: Path) -> None:
    values = np.linspace(0, 65535, 64).astype(np.uint16).reshape(8, 8)
    Image.fromarray(values).save(tmp_path / "deep.png")
    grey = np.asarray(images.load_image(tmp_path / "deep.png"))[..., 0]
    assert grey.min() == 0
    assert grey.max() == 255
    assert len(np.unique(grey)) > 50


def test_exif_rotation_is_applied(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned: shown rotated by 90 degrees clockwise
    picture(32, 16).save(tmp_path / "turned.jpg", exif=exif, quality=95)
    image = images.load_image(tmp_path / "turned.jpg")
    assert image.size == (16, 32)
    assert near(image, (8, 4), (255, 0, 0), 60)
    assert near(image, (8, 28), (0, 0, 255), 60)


def test_the_first_frame_of_an_animation_counts(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    frames[0].save(tmp_path / "moving.gif", save_all=True, append_images=frames[1:])
    assert near(images.load_image(tmp_path / "moving.gif"), (4, 4), (255, 0, 0))


def bomb(width: int, height: int) -> bytes:
    """A small PNG that claims a huge picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")
    )


def bad_images() -> dict[str, bytes]:
    stream = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    Image.fromarray(noise).save(stream, format="JPEG")
    whole = stream.getvalue()
    return {
        "empty": b"",
        "text": b"this is not an image at all",
        "truncated": whole[: len(whole) // 2],
        "header": whole[:20],
        "bomb": bomb(60_000, 60_000),
        "large": bomb(10_000, 9_000),
        "svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        "eps": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n",
    }


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("empty", "0 bytes"),
        ("text", "not an image"),
        ("truncated", "truncated"),
        ("header", "truncated|not an image"),
        ("bomb", "pixels"),
        ("large", "more than the limit"),
        ("svg", "not an image"),
        ("eps", "not an image"),
    ],
)
def test_bad_images_are_refused_with_the_reason(tmp_path: Path, kind: str, reason: str) -> None:
    file = tmp_path / f"{kind}.jpg"
    file.write_bytes(bad_images()[kind])
    with pytest.raises(InputError, match=reason) as caught:
        images.load_image(file)
    assert str(file) in str(caught.value)


def test_folders_and_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a folder"):
        images.read(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        images.read(tmp_path / "nothing.jpg")


@given(st.binary(max_size=200))
@settings(max_examples=150, deadline=None)
def test_any_bytes_decode_or_are_refused(data: bytes) -> None:
    for start in (b"", b"\xff\xd8\xff\xe0", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"BM", b"II*\0"):
        with contextlib.suppress(InputError):
            assert images.decode(start + data).mode == "RGB"


def test_gather_takes_folders_files_globs_and_lists(folder: Path, tmp_path: Path) -> None:
    (folder / "notes.md").write_text("not an image")
    (folder / ".hidden.jpg").write_bytes(b"x")
    keys = [item.key for item in images.gather([folder])]
    assert keys == ["000000000007.jpg", "COCO_val2014_000000000042.jpg", "cat.jpg", "plain", "sub/dog.png"]
    assert [item.key for item in images.gather([str(folder / "*.jpg")])] == keys[:3]
    listing = tmp_path / "names.txt"
    listing.write_text("photos/cat.jpg\n\nphotos/missing.jpg\n")
    assert [item.key for item in images.gather([listing])] == ["cat.jpg", "missing.jpg"]
    assert len(images.gather([folder, folder / "cat.jpg"])) == len(keys)  # named twice, taken once
    with pytest.raises(InputError, match="no file matches"):
        images.gather([str(folder / "*.xyz")])


def test_equal_names_from_two_folders_keep_apart(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        picture().save(tmp_path / name / "x.png")
    keys = [item.key for item in images.gather([tmp_path / "a", tmp_path / "b"])]
    assert len(set(keys)) == 2


def test_content_names_content() -> None:
    assert images.content_key(b"a") == images.content_key(b"a") != images.content_key(b"b")

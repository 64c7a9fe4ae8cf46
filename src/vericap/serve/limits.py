"""What one request may ask for. Everything that comes from outside is checked here, and refused with one sentence."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from vericap.core.errors import InputError
from vericap.core.samples import storable
from vericap.vision import images

MB = 1 << 20
_WORD = re.compile(r"\S+")
# Scripts without blanks between words: each letter counts.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uff66-\uff9f]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class Refused(Exception):
    """A request that is not answered: an HTTP status, one sentence, and how long to wait before the next try."""

    def __init__(self, status: int, sentence: str, *, retry: int = 0) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.retry = status, sentence, retry


@dataclass(frozen=True)
class Limits:
    """What a server accepts.

    Attributes
    ----------
    photo_bytes, pixels : of one photo; a whole request may have a megabyte more for its texts.
    words : of a caption or a reference.
    references, metrics : of one request.
    seconds : from a request's arrival to its answer; a request that waits longer gets 503.
    upload_seconds : in which the whole of a request must have arrived.
    waiting : requests that wait while another is worked on; more get 503.
    batch_bytes, batch_captions : of one upload of many captions with their photos.
    batches : uploads whose results are kept.
    memory : bytes of features kept of photos and captions that were seen.
    """

    photo_bytes: int = 10 * MB
    pixels: int = 40_000_000
    words: int = 150
    references: int = 20
    metrics: int = 32
    seconds: float = 30.0
    upload_seconds: float = 30.0
    waiting: int = 64
    batch_bytes: int = 128 * MB
    batch_captions: int = 5_000
    batches: int = 8
    memory: int = 256 * MB

    @property
    def request_bytes(self) -> int:
        """Bytes of a whole request about one caption."""
        return self.photo_bytes + MB

    # --- texts --------------------------------------------------------------------------------------------------

    def text(self, value: str, what: str) -> str:
        """A caption or a reference: text of bounded length."""
        try:
            storable(value, what)
        except InputError as error:
            raise Refused(422, f"{error}.") from None
        if _CONTROL.search(value):
            raise Refused(422, f"{what} holds a control character; send plain text.")
        count = words(value)
        if count > self.words or len(value) > 20 * self.words:
            raise Refused(422, f"{what} has {count} words in {len(value)} letters; at most {self.words} are judged.")
        return value

    def caption(self, value: str) -> str:
        """The caption of a request; an empty one is refused, for there is nothing to judge."""
        if not value.strip():
            raise Refused(422, "The caption is empty; send a text in the field caption.")
        return self.text(value, "The caption")

    def given_references(self, values: Sequence[str]) -> tuple[str, ...]:
        """References that say something."""
        if len(values) > self.references:
            raise Refused(422, f"There are {len(values)} references; at most {self.references} are read.")
        return tuple(self.text(value, "A reference") for value in values if value.strip())

    # --- photos -------------------------------------------------------------------------------------------------

    def photo(self, data: bytes) -> bytes:
        """An image file whose first bytes say that it is one and not too large; no pixel is decoded for it."""
        if not data:
            raise Refused(422, "The image is empty (0 bytes); send a photo in the field image, or leave it out.")
        if len(data) > self.photo_bytes:
            raise Refused(413, f"The image has {len(data) / MB:.1f} MB; at most {self.photo_bytes // MB} MB are read.")
        width, height = size_of(data)
        if width * height > self.pixels:
            raise Refused(
                422, f"The image has {width} x {height} pixels; at most {self.pixels // 10**6} million are looked at."
            )
        return data


def words(text: str) -> int:
    """Words of a text, roughly, as limits count them.

    >>> words("a dog runs"), words("犬が走る")
    (3, 4)
    """
    return max(len(_WORD.findall(text)), len(_UNSPACED.findall(text)))


def size_of(data: bytes) -> tuple[int, int]:
    """Width and height by the header of an image file."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's own bomb warning: the caller's limit is lower
            with images.opened(data) as image:
                return image.size
    except Image.DecompressionBombError:
        raise Refused(422, "The image has far too many pixels (a decompression bomb).") from None
    except Exception:  # readers of headers raise anything on damaged data
        known = ", ".join(images.FORMATS)
        raise Refused(422, f"The image is damaged or in no known format; known are {known}.") from None

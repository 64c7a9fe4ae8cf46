"""Keys of content: what the disk cache and the files beside it are filed under."""

from __future__ import annotations

import hashlib


def content_key(*parts: str | bytes) -> str:
    """A key of 32 hexadecimal digits; the same parts always give the same key.

    Every part goes in with its length, so that ("ab", "c") and ("a", "bc") differ.

    >>> content_key("a dog", b"photo") == content_key("a dog", b"photo")
    True
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()

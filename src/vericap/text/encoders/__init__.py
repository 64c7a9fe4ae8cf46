"""Sentence encoders by name: the shipped caption encoder, gte-small, or a folder.

>>> open_encoder("captions").encode(["a dog", "a puppy"]).shape
(2, 384)
"""

from __future__ import annotations

from pathlib import Path

from vericap.core import shipped
from vericap.core.errors import InputError
from vericap.text.encoders.base import Cut, SentenceEncoder, StateTable, distinct_texts, normalise

CAPTIONS, GTE_SMALL = "captions", "gte-small"
HELP = f"sentence encoder: {CAPTIONS} (shipped), {GTE_SMALL}, or a folder of sentence-transformers"

__all__ = [
    "CAPTIONS",
    "GTE_SMALL",
    "HELP",
    "Cut",
    "SentenceEncoder",
    "StateTable",
    "distinct_texts",
    "encoder_name",
    "normalise",
    "open_encoder",
]


def open_encoder(encoder: str = CAPTIONS, *, threads: int = 1) -> SentenceEncoder:
    """The encoder a text names; no network is opened before it is used."""
    from vericap.text.encoders import captions, folder, gte_small

    if encoder == CAPTIONS:
        return captions.CaptionEncoder(threads=threads)
    if encoder == GTE_SMALL:
        return gte_small.GteSmall(threads=threads)
    path = Path(encoder).expanduser()
    if folder.is_folder(path):
        return folder.FolderEncoder(path, threads=threads)
    return captions.CaptionEncoder(_known(path), threads=threads)


def encoder_name(encoder: str = CAPTIONS) -> str:
    """Name of the network for signatures; nothing is opened."""
    from vericap.text.encoders import captions, folder, gte_small

    if encoder == CAPTIONS:
        return captions.named(shipped.meta(captions.PART))
    if encoder == GTE_SMALL:
        return gte_small.name()
    path = Path(encoder).expanduser()
    return folder.name(path) if folder.is_folder(path) else captions.named(captions.describe(_known(path)))


def _known(path: Path) -> Path:
    if not (path / "meta.json").is_file():
        raise InputError(
            f"the encoder '{path}' is neither {CAPTIONS} nor {GTE_SMALL} nor a folder that sentence-transformers "
            "(modules.json, tokenizer.json) or `vericap train encoder` wrote"
        )
    return path

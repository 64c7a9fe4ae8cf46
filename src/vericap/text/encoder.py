"""Names of `text.encoders` under which trainers still read gte-small; goes when they are moved."""

from vericap.text.encoders.base import LENGTH, StateTable, distinct_texts, normalise
from vericap.text.encoders.gte_small import GteSmall as Encoder
from vericap.text.encoders.gte_small import _mean, name

WIDTH = 384
__all__ = ["LENGTH", "WIDTH", "Encoder", "StateTable", "caption_mean", "distinct_texts", "name", "normalise", "phrase_mean", "tokenised"]


def caption_mean():  # type: ignore[no-untyped-def]
    return Encoder().caption_mean()


def phrase_mean():  # type: ignore[no-untyped-def]
    return Encoder().phrase_mean()


def tokenised(texts):  # type: ignore[no-untyped-def]
    return Encoder().cut(texts)

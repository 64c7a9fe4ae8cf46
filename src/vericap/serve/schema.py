"""Shapes of answers, for the OpenAPI description."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class Error(BaseModel):
    """Why a request was not answered."""

    error: str = Field(description="One sentence: what is wrong and what to do.")


class Score(BaseModel):
    """One metric's score of a caption."""

    value: float | None = Field(description="null where the metric could not judge the caption; problem says why")
    direction: str = Field(description="higher or lower: which is better")
    signature: str = Field(description="every choice that moves the number")
    problem: str | None = None


class Scores(BaseModel):
    """Scores by metric."""

    lang: str
    scores: dict[str, Score]


class Explained(Scores):
    """Scores, and reasons by metric (vericap.core.explanation as JSON)."""

    reasons: dict[str, dict[str, Any]]


class Word(BaseModel):
    """A word of the caption and how well it is supported."""

    text: str
    start: int
    end: int
    support: float | None
    source: str
    region: list[float] | None = Field(description="x0, y0, x1, y1 as shares of the photo")


class Sentence(BaseModel):
    """A sentence of the caption and how well it is supported."""

    text: str
    start: int
    end: int
    support: float | None


class Missing(BaseModel):
    """What photo or references have and the caption lacks."""

    text: str
    weight: float
    source: str
    region: list[float] | None


class Check(Scores):
    """A caption at a glance. The verdict's numbers are null without a photo or in a language it does not read."""

    caption: str
    fidelity: float | None
    adequacy: float | None
    fluency: float | None
    verdict: float | None
    words: list[Word]
    sentences: list[Sentence]
    missing: list[Missing]
    not_supported: list[str] = Field(description="words that the photo (or the references) do not bear out")
    notes: list[str] = Field(description="what else there is to know, such as why the caption reads badly")


class OneMetric(BaseModel):
    """What a metric is."""

    name: str
    title: str
    about: str
    direction: str
    range: list[float | None]
    needs: list[str]
    languages: list[str]
    explains: bool
    options: dict[str, dict[str, Any]]


class Metrics(BaseModel):
    """What can be asked for."""

    metrics: list[OneMetric]
    sets: dict[str, list[str]]
    limits: dict[str, float]


class Health(BaseModel):
    """Whether the server works: warming (networks are being opened), ok, failed (they cannot be) or stopped."""

    status: str
    waiting: int


class Batch(BaseModel):
    """An upload of many captions."""

    id: str
    status: str = Field(description="waiting, running, done, failed or cancelled")
    captions: int
    done: int
    error: str | None = None
    scores: dict[str, Any] | None = None
    problems: list[str] = []

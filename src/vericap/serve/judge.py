"""Judging one caption with a warm runtime: scores and reasons from one look at the photo and the texts."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from vericap.core.batch import Batch
from vericap.core.errors import InputError, VericapError
from vericap.core.explanation import Explanation
from vericap.core.keys import content_key
from vericap.core.languages import LANGUAGES
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics.registry import resolve
from vericap.report.site.defaults import default_metrics
from vericap.run.engine import Run, one
from vericap.run.fitting import check_language
from vericap.run.plan import Plan, fill
from vericap.run.runtime import Runtime
from vericap.serve.limits import Limits, Refused
from vericap.serve.memory import MemoryCache
from vericap.text.languages import language
from vericap.vision import images

SEEN = 4096  # photos that are known to be whole
ONE = "1"  # the id of the only caption of a request
NOTHING_FITS = "No metric fits; send an image, references, or both, or name metrics."
SHIPPED_DF = "coco-val"  # CIDEr of a single caption needs document frequencies from elsewhere


@dataclass
class Judged:
    """What metrics say of one caption."""

    sample: Sample
    lang: str
    metrics: dict[str, Metric] = field(default_factory=dict)
    scores: dict[str, float | None] = field(default_factory=dict)
    signatures: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)  # why a metric gave no score, or what it remarks
    reasons: dict[str, Explanation] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Scores as the API gives them."""
        return {
            "lang": self.lang,
            "scores": {
                name: {
                    "value": None if value is None else round(value, 6),
                    "direction": self.metrics[name].direction,
                    "signature": self.signatures[name],
                    **({"problem": self.problems[name]} if name in self.problems else {}),
                }
                for name, value in self.scores.items()
            },
        }

    def explained(self) -> dict[str, Any]:
        """Scores, and the reasons of every metric that gives any."""
        return {**self.as_dict(), "reasons": {name: plain(own.as_dict()) for name, own in self.reasons.items()}}


class Judge:
    """One runtime for all requests: networks stay open, photos and texts that were seen are known again.

    Parameters
    ----------
    settings : language-independent choices: threads, device, cache. Without a cache of the settings, what is kept
        stays in memory.
    limits : how much of it is kept.
    """

    def __init__(self, settings: Settings | None = None, limits: Limits | None = None) -> None:
        self.settings = settings or Settings()
        self.limits = limits or Limits()
        self.runtime = Runtime(self.settings)
        if self.settings.cache is None:
            self.runtime.cache = MemoryCache(self.limits.memory)
        self._whole: OrderedDict[str, None] = OrderedDict()  # content of photos that could be decoded

    def settings_for(self, lang: str) -> Settings:
        """Settings of a request in a language."""
        return replace(self.settings, lang=lang, tokenizer="", df=SHIPPED_DF if lang == "en" else "corpus")

    def usual(self, sample: Sample, lang: str) -> list[Metric]:
        """The metrics that are shown when nobody names any: those that photo and references allow."""
        names, _ = default_metrics([sample], lang=lang, images=sample.photo is not None)
        return resolve(names) if names else []

    def run(self, metrics: Sequence[Metric], lang: str) -> Run:
        return Run(metrics, self.settings_for(lang), runtime=self.runtime)

    def score(self, sample: Sample, metrics: Sequence[Metric], lang: str) -> Judged:
        """Scores alone."""
        return self._judged(sample, metrics, lang, explain=False, full=False)

    def explain(self, sample: Sample, metrics: Sequence[Metric], lang: str, *, full: bool = False) -> Judged:
        """Scores and reasons; `full` adds matrices and graphs to draw."""
        return self._judged(sample, metrics, lang, explain=True, full=full)

    def _judged(self, sample: Sample, metrics: Sequence[Metric], lang: str, *, explain: bool, full: bool) -> Judged:
        check_fit(metrics, sample, lang)
        self._check_photo(sample)
        try:
            run = self.run(metrics, lang)
            batch = Batch.of([sample], run.settings)
            work = Plan(run.metrics, run.settings, explain=explain)
            fill(batch, work.keys(), run.runtime)
            found = Judged(sample, lang)
            for metric in run.metrics:
                reader = batch.read_by(f"metric '{metric.label}'", work.keys_of(metric))
                _judge(metric, reader, found, batch, explain=explain, full=full)
        except VericapError as error:
            raise Refused(422, sentence(error)) from error
        return found

    def _check_photo(self, sample: Sample) -> None:
        """Refuse a photo that is damaged behind its header; one that was seen before is not decoded for it."""
        if not isinstance(sample.photo, bytes):
            return
        key = content_key(sample.photo)
        if key in self._whole:
            self._whole.move_to_end(key)
            return
        try:
            images.decode(sample.photo, "The image")
        except InputError as error:
            raise Refused(422, sentence(error)) from None
        self._whole[key] = None
        while len(self._whole) > SEEN:
            self._whole.popitem(last=False)


def _judge(metric: Metric, reader: Batch, found: Judged, batch: Batch, *, explain: bool, full: bool) -> None:
    state = metric.merge([metric.prepare(reader)]) if metric.prepares else None
    statistics = one(metric, reader, state)
    name = metric.label
    found.metrics[name] = metric
    found.signatures[name] = metric.signature(batch)
    value = float("nan") if statistics.undefined(0) else float(metric.captions(statistics.values)[0])
    found.scores[name] = value if value == value and abs(value) != float("inf") else None
    if 0 in statistics.problems:
        found.problems[name] = statistics.problems[0]
    if explain and metric.explains:
        (reason,) = metric.explain(reader, [0], state, full=full)
        if reason is not None:
            found.reasons[name] = reason


def sample_of(caption: str, references: tuple[str, ...], photo: bytes | None) -> Sample:
    """A request as a sample. Its image is named by content, never by what the client calls it."""
    image = None if photo is None else content_key(photo)
    return Sample(ONE, caption, references, image, photo=photo)


def language_of(given: str, caption: str, references: Sequence[str] = ()) -> str:
    """The language of a request: as given, else as the texts tell; English where they tell nothing.

    >>> language_of("", "犬が芝生を走る"), language_of("", "a dog runs"), language_of("de", "a dog")
    ('ja', 'en', 'de')
    """
    if given and given not in LANGUAGES:
        raise Refused(422, f"{given[:20]!r} is no language; give a code of two letters (ISO 639-1): en, ja, de.")
    found = given or language(" ".join([caption, *references]))
    return found if found in LANGUAGES else "en"


def fits(metric: Metric, sample: Sample, lang: str) -> bool:
    """Whether a metric has what it looks at."""
    try:
        check_fit([metric], sample, lang)
    except Refused:
        return False
    return True


def check_fit(metrics: Sequence[Metric], sample: Sample, lang: str) -> None:
    """Refuse metrics that lack what they look at, in words of the API."""
    if not metrics:
        raise Refused(422, NOTHING_FITS)
    for metric in metrics:
        if {"image", "objects"} & set(metric.needs) and sample.photo is None:
            raise Refused(422, f"The metric {metric.label} looks at the photo; send one in the field image.")
        if "references" in metric.needs and not sample.references:
            raise Refused(422, f"The metric {metric.label} compares with references; send some in references.")
        try:
            check_language(metric, Settings(lang=lang))
        except VericapError as error:
            raise Refused(422, sentence(error)) from None


def sentence(error: Exception) -> str:
    """A message of the library as one sentence."""
    text = " ".join(str(error).replace("`", "").split())
    return text if text.endswith((".", "!", "?")) else f"{text}."


def plain(value: Any) -> Any:
    """Data that JSON can hold: numbers that are none become null."""
    return json.loads(json.dumps(value, default=str), parse_constant=lambda _: None)

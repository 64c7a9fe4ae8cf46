"""Wrong words and sentences: does what a metric says about a caption's words find what people marked?

A metric's reasons (`Explanation.words`) give words a support; the content words with the least support should be the
wrong ones. A sentence is scored as a caption of its own, so metrics without reasons have a figure as well. Place,
length and chance stand beside them: late words and long texts are wrong more often, whatever a metric sees.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from vericap.core.errors import InputError, VericapError
from vericap.core.explanation import Explanation
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.table import Interval, Table
from vericap.core.typing import Array, Floats, Ints
from vericap.meta.bootstrap import Estimate, cluster_weights, difference, estimate
from vericap.meta.detection import AreaUnderCurve, AveragePrecision, Share, decided
from vericap.meta.judgements import Spans, cluster_index
from vericap.meta.protocols import Protocol
from vericap.meta.scoring import KeptScores, fitting_settings, metrics_of, score, why
from vericap.meta.tables import share, shown_p, span
from vericap.metrics.registry import Wanted
from vericap.metrics.toolbox import content_words, words_of
from vericap.run.engine import Run
from vericap.run.significance import holm

BASELINES = ("(place)", "(length)", "(random)")
_SENTENCE = re.compile(r"[^.!?]+(?:[.!?]+(?!\s)[^.!?]+)*[.!?]*")


@dataclass(frozen=True)
class Parts:
    """Content words or sentences of all captions, in order: where they stand, and which are wrong."""

    row: Ints  # of the caption
    start: Ints
    end: Ints
    place: Ints  # among all words, or sentences, of its caption
    length: Ints  # words of its caption, or of the sentence itself
    wrong: Array
    cluster: Ints


def sentences(text: str) -> list[tuple[int, int]]:
    """Places of the sentences of a text; those without a word are no sentences."""
    found = []
    for match in _SENTENCE.finditer(text):
        inside = match.group()
        start, end = match.start() + len(inside) - len(inside.lstrip()), match.start() + len(inside.rstrip())
        if words_of(text[start:end]):
            found.append((start, end))
    return found


def parts_of(data: Spans, sentence_share: float = 0.0) -> tuple[Parts, Parts]:
    """The content words and the sentences of a data set.

    A sentence is wrong where more than `sentence_share` of its content words are.
    """
    image = cluster_index(data.images)
    words, whole = [], []
    for row, caption in enumerate(data.captions):
        every = words_of(caption)
        places = {start: place for place, (_, start, _) in enumerate(every)}
        own = [(start, end) for _, start, end in content_words(caption)]
        wrong = [any(s < end and start < e for s, e in data.wrong[row]) for start, end in own]
        words += [(row, s, e, places[s], len(every), bad, image[row]) for (s, e), bad in zip(own, wrong)]
        for place, (start, end) in enumerate(sentences(caption)):
            flags = [flag for (s, _), flag in zip(own, wrong) if start <= s < end]
            bad = sum(flags) > sentence_share * len(flags)
            whole.append((row, start, end, place, len(words_of(caption[start:end])), bad, image[row]))
    return _columns(words), _columns(whole)


def _columns(rows: list[tuple[int, int, int, int, int, bool, int]]) -> Parts:
    table = np.array(rows, dtype=np.int64).reshape(-1, 7)
    row, start, end, place, length, wrong, cluster = table.T
    return Parts(row, start, end, place, length, wrong.astype(bool), cluster)


@dataclass
class SpanLine:
    """One metric: estimates by name (auc, ap, precision, recall, f1 of words; sentence auc), or reasons."""

    metric: str
    estimates: dict[str, Estimate] = field(default_factory=dict)
    judged: float | None = None  # share of the content words that its reasons judge
    gap: float | None = None  # of the words' auc to the best
    p: float | None = None
    reasons: list[str] = field(default_factory=list)

    def value(self, name: str) -> float | None:
        found = self.estimates.get(name)
        return None if found is None or np.isnan(found.value) else found.value


@dataclass
class SpanAgreements:
    """What `evaluate_spans` gives back."""

    dataset: str
    protocol: Protocol
    lines: list[SpanLine]
    words: Parts
    sentences: Parts
    images: int
    resamples: int
    notes: list[str] = field(default_factory=list)

    def __getitem__(self, metric: str) -> SpanLine:
        for line in self.lines:
            if line.metric == metric:
                return line
        raise KeyError(metric)

    def table(self) -> Table:
        """A line per metric and baseline."""
        return span_table(self)


def evaluate_spans(
    data: Spans,
    metrics: str | Iterable[Wanted],
    protocol: Protocol,
    *,
    scores: Mapping[str, Floats] | None = None,
    settings: Settings | None = None,
    resamples: int = 1000,
    seed: int = 0,
    store: KeptScores | None = None,
) -> SpanAgreements:
    """How well metrics find the wrong words and the wrong sentences.

    Parameters
    ----------
    data : captions with marked passages.
    metrics : names, metrics or functions.
    protocol : with `references=0` captions are judged without references.
    scores : of the sentences in the order of `sentence_samples`, by name: higher is better.
    settings : choices that all metrics share; images that lie beside the data set are used by default.
    resamples : bootstrap draws of images; 0 leaves intervals out.
    seed : of the draws, and of chance.
    store : keep scores of sentences there and take them up again.
    """
    settings = fitting_settings(settings or Settings(), data)
    chosen = metrics_of(metrics)
    words, whole = parts_of(data, protocol.sentence_share)
    if not words.wrong.any() or words.wrong.all():
        raise InputError(f"data set '{data.name}': no content word is {'right' if words.wrong.any() else 'wrong'}")
    clusters = len(set(data.images))
    weights = cluster_weights(clusters, resamples=resamples, seed=seed) if resamples else None
    found = SpanAgreements(data.name, protocol, [], words, whole, clusters, resamples)
    judge = _Judge(words, whole, clusters, weights)
    alone = score({"": sentence_samples(data, protocol)}, chosen, settings, store=store)
    captions = _samples(data, protocol)
    for metric in chosen:
        line = SpanLine(metric.label)
        judge.evidence(line, _reasons(metric, captions, settings, line))
        reason = alone.reason(metric.label, [""])
        if reason and f"words: {reason}" in line.reasons:
            line.reasons = [reason]
        elif reason:
            line.reasons.append(f"sentences: {reason}")
        judge.sentences(line, None if reason else alone.captions(metric.label, ""))
        found.lines.append(line)
    for name, values in (scores or {}).items():
        line = SpanLine(name)
        judge.sentences(line, values)
        found.lines.append(line)
    found.lines += judge.baselines(seed)
    _against_best(found.lines, weights)
    return found


def _references(data: Spans, row: int, protocol: Protocol) -> tuple[str, ...]:
    return data.references[row] if protocol.references is None else data.references[row][: protocol.references]


def _samples(data: Spans, protocol: Protocol) -> list[Sample]:
    return [
        Sample(data.ids[row], caption, _references(data, row, protocol), data.images[row])
        for row, caption in enumerate(data.captions)
    ]


def sentence_samples(data: Spans, protocol: Protocol) -> list[Sample]:
    """Every sentence as a caption of its own; ids are those of the captions with the place of the sentence."""
    return [
        Sample(f"{data.ids[row]}.{place}", caption[start:end], _references(data, row, protocol), data.images[row])
        for row, caption in enumerate(data.captions)
        for place, (start, end) in enumerate(sentences(caption))
    ]


def _reasons(
    metric: Metric, samples: list[Sample], settings: Settings, line: SpanLine
) -> list[Explanation | None] | None:
    """A metric's reasons for all captions; None, with a remark, where it has none."""
    if not metric.explains:
        line.reasons.append("words: it gives no reasons")
        return None
    try:
        return Run([metric], settings).score(samples, explain=True).explanations[metric.label]
    except VericapError as error:
        line.reasons.append(f"words: {why(error)}")
        return None


@dataclass
class _Judge:
    """Statistics of words and sentences under the same draws of images."""

    words: Parts
    whole: Parts
    clusters: int
    weights: Floats | None

    def evidence(self, line: SpanLine, found: list[Explanation | None] | None) -> None:
        """Figures of the support that reasons give to words."""
        if found is None:
            return
        support = self._support(found)
        judged = ~np.isnan(support)
        line.judged = float(judged.mean())
        if not judged.any():
            line.reasons.append("words: its reasons judge no word")
            return
        # A word that is not judged is neither suspected nor confirmed: it stands in the middle of the others.
        self.suspicion(line, -np.where(judged, support, np.median(support[judged])))

    def _support(self, found: list[Explanation | None]) -> Floats:
        known: dict[tuple[int, int], float] = {}
        for row, own in enumerate(found):
            for word in own.words if own is not None else ():
                if word.support is not None:
                    known[row, word.start] = word.support
        rows, starts = self.words.row.tolist(), self.words.start.tolist()
        return np.array([known.get(key, np.nan) for key in zip(rows, starts)], dtype=np.float64)

    def suspicion(self, line: SpanLine, values: Floats) -> None:
        """Figures of how wrong each content word seems."""
        wrong, cluster = self.words.wrong, self.words.cluster
        told = decided(values, wrong, cluster, criterion="f1")
        hits = (told & wrong).astype(float)
        kinds = {
            "auc": AreaUnderCurve(values, wrong, cluster, clusters=self.clusters),
            "ap": AveragePrecision(values, wrong, cluster, clusters=self.clusters),
            "precision": Share(hits, told, cluster, clusters=self.clusters),
            "recall": Share(hits, wrong, cluster, clusters=self.clusters),
            "f1": Share(2 * hits, told.astype(float) + wrong, cluster, clusters=self.clusters),
        }
        line.estimates.update({name: estimate(kind, self.weights) for name, kind in kinds.items()})

    def sentences(self, line: SpanLine, scores: Floats | None) -> None:
        """Right sentences should score higher than wrong ones."""
        if scores is None:
            return
        usable = ~np.isnan(scores)
        right = ~self.whole.wrong[usable]
        if not right.any() or right.all():
            line.reasons.append("sentences: all that were scored are of one kind")
            return
        if not usable.all():
            line.reasons.append(f"sentences: {int((~usable).sum())} of {len(usable)} could not be scored")
        area = AreaUnderCurve(scores[usable], right, self.whole.cluster[usable], clusters=self.clusters)
        line.estimates["sentences"] = estimate(area, self.weights)

    def baselines(self, seed: int) -> list[SpanLine]:
        """Late, long, and chance: what needs no metric."""
        generator = np.random.default_rng(seed)
        found = []
        for name in BASELINES:
            line = SpanLine(name, judged=1.0)
            self.suspicion(line, _baseline(name, self.words, generator))
            self.sentences(line, -_baseline(name, self.whole, generator))
            found.append(line)
        return found


def _baseline(name: str, parts: Parts, generator: np.random.Generator) -> Floats:
    if name == "(random)":
        return generator.random(len(parts.row))
    return (parts.place if name == "(place)" else parts.length).astype(np.float64)


def _against_best(lines: list[SpanLine], weights: Floats | None) -> None:
    """The gap of every line's auc of words to the best one, on the same draws."""
    usable = [line for line in lines if line.value("auc") is not None]
    if weights is None or not usable:
        return
    best = max(usable, key=lambda line: line.value("auc") or 0.0)
    others = [line for line in usable if line is not best]
    gaps = [difference(line.estimates["auc"], best.estimates["auc"]) for line in others]
    for line, gap, p in zip(others, gaps, holm([gap.p for gap in gaps])):
        line.gap, line.p = gap.value, p


def span_table(found: SpanAgreements) -> Table:
    """A line per metric and baseline."""
    columns = ["metric", "auc", "95 % interval", "ap", "precision", "recall", "f1", "judged", "to best", "p"]
    columns += ["sentence auc", "95 % interval of it"]
    table = Table(columns, title=f"{found.dataset}: {found.protocol.name}", digits=3, x100=True)
    for line in found.lines:
        table.add(
            line.metric,
            share(line.value("auc")),
            _interval(found, line, "auc"),
            *(share(line.value(name)) for name in ("ap", "precision", "recall", "f1")),
            share(line.judged),
            share(line.gap),
            shown_p(line.p),
            share(line.value("sentences")),
            _interval(found, line, "sentences"),
        )
    words, whole = found.words.wrong, found.sentences.wrong
    table.notes = [
        f"{found.protocol.describe()}.",
        f"{len(words)} content words, {int(words.sum())} wrong; {len(whole)} sentences, {int(whole.sum())} wrong; "
        f"{found.images} images.",
        "auc, ap: wrong words by least support; a word that is not judged has the middle support. precision, recall, "
        "f1: at the threshold with the best f1 on the other half of the images.",
        "(place): later is more suspect; (length): a word of a longer caption, a longer sentence; (random): random.",
    ]
    if found.resamples:
        table.notes.append(
            f"Intervals: {found.resamples} bootstrap draws of images. p: gap to the best auc, baselines included, "
            "Holm-adjusted."
        )
    table.notes += [f"{line.metric}: {reason}" for line in found.lines for reason in line.reasons] + found.notes
    return table


def _interval(found: SpanAgreements, line: SpanLine, name: str) -> Interval | None:
    own = line.estimates.get(name)
    return span(own.interval) if own is not None and found.resamples else None

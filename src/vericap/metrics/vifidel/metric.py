"""The score: exp(-d), d the least cost of moving the image's objects onto the caption's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from vericap.core.analysis import Key
from vericap.core.batch import Batch
from vericap.core.errors import Problem, VericapError
from vericap.core.explanation import Explanation
from vericap.core.metric import Metric, Option
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.core.typing import Floats, Ints
from vericap.metrics.evidence import shortened
from vericap.metrics.vifidel.explanation import SpokenWord, explained, spoken, spoken_japanese
from vericap.metrics.vifidel.pairs import ObjectWordPairs
from vericap.run.analyses import Objects, ObjectWords, Tokens, WordSpace
from vericap.run.analyses.words import AUTHORS, OURS
from vericap.text.transport import distances
from vericap.text.vectors import HELP as VECTORS
from vericap.vision.objects import ImageObjects

# What the authors' program does where the paper's text says otherwise or nothing.
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "ours": {},
    "authors": {
        "p": 1.0,
        "normalise": True,
        "centre": False,
        "labels": "split",
        "stopwords": AUTHORS,
        "no_object": "zero",
    },
}
MIXED = (
    "some captions have references and others have none: their scores lie on two scales, and only those with "
    "references are in the corpus score; `vifidel:references=none` puts all on one"
)


class Vifidel(Metric):
    """Are the words of a caption near the objects of its image?

    Scores with references (which weigh the words) and without lie on two scales. A run that has both kinds of captions
    takes its corpus score from those with references alone.
    """

    name, title = "vifidel", "VIFIDEL"
    range = (0.0, 1.0)
    needs = ("objects",)
    languages: ClassVar[tuple[str, ...]] = ("en", "ja")
    width = 3  # score, 1 where references weigh the words, the score there and 0 elsewhere
    version = "2"
    options: ClassVar[Mapping[str, Option]] = {
        "setting": Option("ours", "'authors': as their program, not their text, has it", choices=tuple(SETTINGS)),
        "references": Option("auto", "use the references there are, or none", choices=("auto", "none")),
        "p": Option(2.0, "moving a word costs distance^p"),
        "counts": Option(
            "frequency", "weight of a label: how often it is there, or 1", choices=("frequency", "binary")
        ),
        "normalise": Option(True, "bring word vectors to length 1"),
        "centre": Option(True, "remove the mean vector of the table first"),
        "labels": Option("unit", "a label of several words: one unit, or its words", choices=("unit", "split")),
        "stopwords": Option(OURS, "words without content: ours, or scikit-learn's", choices=(OURS, AUTHORS)),
        "no_object": Option(
            "unjudged", "an image without a known object: not judged, or 0", choices=("unjudged", "zero")
        ),
        "threshold": Option(0.0, "objects less sure than this are left out; 0: as the source gives them"),
        "objects": Option("", "object source for this metric alone (default: the run's)"),
        "vectors": Option("encoder", VECTORS),
    }

    def __init__(self, *, label: str | None = None, **options: Any) -> None:
        self._fixed = SETTINGS.get(options.get("setting", "ours"), {})
        for name, value in self._fixed.items():
            if options.get(name, value) != value:
                raise VericapError(
                    f"metric 'vifidel': setting={options['setting']} means {name}={value}; leave {name} out, or write "
                    "the options one by one"
                )
        super().__init__(label=label, **{**options, **self._fixed})
        if self.opt.stopwords == AUTHORS or self.opt.labels == "split":
            self.languages = ("en",)  # type: ignore[misc]  # English words and blanks between them

    @property
    def spec(self) -> str:
        chosen = [
            f"{name}={getattr(self.opt, name)}"
            for name, option in self.options.items()
            if name not in self._fixed and getattr(self.opt, name) != option.default
        ]
        return ":".join([self.name, *chosen])

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return self._keys(settings)

    def explain_requires(self, settings: Settings) -> tuple[Key, ...]:
        return () if settings.lang == "ja" else (Tokens(settings.tokenizer),)

    def _keys(self, settings: Settings) -> tuple[Objects, ObjectWords]:
        objects, opt = Objects.of(settings, self.opt.objects), self.opt
        words = WordSpace(
            opt.vectors, opt.normalise, opt.centre, settings.tokenizer, lang=settings.lang, stopwords=opt.stopwords
        )
        return objects, ObjectWords(words, objects, split=opt.labels == "split")

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        pairs = self.pairs(batch, range(len(batch)))
        distance = distances(pairs.space.table.vectors, pairs.images, pairs.captions, p=self.opt.p)
        score = np.exp(-np.nan_to_num(distance, nan=np.inf))
        score[[isinstance(item, Problem) for item in pairs.objects]] = np.nan
        zero = self.opt.no_object == "zero"
        if not zero:
            score[pairs.objectless()] = np.nan
        problems = {row: pairs.reason(row, zero=zero) for row in np.flatnonzero(np.isnan(distance)).tolist()}
        weighed = np.array(pairs.penalised, dtype=np.float64)
        columns = {
            "distance": distance,
            "references": np.where(weighed > 0, batch.reference_counts(), 0),
            "unknown_words": np.array([len(words) for words in pairs.unknown_words]),
            "unknown_labels": np.array([len(labels) for labels in pairs.unknown_labels]),
        }
        warnings = [MIXED] if 0 < weighed.sum() < len(batch) else []
        return Statistics(np.stack([score, weighed, score * weighed], axis=1), problems, columns, warnings)

    def corpus(self, sums: Floats, count: Floats) -> Floats:
        """The mean over captions with references, where there are any; else over those without."""
        with np.errstate(invalid="ignore", divide="ignore"):
            weighed, bare = sums[..., 2] / sums[..., 1], sums[..., 0] / count
        return np.asarray(np.where(sums[..., 1] > 0, weighed, bare))

    def kind(self, values: Floats) -> Ints:
        """0 without references, 1 where they weigh the words."""
        return np.nan_to_num(values[:, 1]).astype(np.int64)

    def explain(
        self, batch: Batch, rows: Sequence[int], state: Any = None, *, full: bool = False
    ) -> list[Explanation | None]:
        pairs = self.pairs(batch, rows)
        found: list[Explanation | None] = []
        for place, row in enumerate(rows):
            if isinstance(pairs.objects[place], Problem):
                found.append(None)
            else:
                said = _said(batch, int(batch.candidates[row]))
                found.append(shortened(explained(self.label, pairs, place, said, p=self.opt.p), full=full))
        return found

    def pairs(self, batch: Batch, rows: Sequence[int]) -> ObjectWordPairs:
        """Labels and words of some samples."""
        objects_key, words_key = self._keys(batch.settings)
        objects = [batch[objects_key][row] for row in rows]
        if self.opt.threshold > 0:
            level = self.opt.threshold
            objects = [item.above(level) if isinstance(item, ImageObjects) else item for item in objects]
        chosen = batch.select(rows)
        found = ObjectWordPairs.of(chosen, objects, batch[words_key], binary=self.opt.counts == "binary")
        use = self.opt.references == "auto" and chosen.reference_index.size
        return found.with_references(chosen) if use else found


def _said(batch: Batch, text: int) -> list[SpokenWord]:
    """The words of a caption and the tokens of each."""
    if batch.settings.lang == "ja":
        return spoken_japanese(batch.texts[text])
    return spoken(batch.texts[text], batch[Tokens(batch.settings.tokenizer)][text])

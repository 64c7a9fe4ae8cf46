"""The score: exp(-d), d the least cost of moving the image's objects onto the caption's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from vericap.core.analysis import Key
from vericap.core.batch import Batch
from vericap.core.errors import Problem
from vericap.core.explanation import Explanation
from vericap.core.metric import Metric, Option
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.metrics.evidence import shortened
from vericap.metrics.vifidel.explanation import explained
from vericap.metrics.vifidel.pairs import ObjectWordPairs
from vericap.run.analyses import Objects, ObjectWords, Tokens, WordSpace
from vericap.text.transport import distances
from vericap.vision.objects import ImageObjects


class Vifidel(Metric):
    name, title = "vifidel", "VIFIDEL"
    range = (0.0, 1.0)
    needs = ("objects",)
    languages = ("en",)
    options: ClassVar[Mapping[str, Option]] = {
        "references": Option("auto", "use the references there are, or none", choices=("auto", "none")),
        "p": Option(2.0, "moving a word costs distance^p"),
        "counts": Option(
            "frequency", "weight of a label: how often it is there, or 1", choices=("frequency", "binary")
        ),
        "normalise": Option(True, "bring word vectors to length 1"),
        "centre": Option(True, "remove the mean vector of the table first"),
        "threshold": Option(0.0, "objects less sure than this are left out; 0: as the source gives them"),
        "objects": Option("", "object source for this metric alone (default: the run's)"),
        "vectors": Option("encoder", "word vectors: 'encoder' or a word2vec, GloVe, fastText or .npy file"),
    }

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        return self._keys(settings)

    def explain_requires(self, settings: Settings) -> tuple[Key, ...]:
        return (Tokens(settings.tokenizer),)

    def _keys(self, settings: Settings) -> tuple[Objects, ObjectWords]:
        objects = Objects.of(settings, self.opt.objects)
        words = WordSpace(self.opt.vectors, self.opt.normalise, self.opt.centre, settings.tokenizer)
        return objects, ObjectWords(words, objects)

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        pairs = self.pairs(batch, range(len(batch)))
        distance = distances(pairs.space.table.vectors, pairs.images, pairs.captions, p=self.opt.p)
        score = np.exp(-np.nan_to_num(distance, nan=np.inf))
        score[[isinstance(item, Problem) for item in pairs.objects]] = np.nan
        problems = {row: pairs.reason(row) for row in np.flatnonzero(np.isnan(distance)).tolist()}
        columns = {
            "distance": distance,
            "unknown_words": np.array([len(words) for words in pairs.unknown_words]),
            "unknown_labels": np.array([len(labels) for labels in pairs.unknown_labels]),
        }
        return Statistics(score, problems, columns)

    def explain(
        self, batch: Batch, rows: Sequence[int], state: Any = None, *, full: bool = False
    ) -> list[Explanation | None]:
        pairs, tokens = self.pairs(batch, rows), batch[Tokens(batch.settings.tokenizer)]
        found: list[Explanation | None] = []
        for place, row in enumerate(rows):
            if isinstance(pairs.objects[place], Problem):
                found.append(None)
            else:
                own = tokens[int(batch.candidates[row])]
                found.append(shortened(explained(self.label, pairs, place, own, p=self.opt.p), full=full))
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

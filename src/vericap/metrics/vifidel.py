"""VIFIDEL (Madhyastha, Wang and Specia 2019): are the words of a caption near the objects of its image?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vericap.errors import Problem
from vericap.metrics.base import Metric, Option, Statistics
from vericap.metrics.vifidel_explain import explain
from vericap.run.batch import Batch
from vericap.text.bags import Bags
from vericap.text.transport import distances, penalties
from vericap.text.word_space import WordSpace, word_space
from vericap.vision.objects import Objects, from_spec, of_samples

NO_OBJECT = "the image has no object with a known label; the caption scores 0"
NO_WORD = "the caption has no content word with a vector and scores 0"


class Vifidel(Metric):
    name, title = "vifidel", "VIFIDEL"
    range = (0.0, 1.0)
    needs = ("objects",)
    analyses = ("tokens",)
    options: ClassVar[Mapping[str, Option]] = {
        "references": Option("auto", "use the references there are, or none", choices=("auto", "none")),
        "p": Option(2.0, "moving a word costs distance^p"),
        "counts": Option(
            "frequency", "weight of a label: how often it is there, or 1", choices=("frequency", "binary")
        ),
        "normalise": Option(True, "bring word vectors to length 1"),
        "centre": Option(True, "remove the mean vector of the table first"),
        "threshold": Option(0.0, "objects less sure than this are left out; 0: as the source gives them"),
        "objects": Option("", "object source for this metric alone (default: the run's --objects)"),
        "vectors": Option("encoder", "word vectors: 'encoder' or a word2vec, GloVe, fastText or .npy file"),
    }

    def statistics(self, batch: Batch, state: Any = None) -> Statistics:
        space = self.space(batch)
        objects = self.objects(batch)
        images, unknown_labels = self.image_bags(space, objects)
        captions = space.texts.take(batch.candidates)
        if self.uses_references(batch):
            images, captions = penalised(batch, space, images, captions)
        distance = distances(space.vectors, images, captions, p=self.opt.p)
        problems = {row: _reason(objects[row], images, row) for row in np.flatnonzero(np.isnan(distance)).tolist()}
        score = np.exp(-np.nan_to_num(distance, nan=np.inf))
        for row in problems:
            if isinstance(objects[row], Problem):
                score[row] = np.nan
        columns = {
            "distance": distance,
            "unknown_words": np.array([len(space.unknown.get(int(t), ())) for t in batch.candidates]),
            "unknown_labels": np.array([len(labels) for labels in unknown_labels]),
        }
        explanations: list[dict[str, Any] | None] | None = None
        if batch.settings.explain:
            explanations = [
                explain(space, images, captions, row, p=self.opt.p, unknown_labels=unknown_labels[row],
                        unknown_words=space.unknown.get(int(batch.candidates[row]), []))
                for row in range(len(batch))
            ]  # fmt: skip
        return Statistics(score, problems, columns, explanations)

    def uses_references(self, batch: Batch) -> bool:
        return bool(self.opt.references == "auto" and batch.reference_index.size)

    def objects(self, batch: Batch) -> list[Objects | Problem]:
        found = of_samples(batch, self.opt.objects or None)
        if self.opt.threshold <= 0:
            return found
        level = self.opt.threshold
        return [item.above(level) if isinstance(item, Objects) else item for item in found]

    def image_bags(self, space: WordSpace, objects: list[Objects | Problem]) -> tuple[Bags, list[list[str]]]:
        """The bag of labels of every sample's image, and its labels that have no vector."""
        usable = [item if isinstance(item, Objects) else Objects() for item in objects]
        rows = space.labels(label for item in usable for label in item.labels)
        bags, unknown = [], []
        for item in usable:
            bag: dict[int, float] = {}
            for label, count in zip(item.labels, item.counts):
                if rows[label] >= 0:
                    bag[rows[label]] = bag.get(rows[label], 0.0) + count
            bags.append(bag)
            unknown.append([label for label in item.labels if rows[label] < 0])
        return Bags.of(bags, binary=self.opt.counts == "binary"), unknown

    def space(self, batch: Batch) -> WordSpace:
        options = self.opt
        return word_space(batch, options.vectors, normalise=options.normalise, centre=options.centre)

    def signature_parts(self, batch: Batch) -> dict[str, str]:
        space = self.space(batch)
        parts = {"vectors": space.source.name}
        spec = self.opt.objects or batch.settings.objects
        given = 0 if self.opt.objects else sum(item is not None for item in batch.sample_objects)
        names = [from_spec(spec).name] if given < len(batch) else []
        parts["objects"] = "+".join([*(["record"] if given else []), *names])
        return parts


def penalised(batch: Batch, space: WordSpace, images: Bags, captions: Bags) -> tuple[Bags, Bags]:
    """Both bags with every vector scaled by its rho (equations 4 and 5); samples without references keep 1."""
    references = space.texts.take(batch.reference_index)
    vectors = space.unit_vectors()
    return (
        images.scaled(penalties(vectors, images, batch.reference_offsets, references)),
        captions.scaled(penalties(vectors, captions, batch.reference_offsets, references)),
    )


def _reason(objects: Objects | Problem, images: Bags, row: int) -> str:
    if isinstance(objects, Problem):
        return objects.reason
    return NO_OBJECT if images.sizes()[row] == 0 else NO_WORD


def rho_by_word(space: WordSpace, bags: Bags, row: int) -> dict[str, float]:
    """The penalties of one bag, for people and tests."""
    span = bags.span(row)
    ids: NDArray[np.int64] = bags.ids[span]
    return {space.words[i]: float(scale) for i, scale in zip(ids, bags.scales[span])}

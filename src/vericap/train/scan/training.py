"""Train SCAN on a feature store: losses over all pairs of a batch, references, validation.

Text side: frozen token states of the shipped sentence encoder through one linear map (`words="states"`), those of words
read alone through a small network (`words="alone"`: only attention then knows which words belong together), or word
embeddings (from scratch, or beginning with given word vectors) and a bidirectional GRU (`words="gru"`, as in the
paper). Loss: `distil` (the teacher's cosines plus 0.1 InfoNCE; recommended), `infonce`, `hardest` (the paper's
triplet loss).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from vericap.core.errors import VericapError
from vericap.core.typing import Array
from vericap.models.described import text_side
from vericap.models.scan import ALONE, STATES, UNREAD
from vericap.train import losses, parallel
from vericap.train.data import drawn
from vericap.train.ratings import RatedPhotos
from vericap.train.scan.data import ScanPart, ScanSource, ScanStep, TextStates, WordTensors
from vericap.train.scan.export import export
from vericap.train.scan.network import ScanModule, ScanOptions, Scores, weights_of
from vericap.train.trainer import Losses, Trainer, TrainPlan, between
from vericap.train.validate import agreement, near_pairs, recall


class ScanTask:
    """Batches and validation of one training."""

    def __init__(
        self,
        model: ScanModule,
        sources: Sequence[ScanSource],
        shares: Sequence[int],
        validation: ScanSource,
        seed: int,
        rated: tuple[ScanSource, RatedPhotos] | None = None,
    ):
        self.model, self.sources, self.options, self._rated = model, list(sources), model.options, rated
        self._draws = [
            drawn(s.sentences, share, seed + i, near=model.options.near)
            for i, (s, share) in enumerate(zip(sources, shares))
        ]
        self._validation = validation
        self._places = validation.places
        sentences = np.asarray(validation.sentences, dtype=np.float32)
        self._pairs = near_pairs(sentences, self._places)
        self._targets = {held: self._graded(sentences, 1 + held) for held in (0, self.options.references)}
        self._mean = _mean_word(sources[0]) if self.options.teacher != "sentences" else torch.zeros(())

    def _graded(self, sentences: Array, first: int) -> Array:
        """What the captions of an image from the first-th on say of the candidates of the graded pairs."""
        rows, columns, target = self._pairs
        numbers = self._places.columns[columns]
        if first > 1:
            later = self._places.there(np.arange(len(sentences))) & (np.arange(self._places.each) >= first)
            others = (sentences * later[..., None]).sum(axis=1) / np.maximum(later.sum(axis=1), 1)[:, None]
            target = (others[rows] * sentences.reshape(-1, sentences.shape[-1])[numbers]).sum(axis=1)
        if self._validation.claims is None:
            return target
        return losses.half(target, self._validation.claims.graded(rows, numbers, first))

    def losses(self, step: int, generator: np.random.Generator) -> Losses:
        options, model, k = self.options, self.model, self.options.captions
        batch = ScanStep.draw(
            self.sources,
            self._draws,
            step,
            generator,
            captions=k,
            references=options.references,
            words=options.teacher != "sentences",
        )
        (scores, told, tiger), pointing = self._scores(batch.parts)
        first = scores[:, torch.arange(len(scores)) * k]
        if options.loss == "hardest":
            hardest = min(1.0, step / max(options.hard_warmup, 1))
            return {"loss": losses.hardest_negative(first, margin=options.margin, hardest=hardest)}
        contrast = losses.info_nce(first, model.temperature.exp())
        if options.loss == "infonce":
            return {"loss": contrast}
        similar = batch.similar(self._mean.to(scores.device))
        distilled = losses.distillation(scores, batch.target(similar), model.scale, model.bias)
        found = {"distilled": distilled, "contrast": contrast}
        if told is not None:
            target = batch.target(similar, held=True)
            found["both"] = losses.distillation((scores + told) / 2, target, model.both_scale, model.both_bias)
            found["told"] = losses.distillation(told, target, model.told_scale, model.told_bias)
        if tiger is not None:
            found["tiger"] = losses.unlike(tiger, target)
        if pointing:
            found["boxes"] = torch.stack(pointing).mean()
        loss = distilled + options.contrast * contrast + found.get("both", 0.0) + found.get("told", 0.0)
        loss = loss + options.tiger * found.get("tiger", 0.0) + options.boxes * found.get("boxes", 0.0)
        if self._rated is not None:
            found["people"] = self._people(*self._rated, generator)
            loss = loss + options.people * found["people"]
        return {"loss": loss, **found}

    def _people(self, source: ScanSource, rated: RatedPhotos, generator: np.random.Generator) -> torch.Tensor:
        """How unlike people's ratings relevance is, to the image, to references, and TIGEr, of some captions."""
        each = max(self.options.references, 1)
        drawn, model = rated.drawn(self.options.rated, each, generator), self.model
        shown, first = source.shown(drawn.rows), drawn.rows * source.per_image
        regions = model.regions(shown.features, shown.mask)
        candidates = source.text.read(first + drawn.columns)
        contexts = None
        if self.options.references:
            contexts = self._contexts(regions, source.text.read((first[:, None] + drawn.given).reshape(-1)))
        scores = model.score(regions, model.words(candidates), candidates.counts, contexts, shown.mask)
        values = torch.as_tensor(drawn.values, device=regions.device)
        unlike = [losses.unlike(some.diagonal(), values) for some in scores if some is not None]
        return torch.stack(unlike).sum()

    def _scores(self, parts: list[ScanPart]) -> tuple[Scores, list[torch.Tensor]]:
        """All images of the step with all candidates, and what boxes say of words: rows of this process's images are
        computed here, with the words of all processes."""
        model = self.model
        own = [model.words(part.candidates) for part in parts]
        words = torch.cat([parallel.gather(said) for said in own])
        counts = torch.cat([part.candidates.gathered() for part in parts])
        scores, pointing = [], []
        for part, said in zip(parts, own):
            regions = model.regions(part.images.features, part.images.mask)
            if part.pointed is not None:
                pointing.append(model.points(regions, said, part.pointed))
            contexts = self._contexts(regions, part.references) if part.references else None
            found = model.score(regions, words, counts, contexts, part.images.mask)
            scores.append([None if some is None else parallel.gather(some) for some in found])
        image, told, tiger = ([some for some in kind if some is not None] for kind in zip(*scores))
        return Scores(torch.cat(image), _joined(told), _joined(tiger)), pointing

    def _contexts(self, regions: torch.Tensor, text: WordTensors) -> torch.Tensor:
        """Mean unit context of the references of every image (image * references + j)."""
        each = len(text.counts) // len(regions)
        found = self.model.contexts(regions.repeat_interleave(each, dim=0), self.model.words(text), text.counts)
        return found.view(len(regions), each, *found.shape[1:]).mean(dim=1)

    def validate(self) -> dict[str, float]:
        """Retrieval and agreement; with references, `agreement` is that of image and references together."""
        scores, both = self.matrices(self._validation)
        rows, columns, _ = self._pairs
        found = {
            "agreement": agreement(scores, (rows, columns, self._targets[0])),
            **recall(scores, owners=self._places.owners),
        }
        if both is not None:
            found["image"] = found["agreement"]
            found["agreement"] = agreement(both, (rows, columns, self._targets[self.options.references]))
        return found

    def matrices(self, source: ScanSource) -> tuple[Array, Array | None]:
        """Scores of all images with all captions: the image alone, and with references (captions after the first)."""
        shown, columns, each = source.shown(slice(None)), source.read.columns, self.options.references
        regions = self.model.regions(shown.features, shown.mask)
        given = (np.arange(len(source))[:, None] * source.per_image + 1 + np.arange(each)).reshape(-1)
        contexts = self._contexts(regions, source.text.read(given)) if each else None
        scores = np.empty((len(source), len(columns)), dtype=np.float32)
        both = np.empty_like(scores) if each else None
        for start in range(0, len(columns), 200):
            some = slice(start, start + 200)
            text = source.text.read(columns[some])
            words = self.model.words(text)
            for first in range(0, len(regions), 50):
                rows = slice(first, first + 50)
                given_here = contexts[rows] if contexts is not None else None
                mask = shown.mask[rows] if shown.mask is not None else None
                found = self.model.score(regions[rows], words, text.counts, given_here, mask)
                scores[rows, some] = found.image.cpu()
                if both is not None and found.told is not None:
                    both[rows, some] = ((found.image + found.told) / 2).cpu()
        return scores, both


def _joined(parts: list[torch.Tensor]) -> torch.Tensor | None:
    return torch.cat(parts) if parts else None


def _mean_word(source: ScanSource) -> torch.Tensor:
    if not isinstance(source.text, TextStates):
        raise VericapError("the teacher that compares words needs token states; choose words='states'")
    return torch.as_tensor(source.text.mean())


def train(
    sources: Sequence[ScanSource],
    shares: Sequence[int],
    validation: ScanSource,
    output: str | Path,
    *,
    plan: TrainPlan,
    options: ScanOptions,
    features: dict[str, Any],
    text_encoder: str,
    words: Sequence[str] | None = None,
    start: tuple[Array, dict[str, Array] | None] | None = None,
    before: tuple[Mapping[str, Array], dict[str, Any]] | None = None,
    rated: tuple[ScanSource, RatedPhotos] | None = None,
    share: float = 1.0,
    vectors: tuple[Array, Array] | None = None,
    shrinkage: float = 0.5,
    name: str = "vericap-scan",
    quiet: bool = False,
) -> dict[str, Any]:
    """Train, estimate the covariance of context vectors, export `scan.safetensors` and `meta.json`.

    `features` says what the regions are (`FeatureStore.trained_on`), `text_encoder` whose states are read.
    `start` (mean token state, weights of an encoder) and `vectors` (of the words, with a mark which have one) are
    where the projections and the GRU's embeddings begin; `before` is an earlier model to go on from,
    its weights and what it was trained on; `rated` are photos with ratings that are learned too, and `share`
    is how far the weights that are written go from those of `before` to those that were learned.
    """
    if options.loss not in ("distil", "infonce", "hardest"):
        raise VericapError(f"loss '{options.loss}' is not one of distil, infonce, hardest")
    fewest = min(source.read.fewest for source in [*sources, validation])
    if options.references and options.captions + options.references > fewest:
        raise VericapError(
            f"{options.captions} candidates and {options.references} references need as many captions of every image; "
            f"there is one with {fewest}"
        )
    torch.manual_seed(plan.seed)
    states = sources[0].sentences.shape[-1]
    model = ScanModule(options, int(sources[0].features.shape[-1]), words, states=states)
    if start is not None and options.words in (STATES, ALONE):
        model.start_from(*start)
    if vectors is not None and options.words == "gru":
        model.start_words(*vectors)
    photos = [len(source) for source in sources]
    describe: dict[str, Any] = {"options": asdict(options), "photos": photos, "shares": list(shares)}
    if rated is not None:
        describe["rated"] = len(rated[1])
    if before is not None:
        model.begin_with(before[0])
        begun = weights_of(model)
        describe["before"] = before[1]
    groups = [{"params": list(model.parameters()), "lr": options.rate}]
    seen = {**describe, "features": features, **text_side(text_encoder)}
    trainer = Trainer(model, groups, plan, output, describe=seen, quiet=quiet)
    task = ScanTask(model, sources, shares, validation, plan.seed, rated)
    state = trainer.run(task.losses, task.validate)
    trainer.load_best()
    trained = {**describe, "steps": state.best_step, "agreement": state.best, "shrinkage": shrinkage}
    if before is not None and share < 1:
        model.begin_with(between(begun, weights_of(model), share))
        with torch.no_grad():
            trained |= {"share": share, "agreement": task.validate()["agreement"]}
    meta = {
        "name": name,
        "fingerprint": features["fingerprint"],
        "features": features,
        **text_side(text_encoder),
        "words": options.words,
        "attention": asdict(options.attention()),
        "marks": "read" if options.marks else UNREAD,
        "standardise": not options.encoder,
        "encoder": options.encoder,
        "cells": options.cells,
        "licence": "Apache-2.0",
        "source": "trained by `vericap train scan`",
        "trained": trained,
    }
    if words is not None:
        meta["vocabulary"] = list(words)
    if parallel.rank() == 0:
        export(model, Path(output), meta, sources[0], shrinkage)
    return trained

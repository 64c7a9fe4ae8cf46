"""What photo and references say of every claim of every caption: the numbers a verdict is made of.

All of it is computed once for a batch and shared by `fidelity`, `adequacy` and `verdict`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from vericap.core.analysis import Analysis, Index, Key
from vericap.core.batch import Batch
from vericap.core.settings import Settings
from vericap.core.typing import Floats32, Ints
from vericap.metrics.toolbox import imageless, judged, wordless
from vericap.metrics.verdict.claims import OBJECT, RELATION, Claim, ClaimedSentence
from vericap.metrics.verdict.lexicon import Lexicon, shipped_rivals
from vericap.metrics.verdict.matched import matched, needs
from vericap.metrics.verdict.said import SAYING, Said
from vericap.metrics.verdict.sight import SIGHT, PhotoSight, geometry
from vericap.metrics.verdict.split import Split
from vericap.run.analyses import (
    Fluency,
    Graphs,
    Regions,
    RegionVectors,
    Sentences,
    VisualWords,
    VisualWordsWeights,
    VseWeights,
)
from vericap.text.encoders import CAPTIONS

if TYPE_CHECKING:
    from vericap.models.visual_words import VisualWords as VisualWordsModel
    from vericap.run.runtime import Runtime

# Numbers of a claim: what the photo says of it; how its sentence fits the photo and, of the sentence's most doubtful
# claim, how much better with it than without it; what references say of it.
CLAIM = (*SIGHT, "sentence", "adds", *SAYING)
GEOMETRY = ("across", "down", "box across", "box down", "size", "overlap", "feet", "distance")
SAID, NEAR = CLAIM.index("said"), CLAIM.index("near")
_EVIDENCE, _SENTENCE, _ADDS = (CLAIM.index(name) for name in ("evidence", "sentence", "adds"))
_DOUBTFUL = 1.0  # evidence below which the sentence is read without its most doubtful claim too


@dataclass(frozen=True, slots=True)
class CaptionParts:
    """One caption: its sentences, their claims with numbers, and regions."""

    sentences: tuple[ClaimedSentence, ...]
    owners: Ints  # the sentence of each claim
    subjects: Ints  # the place of the object that each claim is said of; -1: of none
    numbers: Floats32  # (claims, CLAIM)
    lying: Floats32  # (claims, GEOMETRY), of relations whose two objects are known
    regions: Floats32  # (claims, 4)
    fit: Floats32  # (sentences,): image-sentence similarity of each
    nearest: Floats32  # (sentences, 2): mean and largest similarity with the references, as people weigh it; or NaN
    match: Floats32  # (sentences, MATCHED): of each with the photo alone, and as the references guide it; NaN without
    unsaid: tuple[tuple[str, float], ...]  # content words of references that the caption lacks, with their shares
    recall: float  # the share of what references say that the caption says; NaN without references
    through: Mapping[str, tuple[str, ...]]  # words that the vocabulary lacks, and the known ones that stand for them

    @property
    def claims(self) -> list[Claim]:
        return [claim for sentence in self.sentences for claim in sentence.claims]

    @property
    def says_nothing(self) -> bool:
        """Whether no word of it can be judged."""
        return all(claim.kind == RELATION for claim in self.claims)


@dataclass(frozen=True)
class Parts(Analysis[list["CaptionParts | None"]]):
    """The parts of every caption of a batch; None where nothing can be judged."""

    words: str = "default"
    encoder: str = "default"  # image-sentence encoder
    graphs: Graphs = field(default_factory=Graphs)
    index: ClassVar[Index] = "sample"
    cost: ClassVar[int] = 4000

    def requires(self, settings: Settings) -> tuple[Key, ...]:
        sight = (VisualWords(self.words), VisualWordsWeights(self.words))
        vse = (Regions.of(settings), RegionVectors(self.encoder), VseWeights(self.encoder), Sentences(encoder=CAPTIONS))
        # States of texts before their vectors, which are made by the way.
        return tuple(dict.fromkeys((self.graphs, Fluency(), *sight, *needs(settings), *vse)))

    def compute(self, batch: Batch, runtime: Runtime) -> list[CaptionParts | None]:
        found: list[CaptionParts | None] = [None] * len(batch)
        rows = judged(batch, problems_of(batch, self.words))
        lexicon = self._lexicon(batch, runtime)
        split = Split.of(batch, rows, batch[self.graphs], batch[Fluency()], lexicon.knows, runtime, self.graphs)
        lexicon.learn([claim for own in split.sentences.values() for sentence in own for claim in sentence.claims])
        fits, said = self._fits(batch, runtime, split, rows), Said(batch, runtime, lexicon)
        matches = matched(batch, rows, split.texts, split.apart, runtime)
        order = rows[np.argsort(batch.images[rows], kind="stable")].tolist()
        for image, own in groupby(order, key=lambda row: int(batch.images[row])):
            together = list(own)
            captions = [split.sentences[int(batch.candidates[row])] for row in together]
            seen = _seen(captions, self._photo(batch, image), lexicon)
            for row, sentences, (numbers, subjects, lying, regions) in zip(together, captions, seen):
                fit, nearest = fits[row]
                owners = np.repeat(np.arange(len(sentences)), [len(one.claims) for one in sentences])
                numbers[:, _SENTENCE], numbers[:, SAID:] = fit[owners], said.of(row, sentences)
                left_out = said.left_out(row)
                found[row] = CaptionParts(
                    sentences,
                    owners,
                    subjects,
                    numbers,
                    lying,
                    regions,
                    fit,
                    nearest,
                    matches[row],
                    *left_out,
                    lexicon.through(sentences),
                )
        self._adds(batch, runtime, found)
        return found

    def _adds(self, batch: Batch, runtime: Runtime, found: Sequence[CaptionParts | None]) -> None:
        """Fill in how much better sentences fit their photos with their most doubtful claims than without them."""
        asked = [
            (row, place, text)
            for row, parts in enumerate(found)
            if parts is not None
            for place, text in _without(batch.texts[int(batch.candidates[row])], parts)
        ]
        if not asked:
            return
        vectors = runtime.network(CAPTIONS).encode([text for _, _, text in asked])
        regions, mask = batch[RegionVectors(self.encoder)], batch[Regions.of(batch.settings)].mask
        images = batch.images[[row for row, _, _ in asked]]
        scores = batch[VseWeights(self.encoder)].pairs(regions, mask, images, vectors)
        for (row, place, _), score in zip(asked, scores.tolist()):
            parts = found[row]
            assert parts is not None
            parts.numbers[place, _ADDS] = parts.numbers[place, _SENTENCE] - score

    def _lexicon(self, batch: Batch, runtime: Runtime) -> Lexicon:
        model = batch[VisualWordsWeights(self.words)]
        phrases = runtime.encoder(CAPTIONS).phrases
        return runtime.once(("lexicon", model.name), lambda: Lexicon(model, phrases, self._rivals(model)))

    def _rivals(self, model: VisualWordsModel) -> Ints | None:
        return shipped_rivals(model) if self.words == "default" else None

    def _photo(self, batch: Batch, image: int) -> PhotoSight:
        photo = batch[VisualWords(self.words)].photos[image]
        assert photo is not None
        return PhotoSight(batch[VisualWordsWeights(self.words)], photo)

    def _fits(self, batch: Batch, runtime: Runtime, split: Split, rows: Ints) -> dict[int, tuple[Floats32, Floats32]]:
        """How each sentence of each caption fits its photo, and its references."""
        vectors, place = split.vectors(batch[Sentences(encoder=CAPTIONS)], runtime)
        regions, model = batch[RegionVectors(self.encoder)], batch[VseWeights(self.encoder)]
        mask = batch[Regions.of(batch.settings)].mask
        owners = [(row, text) for row in rows.tolist() for text in split.texts[int(batch.candidates[row])]]
        if not owners:
            return {}
        images = batch.images[[row for row, _ in owners]]
        own = vectors[[place[text] for _, text in owners]]
        scores, said = model.pairs(regions, mask, images, own), model.weighed(own)
        found: dict[int, tuple[Floats32, Floats32]] = {}
        start = 0
        for row in rows.tolist():
            end = start + len(split.texts[int(batch.candidates[row])])
            found[row] = scores[start:end], _nearest(said[start:end], batch[Sentences(encoder=CAPTIONS)], batch, row)
            start = end
        return found


def problems_of(batch: Batch, words: str = "default") -> dict[int, str]:
    """Why captions cannot be judged."""
    return {**wordless(batch), **imageless(batch, batch[VisualWords(words)].problems)}


def _nearest(own: Floats32, texts: Floats32, batch: Batch, row: int) -> Floats32:
    references = [place for place in batch.references(row).tolist() if batch.worded()[place]]
    if not references:
        return np.full((len(own), 2), np.nan, dtype=np.float32)
    cosines = own @ texts[references].T
    return np.stack([cosines.mean(axis=1), cosines.max(axis=1)], axis=1).astype(np.float32)


Seen = tuple[Floats32, Ints, Floats32, Floats32]  # numbers, subjects, lying and regions of a caption's claims


def _seen(captions: Sequence[tuple[ClaimedSentence, ...]], photo: PhotoSight, lexicon: Lexicon) -> list[Seen]:
    """What a photo says of the claims of its captions, all asked together."""
    claims = [[claim for sentence in own for claim in sentence.claims] for own in captions]
    ends = np.cumsum([0, *map(len, claims)]).tolist()
    objects = [_objects(own, start) for own, start in zip(claims, ends)]
    every = [claim for own in claims for claim in own]
    if not every:
        return [(_empty(len(CLAIM)), np.zeros(0, np.int64), _empty(len(GEOMETRY)), _empty(4)) for _ in captions]
    said_of = [known.get(claim.subject, -1) for own, known in zip(claims, objects) for claim in own]
    subjects = np.array(said_of, dtype=np.int64)
    seen = photo.sightings(every, subjects, lexicon)
    numbers = np.zeros((len(every), len(CLAIM)), dtype=np.float32)
    numbers[:, : len(SIGHT)] = seen.numbers
    lying = np.zeros((len(every), len(GEOMETRY)), dtype=np.float32)
    related = [
        (place, known[claim.subject], known[claim.object])
        for own, known, start in zip(claims, objects, ends)
        for place, claim in enumerate(own, start)
        if claim.kind == RELATION and claim.subject in known and claim.object in known
    ]
    if related:
        table = np.array(related, dtype=np.int64)
        lying[table[:, 0]] = geometry(seen.heat, seen.regions, table[:, 1:])
    return [
        (numbers[a:b], np.where(subjects[a:b] >= 0, subjects[a:b] - a, -1), lying[a:b], seen.regions[a:b])
        for a, b in pairwise(ends)
    ]


def _empty(width: int) -> Floats32:
    return np.zeros((0, width), dtype=np.float32)


def _objects(claims: Sequence[Claim], start: int) -> dict[str, int]:
    """Objects of a caption by name, as places among the claims of all captions of a photo."""
    return {claim.text: place for place, claim in enumerate(claims, start) if claim.kind == OBJECT}


def _without(text: str, parts: CaptionParts) -> Iterator[tuple[int, str]]:
    """The most doubtful claim of each sentence by its place, with the sentence in which it is left out."""
    evidence, first = parts.numbers[:, _EVIDENCE].tolist(), 0
    for sentence in parts.sentences:
        own = [(evidence[place], place) for place, claim in enumerate(sentence.claims, first) if claim.kind != RELATION]
        least, place = min(own, default=(_DOUBTFUL, -1))
        if least < _DOUBTFUL:
            yield place, sentence.without(text, sentence.claims[place - first])
        first += len(sentence.claims)

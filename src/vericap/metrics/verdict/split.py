"""Captions cut into sentences, and these into claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from vericap.core import shipped
from vericap.core.batch import Batch
from vericap.core.typing import Floats32, Ints
from vericap.metrics.toolbox import words_of
from vericap.metrics.verdict.claims import RELATION, ClaimedSentence, claimed, sentences_of
from vericap.models.fluency import TextFluency
from vericap.run.analyses import Graphs
from vericap.run.analyses.graphs import parse_texts
from vericap.run.analyses.language import open_trained
from vericap.text.encoders import CAPTIONS
from vericap.text.ngram_lm import NgramModel
from vericap.text.word_order import likely_orders

if TYPE_CHECKING:
    from vericap.graphs.scene_graph import SceneGraph
    from vericap.run.runtime import Runtime

# Sentences that read badly and whose words are hardly likelier where they stand than anywhere (the log of it) have no
# grammar to go by: 4 in a thousand captions that people wrote, 99 in a hundred with their words shuffled
# (benchmarks.studies.word_order).
_READS, _GAIN = 0.9, 0.4
Place = tuple[int, tuple[int, int]]  # a text of a batch, and a sentence in it
Claimed = dict[Place, ClaimedSentence]


@dataclass(frozen=True)
class Split:
    """Captions cut into sentences, with the claims of each."""

    texts: dict[int, list[str]]  # as they are read, of a candidate's place among the batch's texts
    sentences: dict[int, tuple[ClaimedSentence, ...]]
    apart: frozenset[int]  # candidates whose sentences are not the text itself

    @classmethod
    def of(
        cls,
        batch: Batch,
        rows: Ints,
        graphs: Sequence[SceneGraph],
        fluency: Mapping[int, TextFluency],
        knows: Callable[[str], bool],
        runtime: Runtime,
        key: Graphs,
    ) -> Split:
        places = np.unique(batch.candidates[rows]).tolist()
        spans = {place: sentences_of(batch.texts[place]) for place in places}
        suspect = [(place, span) for place, own in spans.items() for span in own if reads_badly(fluency[place], span)]
        read = in_likely_order(batch.texts, suspect, runtime, key)
        several = list(dict.fromkeys(batch.texts[p][a:b] for p, own in spans.items() if len(own) > 1 for a, b in own))
        parsed = dict(zip(several, parse_texts(several, runtime, parser=key.parser, talk=key.talk))) if several else {}
        sentences = {}
        for place, own in spans.items():
            text = batch.texts[place]
            found = (
                read.get((place, (a, b)))
                or claimed(text, (a, b), graphs[place] if len(own) == 1 else parsed[text[a:b]])
                for a, b in own
            )
            sentences[place] = tuple(known(sentence, knows) for sentence in found)
        texts = {place: [one.read(batch.texts[place]) for one in own] for place, own in sentences.items()}
        apart = {place for place, own in sentences.items() if len(own) > 1 or own[0].order}
        return cls(texts, sentences, frozenset(apart))

    def vectors(self, known: Floats32, runtime: Runtime) -> tuple[Floats32, dict[str, int]]:
        """Vectors of all sentences, and the place of each; captions that are read as they are have theirs already."""
        single = {own[0]: place for place, own in self.texts.items() if place not in self.apart}
        several = list(dict.fromkeys(text for place in self.apart for text in self.texts[place]))
        if not several:
            return known, single
        more = runtime.encoder(CAPTIONS).encode(several)
        places = {**{text: len(known) + number for number, text in enumerate(several)}, **single}
        return np.concatenate([known, more]), places


def known(sentence: ClaimedSentence, knows: Callable[[str], bool]) -> ClaimedSentence:
    """A sentence without the claims of which nobody knows a word: misspelt ones, names, nonsense."""
    strange = tuple(place for place, (word, _, _) in enumerate(sentence.words) if not knows(word))
    if not strange:
        return sentence
    left = tuple(
        claim for claim in sentence.claims if claim.kind == RELATION or not set(strange).issuperset(claim.words)
    )
    return replace(sentence, claims=left, strange=strange)


def reads_badly(found: TextFluency, span: tuple[int, int]) -> bool:
    """Whether the order of a sentence's words may be doubted."""
    start, end = span
    return any(one.value < _READS and start <= one.sentence.spans[0][0] < end for one in found.sentences)


def out_of_order(model: NgramModel, texts: Sequence[Sequence[str]]) -> list[bool]:
    """Whether the words of each text are hardly likelier where they stand than anywhere."""
    scores = model.text_scores([[word.lower() for word in words] for words in texts])
    return [len(one.gain) > 0 and float(one.gain.mean()) < _GAIN for one in scores]


def in_likely_order(texts: Sequence[str], suspect: Sequence[Place], runtime: Runtime, key: Graphs) -> Claimed:
    """Claims of those among the suspect sentences whose words stand in no order, read in the likeliest one."""
    if not suspect:
        return {}
    words = [words_of(texts[place][start:end]) for place, (start, end) in suspect]
    bare = [[word for word, _, _ in own] for own in words]
    model = open_trained(shipped.folder("lm"), runtime)
    assert isinstance(model, NgramModel)
    broken = [row for row, out in enumerate(out_of_order(model, bare)) if out]
    orders = likely_orders(model, [bare[row] for row in broken])
    mended = [" ".join(bare[row][place] for place in order) for row, order in zip(broken, orders)]
    found: Claimed = {}
    graphs = parse_texts(mended, runtime, parser=key.parser, talk=key.talk)
    for row, order, text, graph in zip(broken, orders, mended, graphs):
        claims = [
            replace(claim, words=tuple(sorted(order[place] for place in claim.words)))
            for claim in claimed(text, (0, len(text)), graph).claims
        ]
        place, (start, end) = suspect[row]
        own = tuple((word, start + a, start + b) for word, a, b in words[row])
        found[place, (start, end)] = ClaimedSentence(start, end, own, tuple(claims), tuple(order))
    return found

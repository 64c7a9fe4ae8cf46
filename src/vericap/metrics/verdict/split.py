"""Captions cut into sentences, and these into claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vericap.core.batch import Batch
from vericap.core.typing import Floats32, Ints
from vericap.metrics.verdict.claims import ClaimedSentence, claimed, sentences_of, unordered
from vericap.metrics.verdict.lexicon import Lexicon
from vericap.models.fluency import TextFluency
from vericap.run.analyses import Graphs
from vericap.run.analyses.graphs import parse_texts
from vericap.text.encoders import CAPTIONS

if TYPE_CHECKING:
    from vericap.graphs.scene_graph import SceneGraph
    from vericap.run.runtime import Runtime

# A sentence whose words stand right with a lower chance on average has no grammar to go by: so have one in a hundred
# captions that people wrote, and 94 of a hundred with their words shuffled.
_ORDERED = 0.92
_READS = 0.6  # fluency from which on that need not be looked at


@dataclass(frozen=True)
class Split:
    """Captions cut into sentences, with the claims of each."""

    texts: dict[int, list[str]]  # of a candidate's place among the batch's texts
    sentences: dict[int, tuple[ClaimedSentence, ...]]

    @classmethod
    def of(
        cls,
        batch: Batch,
        rows: Ints,
        graphs: Sequence[SceneGraph],
        fluency: Mapping[int, TextFluency],
        lexicon: Lexicon,
        runtime: Runtime,
        key: Graphs,
    ) -> Split:
        places = np.unique(batch.candidates[rows]).tolist()
        spans = {place: sentences_of(batch.texts[place]) for place in places}
        texts = {place: [batch.texts[place][a:b] for a, b in own] for place, own in spans.items()}
        several = list(dict.fromkeys(text for own in texts.values() if len(own) > 1 for text in own))
        parsed = dict(zip(several, parse_texts(several, runtime, parser=key.parser, talk=key.talk))) if several else {}
        sentences = {
            place: tuple(
                unordered(batch.texts[place], span, lexicon.named)
                if disordered(fluency[place], span)
                else claimed(batch.texts[place], span, graphs[place] if len(own) == 1 else parsed[text])
                for span, text in zip(own, texts[place])
            )
            for place, own in spans.items()
        }
        return cls(texts, sentences)

    def vectors(self, known: Floats32, runtime: Runtime) -> tuple[Floats32, dict[str, int]]:
        """Vectors of all sentences, and the place of each; captions of one sentence have theirs already."""
        single = {own[0]: place for place, own in self.texts.items() if len(own) == 1}
        several = list(dict.fromkeys(text for own in self.texts.values() if len(own) > 1 for text in own))
        if not several:
            return known, single
        more = runtime.encoder(CAPTIONS).encode(several)
        places = {**{text: len(known) + number for number, text in enumerate(several)}, **single}
        return np.concatenate([known, more]), places


def disordered(found: TextFluency, span: tuple[int, int]) -> bool:
    """Whether the words of a sentence stand in no order that could be parsed; a missing end alone is none."""
    start, end = span
    good = [
        chance
        for one in found.sentences
        if one.value < _READS
        for (first, _), chance in zip(one.sentence.spans, one.good.tolist())
        if start <= first < end
    ]
    return bool(good) and sum(good) / len(good) < _ORDERED

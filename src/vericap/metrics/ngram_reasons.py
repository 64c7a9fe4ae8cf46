"""Why BLEU, ROUGE-L and CIDEr scored a caption so: shared words and n-grams. Loaded when somebody asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vericap.core.batch import Batch
from vericap.core.explanation import Explanation, MissingContent, WordEvidence
from vericap.core.typing import Floats, Ints
from vericap.metrics.evidence import REFERENCES, overlap, shortened
from vericap.run.analyses import NGrams, Tokens
from vericap.text.ngrams import ORDERS, NGramTable

_SHOWN = 8  # n-grams of an explanation

Reasons = list[Explanation | None]


def shared_words(label: str, batch: Batch, rows: Sequence[int]) -> Reasons:
    """Which words a reference has."""
    return [None if words is None else Explanation(label, words=words) for words in _words(batch, rows)]


def matched_orders(label: str, batch: Batch, rows: Sequence[int], counts: Ints, order: int) -> Reasons:
    """Which words a reference has, and how many n-grams of each length matched."""
    return [
        None if words is None else Explanation(label, words=words, facts=_lengths(counts[row], order))
        for row, words in zip(rows, _words(batch, rows))
    ]


def weighted_ngrams(label: str, batch: Batch, rows: Sequence[int], idf: Floats, *, full: bool) -> Reasons:
    """Which words a reference has, the heaviest n-grams that are shared, and the heaviest ones that lack."""
    grams = batch[NGrams(batch.settings.tokenizer)]
    return [
        None if words is None else shortened(_weights(label, batch, grams, idf, row, words), full=full)
        for row, words in zip(rows, _words(batch, rows))
    ]


def _words(batch: Batch, rows: Sequence[int]) -> list[tuple[WordEvidence, ...] | None]:
    found = overlap(batch, batch[Tokens(batch.settings.tokenizer)], rows)
    return [words if len(batch.references(row)) else None for row, words in zip(rows, found)]


def _lengths(counts: Ints, order: int) -> dict[str, object]:
    matched, said = counts[:order].tolist(), counts[ORDERS:][:order].tolist()
    return {"matched": matched, "ngrams": said, "length": int(counts[-2]), "reference_length": int(counts[-1])}


def _weights(
    label: str, batch: Batch, grams: NGramTable, idf: Floats, row: int, words: tuple[WordEvidence, ...]
) -> Explanation:
    mine = _weighted(grams, idf, [int(batch.candidates[row])])
    theirs = _weighted(grams, idf, batch.references(row).tolist())
    shared = _heaviest({gram: weight for gram, weight in mine.items() if gram in theirs})
    lacking = _heaviest({gram: weight for gram, weight in theirs.items() if gram not in mine})
    return Explanation(
        label,
        words=words,
        missing=tuple(MissingContent(grams.phrase(gram), weight, REFERENCES) for gram, weight in lacking),
        facts={"shared": [[grams.phrase(gram), weight] for gram, weight in shared]},
    )


def _weighted(grams: NGramTable, idf: Floats, texts: Sequence[int]) -> dict[int, float]:
    """The n-grams of texts with their mean weight: frequency in the text x idf."""
    found: dict[int, float] = {}
    for text in texts:
        own, counts = grams.of_text(text)
        for gram, weight in zip(own.tolist(), (counts * idf[own] / len(texts)).tolist()):
            found[gram] = found.get(gram, 0.0) + weight
    return found


def _heaviest(weights: Mapping[int, float]) -> list[tuple[int, float]]:
    """The n-grams that weigh most; none without weight."""
    ranked = sorted(weights.items(), key=lambda item: -item[1])[:_SHOWN]
    return [(gram, weight) for gram, weight in ranked if weight > 0]

"""Agreement with people on JSTS (Japanese COCO captions, similarity 0-5), and the ablation of JaSPICE.

    python benchmarks/jsts.py              # the validation part, 1,457 pairs
    python benchmarks/jsts.py --part train --pairs 3000

Each pair is scored both ways (the other sentence as the only reference) and the two scores are averaged.
Printed: Pearson, Spearman, Kendall tau-b with human similarity, and how many pairs score 0.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau, pearsonr, spearmanr

from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.graphs import japanese
from vericap.graphs.ja import ginza
from vericap.graphs.ja.match import MatchRules, score_tuples
from vericap.metrics import registry
from vericap.run.analyses.graphs import parse_texts
from vericap.run.engine import Run
from vericap.run.results import Result
from vericap.text.japanese import tokenize

ROOT = Path(os.environ.get("VERICAP_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
METRICS = ("bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l", "cider", "cider-d", "jaspice", "jaspice-plus",
           "jaspice-plus:encoder=no", "sentence")  # fmt: skip
Pair = tuple[str, str]


def pairs(part: str, count: int | None) -> tuple[list[Pair], np.ndarray]:
    file = ROOT / "japanese" / ("jsts_valid.jsonl" if part == "valid" else "jsts_train.jsonl.gz")
    with (gzip.open if file.suffix == ".gz" else open)(file, "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream][:count]
    return [(row["sentence1"], row["sentence2"]) for row in rows], np.array([row["label"] for row in rows])


def both_ways(result: Result, name: str) -> np.ndarray:
    """A metric of the product, the mean of both directions."""
    half = len(result.ids) // 2
    return (result[name][:half] + result[name][half:]) / 2


def lemma_overlap(texts: Sequence[Pair]) -> np.ndarray:
    """F1 of the sets of content words in their normal form."""
    content = ("名詞", "動詞", "形容詞", "形状詞", "副詞", "代名詞")
    empty = {"為る", "居る", "有る"}

    def words(doc: object) -> set[str]:
        return {token.norm_ for token in doc if token.tag_.startswith(content)} - empty  # type: ignore[attr-defined]

    distinct = list(dict.fromkeys(text for pair in texts for text in pair))
    with ginza.pipeline().select_pipes(enable=[]):
        found = dict(zip(distinct, map(words, ginza.pipeline().pipe(distinct))))
    both = [(found[one], found[other]) for one, other in texts]
    return np.array([2 * len(a & b) / (len(a) + len(b)) if a or b else 0.0 for a, b in both])


def exact_meteor(texts: Sequence[Pair]) -> np.ndarray:
    """METEOR's formula with exact matches only (alpha .9, beta 3, gamma .5), as language-independent METEOR has it."""
    distinct = list(dict.fromkeys(text for pair in texts for text in pair))
    tokens = dict(zip(distinct, tokenize(distinct)))

    def one_way(candidate: list[str], reference: list[str]) -> float:
        free = {word: [i for i, other in enumerate(reference) if other == word] for word in set(reference)}
        links = [(i, free[word].pop(0)) for i, word in enumerate(candidate) if free.get(word)]
        if not links:
            return 0.0
        precision, recall = len(links) / len(candidate), len(links) / len(reference)
        mean = precision * recall / (0.9 * precision + 0.1 * recall)
        chunks = 1 + sum(b != (a[0] + 1, a[1] + 1) for a, b in pairwise(links))
        return mean * (1 - 0.5 * (chunks / len(links)) ** 3)

    return np.array([(one_way(tokens[a], tokens[b]) + one_way(tokens[b], tokens[a])) / 2 for a, b in texts])


def dependency_tuples(texts: Sequence[str]) -> dict[str, list[tuple[str, ...]]]:
    """Tuples from universal dependencies alone, as a parser without predicate-argument structure makes them."""
    found = {}
    for text, doc in zip(texts, ginza.pipeline().pipe(texts, batch_size=ginza.BATCH)):
        tuples: dict[tuple[str, ...], None] = {}
        label = {token: token.dep_.split("_")[0] for token in doc}  # GiNZA's parser marks bunsetsu: "obl_bunsetu"
        for token in doc:
            if token.pos_ in ("NOUN", "PROPN", "PRON"):
                tuples[(token.lemma_,)] = None
            if label[token] in ("acl", "amod", "nummod") and token.head.pos_ in ("NOUN", "PROPN"):
                tuples[token.head.lemma_, token.lemma_] = None
            if label[token] == "nmod" and token.head.pos_ in ("NOUN", "PROPN"):
                tuples[token.lemma_, "の", token.head.lemma_] = None
            subjects = [child for child in token.children if label[child] == "nsubj"]
            others = [child for child in token.children if label[child] in ("obj", "iobj", "obl")]
            for subject in subjects:
                for other in others:
                    tuples[subject.lemma_, token.lemma_, other.lemma_] = None
                if not others:
                    tuples[subject.lemma_, token.lemma_] = None
        found[text] = list(tuples)
    return found


def unrepaired_tuples(texts: Sequence[str]) -> dict[str, list[tuple[str, ...]]]:
    """Our phrases, but the parser's heads as they are and overt cases only: what the rules add is missing."""
    targets = ("を", "に", "で", "と", "から", "へ", "まで")
    found = {}
    for text, doc in zip(texts, ginza.pipeline().pipe(texts, batch_size=ginza.BATCH)):
        tuples: dict[tuple[str, ...], None] = {}
        for phrases, heads in ginza.phrases(doc):
            tuples.update({(phrase.text,): None for phrase in phrases if phrase.kind == "NP"})
            for place, phrase in enumerate(phrases):
                head = phrases[heads[place]] if heads[place] >= 0 else None
                if phrase.form == "adnominal" and head is not None and head.kind == "NP":
                    named = (phrase.text, "の", head.text) if phrase.case == "の" else (head.text, phrase.text)
                    tuples[named] = None
                if not phrase.predicate:
                    continue
                own = [other for i, other in enumerate(phrases) if heads[i] == place and other.kind == "NP"]
                subjects = [other.text for other in own if other.case == "が" or (other.topic and not other.case)]
                others = [other.text for other in own if other.case in targets]
                for subject in subjects:
                    tuples.update(
                        {(subject, phrase.text, other): None for other in others} or {(subject, phrase.text): None}
                    )
        found[text] = list(tuples)
    return found


def by_tuples(texts: Sequence[Pair], tuples: dict[str, list[tuple[str, ...]]], rules: MatchRules) -> np.ndarray:
    return np.array([score_tuples(tuples[one], [tuples[other]], rules=rules).f1 for one, other in texts])


def report(name: str, scores: np.ndarray, labels: np.ndarray) -> None:
    figures = [function(labels, scores).statistic for function in (pearsonr, spearmanr, kendalltau)]
    zeros = int((scores == 0).sum())
    print(f"{name:42s} " + " ".join(f"{figure:.3f}" for figure in figures) + f"  {zeros:5d}", flush=True)


def ablation(texts: Sequence[Pair], labels: np.ndarray) -> None:
    """Table 5 of the paper: parser (dependencies only / predicate-argument structure) x graph extension."""
    distinct = list(dict.fromkeys(text for pair in texts for text in pair))
    parsers: dict[str, Callable[[], dict[str, list[tuple[str, ...]]]]] = {
        "dependencies, single words": lambda: dependency_tuples(distinct),
        "dependencies, our phrases": lambda: unrepaired_tuples(distinct),
        "PAS": lambda: {text: graph.tuples() for text, graph in zip(distinct, japanese.parse_many(distinct))},
    }
    for parser, make in parsers.items():
        tuples = make()
        for extension in (False, True):
            scores = by_tuples(texts, tuples, MatchRules(synonyms=extension, spelling=True))
            report(f"{parser} / {'synonyms' if extension else 'no extension'}", scores, labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("valid", "train"), default="valid")
    parser.add_argument("--pairs", type=int, help="only the first so many")
    parser.add_argument("--no-ablation", action="store_true")
    arguments = parser.parse_args()
    texts, labels = pairs(arguments.part, arguments.pairs)
    print(f"JSTS {arguments.part}: {len(texts)} pairs, mean similarity {labels.mean():.2f}")
    print(f"{'':42s} Pears Spear Kend.  zeros")
    both = [*texts, *((other, one) for one, other in texts)]
    samples = [Sample(str(i), one, (other,)) for i, (one, other) in enumerate(both)]
    run = Run(registry.resolve(METRICS), Settings(lang="ja"))
    result = run.score(samples)
    report("METEOR formula, exact matches", exact_meteor(texts), labels)
    report("content-lemma F1", lemma_overlap(texts), labels)
    for name in METRICS:
        report(name, both_ways(result, name), labels)
    if not arguments.no_ablation:
        print("\nAblation (parser / graph extension)")
        ablation(texts, labels)
    distinct = list(dict.fromkeys(text for pair in texts for text in pair))
    lengths = Counter(len(graph.tuples()) for graph in parse_texts(distinct, run.runtime, lang="ja"))
    mean = sum(size * count for size, count in lengths.items()) / sum(lengths.values())
    print(f"\ntuples per caption: {mean:.2f}; captions without any: {lengths[0]}")


if __name__ == "__main__":
    main()

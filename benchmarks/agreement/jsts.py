"""Agreement with people on JSTS (Japanese COCO captions, similarity 0-5), the rows of Table 5, causes of
disagreement (Table 7).

    python -m benchmarks.agreement.jsts [--save]     # the validation part, 1,457 pairs
    python -m benchmarks.agreement.jsts --part train --pairs 3000
    python -m benchmarks.agreement.jsts --translations english.jsonl   # SPICE over translations as well

Each pair is scored both ways (the other sentence as the only reference) and the two scores are averaged.
Printed: Pearson, Spearman, Kendall tau-b with human similarity, and how many pairs score 0.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.library.data import data_folder
from benchmarks.library.results import add_save, tell
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.table import Number, Table
from vericap.graphs.ja import ginza
from vericap.graphs.ja.match import MatchRules, score_tuples
from vericap.meta.agreement import correlation
from vericap.meta.datasets.japanese import read_jsts, read_jsts_train
from vericap.meta.evaluation import evaluate
from vericap.meta.failure_cases import failures
from vericap.meta.japanese_causes import CAUSES
from vericap.meta.translations import translated
from vericap.metrics import registry
from vericap.run.analyses.graphs import parse_texts
from vericap.run.engine import Run
from vericap.run.results import Result
from vericap.run.runtime import Runtime

METRICS = ("bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l", "meteor", "cider", "cider-d", "jaspice", "jaspice-plus",
           "jaspice-plus:encoder=no", "sentence")  # fmt: skip
Pair = tuple[str, str]


def pairs(part: str, count: int | None) -> tuple[list[Pair], np.ndarray]:
    file = data_folder() / "japanese" / ("jsts_valid.jsonl" if part == "valid" else "jsts_train.jsonl.gz")
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


def by_tuples(texts: Sequence[Pair], tuples: dict[str, list[tuple[str, ...]]], rules: MatchRules) -> np.ndarray:
    return np.array([score_tuples(tuples[one], [tuples[other]], rules=rules).f1 for one, other in texts])


def agreements(first: str) -> Table:
    """An empty table of agreement with people."""
    return Table([first, "Pearson", "Spearman", "Kendall", "pairs that score 0"], digits=3)


def add(table: Table, name: str, scores: np.ndarray, labels: np.ndarray) -> None:
    """One row: how scores agree with human similarity."""
    figures = [Number(correlation(statistic, scores, labels)) for statistic in ("pearson", "spearman", "tau-b")]
    table.add(name, *figures, int((scores == 0).sum()))


TABLE_5 = {
    "dependencies only": "structure=dependencies:synonyms=no",
    "dependencies only, synonyms": "structure=dependencies",
    "PAS": "synonyms=no",
    "PAS, synonyms (jaspice)": "",
    "PAS, synonyms, no zero pronouns": "zero=no",
    "PAS, synonyms, negation ignored": "negation=no",
    "PAS, synonyms, no heads of compounds": "heads=no",
    "PAS, synonyms, hypernyms .7": "hypernyms=0.7",
    "rules of the paper: PAS, synonyms": "rules=paper:negation=no",
    "rules of the paper, no heads of compounds": "rules=paper:negation=no:heads=no",
}


def ablation(runtime: Runtime, texts: Sequence[Pair], samples: list[Sample], labels: np.ndarray) -> Table:
    """Table 5 of the paper as options of the metric, and dependencies of single words as another parser."""
    names = {title: "jaspice" + (f":{options}" if options else "") for title, options in TABLE_5.items()}
    result = Run(registry.resolve(list(names.values())), Settings(lang="ja"), runtime=runtime).score(samples)
    table = agreements("row of Table 5")
    for title, name in names.items():
        add(table, f"{title}: `{name}`", both_ways(result, name), labels)
    distinct = list(dict.fromkeys(text for pair in texts for text in pair))
    tuples = dependency_tuples(distinct)
    for heads in (False, True):
        rules = MatchRules(spelling=True, heads=heads)
        title = f"another parser: dependencies of single words{', heads' if heads else ''}"
        add(table, title, by_tuples(texts, tuples, rules), labels)
    return table


def by_kind(runtime: Runtime, texts: Sequence[Pair], labels: np.ndarray) -> Table:
    """Which kinds of tuples carry the agreement, and whether PAS and dependencies differ beyond chance."""
    distinct = list(dict.fromkeys(text for pair in texts for text in pair))
    rules = MatchRules(spelling=True, heads=True)
    whole, table = {}, agreements("tuples")
    for switches in ("", "structure=dependencies"):
        graphs = parse_texts(distinct, runtime, lang="ja", parser=switches)
        tuples = {text: graph.tuples() for text, graph in zip(distinct, graphs)}
        whole[switches] = by_tuples(texts, tuples, rules)
        for title, sizes in (("objects alone", (1,)), ("attributes alone", (2,)), ("relations alone", (3,))):
            kept = {text: [item for item in items if len(item) in sizes] for text, items in tuples.items()}
            add(table, f"{switches or 'PAS'}: {title}", by_tuples(texts, kept, rules), labels)
    dice = np.random.default_rng(0)
    gaps = []
    for _ in range(2000):
        rows = dice.integers(0, len(labels), len(labels))
        one, other = (correlation("pearson", scores[rows], labels[rows]) for scores in whole.values())
        gaps.append(one - other)
    low, high = np.percentile(gaps, [2.5, 97.5])
    told = f"Pearson of PAS minus dependencies: {np.mean(gaps):+.4f}, 95 % interval {low:+.4f} .. {high:+.4f}"
    table.notes.append(told)
    return table


def causes(part: str, count: int | None) -> Table:
    """Table 7 of the paper: why jaspice and people disagree by .5 and more, and what each remedy leaves."""
    data = (read_jsts if part == "valid" else read_jsts_train)(data_folder() / "japanese")
    data = data if count is None else replace(
        data, candidates=data.candidates[:count], references=data.references[:count], ratings=data.ratings[:count],
        images=data.images[:count], ids=data.ids[:count],
    )  # fmt: skip
    names = ("jaspice", "jaspice:hypernyms=0.7", "jaspice:hypernyms=0.7:compounds=0.7", "jaspice-plus")
    found = evaluate(data, list(names), resamples=0, settings=Settings(lang="ja"))
    table = Table(["metric", *CAUSES, "all"])
    for name in names:
        counts = Counter(case.cause for case in failures(found, name, theta=0.5))
        table.add(f"`{name}`", *(counts[cause] for cause in CAUSES), sum(counts.values()))
    return table


def over_translations(table: Table, file: Path, part: str) -> None:
    """Tables 2 and 4 of the paper: the English SPICE on translations."""
    data = (read_jsts if part == "valid" else read_jsts_train)(data_folder() / "japanese")
    found = evaluate(translated(data, file), ["spice"], resamples=0)
    add(table, "spice over translations (one way)", found.scores["spice"], data.ratings)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("valid", "train"), default="valid")
    parser.add_argument("--pairs", type=int, help="only the first so many")
    parser.add_argument("--no-ablation", action="store_true")
    parser.add_argument("--translations", type=Path, help="JSON lines with text and translation: SPICE over them")
    add_save(parser)
    arguments = parser.parse_args()
    texts, labels = pairs(arguments.part, arguments.pairs)
    both = [*texts, *((other, one) for one, other in texts)]
    samples = [Sample(str(i), one, (other,)) for i, (one, other) in enumerate(both)]
    run = Run(registry.resolve(METRICS), Settings(lang="ja"))
    result = run.score(samples)
    table = agreements("metric")
    add(table, "F1 of content lemmas", lemma_overlap(texts), labels)
    for name in METRICS:
        add(table, f"`{name}`", both_ways(result, name), labels)
    if arguments.translations:
        over_translations(table, arguments.translations, arguments.part)
    table.notes.append(
        f"JSTS {arguments.part}: {len(texts)} pairs, mean similarity {labels.mean():.2f}; {sizes(run.runtime, texts)}"
    )
    tables = {"metrics": table}
    if not arguments.no_ablation:
        tables["table 5"] = ablation(run.runtime, texts, samples, labels)
        tables["kinds of tuples"] = by_kind(run.runtime, texts, labels)
        tables["causes"] = causes(arguments.part, arguments.pairs)
    tell("benchmarks.agreement.jsts", tables, save=arguments.save)


def sizes(runtime: Runtime, texts: Sequence[Pair]) -> str:
    """How large the graphs are."""
    distinct = list(dict.fromkeys(text for pair in texts for text in pair))
    lengths = Counter(len(graph.tuples()) for graph in parse_texts(distinct, runtime, lang="ja"))
    mean = sum(size * count for size, count in lengths.items()) / sum(lengths.values())
    return f"tuples per caption: {mean:.2f}; captions without any: {lengths[0]}"


if __name__ == "__main__":
    main()

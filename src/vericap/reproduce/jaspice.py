"""JaSPICE's Tables 1 to 5, 7, 8, r_human and worked examples, on Shichimi and PFN-PIC where they are, and on JSTS."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.errors import InputError, MissingPart, VericapError
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.table import Cell, Number, Table
from vericap.meta.catalogue import installed
from vericap.meta.datasets.common import json_file
from vericap.meta.evaluation import evaluate
from vericap.meta.failure_cases import failures
from vericap.meta.human import human_ceiling
from vericap.meta.japanese_causes import CAUSES
from vericap.meta.judgements import Ratings
from vericap.meta.published import paper_values
from vericap.meta.scoring import metrics_of, score
from vericap.meta.translations import translated
from vericap.reproduce.agreement import agreements
from vericap.reproduce.experiment import Choices, Outcome, at_hand, cell, counted, missing_note, printed, share, sources

STATISTICS = {"pearson": "pearson", "spearman": "spearman", "kendall": "tau-b"}
BASELINES = {"BLEU": "bleu-4", "ROUGE": "rouge-l", "METEOR": "meteor", "CIDEr": "cider-d", "JaSPICE": "jaspice"}
OURS = ("bleu-1", "jaspice-plus", "sentence")
STAND_IN = "jsts"  # what is at hand: similarity of two Japanese captions
TRANSLATED = "spice over translations"


def _data(name: str, choices: Choices) -> tuple[dict[str, Ratings], list[str]]:
    """The paper's set and, beside it, JSTS; what is not there is named."""
    loaded, absent = at_hand((name, STAND_IN), choices)
    return {key: data for key, data in loaded.items() if isinstance(data, Ratings)}, absent


def table_1(choices: Choices) -> Outcome:
    """Agreement on Shichimi."""
    return _agreement("shichimi", "Table 1", choices)


def table_3(choices: Choices) -> Outcome:
    """Agreement on PFN-PIC."""
    return _agreement("pfn-pic", "Table 3", choices)


def _agreement(name: str, table: str, choices: Choices) -> Outcome:
    rows: dict[str, str] = {**BASELINES, **{metric: metric for metric in choices.metrics or OURS}}
    return _rows(name, table, rows, choices)


def _rows(name: str, table: str, rows: Mapping[str, str], choices: Choices, *, zeros: bool = False) -> Outcome:
    """Ours and the paper's by statistic, for the paper's set and for the one at hand."""
    loaded, absent = _data(name, choices)
    published, tables = paper_values("jaspice", table), []
    for key, data in loaded.items():
        known = [item for item in published if item.dataset == key]
        found = agreements(data, rows.values(), list(STATISTICS.values()), choices)
        heads = [head for statistic in STATISTICS for head in (statistic, *([f"{statistic}, paper"] if known else []))]
        heads += ["zeros", *(["zeros, paper"] if known else [])] if zeros else []
        shown = Table(["row", "metric here", *heads], title=f"JaSPICE, {table}: {key}", digits=5, x100=True, keys=2)
        for label, metric in rows.items():
            cells: list[Cell] = []
            for statistic, protocol in STATISTICS.items():
                cells.append(share(found.value(metric, protocol)))
                cells += [printed(cell(known, label, statistic))] if known else []
            if zeros:
                scores = found.tables["pearson", None].scores.get(metric)
                cells.append(None if scores is None else int((scores == 0).sum()))
                cells += [counted(cell(known, label, "zeros"))] if known else []
            shown.add(label, metric, *cells)
        shown.notes = [*(sources(known) if known else ["JSTS is not in the paper."]), *found.notes()]
        tables.append(shown)
    tables[0].notes += absent
    return Outcome(tables)


def table_2(choices: Choices) -> Outcome:
    """Shichimi beside SPICE over translations."""
    return _translated("shichimi", "Table 2", choices)


def table_4(choices: Choices) -> Outcome:
    """PFN-PIC beside SPICE over translations."""
    return _translated("pfn-pic", "Table 4", choices)


def _translated(name: str, table: str, choices: Choices) -> Outcome:
    if choices.translations is None:
        wanted = [] if name in installed(choices.data) else [missing_note(name)]
        needed = (
            f"{table} needs translations of all captions into English; give a file of JSON lines with 'text' and "
            "'translation' with `translations=FILE`"
        )
        raise MissingPart("\n".join([needed, *wanted]))
    loaded, absent = _data(name, choices)
    tables = []
    for key, data in loaded.items():
        try:
            english = translated(data, choices.translations)
        except InputError as error:
            absent.append(str(error))
            continue
        found = agreements(data, ["jaspice"], list(STATISTICS.values()), choices)
        theirs = _one_way(english, choices)
        shown = Table(["metric", *STATISTICS], title=f"JaSPICE, {table}: {key}", x100=True)
        shown.add("jaspice", *(share(found.value("jaspice", protocol)) for protocol in STATISTICS.values()))
        shown.add(TRANSLATED, *(share(value) for value in theirs))
        shown.notes = ["Paper: none of its numbers are known to us.", *found.notes()]
        tables.append(shown)
    if not tables:
        raise InputError("\n".join(absent))
    tables[0].notes += absent
    return Outcome(tables)


def _one_way(data: Ratings, choices: Choices) -> list[float | None]:
    found = agreements(data, ["spice"], list(STATISTICS.values()), choices)
    return [found.value("spice", protocol) for protocol in STATISTICS.values()]


ABLATION = {
    "UD": "jaspice:structure=dependencies:synonyms=no",
    "UD, graph extension": "jaspice:structure=dependencies",
    "JaSGP": "jaspice:synonyms=no",
    "JaSGP, graph extension": "jaspice",
    "ours: no zero pronouns": "jaspice:zero=no",
    "ours: rules of the paper": "jaspice:rules=paper:negation=no",
    "ours: hypernyms .7": "jaspice:hypernyms=0.7",
}


def table_5(choices: Choices) -> Outcome:
    """The ablation as options of the metric, with the number of captions that score 0."""
    return _rows("shichimi", "Table 5", ABLATION, choices, zeros=True)


REMEDIES = ("jaspice", "jaspice:hypernyms=0.7", "jaspice:hypernyms=0.7:compounds=0.7", "jaspice-plus")


def table_7(choices: Choices) -> Outcome:
    """Cases where metric and people differ by .5 and more, by cause, and what remedies leave."""
    loaded, absent = _data("shichimi", choices)
    published, tables = paper_values("jaspice", "Table 7"), []
    for key, data in loaded.items():
        found = evaluate(
            data, list(choices.metrics or REMEDIES), resamples=0, settings=_japanese(choices), keep_going=True
        )
        shown = Table(["metric", *CAUSES, "all"], title=f"JaSPICE, Table 7: {key}, disagreement of .5 and more")
        for metric in found.scores:
            counts = Counter(case.cause for case in failures(found, metric, theta=0.5))
            shown.add(metric, *(counts[name] for name in CAUSES), sum(counts.values()))
        if key == "shichimi":
            known = [next((int(item.value) for item in published if item.label == name), None) for name in CAUSES]
            shown.add("paper: 100 cases by hand", *known, 100)
        shown.notes = [*sources(published), "Rules sort the cases here (`vericap.meta.japanese_causes`)."]
        tables.append(shown)
    tables[0].notes += absent
    return Outcome(tables)


def _japanese(choices: Choices) -> Settings:
    return Settings(lang="ja", cache=choices.settings.cache, workers=choices.settings.workers)


def table_8(choices: Choices) -> Outcome:
    """Agreement over the means of the captioning models (system level)."""
    loaded, absent = at_hand(("shichimi",), choices)
    data = loaded["shichimi"]
    assert isinstance(data, Ratings)
    metrics = choices.metrics or tuple(BASELINES.values())
    found = agreements(data, metrics, ["system"], choices)
    shown = Table(["metric", "pearson over models"], title="JaSPICE, Table 8: shichimi by captioning model", x100=True)
    for metric in metrics:
        shown.add(metric, share(found.value(metric, "system")))
    shown.notes = ["Paper: none of its numbers are known to us.", *found.notes(), *absent]
    return Outcome([shown])


def r_human(choices: Choices) -> Outcome:
    """How well raters agree with each other: the ceiling of a metric."""
    loaded, absent = at_hand(("shichimi", "pfn-pic", "flickr8k-expert"), choices)
    shown = Table(["data set", "statistic", "two raters", "one against the others", "raters"], x100=True, keys=2)
    shown.title = "JaSPICE: r_human"
    for name, data in loaded.items():
        assert isinstance(data, Ratings)
        for statistic in STATISTICS.values():
            try:
                ceiling = human_ceiling(data, statistic=statistic)
            except VericapError as error:
                shown.notes.append(str(error))
                continue
            shown.add(name, statistic, share(ceiling.between), share(ceiling.others), ceiling.raters)
    shown.notes += ["Paper: none of its numbers are known to us; Flickr8k-Expert is not in the paper.", *absent]
    return Outcome([shown])


# --- worked examples --------------------------------------------------------------------------------------------

GOLDEN = "japanese/jaspice_golden.json"
SETTINGS = {"rules of the paper": "jaspice:rules=paper:negation=no:heads=no", "jaspice": "jaspice"}


def examples(choices: Choices) -> Outcome:
    """What the authors' own tests assert beside ours: scores from raw text, tuples of a caption."""
    path = choices.folder / GOLDEN
    if not path.is_file():
        raise MissingPart(
            f"{path} is not there; it holds what the authors' tests assert (https://github.com/keio-smilab23/JaSPICE): "
            "{scores: [{candidate, references, score}], tuples: [{caption, tuples}]}"
        )
    golden: dict[str, Any] = json_file(path)
    return Outcome([_scores(golden["scores"], choices, path), *_tuples(golden.get("tuples", []), choices)])


def _scores(items: Sequence[Mapping[str, Any]], choices: Choices, path: Path) -> Table:
    samples = [Sample(str(i), item["candidate"], tuple(item["references"])) for i, item in enumerate(items)]
    metrics = metrics_of(list(SETTINGS.values()))
    found = score({"": samples}, metrics, _japanese(choices))
    shown = Table(["candidate", "authors", *SETTINGS], title="JaSPICE: worked examples, scores", digits=3)
    columns = [found.captions(metric.label, "") for metric in metrics]
    for place, item in enumerate(items):
        shown.add(item["candidate"], float(item["score"]), *(float(own[place]) for own in columns))
    gaps = [float(np.abs(own - [item["score"] for item in items]).mean()) for own in columns]
    shown.add("mean distance to the authors'", None, *(Number(gap, digits=3) for gap in gaps))
    shown.notes = [f"The authors' scores: what their tests assert for Juman++ and KNP ({path.name})."]
    return shown


def _tuples(items: Sequence[Mapping[str, Any]], choices: Choices) -> list[Table]:
    from vericap.run.analyses.graphs import parse_texts
    from vericap.run.runtime import Runtime

    tables = []
    for item in items:
        expected = {tuple(claim) for claim in item["tuples"]}
        shown = Table(
            ["rules", "found", "of the authors'", "not found", "more"], title="JaSPICE: worked example, tuples"
        )
        for name, switches in (("paper", "rules=paper"), ("ours", "")):
            (graph,) = parse_texts([item["caption"]], Runtime.of(_japanese(choices)), lang="ja", parser=switches)
            found = set(graph.tuples())
            missed, more = (
                json.dumps(sorted(map(list, own)), ensure_ascii=False) for own in (expected - found, found - expected)
            )
            shown.add(name, len(expected & found), len(expected), missed, more)
        shown.notes = [item["caption"]]
        tables.append(shown)
    return tables

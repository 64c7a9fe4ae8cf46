"""FAIEr's Tables 1 and 4 and Figure 4: agreement with ratings, variants of the model, the number of references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from vericap.core import shipped
from vericap.core.table import Cell, Table
from vericap.meta.judgements import Judgements, Pairs, Ratings, selected
from vericap.meta.published import Published, paper_values
from vericap.metrics.registry import METRICS
from vericap.report import figures
from vericap.reproduce.agreement import Found, agreements
from vericap.reproduce.experiment import Choices, Outcome, at_hand, cell, printed, share, sources
from vericap.reproduce.models import SHIPPED, TRAINED, called, over

STATISTICS = {"pearson": "faier-1-pearson", "spearman": "faier-1-spearman", "kendall": "faier-1"}
SETS = ("flickr8k-expert", "composite")
# How the paper's rows are made here: a metric of ours, or a model that the user trained (`models`).
BASELINES = {
    "BLEU-1": "bleu-1",
    "BLEU-4": "bleu-4",
    "METEOR": "meteor",
    "ROUGE-L": "rouge-l",
    "CIDEr": "cider-d",
    "SPICE": "spice",
    "LearnToEval": "learn-to-eval",
    "TIGEr": "tiger",
}
FREE = "FAIEr-r ref (ref-free)"


def metric_of(label: str, choices: Choices) -> str | None:
    """The metric that stands for a row of the paper; None where no such model was named."""
    if label in TRAINED:
        name = TRAINED[label]
        folder = choices.models.get(name)
        return f"faier:model={folder}" if folder else "faier" if name == SHIPPED else None
    name = BASELINES.get(label, "")
    return over(name, choices.models) if name in METRICS else None


def table_1(choices: Choices) -> Outcome:
    """All rows of Table 1, on the data sets that are there."""
    return _tables("Table 1", choices)


def table_4(choices: Choices) -> Outcome:
    """All rows of Table 4: the variants, each trained by the user, beside the model that ships."""
    return _tables("Table 4", choices)


def _tables(table: str, choices: Choices) -> Outcome:
    published = paper_values("faier", table)
    labels = list(dict.fromkeys(item.label for item in published))
    rows = {label: metric_of(label, choices) for label in labels}
    rows.update({name: name for name in choices.metrics})
    loaded, absent = at_hand(SETS, choices)
    found = []
    for name, data in loaded.items():
        assert isinstance(data, Ratings)
        metrics = [metric for metric in rows.values() if metric is not None]
        scored = agreements(data, metrics, list(STATISTICS.values()), choices, references=(None, 0))
        known = [item for item in published if item.dataset == name]
        found.append(_beside(table, data, rows, scored, known, choices.models))
    if table == "Table 1" and "composite" in loaded:
        found.append(by_source(loaded["composite"], metrics_in(rows), choices))
    found[0].notes += [*absent, *_lacking(rows), *_given(rows, choices)]
    return Outcome(found)


def metrics_in(rows: Mapping[str, str | None]) -> list[str]:
    """Metrics of the rows that have one, each once."""
    return list(dict.fromkeys(metric for metric in rows.values() if metric is not None))


def _beside(
    table: str,
    data: Ratings,
    rows: Mapping[str, str | None],
    scored: Found,
    published: Sequence[Published],
    models: Mapping[str, str],
) -> Table:
    """Ours and the paper's by statistic."""
    heads = [head for name in STATISTICS for head in (name, f"{name}, paper")]
    shown = Table(["row", "metric here", *heads], title=f"FAIEr, {table}: {data.name}", x100=True, keys=2)
    for label, metric in rows.items():
        cells: list[Cell] = []
        for statistic, protocol in STATISTICS.items():
            line = scored.line(metric, protocol, 0 if label == FREE else None) if metric else None
            cells.append(share(line.value, line.deviation) if line else None)
            cells.append(printed(cell(published, label, statistic)))
        shown.add(label, _called(label, metric, models), *cells)
    shown.notes = [*sources(published), *scored.notes()]
    return shown


def _called(label: str, metric: str | None, models: Mapping[str, str]) -> str | None:
    """A metric as a table names it: over a model of the user's by that model's name, whatever folder it lies in."""
    if metric is None or ":model=" not in metric:
        return metric
    return f"faier:model={TRAINED[label]}" if label in TRAINED else called(metric, models)


def _lacking(rows: Mapping[str, str | None]) -> list[str]:
    models = list(
        dict.fromkeys(TRAINED[label] for label, metric in rows.items() if metric is None and label in TRAINED)
    )
    notes = [f"No model was named for: {', '.join(models)}; name trained ones with `model=NAME=DIR`."] if models else []
    starred = any(label.startswith("*") for label in rows)
    return [*notes, *(["*: as that metric's own paper prints it."] if starred else [])]


def _given(rows: Mapping[str, str | None], choices: Choices) -> list[str]:
    """Which rows are of models that the user named: they are not the one that ships."""
    names = [name for name in dict.fromkeys(TRAINED.get(label, "") for label in rows) if name in choices.models]
    steps = {name: shipped.describe(choices.models[name], "faier").get("trained", {}).get("steps") for name in names}
    told = [f"{name} ({count:,} steps)" if count else name for name, count in steps.items()]
    return [f"Models that were named, none of them the one that ships: {', '.join(told)}."] if told else []


def by_source(data: Judgements, metrics: Sequence[str], choices: Choices) -> Table:
    """Composite by the usual protocol (tau-c, all references but the judged caption): correctness and thoroughness,
    pooled and for each of its three sources."""
    assert isinstance(data, Ratings)
    names = list(dict.fromkeys(data.sources or []))
    parts = {"pooled": data, **{name: selected(data, _rows(data, name)) for name in names}}
    aspects = {"correctness": "published", **({"thoroughness": "thoroughness"} if data.aspects else {})}
    heads = [f"{aspect}, {part}" for part in parts for aspect in aspects]
    shown = Table(["metric", *heads], title="Composite by source: tau-c", x100=True)
    found = {part: agreements(own, metrics, list(aspects.values()), choices) for part, own in parts.items()}
    for metric in metrics:
        values = [found[part].value(metric, protocol) for part in parts for protocol in aspects.values()]
        shown.add(called(metric, choices.models), *map(share, values))
    shown.notes = list(dict.fromkeys(note for own in found.values() for note in own.notes()))
    return shown


def _rows(data: Ratings, source: str) -> list[int]:
    return [row for row, name in enumerate(data.sources or []) if name == source]


# --- Figure 4 ---------------------------------------------------------------------------------------------------

COUNTS = (0, 1, 2, 3, 4, 5)
CURVES = ("METEOR", "CIDEr", "SPICE", "TIGEr", "FAIEr-1 ref", "FAIEr-4 ref", "FAIEr-r ref")


def figure_4(choices: Choices) -> Outcome:
    """Spearman against the number of references, as the paper draws it."""
    rows = {label: metric_of(label, choices) for label in CURVES}
    rows.update({name: name for name in choices.metrics})
    loaded, absent = at_hand(SETS, choices)
    tables, drawn = [], []
    for place, (name, data) in enumerate(loaded.items()):
        assert isinstance(data, Ratings | Pairs)
        protocol = STATISTICS["spearman"]
        scored = agreements(data, metrics_in(rows), [protocol], choices, references=COUNTS)
        values = {
            label: [scored.value(metric, protocol, n) for n in COUNTS] for label, metric in rows.items() if metric
        }
        shown = Table(["row", *(f"{n} ref." for n in COUNTS)], title=f"FAIEr, Figure 4: {name}, Spearman", x100=True)
        for label, own in values.items():
            shown.add(label, *map(share, own))
        shown.notes = [*scored.notes(), *([*_lacking(rows), *_given(rows, choices)] if not place else [])]
        tables.append(shown)
        if choices.figure is not None:
            drawn.append(_curves(values, name, _numbered(choices.figure, place)))
    tables[0].notes += ["Paper: its curves are drawn, not printed.", *absent]
    return Outcome(tables, drawn)


def _numbered(path: Path, place: int) -> Path:
    """A second figure stands beside the first."""
    return path if not place else path.with_stem(f"{path.stem}-{place + 1}")


def _curves(values: Mapping[str, list[float | None]], name: str, path: Path) -> Path:
    found = []
    for label, own in values.items():
        points = [(float(n), 100 * value) for n, value in zip(COUNTS, own) if value is not None]
        found.append(figures.Curve(label, [x for x, _ in points], [y for _, y in points]))
    label = "references per caption (0: the photo alone)"
    return figures.curves(found, path, title=name, x_label=label, y_label="Spearman x100")

"""FAIEr's Tables 2 and 3 and the range of its scores: people against machines, PASCAL-50S, what scores look like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from vericap.core.errors import InputError
from vericap.core.table import Cell, Number, Table
from vericap.core.typing import Floats
from vericap.meta.human import human_machine
from vericap.meta.judgements import Pairs, Ratings, selected
from vericap.meta.published import Published, paper_values
from vericap.report import figures
from vericap.reproduce.agreement import Found, agreements
from vericap.reproduce.experiment import Choices, Outcome, at_hand, cell, printed, raw, share, sources
from vericap.reproduce.faier_agreement import metric_of, metrics_in
from vericap.reproduce.models import called
from vericap.vision.images import find

FOUR = "FAIEr-4 ref"


def rows_of(labels: Sequence[str], choices: Choices) -> dict[str, str | None]:
    """The paper's rows with a metric of ours. Where no model was trained on four references, the shipped one (trained
    on 0 to 4) stands in, and the metric's name says so."""
    found = {label: metric_of(label, choices) for label in labels}
    if FOUR in found and found[FOUR] is None:
        found[FOUR] = metric_of("FAIEr-r ref", choices)
    return {**found, **{name: name for name in choices.metrics}}


def table_2(choices: Choices) -> Outcome:
    """How often a human caption scores above a machine's, and both means, by system."""
    published = paper_values("faier", "Table 2")
    rows = rows_of(list(dict.fromkeys(item.label for item in published)), choices)
    loaded, absent = at_hand(("human-machine",), choices)
    data = loaded["human-machine"]
    assert isinstance(data, Pairs)
    data = with_photos(data, choices)
    settings = replace(choices.settings, images=choices.photos or choices.settings.images)
    scored = agreements(data, metrics_in(rows), ["4-references"], choices, settings=settings)
    systems = list(dict.fromkeys(data.groups or ["all"]))
    heads = [*systems, "mean", "accuracy, paper", "human", "human, paper", "machine", "machine, paper"]
    shown = Table(["row", "metric here", *heads], title="FAIEr, Table 2: people against machines", x100=False, digits=3)
    table = scored.tables["4-references", None]
    for label, metric in rows.items():
        scores = table.scores.get(metric) if metric else None
        paper = [raw(cell(published, label, column)) for column in ("accuracy", "human", "machine")]
        shown.add(label, metric, *_wins(data, scores, systems, paper))
    shown.notes = [f"{len(data)} pairs; shares in percent.", *sources(published), *scored.notes(), *absent]
    return Outcome([shown])


def _wins(data: Pairs, scores: Floats | None, systems: Sequence[str], paper: Sequence[Cell]) -> list[Cell]:
    """Shares by system and their mean, then average scores; the paper's beside each."""
    accuracy, human, machine = paper
    if scores is None:
        return [*[None] * (len(systems) + 1), accuracy, None, human, None, machine]
    found = {row.group: row for row in human_machine(data, scores)}
    wins = [100 * found[name].accuracy if name in found else None for name in systems]
    usable = [value for value in wins if value is not None]
    means = [float(np.mean([getattr(row, side) for row in found.values()])) for side in ("human", "machine")]
    shares = [None if value is None else Number(value, digits=1) for value in (*wins, float(np.mean(usable)))]
    return [*shares, accuracy, means[0], human, means[1], machine]


def with_photos(data: Pairs, choices: Choices) -> Pairs:
    """Pairs whose photo is there; all of them where no photos are named."""
    if choices.photos is None:
        return data
    folder = choices.coco_photos()
    there = {image for image in dict.fromkeys(data.images) if _has(image, folder)}
    if not there:
        raise InputError(f"`photos={folder}`: none of the {len(set(data.images))} photos of {data.name} is there")
    return selected(data, [row for row, image in enumerate(data.images) if image in there])


def _has(image: str, folder: Path) -> bool:
    try:
        find(image, folder)
    except InputError:
        return False
    return True


GROUPS = ("HC", "HI", "HM", "MM")
LABELS = ("votes11", "consensus48")


def table_3(choices: Choices) -> Outcome:
    """PASCAL-50S with five references and, for metrics that can, without; by both labels."""
    published = paper_values("faier", "Table 3")
    labels = [item.label for item in published if not item.label.startswith("*")]
    rows = rows_of(list(dict.fromkeys(labels)), choices)
    loaded, _ = at_hand(("pascal50s",), choices)
    data = loaded["pascal50s"]
    assert isinstance(data, Pairs)
    scored = agreements(data, metrics_in(rows), LABELS, choices, references=(5, 0))
    tables = [_groups(rows, label, count, scored, published) for count in (5, 0) for label in LABELS]
    tables[0].notes = [f"{len(data)} pairs; the paper: all 4,000.", *sources(published), *scored.notes()]
    return Outcome(tables)


def _groups(
    rows: Mapping[str, str | None], label: str, count: int, scored: Found, published: Sequence[Published]
) -> Table:
    theirs = bool(count) and label == LABELS[0]  # the label that fits the paper's baselines
    heads = [head for group in GROUPS for head in (group, *([f"{group}, paper"] if theirs else []))]
    title = f"FAIEr, Table 3: PASCAL-50S, {count} references, {label}"
    shown = Table(["row", "metric here", *heads, "mean"], title=title, x100=True, keys=2)
    for row, metric in rows.items():
        line = scored.line(metric, label, count) if metric else None
        if line is None and not count:
            continue
        cells: list[Cell] = []
        for group in GROUPS:
            cells.append(share(*line.groups[group]) if line and line.groups else None)
            cells += [printed(cell(published, row, group))] if theirs else []
        shown.add(row, metric, *cells, share(line.value, line.deviation) if line else None)
    return shown


# --- the range of scores ----------------------------------------------------------------------------------------

QUANTILES = (0.0, 0.005, 0.05, 0.5, 0.95, 0.995, 1.0)


def score_range(choices: Choices) -> Outcome:
    """How FAIEr's scores are distributed: the share inside the paper's experimental bound, and quantiles."""
    published = {item.column: item.value for item in paper_values("faier", "section 4.2")}
    low, high = published["low"], published["high"]
    metric = metric_of("FAIEr-r ref", choices)
    assert metric is not None
    loaded, absent = at_hand(("flickr8k-expert", "pascal50s", "composite"), choices)
    heads = [f"inside [{low:g}, {high:g}]", *(f"{100 * q:g} %" for q in QUANTILES)]
    shown = Table(
        ["data set", "references", "captions", *heads],
        title=f"FAIEr, section 4.2: scores of {called(metric, choices.models)}",
        digits=2,
    )
    panels = {}
    for name, data in loaded.items():
        assert isinstance(data, Ratings | Pairs)
        protocol = "faier-1" if isinstance(data, Ratings) else "votes11"
        scored = agreements(data, [metric], [protocol], choices, references=(0, 1, 5))
        for (_, count), table in scored.tables.items():
            if metric not in table.scores:
                shown.notes += scored.notes()
                continue
            values = np.concatenate([run[~np.isnan(run)] for run in table.runs[metric]])
            inside = 100 * float(((values >= low) & (values <= high)).mean())
            shown.add(name, count, len(values), f"{inside:.1f} %", *map(float, np.quantile(values, QUANTILES)))
            panels[f"{name}, {count} ref."] = values
    shown.notes += ["Paper: more than 99 % of scores lie between -2 and 6 (margin 0.2, d = 512).", *absent]
    drawn = [figures.histograms(panels, choices.figure, y_label="captions")] if choices.figure and panels else []
    return Outcome([shown], drawn)

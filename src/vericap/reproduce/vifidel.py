"""VIFIDEL's Tables 1 to 6 and Figures 4 and 5: pairs of PASCAL-50S, machine captions of Composite, what objects do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vericap.core import shipped
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.table import Cell, Table
from vericap.meta.judgements import Pairs, Ratings, selected
from vericap.meta.published import Published, paper_values
from vericap.meta.scoring import GOLD, metrics_of, score
from vericap.models import recurrent_lm
from vericap.report import figures
from vericap.reproduce.agreement import Found, agreements
from vericap.reproduce.experiment import Choices, Outcome, at_hand, printed, share, sources

COUNTS = (0, 1, 5)
GROUPS = ("HC", "HI", "HM", "MM")
PROTOCOL = "consensus48"
OBJECTS = (GOLD, "detector", "words")  # `words` (visual words) stand for the paper's larger detectors
METRICS = (
    "vifidel",
    "vifidel:setting=authors",
    "lm",
    "lm:model=rnn",
    "mean(vifidel,lm)",
    "mean(vifidel,lm:model=rnn)",
    "mean(vifidel,cider-d)",
    "wmd",
    "bleu-4",
    "rouge-l",
    "meteor",
    "cider-d",
    "spice",
)
PUBLISHED = "Tables 1, 5 and 6"


def _looks(metric: str) -> bool:
    """Whether a metric looks at objects; others are the same for every source of them."""
    return "vifidel" in metric


def chosen(choices: Choices, usual: Sequence[str]) -> list[str]:
    """The user's metrics, or the usual ones: those of the recurrent language model where it is installed."""
    there = (shipped.ROOT / recurrent_lm.PART / "meta.json").is_file()
    return list(choices.metrics) or [metric for metric in usual if there or "lm:model=rnn" not in metric]


def pairs_of(choices: Choices) -> Pairs:
    loaded, _ = at_hand(("pascal50s",), choices)
    data = loaded["pascal50s"]
    assert isinstance(data, Pairs)
    return data


def scored(choices: Choices, data: Pairs, sources_of_objects: Sequence[str]) -> dict[str, Found]:
    """Every metric with 0, 1 and 5 references, by source of objects; those that look at no object are scored once."""
    metrics, found = chosen(choices, METRICS), {}
    for place, source in enumerate(sources_of_objects):
        own = metrics if place == 0 else [metric for metric in metrics if _looks(metric)]
        settings = replace(choices.settings, objects=source)
        found[source] = agreements(data, own, [PROTOCOL], choices, references=COUNTS, settings=settings)
    return found


def table_1(choices: Choices) -> Outcome:
    """Pairs of two machine captions (MM), with gold objects, a detector's, and visual words."""
    data, published = pairs_of(choices), paper_values("vifidel", PUBLISHED)
    found = scored(choices, data, OBJECTS)
    heads = [head for count in COUNTS for head in (f"{count} ref.", f"{count} ref., paper")]
    shown = Table(["metric", "objects", *heads], title="VIFIDEL, Table 1: PASCAL-50S, MM", x100=True, keys=2)
    for metric, source in _rows(choices, OBJECTS):
        cells: list[Cell] = []
        for count in COUNTS:
            line = found[source].line(metric, PROTOCOL, count)
            cells.append(share(*line.groups["MM"]) if line and "MM" in line.groups else None)
            cells.append(printed(_paper(published, metric, source, count, "MM")))
        shown.add(metric, source if _looks(metric) else None, *cells)
    low, high = (item.value for item in paper_values("vifidel", "Table 1"))
    joined = f"The paper's VIFIDEL + LM: {low:g} to {high:g}."
    shown.notes = [f"{len(data)} pairs; the paper: all 4,000.", joined, *sources(published), *_reasons(found)]
    return Outcome([shown])


def table_5(choices: Choices) -> Outcome:
    """All groups with gold objects."""
    return _by_group(choices, (GOLD,), "Table 5")


def table_6(choices: Choices) -> Outcome:
    """All groups with a detector's objects and with visual words."""
    return _by_group(choices, ("detector", "words"), "Table 6")


def _by_group(choices: Choices, names: Sequence[str], title: str) -> Outcome:
    data, published = pairs_of(choices), paper_values("vifidel", PUBLISHED)
    found = scored(choices, data, names)
    heads = [head for group in GROUPS for head in (group, f"{group}, paper")]
    shown = Table(["metric", "objects", "references", *heads, "mean"], x100=True, keys=3)
    shown.title = f"VIFIDEL, {title}: PASCAL-50S by group"
    for metric, source in _rows(choices, names):
        for count in COUNTS:
            line = found[source].line(metric, PROTOCOL, count)
            if line is None:
                continue
            cells: list[Cell] = []
            for group in GROUPS:
                cells.append(share(*line.groups[group]) if group in line.groups else None)
                cells.append(printed(_paper(published, metric, source, count, group)))
            objects = source if _looks(metric) else None
            shown.add(metric, objects, count, *cells, share(line.value, line.deviation))
    shown.notes = [f"{len(data)} pairs; the paper: all 4,000.", *sources(published), *_reasons(found)]
    return Outcome([shown])


def _rows(choices: Choices, names: Sequence[str]) -> list[tuple[str, str]]:
    return [
        (metric, source)
        for metric in chosen(choices, METRICS)
        for place, source in enumerate(names)
        if place == 0 or _looks(metric)
    ]


def _paper(published: Sequence[Published], metric: str, source: str, count: int, group: str) -> list[Published]:
    """The paper's number; for a detector and for words that of its detector of 500 classes."""
    same = [item for item in published if item.metric == metric and item.group == group and item.references == count]
    return [item for item in same if (item.objects == GOLD) is (source == GOLD)]


def _reasons(found: Mapping[str, Found]) -> list[str]:
    return list(dict.fromkeys(note for own in found.values() for note in own.notes()))


# --- Composite --------------------------------------------------------------------------------------------------

COMPOSITE = (
    "vifidel",
    "mean(vifidel,lm)",
    "mean(vifidel,lm:model=rnn)",
    "lm",
    "wmd",
    "bleu-4",
    "meteor",
    "rouge-l",
    "cider-d",
    "spice",
)
ASPECTS = {"correctness": "machine", "thoroughness": "machine-thoroughness"}


def table_2(choices: Choices) -> Outcome:
    """Machine captions of Composite's COCO part: Spearman with correctness and thoroughness."""
    data = _coco_part(choices)
    found = agreements(data, chosen(choices, COMPOSITE), list(ASPECTS.values()), choices, references=(None, 0))
    return Outcome([_composite(data, found, choices, "Table 2: COCO part, machine captions")])


def table_3(choices: Choices) -> Outcome:
    """The same on each of the three sources and pooled."""
    loaded, _ = at_hand(("composite",), choices)
    data = loaded["composite"]
    assert isinstance(data, Ratings)
    tables = []
    for source in ("pooled", *dict.fromkeys(data.sources or [])):
        own = data if source == "pooled" else _part(data, source)
        found = agreements(own, chosen(choices, COMPOSITE), list(ASPECTS.values()), choices, references=(None, 0))
        tables.append(_composite(own, found, choices, f"Table 3: {source}, machine captions"))
    return Outcome(tables)


def _part(data: Ratings, source: str) -> Ratings:
    return selected(data, [row for row, name in enumerate(data.sources or []) if name == source])


def _coco_part(choices: Choices) -> Ratings:
    loaded, _ = at_hand(("composite",), choices)
    data = loaded["composite"]
    assert isinstance(data, Ratings)
    return _part(data, "coco")


def _composite(data: Ratings, found: Found, choices: Choices, title: str) -> Table:
    aspects = {name: protocol for name, protocol in ASPECTS.items() if name == "correctness" or data.aspects}
    heads = [f"{aspect}, {count}" for count in ("no references", "all references") for aspect in aspects]
    shown = Table(["metric", *heads], title=f"VIFIDEL, {title}, Spearman", x100=True)
    for metric in chosen(choices, COMPOSITE):
        values = [found.value(metric, protocol, count) for count in (0, None) for protocol in aspects.values()]
        shown.add(metric, *map(share, values))
    shown.notes = ["Paper: none of its numbers are known to us.", *found.notes()]
    return shown


# --- object sources ---------------------------------------------------------------------------------------------


# The detector at its threshold of .35 and at two others; words that 15 % of people would say, 5 % and 30 %.
SOURCES = (GOLD, "detector", "detector@0.25", "detector@0.5", "words", "words@0.05", "words@0.3", "detector+words")


def table_4(choices: Choices) -> Outcome:
    """What the source of objects does to VIFIDEL without references: gold labels, the detector, visual words."""
    data = pairs_of(choices)
    shown = Table(["objects", *GROUPS, "mean"], title="VIFIDEL, Table 4: sources of objects, no references", x100=True)
    for source in SOURCES:
        settings = replace(choices.settings, objects=source)
        found = agreements(data, ["vifidel"], [PROTOCOL], choices, references=(0,), settings=settings)
        line = found.line("vifidel", PROTOCOL, 0)
        groups = [share(*line.groups[group]) if line and group in line.groups else None for group in GROUPS]
        shown.add(source, *groups, share(line.value) if line else None)
        shown.notes += found.notes()
    unknown = "Paper: none of its numbers are known to us."
    shown.notes = [f"{len(data)} pairs.", unknown, *dict.fromkeys(shown.notes)]
    return Outcome([shown])


# --- figures ----------------------------------------------------------------------------------------------------

MANY = (0, 1, 2, 3, 5, 10, 20, 48)
CURVES = ("vifidel", "wmd", "meteor", "cider-d", "spice")


def figure_4(choices: Choices) -> Outcome:
    """Accuracy against the number of references, up to 48."""
    data, metrics = pairs_of(choices), choices.metrics or CURVES
    settings = replace(choices.settings, objects=GOLD)
    found = agreements(data, metrics, [PROTOCOL], choices, references=MANY, settings=settings)
    shown = Table(["metric", *(f"{n} ref." for n in MANY)], title="VIFIDEL, Figure 4: PASCAL-50S", x100=True)
    curves = []
    for metric in metrics:
        values = [found.value(metric, PROTOCOL, n) for n in MANY]
        shown.add(metric, *map(share, values))
        points = [(float(n), 100 * value) for n, value in zip(MANY, values) if value is not None]
        curves.append(figures.Curve(metric, [x for x, _ in points], [y for _, y in points]))
    notes = [note for table in found.tables.values() for note in table.task.notes]
    drawn_there = "Paper: its curves are drawn, not printed."
    shown.notes = [f"{len(data)} pairs.", drawn_there, *dict.fromkeys(notes), *found.notes()]
    drawn = [_curves(curves, choices.figure, "references per caption", "mean accuracy x100")] if choices.figure else []
    return Outcome([shown], drawn)


def _curves(curves: Sequence[figures.Curve], path: Path, x_label: str, y_label: str) -> Path:
    return figures.curves(curves, path, title="", x_label=x_label, y_label=y_label)


@dataclass(frozen=True)
class Growing:
    """A caption, objects that it mentions, and objects that it does not."""

    caption: str
    mentioned: tuple[str, ...]
    others: tuple[str, ...]


# Written for this figure: objects join an image one after the other, first those that the caption mentions.
GROWING = (
    Growing("a cat sits on a table next to a laptop and a cup", ("cat", "dining table", "laptop", "cup"),
            ("dog", "car", "pizza", "umbrella")),
    Growing("a man rides a horse past a car and a dog", ("horse", "person", "car", "dog"),
            ("bottle", "book", "clock", "cake")),
    Growing("a train and a bus stop near a bench with a person", ("train", "bus", "bench", "person"),
            ("banana", "sheep", "bed", "kite")),
)  # fmt: skip


def figure_5(choices: Choices) -> Outcome:
    """VIFIDEL as objects join: mentioned ones raise it, unmentioned ones lower it gently."""
    samples = [sample for growing in GROWING for sample in _grown(growing)]
    metric = choices.metrics[0] if choices.metrics else "vifidel"
    found = score({"": samples}, metrics_of([metric]), Settings(cache=choices.settings.cache))
    values = found.captions(next(iter(found.metrics)), "")
    shown = Table(["caption", "object that joins", "mentioned", "score", "change"], digits=3)
    shown.title = "VIFIDEL, Figure 5: objects join the image"
    curves, place = [], 0
    steps: dict[bool, list[float]] = {True: [], False: []}
    for growing in GROWING:
        objects = (*growing.mentioned, *growing.others)
        own = values[place : place + len(objects)]
        for number, label in enumerate(objects):
            change = float(own[number] - own[number - 1]) if number else None
            mentioned = number < len(growing.mentioned)
            if change is not None:
                steps[mentioned].append(change)
            shown.add(growing.caption if not number else "", label, mentioned, float(own[number]), change)
        curves.append(figures.Curve(growing.caption, list(range(1, len(objects) + 1)), own.tolist()))
        place += len(objects)
    shown.notes = [
        f"{what} objects: mean change {sum(own) / len(own):+.3f}; {sum(x > 0 for x in own)} of {len(own)} raise it."
        for what, own in (("mentioned", steps[True]), ("other", steps[False]))
    ]
    shown.notes.append("Paper: its curves are drawn, not printed.")
    drawn = [_curves(curves, choices.figure, "objects in the image", metric)] if choices.figure else []
    return Outcome([shown], drawn)


def _grown(growing: Growing) -> list[Sample]:
    objects = (*growing.mentioned, *growing.others)
    return [
        Sample(f"{growing.caption}-{count}", growing.caption, (), None, dict.fromkeys(objects[:count], 1))
        for count in range(1, len(objects) + 1)
    ]

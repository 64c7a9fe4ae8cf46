"""REO's Table 1 and Figures 1 and 4: agreement with people, and what the three measures say of single captions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from vericap.core.explanation import Explanation
from vericap.core.samples import Sample
from vericap.core.table import Cell, Table
from vericap.meta.judgements import Pairs, Ratings
from vericap.meta.published import Published, paper_values
from vericap.meta.scoring import metrics_of, score
from vericap.metrics.registry import resolve
from vericap.reproduce import demo
from vericap.reproduce.agreement import agreements
from vericap.reproduce.caption_figure import Captioned, Shown, draw
from vericap.reproduce.experiment import Choices, Outcome, at_hand, cell, printed, share, sources
from vericap.reproduce.faier_agreement import by_source
from vericap.reproduce.models import called
from vericap.reproduce.reo_errors import MEASURES, TRUTHS, extra_words, missing_words
from vericap.run.engine import Run

SETS = ("composite", "publicsys", "pascal50s", "flickr8k-expert")
BASELINES = ("bleu-4", "meteor", "rouge-l", "cider-d", "spice", "tiger")
GROUPS = ("HC", "HI", "HM", "MM")
KENDALL = {"composite": "published", "publicsys": "tau-c", "flickr8k-expert": "published"}
ROWS = {"Omission, reference": "reo-omission:truth=reference"}  # rows of the paper that are known to us


def metrics_of_paper(choices: Choices) -> list[str]:
    """Baselines, then each measure against the image, the references, and (ours) both."""
    measures = [f"{measure}:truth={truth}" for truth in TRUTHS for measure in MEASURES]
    return [*(choices.metrics or choices.over(*BASELINES)), *choices.over(*measures)]


def table_1(choices: Choices) -> Outcome:
    """Kendall's tau on rated captions, accuracy on pairs; Flickr8k-Expert stands beside the paper's three sets."""
    published, metrics = paper_values("reo", "Table 1"), metrics_of_paper(choices)
    loaded, absent = at_hand(SETS, choices)
    rated = {name: data for name, data in loaded.items() if isinstance(data, Ratings)}
    tables = [_ratings(rated, metrics, choices)] if rated else []
    if "composite" in loaded:
        tables.append(by_source(loaded["composite"], metrics, choices))
    if isinstance(loaded.get("pascal50s"), Pairs):
        tables.append(_pairs(loaded["pascal50s"], metrics, choices, published))
    tables[0].notes += absent
    return Outcome(tables)


def _ratings(data: Mapping[str, Ratings], metrics: Sequence[str], choices: Choices) -> Table:
    found = {name: agreements(own, metrics, [KENDALL[name]], choices) for name, own in data.items()}
    shown = Table(["metric", *data], title="REO, Table 1: rated captions, Kendall's tau-c", x100=True)
    for metric in metrics:
        shown.add(called(metric, choices.models), *(share(found[name].value(metric, KENDALL[name])) for name in data))
    shown.notes = list(dict.fromkeys(note for own in found.values() for note in own.notes()))
    return shown


def _pairs(data: object, metrics: Sequence[str], choices: Choices, published: Sequence[Published]) -> Table:
    assert isinstance(data, Pairs)
    found = agreements(data, metrics, ["votes11"], choices)
    heads = [head for group in GROUPS for head in (group, f"{group}, paper")]
    shown = Table(["metric", *heads, "mean"], title="REO, Table 1: PASCAL-50S, 5 references, votes11", x100=True)
    labels = {metric: label for label, metric in ROWS.items()}
    for metric in metrics:
        line = found.line(metric, "votes11")
        plain = ":".join(part for part in metric.split(":") if not part.startswith("model="))
        cells: list[Cell] = []
        for group in GROUPS:
            cells.append(share(*line.groups[group]) if line and line.groups else None)
            cells.append(printed(cell(published, labels.get(plain, ""), group)))
        shown.add(called(metric, choices.models), *cells, share(line.value, line.deviation) if line else None)
    shown.notes = [f"{len(data)} pairs; the paper: all 4,000.", *sources(published), *found.notes()]
    return shown


# --- single captions --------------------------------------------------------------------------------------------

# Caption A tells more and adds something that is not there, caption B leaves out (as in the paper's Figure 1).
A_AND_B = {
    "astronaut": (
        "An astronaut in an orange suit smiles in front of a flag and holds a white dog.",
        "An astronaut smiles.",
    ),
    "coffee": ("A cup of espresso on a red saucer with a spoon next to a laptop.", "A cup on a table."),
    "rocket": ("A white rocket on a launch pad at dusk beside a large crowd of people.", "A rocket at dusk."),
}
METRICS = ("bleu-4", "meteor", "rouge-l", "spice")
OURS = tuple(f"{measure}:truth=reference" for measure in MEASURES)


def figure_1(choices: Choices) -> Outcome:
    """Two captions of a photo: one overall score cannot say what is wrong with each, extraness and omission can."""
    texts = [
        Sample(f"{photo}-{side}", text, demo.references(photo), f"{photo}.jpg")
        for photo, pair in A_AND_B.items()
        for side, text in zip("AB", pair)
    ]
    table = "REO, Figure 1: caption A adds, caption B leaves out"
    found = _examples(texts, choices, table)
    right = {"extraness lower for A": 0, "omission lower for B": 0}
    for place in range(0, len(texts), 2):
        first, second = found.tables[0].rows[place], found.tables[0].rows[place + 1]
        columns = list(found.tables[0].columns)
        extra, omission = (columns.index(called(name, choices.models)) for name in choices.over(*OURS[1:]))
        right["extraness lower for A"] += first[extra] < second[extra]
        right["omission lower for B"] += second[omission] < first[omission]
    found.tables[0].notes += [f"{what}: {count} of {len(texts) // 2} photos." for what, count in right.items()]
    return found


def figure_4(choices: Choices) -> Outcome:
    """Four captions of each photo with all scores, and which words are extra or missing."""
    return _examples(demo.samples(5), choices, "REO, Figure 4: captions with scores and reasons")


def _examples(samples: list[Sample], choices: Choices, title: str) -> Outcome:
    settings = replace(choices.settings, images=demo.PHOTOS)
    metrics = metrics_of([*(choices.metrics or METRICS), *choices.over(*OURS)])
    found = score({"": samples}, metrics, settings, keep_going=True)
    usable = {called(label, choices.models): label for label in found.metrics if not found.reason(label, [""])}
    (reasons,) = Run(resolve(choices.over("reo-omission:truth=both")), settings).explain(samples).values()
    shown = Table(["photo", "kind", "caption", *usable, "extra words", "missing words"], title=title, digits=3, keys=2)
    values = {name: found.captions(label, "") for name, label in usable.items()}
    for place, (sample, reason) in enumerate(zip(samples, reasons)):
        photo, _, kind = sample.id.partition("-")
        scores = [float(own[place]) for own in values.values()]
        shown.add(photo, kind, sample.candidate, *scores, *_words(reason))
    shown.notes = [f"{label}: {reason}" for (label, _), reason in found.reasons.items()]
    if choices.figure is None:
        return Outcome([shown])
    return Outcome([shown], [draw(_drawn(shown, list(usable)), choices.figure, credits=demo.CREDITS)])


def _words(found: Explanation | None) -> tuple[str, str]:
    """Words of least support, and words of the references that are missing."""
    return ", ".join(extra_words(found)[:3]), ", ".join(missing_words(found)[:3])


def _drawn(table: Table, metrics: Sequence[str]) -> list[Shown]:
    photos: dict[str, list[Captioned]] = {}
    for record in table.records():
        scores = {_short(name): float(record[name]) for name in metrics}
        named = {what: record[f"{what} words"] for what in ("extra", "missing")}
        remark = "    ".join(f"{what}: {words}" for what, words in named.items() if words)
        wrong = record["kind"] == demo.KINDS[-1]
        own = Captioned(record["kind"], record["caption"], scores, wrong=wrong, remark=remark)
        photos.setdefault(record["photo"], []).append(own)
    return [Shown(demo.PHOTOS / f"{photo}.jpg", captions) for photo, captions in photos.items()]


def _short(metric: str) -> str:
    """A measure's name for a narrow column."""
    return metric.partition(":")[0].removeprefix("reo-")

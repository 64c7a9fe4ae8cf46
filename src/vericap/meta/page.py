"""The page of human agreement: every metric on every data set at hand, no figure typed by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vericap import __version__
from vericap.core.errors import MissingPart, VericapError
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.table import Table
from vericap.meta.breakdowns import detail_tables
from vericap.meta.catalogue import ENTRIES, installed, load
from vericap.meta.cost import CAPTIONS, processor_seconds
from vericap.meta.evaluation import Agreements, chosen_protocol, evaluate_each
from vericap.meta.human import averages_table, human_ceiling
from vericap.meta.judgements import GoldGraphs, Judgements, Pairs, Ratings, Spans, Systems
from vericap.meta.protocols import protocol_of
from vericap.meta.ranking import rank_systems
from vericap.meta.redundancy import largest, same_table
from vericap.meta.scoring import KeptScores, metrics_of
from vericap.meta.summary import overview, trainings
from vericap.meta.tables import agreement_table
from vericap.metrics.registry import Wanted, names

# Protocols shown on the page, in order; others are one command away. The first one stands in the overview.
SHOWN = {
    "flickr8k-expert": ("published", "mean-tau-c"),
    "flickr8k-cf": ("published",),
    "pascal50s": ("consensus48", "votes11", "consensus48-fixed"),
    "human-machine": ("4-references",),
    "jsts": ("pearson", "spearman", "tau-b"),
}
READINGS = ("reo-relevance:truth=both",)  # shown beside the metrics as they are by default
SKIPPED = {"jsts-train", "flickr8k-dev", "nocaps"}  # for choices and retrieval, not for the page


def human_agreement(
    *,
    metrics: Sequence[Wanted] | None = None,
    data_folder: str | Path | None = None,
    settings: Settings | None = None,
    store: KeptScores | None = None,
    resamples: int = 1000,
    images: int | None = None,
    say: Callable[[str], None] | None = None,
    command: str = "vericap.meta.page.human_agreement",
    costs: bool = True,
) -> str:
    """The page as Markdown. A metric that fails is listed with its reason.

    Parameters
    ----------
    metrics : names, metrics or functions; by default all metrics. On each data set those that know its language.
    data_folder : where data sets lie; by default $VERICAP_DATA.
    settings : choices that all metrics share.
    store : keep scores there and take them up again.
    resamples : bootstrap draws.
    images : judge on the first so many images of each data set.
    say : called with a line whenever a data set is begun.
    command : what makes the page, as it is printed on it.
    costs : whether to measure what each metric costs, which scores 1,000 captions with each of them alone.
    """
    here = [name for name in installed(data_folder) if name not in SKIPPED]
    if not here:
        raise MissingPart("no judgement data set was found; set VERICAP_DATA or name a folder with `data_folder=DIR`")
    say = say or (lambda line: None)
    page = _Page(settings or Settings(), store, resamples, images)
    known = metrics_of(metrics if metrics is not None else [*names(), *READINGS], reasons=page.reasons)
    for name in here:
        say(f"{name} ...")
        data = load(name, data_folder, images=images)
        page.add(data, [metric for metric in known if not metric.languages or data.lang in metric.languages])
    if costs:
        page.measure(known, say)
    parts = [_head(resamples, images, command), *page.overview(), *page.sections]
    absent = [entry for entry in ENTRIES if entry.name not in installed(data_folder)]
    if absent:
        rows = "\n".join(f"- {entry.title}: {entry.source}; {entry.size}." for entry in absent)
        parts.append(f"## Data sets that were not at hand\n\n{rows}\n")
    return "\n".join(parts)


def _head(resamples: int, images: int | None, command: str) -> str:
    part = f"Only the first {images} images of each data set were judged.\n" if images else ""
    return (
        "# Agreement with people\n\n"
        f"Made by vericap {__version__} with `{command}`; every figure is recomputed by that command.\n{part}"
        f"Values are x100. Intervals come from {resamples} bootstrap draws of images. A number marked ‡ was "
        "published under another protocol or on more data and is not comparable.\n"
        f"The smallest p that {resamples} draws can show is {1 / (resamples + 1):.3f}, times the number of metrics "
        "by Holm's adjustment.\n"
        "Captions that nobody judged are in no figure; captions that a metric cannot score are left out of its own "
        "figures and counted; paired tests use captions that both metrics scored; a metric that failed has its reason "
        "and no value.\n"
    )


@dataclass
class _Page:
    """Sections and results as they are made."""

    settings: Settings
    store: KeptScores | None
    resamples: int
    images: int | None
    reasons: dict[str, str] = field(default_factory=dict)
    sections: list[str] = field(default_factory=list)
    tables: list[Agreements] = field(default_factory=list)  # under the first protocol of each data set
    costs: dict[str, float | None] = field(default_factory=dict)
    measured: dict[str, str] = field(default_factory=dict)  # language -> on which captions

    def add(self, data: Judgements, metrics: Sequence[Metric]) -> None:
        """The sections of one data set."""
        if isinstance(data, Systems):
            self._systems(data, metrics)
        elif isinstance(data, Spans):
            self._spans(data, metrics)
        elif isinstance(data, GoldGraphs):
            self._graphs(data)
        elif isinstance(data, Ratings | Pairs):
            self._judged(data, metrics)

    def _systems(self, data: Systems, metrics: Sequence[Metric]) -> None:
        found = rank_systems(
            data,
            metrics,
            settings=self.settings,
            images=self.images,
            resamples=self.resamples,
            keep_going=True,
            store=self.store,
        )
        found.reasons.update(self.reasons)
        self.sections.append(_section(data.name, found.table()))

    def _spans(self, data: Spans, metrics: Sequence[Metric]) -> None:
        from vericap.meta.spans import evaluate_spans

        protocol = protocol_of(data.name, spans=True)
        try:
            found = evaluate_spans(
                data, metrics, protocol, settings=self.settings, resamples=self.resamples, store=self.store
            )
        except VericapError as error:
            self.sections.append(f"## {protocol.name}\n\nnot judged: {error}\n")
            return
        self.sections.append(_section(protocol.name, found.table()))

    def _graphs(self, data: GoldGraphs) -> None:
        from vericap.meta.parsing import evaluate_parser

        table = evaluate_parser(data, settings=self.settings, resamples=self.resamples).table()
        self.sections.append(_section(data.name, table))

    def _judged(self, data: Ratings | Pairs, metrics: Sequence[Metric]) -> None:
        """A section for each protocol that is shown; all of them are scored in one run."""
        protocols = [chosen_protocol(data, short) for short in SHOWN.get(data.name, (None,))]
        options = {"settings": self.settings, "resamples": self.resamples, "store": self.store}
        tables = evaluate_each(data, metrics, protocols, keep_going=True, **options)  # type: ignore[arg-type]
        self.tables.append(tables[0])
        for found in tables:
            _sort(found)
            table = agreement_table(found)
            table.notes += [f"{metric}: {reason}" for metric, reason in self.reasons.items()]
            if isinstance(data, Ratings):
                table.notes += _ceiling(data, found)
            self.sections.append(_section(found.protocol.name, table))
            if found is tables[0]:
                self.sections += [_section(table.title, table, level=3) for table in detail_tables(found)]
            if data.name == "human-machine" and isinstance(data, Pairs):
                heading = "### Average scores of people and machines"
                self.sections.append(f"{heading}\n\n{averages_table(data, found.scores).markdown()}")

    # --- over all data sets -------------------------------------------------------------------------------------

    def measure(self, metrics: Iterable[Metric], say: Callable[[str], None]) -> None:
        """What each metric costs, on captions of the first data set that it could score."""
        for metric in metrics:
            for found in self.tables:
                if metric.label in found.scores:
                    samples = found.task.samples(0)[:CAPTIONS]
                    say(f"cost of {metric.label} ...")
                    self.costs[metric.label] = processor_seconds(metric, samples, found.settings)
                    self.measured.setdefault(found.dataset, _extent(samples))
                    break

    def overview(self) -> list[str]:
        """The sections before those of single data sets."""
        if not self.tables:
            return []
        table = overview(self.tables, self.costs)
        table.notes = [
            "Cells: value [95 % interval]; rank among the metrics that have a value there (95 % interval of the rank "
            "over the same draws). Mean rank: over the data sets a metric has a value on.",
            "may have seen: data sets whose photos or captions come from a source that its models were trained on.",
        ]
        if self.costs:
            where = "; ".join(f"{extent} of {name}" for name, extent in self.measured.items())
            table.notes.append(
                "s / 1,000: processor seconds per 1,000 captions, measured in this run, each metric alone and cold "
                f"(models opened anew, no cache), on {where}."
            )
        found = [_section("All data sets", table)]
        seen = trainings(self.tables)
        if seen:
            found.append("### What was trained on what\n\n" + "".join(f"- {line}\n" for line in seen))
        most = largest(self.tables)
        if most is not None:
            found.append(_section("Metrics that say the same", same_table(most), level=3))
        return found


def _extent(samples: Sequence[Sample]) -> str:
    photos = len({sample.image for sample in samples if sample.image})
    return f"{len(samples)} captions ({photos} photos)"


def _section(name: str, table: Table, *, level: int = 2) -> str:
    # A Markdown table in a page needs a blank line before its notes, and the notes as a list.
    notes, table.notes, table.title = table.notes, [], ""
    rows = f"{table.markdown()}\n" if table.rows else ""
    return f"{'#' * level} {name}\n\n{rows}" + "".join(f"- {note}\n" for note in notes)


def _sort(found: Agreements) -> None:
    found.lines.sort(key=lambda line: (line.value is None, -(line.value or 0.0)))


def _ceiling(data: Ratings, found: Agreements) -> list[str]:
    statistic = found.protocol.statistic
    try:
        ceiling = human_ceiling(data, statistic=statistic, rows=found.task.rows)
    except VericapError:
        return []  # one rater, or only their mean: there is no ceiling to print
    return [
        f"People among themselves ({statistic}): two raters {100 * ceiling.between:.2f}, "
        f"one rater against the mean of the others {100 * ceiling.others:.2f}."
    ]

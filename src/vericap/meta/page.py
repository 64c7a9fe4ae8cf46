"""The page of human agreement: every metric on every data set at hand, no figure typed by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from vericap import __version__
from vericap.core.analysis import closure
from vericap.core.batch import Batch
from vericap.core.errors import MissingPart, VericapError
from vericap.core.metric import Metric
from vericap.core.settings import Settings
from vericap.core.table import Table
from vericap.meta.catalogue import ENTRIES, installed, load
from vericap.meta.evaluation import Agreements, chosen_protocol, evaluate_each
from vericap.meta.human import averages_table, human_ceiling
from vericap.meta.judgements import Pairs, Ratings, Systems
from vericap.meta.ranking import rank_systems
from vericap.meta.scoring import KeptScores, metrics_of
from vericap.meta.tables import agreement_table
from vericap.metrics.registry import Wanted, names

# Protocols shown on the page, in order; others are one command away.
SHOWN = {
    "flickr8k-expert": ("published", "mean-tau-c"),
    "flickr8k-cf": ("published",),
    "pascal50s": ("consensus48", "votes11", "consensus48-fixed"),
    "human-machine": ("4-references",),
    "jsts": ("pearson", "spearman", "tau-b"),
}
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
) -> str:
    """The page as Markdown. A metric that fails is listed with its reason.

    Parameters
    ----------
    metrics : names, metrics or functions; by default all metrics. On each data set those that know its language.
    data_folder : where data sets lie; by default $VERICAP_DATA.
    settings : choices that all metrics share.
    store : keep scores there and take them up again.
    resamples : bootstrap draws.
    images : rank systems on the first so many images.
    say : called with a line whenever a data set is begun.
    command : what makes the page, as it is printed on it.
    """
    settings = settings or Settings()
    here = [name for name in installed(data_folder) if name not in SKIPPED]
    if not here:
        raise MissingPart("no judgement data set was found; set VERICAP_DATA or name a folder with `data_folder=DIR`")
    reasons: dict[str, str] = {}
    known = metrics_of(metrics if metrics is not None else names(), reasons=reasons)
    parts = [_head(known, resamples, command)]
    for name in here:
        if say is not None:
            say(f"{name} ...")
        data = load(name, data_folder)
        fitting = [metric for metric in known if not metric.languages or data.lang in metric.languages]
        if isinstance(data, Systems):
            found = rank_systems(
                data,
                fitting,
                settings=settings,
                images=images,
                resamples=resamples,
                keep_going=True,
                store=store,
            )
            found.reasons.update(reasons)
            parts.append(_section(name, found.table()))
        elif isinstance(data, Ratings | Pairs):
            parts += _judged(data, fitting, reasons, settings, store, resamples)
    absent = [entry for entry in ENTRIES if entry.name not in installed(data_folder)]
    if absent:
        rows = "\n".join(f"- {entry.title}: {entry.source}; {entry.size}." for entry in absent)
        parts.append(f"## Data sets that were not at hand\n\n{rows}\n")
    return "\n".join(parts)


def _head(metrics: Sequence[Metric], resamples: int, command: str) -> str:
    return (
        "# Agreement with people\n\n"
        f"Made by vericap {__version__} with `{command}`; every figure is recomputed by that command.\n"
        f"Values are x100. Intervals come from {resamples} bootstrap draws of images. A number marked ‡ was "
        "published under another protocol or on more data and is not comparable.\n"
        f"The smallest p that {resamples} draws can show is {1 / (resamples + 1):.3f}, times the number of metrics "
        "by Holm's adjustment.\n"
        f"{_encoder_note(metrics)}"
    )


def _encoder_note(metrics: Sequence[Metric]) -> str:
    """Scores that rest on a pretrained text encoder may be flattered by what it was trained on."""
    english = Batch.of([], Settings())
    found = [metric.label for metric in metrics if _uses_encoder(metric, english)]
    if not found:
        return ""
    return (
        f"{', '.join(found)} rest on a pretrained sentence encoder, or on word vectors made from it, whose training "
        "may have seen COCO and Flickr30k captions: their values on Flickr8k and COCO may be flattered.\n"
    )


def _uses_encoder(metric: Metric, batch: Batch) -> bool:
    """Whether a metric for the batch's language reads the encoder, or word vectors made from it."""
    settings = batch.settings
    if metric.languages and settings.lang not in metric.languages:
        return False
    keys = closure(metric.requires(settings), settings)
    return any({"encoder", "vectors"} & set(key.signature(batch)) for key in keys)


def _section(name: str, table: Table) -> str:
    # A Markdown table in a page needs a blank line before its notes, and the notes as a list.
    notes, table.notes, table.title = table.notes, [], ""
    return f"## {name}\n\n{table.markdown()}\n" + "".join(f"- {note}\n" for note in notes)


def _judged(
    data: Ratings | Pairs,
    metrics: Sequence[Metric],
    reasons: dict[str, str],
    settings: Settings,
    store: KeptScores | None,
    resamples: int,
) -> list[str]:
    """A section for each protocol that is shown; all of them are scored in one run."""
    protocols = [chosen_protocol(data, short) for short in SHOWN.get(data.name, (None,))]
    parts = []
    for found in evaluate_each(
        data, metrics, protocols, settings=settings, resamples=resamples, store=store, keep_going=True
    ):
        _sort(found)
        table = agreement_table(found)
        table.notes += [f"{metric}: {reason}" for metric, reason in reasons.items()]
        if isinstance(data, Ratings):
            table.notes += _ceiling(data, found)
        parts.append(_section(found.protocol.name, table))
        if data.name == "human-machine" and isinstance(data, Pairs):
            heading = "### Average scores of people and machines"
            parts.append(f"{heading}\n\n{averages_table(data, found.scores).markdown()}")
    return parts


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

"""The page of human agreement: every metric on every data set at hand, no figure typed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vericap import __version__
from vericap.errors import MissingPart, VericapError
from vericap.meta.catalogue import ENTRIES, installed, load
from vericap.meta.evaluation import Agreements, evaluate
from vericap.meta.human import averages_table, human_ceiling
from vericap.meta.judgements import Pairs, Ratings, Systems
from vericap.meta.protocols import protocol_of
from vericap.meta.ranking import rank_systems
from vericap.meta.scoring import Store
from vericap.metrics.registry import METRICS, metric_class
from vericap.report.agreement import agreement_table
from vericap.report.tables import Table
from vericap.run.batch import Settings

# Protocols shown on the page, in order; others are one command away.
SHOWN = {
    "flickr8k-expert": ("published", "mean-tau-c"),
    "flickr8k-cf": ("published",),
    "pascal50s": ("consensus48", "votes11", "consensus48-fixed"),
    "human-machine": ("4-references",),
    "jsts": ("pearson", "spearman", "tau-b"),
}
_DISTILLED = {"wmd", "vifidel", "spice-soft"}  # by way of word vectors or of their own calls
SKIPPED = {"jsts-train", "flickr8k-dev", "nocaps"}  # for choices and retrieval, not for the page


def metrics_for(lang: str, wanted: Sequence[str] | None = None) -> tuple[list[str], dict[str, str]]:
    """Metrics that know a language, and the reason for each that cannot even be imported."""
    names, reasons = [], {}
    for name in wanted or list(METRICS):
        try:
            languages = metric_class(name.split(":")[0]).languages
        except VericapError:
            languages = ()  # mean(a,b) and sets are resolved later
        except Exception as error:
            reasons[name] = f"{type(error).__name__}: {error}"
            continue
        if not languages or lang in languages:
            names.append(name)
    return names, reasons


def human_agreement(
    *,
    metrics: Sequence[str] | None = None,
    data_folder: str | Path | None = None,
    settings: Settings | None = None,
    store: Store | None = None,
    resamples: int = 1000,
    images: int | None = None,
    say: object = None,
) -> str:
    """The page as Markdown. A metric that fails is listed with its reason."""
    settings = settings or Settings()
    here = [name for name in installed(data_folder) if name not in SKIPPED]
    if not here:
        raise MissingPart("no judgement data set was found; set VERICAP_DATA or pass --data DIR")
    parts = [_head(metrics, resamples)]
    for name in here:
        if callable(say):
            say(f"{name} ...")
        data = load(name, data_folder)
        names, reasons = metrics_for(data.lang, metrics)
        if isinstance(data, Systems):
            found = rank_systems(
                data,
                names,
                settings=settings,
                images=images,
                resamples=resamples,
                keep_going=True,
                store=store,
            )
            found.reasons.update(reasons)
            parts.append(_section(name, found.table()))
        elif isinstance(data, Ratings | Pairs):
            parts += _judged(name, data, names, reasons, settings, store, resamples)
    absent = [entry for entry in ENTRIES if entry.name not in installed(data_folder)]
    if absent:
        rows = "\n".join(f"- {entry.title}: {entry.source}; {entry.size}." for entry in absent)
        parts.append(f"## Data sets that were not at hand\n\n{rows}\n")
    return "\n".join(parts)


def _head(metrics: Sequence[str] | None, resamples: int) -> str:
    chosen = f" --metrics {','.join(metrics)}" if metrics else ""
    return (
        "# Agreement with people\n\n"
        f"Made by vericap {__version__} with `vericap meta all{chosen} --page docs/human-agreement.md`; "
        "every figure is recomputed by that command.\n"
        f"Values are x100. Intervals come from {resamples} bootstrap draws of images. A number marked ‡ was "
        "published under another protocol or on more data and is not comparable.\n"
        f"The smallest p that {resamples} draws can show is {1 / (resamples + 1):.3f}, times the number of metrics "
        "by Holm's adjustment.\n"
        f"{_encoder_note(metrics)}"
    )


def _encoder_note(metrics: Sequence[str] | None) -> str:
    """Scores that rest on a pretrained text encoder may be flattered by what it was trained on."""
    names = [name for name in metrics_for("en", metrics)[0] if _uses_encoder(name)]
    if not names:
        return ""
    return (
        f"{', '.join(names)} rest on a pretrained sentence encoder, or on word vectors made from it, whose training "
        "may have seen COCO and Flickr30k captions: their values on Flickr8k and COCO may be flattered.\n"
    )


def _uses_encoder(name: str) -> bool:
    try:
        found = metric_class(name.split(":")[0])
    except VericapError:
        return False
    return name in _DISTILLED or bool({"sentences", "token_states"} & set(found.analyses))


def _section(name: str, table: Table) -> str:
    # A Markdown table in a page needs a blank line before its notes, and the notes as a list.
    notes, table.notes, table.title = table.notes, [], ""
    return f"## {name}\n\n{table.markdown()}\n" + "".join(f"- {note}\n" for note in notes)


def _judged(
    name: str,
    data: Ratings | Pairs,
    names: list[str],
    reasons: dict[str, str],
    settings: Settings,
    store: Store | None,
    resamples: int,
) -> list[str]:
    parts = []
    for short in SHOWN.get(name, ("",)):
        protocol = protocol_of(name, short or None, pairs=isinstance(data, Pairs))
        found = evaluate(
            data,
            names,
            protocol=protocol,
            settings=settings,
            resamples=resamples,
            store=store,
            keep_going=True,
        )
        _sort(found)
        table = agreement_table(found)
        table.notes += [f"{metric}: {reason}" for metric, reason in reasons.items()]
        if isinstance(data, Ratings):
            table.notes += _ceiling(data, found)
        parts.append(_section(protocol.name, table))
        if name == "human-machine" and isinstance(data, Pairs):
            heading = "### Average scores of people and machines"
            parts.append(f"{heading}\n\n{averages_table(data, found.scores).markdown()}")
    return parts


def _sort(found: Agreements) -> None:
    found.lines.sort(key=lambda line: (line.value is None, -(line.value or 0.0)))


def _ceiling(data: Ratings, found: Agreements) -> list[str]:
    statistic = found.protocol.statistic
    rows = found.task.rows if found.task else None
    try:
        ceiling = human_ceiling(data, statistic=statistic, rows=rows)
    except VericapError:
        return []  # one rater, or only their mean: there is no ceiling to print
    return [
        f"People among themselves ({statistic}): two raters {100 * ceiling.between:.2f}, "
        f"one rater against the mean of the others {100 * ceiling.others:.2f}."
    ]

"""FAIEr's Table 6: image-text retrieval with four references, on nocaps and on what is at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vericap.core.table import Cell, Table
from vericap.meta.judgements import Retrieval
from vericap.meta.published import Published, paper_values
from vericap.meta.retrieval import KS, Recalls, Retrieved, retrieve
from vericap.reproduce.experiment import Choices, Outcome, at_hand, cell, printed, share, sources
from vericap.reproduce.faier_agreement import metrics_in
from vericap.reproduce.faier_pairs import rows_of

SETS = ("nocaps", "flickr8k-dev")
IMAGES = 1000  # of the paper
REFERENCES = 4
COLUMNS = (*(f"text R@{k}" for k in KS), *(f"image R@{k}" for k in KS))


def table_6(choices: Choices) -> Outcome:
    """Recall at 1, 5 and 10 both ways; the references of an image are four of its captions."""
    published = paper_values("faier", "Table 6")
    rows = rows_of(list(dict.fromkeys(item.label for item in published)), choices)
    loaded, absent = at_hand(SETS, choices)
    tables = []
    for name, data in loaded.items():
        assert isinstance(data, Retrieval)
        found = retrieve(
            data,
            metrics_in(rows),
            settings=choices.settings,
            images=choices.limit or IMAGES,
            references=REFERENCES,
            store=choices.store,
        )
        tables.append(_table(name, rows, found, published))
    tables[0].notes += [*sources(published), *absent]
    return Outcome(tables)


def _table(name: str, rows: Mapping[str, str | None], found: Retrieved, published: Sequence[Published]) -> Table:
    """Ours, and the paper's beside them where it is its data set."""
    known = [item for item in published if item.dataset == name]
    heads = [head for column in COLUMNS for head in (column, *([f"{column}, paper"] if known else []))]
    shown = Table(["row", "metric here", *heads], title=f"FAIEr, Table 6: {name}", x100=True, keys=2)
    for label, metric in rows.items():
        recalls = found.recalls.get(metric or "")
        ours = dict(zip(COLUMNS, _values(recalls))) if recalls else {}
        cells: list[Cell] = []
        for column in COLUMNS:
            cells.append(share(ours.get(column)))
            cells += [printed(cell(known, label, column))] if known else []
        shown.add(label, metric, *cells)
    shown.notes = [f"{metric}: {reason}" for metric, reason in found.reasons.items()]
    return shown


def _values(found: Recalls) -> list[float]:
    return [*found.captions.values(), *found.images.values()]

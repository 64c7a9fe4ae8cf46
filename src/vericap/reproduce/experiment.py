"""What an experiment is, what a user may choose, and what comes out: tables with the paper's numbers, figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from vericap.core.errors import InputError, MissingPart
from vericap.core.settings import Settings
from vericap.core.table import Cell, Number, Table
from vericap.meta.catalogue import data_folder, entry_of, load
from vericap.meta.judgements import Judgements
from vericap.meta.published import Published
from vericap.meta.scoring import KeptScores
from vericap.reproduce.models import check_models, over

PHOTOS = (
    "the COCO photos are not named; give their folder with `photos=DIR` (train2017 or train2014 and val2014 of "
    "https://cocodataset.org/#download)"
)


@dataclass(frozen=True)
class Choices:
    """What a user may choose; an experiment takes what it has a use for.

    Parameters
    ----------
    data : where data sets lie; by default $VERICAP_DATA.
    settings : choices that all metrics share.
    metrics : instead of those of the experiment.
    models : folders of trained models by the name they have in the paper's table: {"faier-1": "runs/faier-1"}.
    photos : folder of COCO's photos.
    draws : how often random references are drawn.
    limit : images (or cases) to take, for trying things out.
    figure : where to draw the figure, if there is one.
    store : keep scores there and take them up again.
    translations : JSON lines of text and translation, for SPICE over translations.
    judged : whether `grounding` may look at people's judgements (uniform attention).
    record : whether `grounding` notes in the models' meta files how well they point, which says where heat maps are
        offered.
    """

    data: Path | None = None
    settings: Settings = field(default_factory=Settings)
    metrics: tuple[str, ...] = ()
    models: Mapping[str, str] = field(default_factory=dict)
    photos: Path | None = None
    draws: int = 5
    limit: int | None = None
    figure: Path | None = None
    store: KeptScores | None = None
    translations: Path | None = None
    judged: bool = True
    record: bool = False

    def __post_init__(self) -> None:
        check_models(self.models)

    @property
    def folder(self) -> Path:
        return data_folder(self.data)

    def over(self, *metrics: str) -> tuple[str, ...]:
        """Metrics over the models that were named for them."""
        return tuple(over(metric, self.models) for metric in metrics)

    def model(self, name: str) -> str:
        """The folder of a model, or `default` for the one that ships."""
        return self.models.get(name, "default")

    def load(self, name: str) -> Judgements:
        """A data set, cut to the first images where a limit was given."""
        return load(name, self.data, images=self.limit)

    def coco_photos(self) -> Path:
        if self.photos is None:
            raise MissingPart(PHOTOS)
        if not self.photos.is_dir():
            raise InputError(f"`photos={self.photos}`: no such folder")
        return self.photos

    def draws_of(self, count: int) -> int:
        """How many draws of so many references: none of them can be drawn in one way only."""
        return self.draws if count else 1


@dataclass
class Outcome:
    """What an experiment gives: tables, the files of its figures, and the options that its tables were made with."""

    tables: list[Table]
    figures: list[Path] = field(default_factory=list)
    options: str = ""

    def text(self) -> str:
        return self.render("text")

    def render(self, kind: str) -> str:
        """All tables in one of the forms of `Table.render`."""
        return "\n".join(table.render(kind) for table in self.tables)

    def as_dict(self) -> dict[str, Any]:
        tables, figures = [table.as_dict() for table in self.tables], [str(path) for path in self.figures]
        return {"tables": tables, "figures": figures, "options": self.options}

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Outcome:
        tables, figures = [Table.from_dict(table) for table in kept["tables"]], [Path(path) for path in kept["figures"]]
        return cls(tables, figures, kept.get("options", ""))


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper.

    Attributes
    ----------
    name, title : how it is called, and what it shows.
    home : `module:function` of `vericap.reproduce`, a function of `Choices`.
    data : data sets it runs on; those that are not there are named with their source and layout.
    protocol : how its numbers are made.
    differs : what is not as in the paper.
    figure : whether it draws one.
    """

    name: str
    title: str
    home: str
    data: tuple[str, ...]
    protocol: str
    differs: str
    figure: bool = False

    def run(self, choices: Choices) -> Outcome:
        module, function = self.home.split(":")
        given = replace(choices, metrics=choices.over(*choices.metrics))
        found: Outcome = getattr(import_module(f"vericap.reproduce.{module}"), function)(given)
        found.options = self.options(choices)
        if choices.limit and self.cut:
            cut = f"at most the first {choices.limit} images or cases: `limit={choices.limit}`."
            found.tables[0].notes.insert(0, cut)
        found.tables[0].notes[:0] = [f"Protocol: {self.protocol}", f"What differs: {self.differs}"]
        return found

    @property
    def cut(self) -> bool:
        """Whether a limit takes less of its data; examples are run whole."""
        return bool(self.data) and self.data != ("japanese",)

    def options(self, choices: Choices) -> str:
        """What a user chose of all that moves its numbers, as the command line says it; where files lie on one
        machine is nobody else's."""
        settings, usual = choices.settings, Choices()
        found = {
            "photos": "DIR" if choices.photos and _COCO & set(self.data) else None,
            "images": "DIR" if settings.images else None,
            "features": "STORE" if settings.features else None,
            "objects": settings.objects if settings.objects != usual.settings.objects else None,
            "translations": "FILE" if choices.translations and self.name.startswith("jaspice") else None,
            "metrics": ",".join(choices.metrics) or None,
            "draws": choices.draws if choices.draws != usual.draws and self.data else None,
            "limit": choices.limit if self.cut else None,
        }
        named = [f"--{name} {value}" for name, value in found.items() if value]
        models = choices.models if not self.name.startswith(("vifidel", "jaspice")) else ()
        return " ".join([*(f"--model {name}={_place(choices.models[name])}" for name in models), *named])


_COCO = {"coco", "human-machine"}  # data sets whose photos are COCO's


def _place(model: str) -> str:
    """A model as a page names it: the shipped one with its half, a folder as DIR."""
    return model if model.startswith("default") else "DIR"


def at_hand(names: Sequence[str], choices: Choices) -> tuple[dict[str, Judgements], list[str]]:
    """Data sets that are there, and for each other one where it comes from; refused where none is there."""
    found, absent = {}, {}
    for name in names:
        try:
            found[name] = choices.load(name)
        except MissingPart as error:
            absent[name] = error
    if not found:
        raise next(iter(absent.values()))
    return found, [missing_note(name) for name in absent]


def missing_note(name: str) -> str:
    """One line for a data set that is not there."""
    entry = entry_of(name)
    return f"not at hand: {entry.title} ({entry.source}); layout: {entry.layout}; in the folder {entry.folders[0]}/."


# --- cells ------------------------------------------------------------------------------------------------------


def share(value: float | None, spread: float | None = None) -> Number | None:
    """Ours: a correlation or a share, printed x100 with one decimal."""
    if value is None or value != value:
        return None
    return Number(value, digits=3, spread=None if spread is None or spread != spread else spread)


def printed(items: Sequence[Published]) -> Cell:
    """The paper's number as it is printed; a dash where none is known to us."""
    return Number(items[0].value / 100, digits=items[0].digits + 2) if items else None


def raw(items: Sequence[Published]) -> Cell:
    """The paper's number where it is no share."""
    return Number(items[0].value, digits=items[0].digits) if items else None


def counted(items: Sequence[Published]) -> int | None:
    """The paper's number where it counts something: the same in a table of shares."""
    return int(items[0].value) if items else None


def cell(items: Sequence[Published], label: str, column: str, **more: Any) -> list[Published]:
    """The numbers of a table that stand in one of its cells."""
    return [
        item
        for item in items
        if item.label == label
        and item.column == column
        and all(getattr(item, name) == value for name, value in more.items())
    ]


def sources(items: Sequence[Published]) -> list[str]:
    """A note that says where the paper's numbers come from."""
    found = list(dict.fromkeys(item.where for item in items))
    return [f"Paper: {'; '.join(found)}."] if found else ["Paper: none of its numbers are known to us."]

"""Who plays the pointing game, and what the game says of each: a table, and a note in the models' meta files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter, itemgetter
from pathlib import Path

from vericap.core import shipped
from vericap.core.settings import Settings
from vericap.core.table import Number, Table
from vericap.models import scan
from vericap.reproduce.coco_boxes import BoxedPhoto, boxed_photos
from vericap.reproduce.experiment import Choices
from vericap.reproduce.models import SHIPPED
from vericap.reproduce.pointing import LARGEST, Game, Pointed, pointed
from vericap.reproduce.word_maps import (
    FaierMaps,
    WordMap,
    faier_maps,
    plus_maps,
    scan_maps,
    visual_word_maps,
    vse_maps,
)

REFERENCES = 4
PHOTOS = 2000
TOGETHER = 250  # photos whose regions are held at once
ROWS = {"faier": SHIPPED, "scan": "scan", "faier_plus": "faier-plus", "vse": "vse", "visual_words": "visual-words"}


@dataclass(frozen=True)
class Contestant:
    """One way in which a model points.

    Attributes
    ----------
    title : how it is called in the table.
    part : the shipped model it belongs to.
    kind : the heat maps that rest on it (`vericap.models.described.points`); empty: none.
    """

    title: str
    part: str
    kind: str = ""


Cases = dict[Contestant, list[Pointed]]
Played = Iterator[tuple[Contestant, list[Pointed]]]


def model_of(part: str, choices: Choices) -> str:
    """The folder that stands for a shipped model, or `default`."""
    return choices.model(ROWS[part])


def play(photos: Sequence[BoxedPhoto], choices: Choices) -> dict[Contestant, Game]:
    """The game of every contestant."""
    settings = replace(choices.settings, images=choices.coco_photos())
    found: Cases = {}
    for start in range(0, len(photos), TOGETHER):
        some = photos[start : start + TOGETHER]
        for player in (_faier, _faier_plus, _scan, _vse, _visual_words):
            for contestant, cases in player(some, settings, choices):
                found.setdefault(contestant, []).extend(cases)
    return {contestant: Game.of(cases) for contestant, cases in found.items()}


def _faier(photos: Sequence[BoxedPhoto], settings: Settings, choices: Choices) -> Played:
    guided, alone = _with_and_without(faier_maps, photos, settings, model_of("faier", choices))
    yield Contestant("FAIEr: regions, words of references, matching", "faier"), _said(photos, guided)
    attended = [None if photo is None else replace(photo, references=_softened(photo)) for photo in guided]
    yield Contestant("FAIEr: regions, words of references, attention", "faier", "references"), _said(photos, attended)
    yield from _candidates("FAIEr", "faier", photos, guided, alone)
    related = [None if photo is None else replace(photo, references=photo.reference_triplets) for photo in guided]
    title = "FAIEr: regions, triplets of references, attention"
    yield Contestant(title, "faier", "relation"), _said(photos, related)
    pick = attrgetter("candidate_triplets")
    title = "FAIEr: triplets of the candidate and regions, no references"
    yield Contestant(title, "faier", "relation"), _cases(photos, alone, pick)
    title = f"FAIEr: triplets of the candidate and regions, {REFERENCES} references"
    yield Contestant(title, "faier", "relation"), _cases(photos, guided, pick)


def _faier_plus(photos: Sequence[BoxedPhoto], settings: Settings, choices: Choices) -> Played:
    guided, alone = _with_and_without(plus_maps, photos, settings, model_of("faier_plus", choices))
    title = "FAIEr-plus: regions, words of references, attention"
    yield Contestant(title, "faier_plus", "references"), _said(photos, guided)
    yield from _candidates("FAIEr-plus", "faier_plus", photos, guided, alone)


Maps = Sequence[FaierMaps | None]


def _with_and_without(
    make: Callable[..., Maps], photos: Sequence[BoxedPhoto], settings: Settings, model: str
) -> tuple[Maps, Maps]:
    guided, alone = (make([photo.sample(count) for photo in photos], settings, model) for count in (REFERENCES, 0))
    return guided, alone


def _softened(maps: FaierMaps) -> tuple[WordMap, ...]:
    return tuple(own.attention() for own in maps.references)


def _candidates(name: str, part: str, photos: Sequence[BoxedPhoto], guided: Maps, alone: Maps) -> Played:
    """Union nodes against the words of the candidate, with references and without."""
    pick = attrgetter("candidate")
    yield Contestant(f"{name}: candidate and regions, no references", part, "candidate"), _cases(photos, alone, pick)
    title = f"{name}: candidate and regions, {REFERENCES} references"
    yield Contestant(title, part, "candidate"), _cases(photos, guided, pick)


def _scan(photos: Sequence[BoxedPhoto], settings: Settings, choices: Choices) -> Played:
    """All models of a folder: explanations draw the first one's attention, and only that is noted."""
    model = model_of("scan", choices)
    drawn = scan.describe(scan.halves(scan.named(model)[0])[0][1])["words"]
    for _, half in scan.halves(model):
        maps = scan_maps([photo.sample(0) for photo in photos], settings, half)
        words = scan.describe(half)["words"]
        name, kind = f"SCAN, words {words}", "attention" if words == drawn else ""
        yield Contestant(f"{name}: similarity", "scan"), _cases(photos, maps, itemgetter("similarity"))
        yield Contestant(f"{name}: attention", "scan", kind), _cases(photos, maps, itemgetter("attention"))


def _vse(photos: Sequence[BoxedPhoto], settings: Settings, choices: Choices) -> Played:
    found = _of_nouns(vse_maps, photos, settings, model_of("vse", choices))
    yield Contestant("vse: regions and a noun as a caption", "vse", "caption"), found


def _visual_words(photos: Sequence[BoxedPhoto], settings: Settings, choices: Choices) -> Played:
    found = _of_nouns(visual_word_maps, photos, settings, model_of("visual_words", choices))
    yield Contestant("visual words: cells", "visual_words"), found


def _of_nouns(
    make: Callable[..., dict[str, WordMap]], photos: Sequence[BoxedPhoto], settings: Settings, model: str
) -> list[Pointed]:
    """Cases of the first captions, whose nouns are asked for one by one."""
    by_image = {photo.image: photo for photo in photos}
    asked = {image: [(own.start, own.end) for own in photo.meant[0]] for image, photo in by_image.items()}
    asked = {image: spans for image, spans in asked.items() if spans}
    if not asked:
        return []
    maps = make({image: by_image[image].captions[0] for image in asked}, asked, settings, model)
    return [case for image, found in maps.items() for case in pointed(found, by_image[image], by_image[image].meant[0])]


def _said(photos: Sequence[BoxedPhoto], maps: Maps) -> list[Pointed]:
    return [
        case
        for photo, found in zip(photos, maps)
        if found is not None
        for own, meant in zip(found.references, photo.meant[1:])
        for case in pointed(own, photo, meant)
    ]


def _cases(photos: Sequence[BoxedPhoto], maps: Sequence[object], pick: Callable[..., WordMap | None]) -> list[Pointed]:
    picked = [None if found is None else pick(found) for found in maps]
    return [
        case
        for photo, found in zip(photos, picked)
        if found is not None
        for case in pointed(found, photo, photo.meant[0])
    ]


# --- what comes of it -------------------------------------------------------------------------------------------


def pointing_table(choices: Choices) -> Table:
    """All contestants beside the two baselines; with `record` the models' meta files learn what was found."""
    photos = boxed_photos(choices, choices.limit or PHOTOS)
    games = play(photos, choices)
    shown = Table(
        ["what points", "model", "right", "centre of the photo", "random region", "above the better", "cases"],
        title="Pointing game on COCO boxes",
        x100=True,
        keys=2,
    )
    for contestant, game in games.items():
        shares = (game.right, game.centre, game.random, game.right - game.chance)
        numbers = [Number(share, digits=3) if game.cases else None for share in shares]
        shown.add(contestant.title, model_of(contestant.part, choices), *numbers, game.cases)
    shown.notes = [
        f"{len(photos)} photos that no model was trained on, one caption each, or {REFERENCES} references; words that "
        f"name one of COCO's 80 classes, boxes covering less than {100 * LARGEST:g} %. Right: the centre of the best "
        "region lies in a box of the class."
    ]
    if choices.record:
        names = ", ".join(path.parent.name for path in record(games, choices))
        shown.notes.append(f"Noted in the meta files of {names}.")
    return shown


def record(games: Mapping[Contestant, Game], choices: Choices) -> list[Path]:
    """Write into the models' meta files how well each kind of map points; of two ways to make a map the worse one."""
    kept: dict[str, dict[str, dict[str, float]]] = {}
    for contestant, game in games.items():
        if contestant.kind:
            own = kept.setdefault(contestant.part, {})
            now, before = game.as_dict(), own.get(contestant.kind)
            if before is None or now["right"] - now["chance"] < before["right"] - before["chance"]:
                own[contestant.kind] = now
    return [_noted(part, model_of(part, choices), found) for part, found in kept.items()]


def _noted(part: str, model: str, found: Mapping[str, Mapping[str, float]]) -> Path:
    model = scan.named(model)[0] if part == "scan" else model
    folder = shipped.folder(part) if model == "default" else Path(model)
    path = folder / "meta.json"
    about = {**json.loads(path.read_text("utf-8")), "pointing": found}
    files = about.pop("files", {})  # stays last, where it is looked for
    path.write_text(json.dumps({**about, "files": files}, indent=1), "utf-8")
    return path

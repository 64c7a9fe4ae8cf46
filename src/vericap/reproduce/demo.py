"""The demo's photos with four candidates each, written before any metric had seen them: correct, detailed, correct in
other words, and incorrect with the references' words (in the manner of FAIEr's Figure 5)."""

from __future__ import annotations

import json
from pathlib import Path

from vericap.core.samples import Sample
from vericap.core.shipped import ROOT

FOLDER = ROOT / "demo"
PHOTOS: Path = FOLDER / "photos"
KINDS = ("correct", "detailed", "other words", "incorrect")
CANDIDATES = {
    "astronaut": (
        "An astronaut in an orange suit smiles in front of a flag.",
        "A short haired woman astronaut in a bright orange pressure suit smiles at the camera, with a white helmet "
        "before her and a flag and a shuttle model behind her.",
        "A female crew member happily sits for a photograph in flight gear.",
        "A woman wearing an orange flight suit holds a white dog on her lap.",
    ),
    "chelsea": (
        "A tabby cat looks to the side.",
        "A close up of a brown and orange striped cat with a pink nose, long white whiskers and wide open eyes that "
        "looks past the camera in a blurred room.",
        "A furry kitten gazing away from the viewer.",
        "A close up of a tabby dog with green eyes looking to the side.",
    ),
    "china": (
        "A red pagoda above green trees next to a lake.",
        "A tall ornate Chinese pagoda with orange tiled roofs and red balconies rises above dense green trees, with a "
        "wide lake under a hazy sky behind it.",
        "An old oriental shrine surrounded by woods near a body of water.",
        "A tall red bus stands among green trees next to a lake.",
    ),
    "coffee": (
        "A cup of espresso on a red saucer with a spoon.",
        "A red and white cup of dark espresso and a small shiny silver spoon sit on a round red saucer on a brown "
        "wooden table.",
        "Someone's hot beverage served on a tabletop.",
        "A red bowl of tomato soup on a saucer with a fork on a wooden table.",
    ),
    "flower": (
        "An orange dahlia in bloom with dark green leaves behind it.",
        "A large round peach colored dahlia with many layers of petals and a reddish center blooms above a second "
        "blossom in front of dark blurred green leaves.",
        "A plant blossoming in somebody's yard.",
        "A single orange butterfly in full flight against a dark green background.",
    ),
    "rocket": (
        "A white rocket on a launch pad at dusk.",
        "A tall white rocket stands between steel towers on its launch pad under a dark blue evening sky, while bright "
        "floodlights shine around its base.",
        "A spacecraft waiting to take off after sunset.",
        "A white airplane stands on a runway at dusk between tall towers.",
    ),
}
CREDITS = (
    "Photos: NASA (astronaut), S. van der Walt (cat), R. Michetti (coffee), SpaceX (rocket): public domain or CC0; "
    "danielbuechele (pagoda), vultilion (dahlia): CC BY 2.0, reduced."
)


def references(photo: str) -> tuple[str, ...]:
    """What people said of a photo."""
    lines = (FOLDER / "references.jsonl").read_text("utf-8").splitlines()
    found = {record["id"]: record["references"] for record in map(json.loads, lines)}
    return tuple(found[photo])


def samples(count: int) -> list[Sample]:
    """Four for each photo, in the order of KINDS, with so many references."""
    return [
        Sample(f"{photo}-{kind}", text, references(photo)[:count], f"{photo}.jpg")
        for photo, candidates in CANDIDATES.items()
        for kind, text in zip(KINDS, candidates)
    ]

"""Four candidates per photo, as in Figure 5 of the FAIEr paper: which metrics put the incorrect one last?

    python benchmarks/faier_figure5.py [--metrics NAME ...] [--picture FILE] [--references 5]

Correct, detailed and correct, correct in other words, and incorrect with the references' words. Photos and references
are those of `vericap demo` (public domain, CC0 and CC BY; see CREDITS.md beside them); the candidates were written
for this figure before any metric had seen them.
"""

from __future__ import annotations

import argparse
import json
import textwrap
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from metric_runs import photos, scored, short, usable

from vericap.core.samples import Sample
from vericap.core.table import Table

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "faier-candidates.png"
DEMO = Path(str(files("vericap") / "data" / "demo"))
METRICS = ("bleu-4", "meteor", "rouge-l", "spice-soft", "faier", "faier-plus")
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


def samples(references: int) -> list[Sample]:
    """Four for each photo, in the order of KINDS."""
    lines = (DEMO / "references.jsonl").read_text("utf-8").splitlines()
    texts = {record["id"]: record["references"] for record in map(json.loads, lines)}
    return [
        Sample(f"{photo}-{kind}", text, tuple(texts[photo][:references]), f"{photo}.jpg")
        for photo, candidates in CANDIDATES.items()
        for kind, text in zip(KINDS, candidates)
    ]


def sensible(scores: np.ndarray) -> np.ndarray:
    """(photos, 3): whether each correct candidate is above the incorrect one."""
    return scores[:, :3] > scores[:, 3:]


def candidate_table(found: dict[str, np.ndarray]) -> Table:
    shown = Table(("photo", "kind", "candidate", *found), digits=3, title="Four candidates per photo")
    for place, (photo, candidates) in enumerate(CANDIDATES.items()):
        for column, (kind, text) in enumerate(zip(KINDS, candidates)):
            shown.add(photo, kind, text, *(float(scores[place, column]) for scores in found.values()))
    return shown


def ranking_table(found: dict[str, np.ndarray], left_out: list[str]) -> Table:
    columns = ("metric", "photos in order", *(f"{kind} above incorrect" for kind in KINDS[:3]))
    shown = Table(columns, title="How often the incorrect candidate comes last")
    for name, scores in found.items():
        above = sensible(scores)
        shown.add(name, *(f"{some.sum()} of {len(above)}" for some in (above.all(axis=1), *above.T)))
    shown.notes = left_out
    return shown


def draw(found: dict[str, np.ndarray], path: Path) -> None:
    """A row per photo: photo, candidates, scores; red where the incorrect candidate is not below."""
    from PIL import Image

    from vericap.report.figures import pyplot, save

    plt = pyplot()
    names = list(found)
    figure, grid = plt.subplots(
        len(CANDIDATES), 2, figsize=(10.5, 1.75 * len(CANDIDATES)), gridspec_kw={"width_ratios": (1, 5)}
    )
    for place, (photo, candidates) in enumerate(CANDIDATES.items()):
        picture, text = grid[place]
        image = Image.open(DEMO / "photos" / f"{photo}.jpg").convert("RGB")
        image.thumbnail((240, 240))
        picture.imshow(image)
        picture.axis("off")
        text.axis("off")
        text.set_xlim(0, 1)
        text.set_ylim(0, 1)
        _rows(text, candidates, {name: found[name][place] for name in names}, heads=place == 0)
    figure.text(0.02, 0.014, "Red: not above the incorrect candidate.", fontsize=7.5, color="#c0392b")
    figure.text(0.02, 0.003, CREDITS, fontsize=6.5, color="#555555")
    figure.tight_layout(rect=(0, 0.022, 1, 0.99), h_pad=0.6)
    save(figure, path)
    with Image.open(path) as large:  # few colours: a quarter of the size
        small = large.convert("RGB").quantize(200)
    small.save(path, optimize=True)


def _rows(axes: Any, candidates: tuple[str, ...], scores: dict[str, np.ndarray], *, heads: bool) -> None:
    start = 0.56
    step = (1 - start) / len(scores)
    for column, (name, values) in enumerate(scores.items()):
        x = start + (column + 0.9) * step
        if heads:
            axes.text(
                x, 1.05, name.replace("-", "-\n", 1) if len(name) > 8 else name, fontsize=8, ha="right", weight="bold"
            )
        for row, value in enumerate(values):
            wrong = row < 3 and value <= values[3]
            style = {"color": "#c0392b", "weight": "bold"} if wrong else {"color": "#222222"}
            axes.text(x, 0.88 - 0.27 * row, f"{value:.3f}", fontsize=8, ha="right", va="center", **style)
    for row, (kind, caption) in enumerate(zip(KINDS, candidates)):
        y, lines = 0.88 - 0.27 * row, textwrap.wrap(caption, 66)
        colour = "#c0392b" if kind == "incorrect" else "#1e7d4f"
        axes.text(0.0, y, kind, fontsize=7.5, va="center", color=colour, weight="bold")
        axes.text(0.1, y, "\n".join(lines), fontsize=7.5, va="center", linespacing=1.05)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--metrics", nargs="+", default=list(METRICS))
    parser.add_argument("--references", type=int, default=5, choices=range(6))
    parser.add_argument("--picture", type=Path, default=PICTURE)
    args = parser.parse_args()
    settings, rows = photos(DEMO / "photos"), samples(args.references)
    good, left_out = usable(args.metrics, rows[0], settings)
    found = {short(name): values[0].reshape(-1, len(KINDS)) for name, values in scored([rows], good, settings).items()}
    print(candidate_table(found).markdown())
    print(ranking_table(found, left_out).markdown())
    draw(found, args.picture)
    print(f"Drawn in {args.picture}")


if __name__ == "__main__":
    main()

"""A figure of photos, each with captions and their scores, as papers show examples."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vericap.report import figures

WRONG, RIGHT, REMARK = "#c0392b", "#1e7d4f", "#666666"


@dataclass(frozen=True)
class Captioned:
    """One caption: its head, scores by metric, the metrics whose score is to be marked, and a remark below it."""

    head: str
    text: str
    scores: Mapping[str, float]
    marked: frozenset[str] = frozenset()
    wrong: bool = False
    remark: str = ""


@dataclass(frozen=True)
class Shown:
    """A photo and its captions."""

    photo: Path
    captions: Sequence[Captioned]


def draw(shown: Sequence[Shown], path: Path, *, note: str = "", credits: str = "") -> Path:
    """A row per photo: photo, captions, scores; marked scores are red."""
    from PIL import Image

    plt, most = figures.pyplot(), max(len(example.captions) for example in shown)
    figure, grid = plt.subplots(
        len(shown),
        2,
        figsize=(10.5, (0.5 + 0.32 * most) * len(shown)),
        gridspec_kw={"width_ratios": (1, 5)},
        squeeze=False,
    )
    for place, example in enumerate(shown):
        picture, text = grid[place]
        with Image.open(example.photo) as image:
            picture.imshow(image.convert("RGB").resize((240, max(1, 240 * image.height // image.width))))
        picture.axis("off")
        text.axis("off")
        text.set_xlim(0, 1)
        text.set_ylim(0, 1)
        _rows(text, example.captions, heads=place == 0)
    figure.text(0.02, 0.014, note, fontsize=7.5, color=WRONG)
    figure.text(0.02, 0.003, credits, fontsize=6.5, color="#555555")
    figure.tight_layout(rect=(0, 0.022, 1, 0.99), h_pad=0.6)
    return figures.save(figure, path)


def _rows(axes: Any, captions: Sequence[Captioned], *, heads: bool) -> None:
    start, names = 0.56, list(captions[0].scores)
    step, tall = (1 - start) / max(1, len(names)), 1.08 / len(captions)
    shown = [name.replace("-", "-\n", 1) if len(name) > 8 else name for name in names]
    size = 8 if all(len(line) <= 8 for name in shown for line in name.split("\n")) else 5.8
    for column, name in enumerate(names):
        x = start + (column + 0.9) * step
        if heads:
            axes.text(x, 1.05, shown[column], fontsize=size, ha="right", weight="bold")
        for row, caption in enumerate(captions):
            style = {"color": WRONG, "weight": "bold"} if name in caption.marked else {"color": "#222222"}
            axes.text(
                x, _height(row, tall), f"{caption.scores[name]:.3f}", fontsize=8, ha="right", va="center", **style
            )
    for row, caption in enumerate(captions):
        y, lines = _height(row, tall), textwrap.wrap(caption.text, 66)
        if caption.remark:
            axes.text(0.1, y - 0.17 * tall * (len(lines) + 1), caption.remark, fontsize=6.3, va="center", color=REMARK)
        colour = WRONG if caption.wrong else RIGHT
        axes.text(0.0, y, caption.head, fontsize=7.5, va="center", color=colour, weight="bold")
        axes.text(0.1, y, "\n".join(lines), fontsize=7.5, va="center", linespacing=1.05)


def _height(row: int, tall: float) -> float:
    return 0.88 - tall * row

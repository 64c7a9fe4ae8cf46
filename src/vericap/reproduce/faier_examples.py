"""FAIEr's Figures 5 and 6: four candidates per photo by several metrics, and what the network matches inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from vericap.core.samples import Sample
from vericap.core.table import Cell, Number, Table
from vericap.core.typing import Bools, Floats
from vericap.meta.published import Published, paper_values
from vericap.meta.scoring import metrics_of, score
from vericap.report import figures
from vericap.reproduce import demo
from vericap.reproduce.caption_figure import Captioned, Shown, draw
from vericap.reproduce.experiment import Choices, Outcome, cell, sources
from vericap.reproduce.models import SHIPPED
from vericap.reproduce.word_maps import FaierMaps, WordMap, faier_maps

METRICS = ("bleu-4", "meteor", "rouge-l", "spice", "spice-soft", "faier", "faier-plus")
# The references that Figure 5 prints; its candidates are the labels of the published numbers.
PRINTED = (
    "two children are standing in a grassy field.",
    "there are two children standing in the grass by water.",
    "two small children with umbrellas in a field near the shore.",
)


def figure_5(choices: Choices) -> Outcome:
    """The paper's own example by the metrics that need no photo, and six photos of ours by all."""
    settings = replace(choices.settings, images=demo.PHOTOS)
    names = choices.metrics or choices.over(*METRICS)
    found = score({"": demo.samples(5)}, metrics_of(names), settings, keep_going=True)
    values = {
        label: found.captions(label, "").reshape(-1, len(demo.KINDS))
        for label in found.metrics
        if not found.reason(label, [""])
    }
    tables = [_own_example(choices), _candidates(values), _ranking(values)]
    tables[-1].notes = [f"{label}: {reason}" for (label, _), reason in found.reasons.items()]
    drawn = [draw_candidates(values, choices.figure)] if choices.figure and values else []
    return Outcome(tables, drawn)


def _own_example(choices: Choices) -> Table:
    """What the paper prints for its photo beside ours; FAIEr would need that photo."""
    published = paper_values("faier", "Figure 5")
    candidates = list(dict.fromkeys(item.label for item in published))
    names = {item.column: item.metric for item in published}
    texts = [name for name in names.values() if name and name != "faier"]
    samples = [Sample(str(place), text, PRINTED) for place, text in enumerate(candidates)]
    found = score({"": samples}, metrics_of(texts), choices.settings)
    heads = [head for column in names for head in (column, f"{column}, paper")]
    shown = Table(["candidate", *heads], title="FAIEr, Figure 5: the paper's own example", digits=3)
    for place, candidate in enumerate(candidates):
        cells: list[Cell] = []
        for column, metric in names.items():
            ours = float(found.captions(metric, "")[place]) if metric in texts else None
            cells += [None if ours is None else _plain(ours), _plain_paper(cell(published, candidate, column))]
        shown.add(candidate, *cells)
    shown.notes = [*sources(published), "FAIEr needs the photo, which the paper does not name."]
    return shown


def _plain(value: float) -> Cell:
    """Tiny BLEU scores as the paper prints them."""
    return Number(value, digits=3) if value == 0 or abs(value) >= 0.001 else f"{value:.2e}"


def _plain_paper(items: Sequence[Published]) -> Cell:
    return _plain(items[0].value) if items else None


def above(scores: Floats) -> Bools:
    """(photos, 3): whether each correct candidate is above the incorrect one."""
    return np.asarray(scores[:, :3] > scores[:, 3:])


def _candidates(found: Mapping[str, Floats]) -> Table:
    shown = Table(["photo", "kind", "candidate", *found], digits=3, title="Four candidates per photo of ours", keys=2)
    for place, (photo, candidates) in enumerate(demo.CANDIDATES.items()):
        for column, (kind, text) in enumerate(zip(demo.KINDS, candidates)):
            shown.add(photo, kind, text, *(float(scores[place, column]) for scores in found.values()))
    return shown


def _ranking(found: Mapping[str, Floats]) -> Table:
    columns = ("metric", "photos in order", *(f"{kind} above incorrect" for kind in demo.KINDS[:3]))
    shown = Table(columns, title="How often the incorrect candidate comes last")
    for name, scores in found.items():
        right = above(scores)
        shown.add(name, *(f"{int(some.sum())} of {len(right)}" for some in (right.all(axis=1), *right.T)))
    return shown


def draw_candidates(found: Mapping[str, Floats], path: Path) -> Path:
    """A row per photo: photo, candidates, scores; red where the incorrect candidate is not below."""
    shown = []
    for place, (photo, candidates) in enumerate(demo.CANDIDATES.items()):
        scores = {name: values[place] for name, values in found.items()}
        captions = [
            Captioned(
                kind,
                text,
                {name: float(values[row]) for name, values in scores.items()},
                frozenset(name for name, values in scores.items() if row < 3 and values[row] <= values[3]),
                wrong=kind == demo.KINDS[-1],
            )
            for row, (kind, text) in enumerate(zip(demo.KINDS, candidates))
        ]
        shown.append(Shown(demo.PHOTOS / f"{photo}.jpg", captions))
    return draw(shown, path, note="Red: not above the incorrect candidate.", credits=demo.CREDITS)


# --- Figure 6 ---------------------------------------------------------------------------------------------------

SHOWN = 4  # regions that are drawn, as in the paper
REFERENCES = 3


def figure_6(choices: Choices) -> Outcome:
    """Regions matched with the words of three references, union nodes with those of four candidates."""
    photo = next(iter(demo.CANDIDATES))
    own = [sample for sample in demo.samples(REFERENCES) if sample.id.startswith(f"{photo}-")]
    settings = replace(choices.settings, images=demo.PHOTOS)
    maps = [found for found in faier_maps(own, settings, choices.model(SHIPPED)) if found is not None]
    regions = major_regions(maps)
    panels = [(f"reference {n}", found, True) for n, found in enumerate(maps[0].references, 1)]
    panels += [(kind, found.candidate, False) for kind, found in zip(demo.KINDS, maps)]
    shown = Table(["text", "word", *(f"obj{n}" for n in range(1, len(regions) + 1))], digits=2, keys=2)
    shown.title = f"FAIEr, Figure 6: {photo}, matching of regions and words"
    for name, found, _ in panels:
        for column, word in enumerate(found.words()):
            shown.add(name, word, *(float(found.values[region, column]) for region in regions))
    shown.notes = [
        f"References: W_a (v_i * h_jk), before softmax makes it attention. Candidates: z_i . h_ck. The {len(regions)} "
        "regions are those that are some candidate word's best most often. Paper: its heat maps are drawn, not printed."
    ]
    drawn = [draw_maps(photo, panels, regions, choices.figure)] if choices.figure else []
    return Outcome([shown], drawn)


def major_regions(maps: Sequence[FaierMaps]) -> list[int]:
    """The regions that are most often a candidate word's best."""
    best = np.concatenate([found.candidate.values.argmax(axis=0) for found in maps])
    counts = np.bincount(best, minlength=len(maps[0].candidate.boxes))
    return sorted(np.argsort(-counts, kind="stable")[:SHOWN].tolist())


def draw_maps(photo: str, panels: Sequence[tuple[str, WordMap, bool]], regions: Sequence[int], path: Path) -> Path:
    """The photo with its regions; a red map for each reference, a blue one for each candidate, scaled caption by
    caption."""
    from PIL import Image

    plt = figures.pyplot()
    figure, grid = plt.subplots(len(panels) + 1, 1, figsize=(10, 2.6 + 1.15 * len(panels)),
                                gridspec_kw={"height_ratios": (3, *[1] * len(panels))})  # fmt: skip
    with Image.open(demo.PHOTOS / f"{photo}.jpg") as image:
        grid[0].imshow(image.convert("RGB"))
        width, height = image.size
    grid[0].axis("off")
    boxes = panels[0][1].boxes
    for number, region in enumerate(regions, 1):
        left, top, right, bottom = boxes[region] * (width, height, width, height)
        colour = figures.COLOURS[number - 1]
        grid[0].add_patch(
            plt.Rectangle((left, top), right - left, bottom - top, fill=False, edgecolor=colour, linewidth=2)
        )
        white = {"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.8}
        grid[0].text(left + 8, top + 8, f"obj{number}", color=colour, fontsize=8, va="top", weight="bold", bbox=white)
    for axes, (name, found, reference) in zip(grid[1:], panels):
        axes.imshow(found.values[list(regions)], cmap="Reds" if reference else "Blues", aspect="auto")
        axes.set_xticks(range(len(found.spans)), found.words(), fontsize=7, rotation=25)
        axes.set_yticks(range(len(regions)), [f"obj{n}" for n in range(1, len(regions) + 1)], fontsize=7)
        axes.set_ylabel(name, fontsize=7, rotation=0, ha="right", labelpad=26)
    figure.tight_layout()
    return figures.save(figure, path)

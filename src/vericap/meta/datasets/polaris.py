"""Polaris (Wada et al. 2024), Nebula (Matsuda et al. 2024), and the Japanese Shichimi and PFN-PIC ratings."""

from __future__ import annotations

from pathlib import Path

from vericap.core.errors import InputError
from vericap.meta.datasets.common import first_of, listed, need, number, present, table
from vericap.meta.judgements import Ratings, ragged


def read_polaris(folder: Path) -> Ratings:
    """`polaris_test.csv`: imgid, mt, refs (a list), score 0-1."""
    return _read(folder, "polaris", ("polaris_test.csv", "polaris.csv"), scale=(0.0, 1.0))


def read_nebula(folder: Path) -> Ratings:
    """`nebula_test.csv`: the columns of Polaris; the score may be called human_score."""
    return _read(folder, "nebula", ("nebula_test.csv", "nebula.csv"), scale=(0.0, 1.0))


def read_shichimi(folder: Path) -> Ratings:
    """`shichimi.csv`: imgid, mt, refs, score 1-5, where known model, worker, seconds; a line per rating."""
    return _read(folder, "shichimi", ("shichimi.csv", "shichimi_test.csv"), scale=(1.0, 5.0), lang="ja")


def read_pfn_pic(folder: Path) -> Ratings:
    """`pfn_pic.csv`: the columns of Shichimi; captions are fetching instructions."""
    return _read(folder, "pfn-pic", ("pfn_pic.csv", "pfn-pic.csv"), scale=(1.0, 5.0), lang="ja")


def _read(folder: Path, name: str, files: tuple[str, ...], *, scale: tuple[float, float], lang: str = "en") -> Ratings:
    path = first_of(folder, *files)
    found: dict[tuple[str, str], list[tuple[float, str, float]]] = {}
    references: dict[tuple[str, str], tuple[str, ...]] = {}
    systems: dict[tuple[str, str], str] = {}
    for line, row in table(path):
        image = str(need(row, ["imgid", "image", "image_id"], path, line))
        caption = str(need(row, ["mt", "caption", "candidate"], path, line)).strip()
        score = number(need(row, ["score", "human_score", "rating"], path, line), path, line, "score")
        seconds = row.get("seconds") or row.get("time") or "nan"
        key = (image, caption)
        found.setdefault(key, []).append((score, row.get("worker", ""), number(seconds, path, line, "seconds")))
        references[key] = listed(need(row, ["refs", "references"], path, line), path, line)
        systems[key] = row.get("model", "") or row.get("system", "")
    if not found:
        raise InputError(f"{path}: no rating was found below the header")
    keys = list(found)
    width = max(map(len, found.values()))
    named = any(worker for ratings in found.values() for _, worker, _ in ratings)
    return Ratings(
        name=name,
        candidates=[caption for _, caption in keys],
        references=[references[key] for key in keys],
        ratings=ragged([score for score, _, _ in found[key]] for key in keys),
        scale=scale,
        images=[image for image, _ in keys],
        ids=[f"{image}/{place}" for place, (image, _) in enumerate(keys)],
        systems=[systems[key] for key in keys] if any(systems.values()) else None,
        raters=[[w for _, w, _ in found[key]] + [""] * (width - len(found[key])) for key in keys] if named else None,
        seconds=ragged([s for _, _, s in found[key]] for key in keys),
        lang=lang,
        image_folder=present(folder, "images"),
    )

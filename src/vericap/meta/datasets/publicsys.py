"""PublicSys (Rohrbach et al. 2018): captions of five systems on 500 COCO images, rated by people."""

from __future__ import annotations

from pathlib import Path

from vericap.core.errors import InputError, Problem
from vericap.meta.datasets.common import coco_captions, first_of, json_file, lines, number
from vericap.meta.judgements import Ratings, ragged

# In the order of the rating files 0*.txt.
SYSTEMS = {
    "baseline-gan_beam5_test": "MPI-CE",
    "nbt_beam5_test": "NBT-CE",
    "gan_beam5_test": "MPI-GAN",
    "td_beam5_test": "TD-CE",
    "td-sc_beam5_test": "TD-SC",
}


def read(folder: Path) -> Ratings:
    """`human_scores/imageIDs.txt`, `human_scores/0*.txt` (name, score, ...), `generated_sentences/*.json`."""
    scores = folder / "human_scores" if (folder / "human_scores").is_dir() else folder
    images = [text.strip() for _, text in lines(first_of(scores, "imageIDs.txt"))]
    files = sorted(scores.glob("0*.txt"))
    if len(files) != len(SYSTEMS):
        raise InputError(f"{scores}: {len(files)} rating files 0*.txt, {len(SYSTEMS)} were expected")
    references = coco_captions(_captions_file(folder))
    rows: list[tuple[str, str, str, list[float]]] = []
    problems: list[Problem] = []
    for path, (output, system) in zip(files, SYSTEMS.items()):
        captions = _outputs(first_of(folder / "generated_sentences", f"{output}.json"))
        rated = list(lines(path))
        if len(rated) != len(images):
            raise InputError(f"{path}: {len(rated)} ratings for {len(images)} images")
        for image, (line, text) in zip(images, rated):
            values = [number(cell, path, line, "rating") for cell in text.split("\t")[1:2]]
            if image not in captions or image not in references:
                reason = f"image '{image}' has no caption; left out"
                problems.append(Problem(f"line {line}", reason, str(path)))
                continue
            rows.append((image, system, captions[image], values))
    return Ratings(
        name="publicsys",
        candidates=[caption for _, _, caption, _ in rows],
        references=[references[image] for image, _, _, _ in rows],
        ratings=ragged(values for _, _, _, values in rows),
        scale=(1.0, 5.0),
        images=[image for image, _, _, _ in rows],
        ids=[f"{image}/{system}" for image, system, _, _ in rows],
        systems=[system for _, system, _, _ in rows],
        problems=problems,
    )


def _captions_file(folder: Path) -> Path:
    for place in (folder, folder.parent / "coco"):
        for name in ("captions_val2014.json", "captions_val2014.json.gz"):
            if (place / name).is_file():
                return place / name
    raise InputError(f"{folder}: captions_val2014.json is missing; put COCO's captions there or in ../coco")


def _outputs(path: Path) -> dict[str, str]:
    """Captions by image from COCO results, or from the authors' `imgToEval` / `sentences` files."""
    data = json_file(path)
    if isinstance(data, dict):
        data = data.get("sentences") or [
            {"image_id": image, **entry} for image, entry in data.get("imgToEval", {}).items()
        ]
    return {str(entry["image_id"]): entry["caption"] for entry in data}

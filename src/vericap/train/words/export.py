"""Write the visual words as scoring reads them: 8-bit weights, and how the two heads are weighed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from vericap.core import shipped
from vericap.core.typing import Array, Floats32, Ints
from vericap.train.words.network import CellsModule, WholeModule, pooled
from vericap.train.words.training import CellsTask, Standard, WholeTask
from vericap.train.words.vocabulary import PHRASES, WORDS, Vocabulary

KINDS = (*WORDS, *PHRASES)


def logits(whole: WholeTask, cells: CellsTask) -> tuple[Tensor, Tensor]:
    """What both heads say of the dev photos: (photos, entries) each."""
    data = cells.dev
    with torch.no_grad():
        first = whole.logits(whole.dev[0])
        every = torch.arange(first.shape[1])
        parts = [
            pooled(cells.model.at_cells(cells._seen(data, rows).cells, every))
            for rows in np.array_split(np.arange(len(data)), max(len(data) // 16, 1))
        ]
    return first, torch.cat(parts)


def weighed(first: Tensor, second: Tensor, target: Tensor, prior: Tensor, kinds: Ints) -> Floats32:
    """(kinds, 3): weights of the whole and of the cells and a constant that predict best what is said on dev photos."""
    found = np.zeros((len(KINDS), 3), dtype=np.float32)
    for kind in np.unique(kinds).tolist():
        own = torch.from_numpy(np.flatnonzero(kinds == kind))
        given = torch.stack([first[:, own] - prior[own], second[:, own] - prior[own], torch.ones(len(first), len(own))])
        found[kind] = _fitted(given, prior[own], target[:, own])
    return found


def _fitted(given: Tensor, base: Tensor, target: Tensor) -> Floats32:
    """Weights of logits (3, photos, entries) that are added to a base."""
    weights = torch.tensor([0.6, 0.4, 0.0], requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=50)

    def loss() -> Tensor:
        optimizer.zero_grad()
        fused = base + torch.einsum("k,kpe->pe", weights, given)
        value = functional.binary_cross_entropy_with_logits(fused, target)
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    return np.asarray(weights.detach().numpy(), dtype=np.float32)


def write(
    folder: Path,
    whole: tuple[WholeModule, Standard],
    cells: tuple[CellsModule, Mapping[str, Standard]],
    vocabulary: Vocabulary,
    fusion: Floats32,
    describe: Mapping[str, Any],
) -> None:
    """`visual_words.safetensors`, the entries, and meta.json."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    first, second = whole[0], cells[0]
    matrices: dict[str, Tensor] = {
        "whole_hidden": first.hidden.weight,
        "whole_words": first.words.weight,
        "middle": second.middle.weight,
    }
    matrices |= {"last": second.last.weight, "space": second.space.weight, "words": second.words.weight}
    vectors: dict[str, Tensor] = {
        "whole_hidden_bias": first.hidden.bias,
        "whole_words_bias": first.words.bias,
        "words_bias": second.bias,
    }
    vectors |= {"hidden_bias": second.middle.bias, "space_bias": second.space.bias}
    vectors |= {"box": second.box.weight, "box_bias": second.box.bias}
    arrays: dict[str, Array] = {name: value.detach().numpy().copy() for name, value in vectors.items()}
    for name, value in matrices.items():
        arrays |= small(name, value.detach().numpy())
    for name, standard in {"whole": whole[1], **cells[1]}.items():
        arrays |= {f"{name}_mean": standard.mean, f"{name}_deviation": standard.deviation}
    prior = np.array(vocabulary.prior, dtype=np.float32)
    arrays |= {"fusion": fusion, "prior": np.log(prior / (1 - prior)), "kinds": kinds_of(vocabulary).astype(np.uint8)}
    save_file(
        {name: np.ascontiguousarray(value) for name, value in arrays.items()}, folder / "visual_words.safetensors"
    )
    entries = [text for _, text in vocabulary.entries]
    (folder / "entries.json").write_text(json.dumps({"kinds": KINDS, "entries": entries}, ensure_ascii=False), "utf-8")
    shipped.write_meta(folder, dict(describe))


def small(name: str, matrix: Array) -> dict[str, Array]:
    """A matrix in 8 bits with a scale for every row."""
    scale = np.maximum(np.abs(matrix).max(axis=1), 1e-8) / 127
    return {name: np.rint(matrix / scale[:, None]).astype(np.int8), f"{name}_scale": scale.astype(np.float32)}


def kinds_of(vocabulary: Vocabulary) -> Ints:
    return np.array([KINDS.index(kind) for kind, _ in vocabulary.entries], dtype=np.int64)

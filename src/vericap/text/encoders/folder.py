"""Sentence encoders a user has on disk, as sentence-transformers saves them.

Read without torch where the folder holds `onnx/model.onnx` (as published beside most of them); otherwise transformers
opens it (group `hub`). The pooling is the one of `1_Pooling/config.json`: the mean of all pieces, or the first one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core import onnx, shipped
from vericap.core.errors import InputError, require
from vericap.core.typing import Floats32, Ints
from vericap.text.encoders.base import LENGTH, Cut, SentenceEncoder, like_lengths, padded

_TOGETHER = 2048  # word pieces computed together
_POOLINGS = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "first"}

# Plain captions of everything people photograph: their mean vector is what all captions share.
_SUBJECTS = ("A man", "Two women", "A group of people", "A small child", "A brown dog", "A cat", "Several birds")
_ACTIONS = ("is sitting", "is standing", "walking", "playing", "looking at the camera", "lies", "with a ball")
_PLACES = ("on a street", "in a kitchen", "near the water", "in a grassy field", "at a table with food", "on a bed")
_THINGS = (
    "A red bus",
    "A plate of food",
    "A white toilet",
    "A large clock",
    "A train",
    "A laptop",
    "A vase of flowers",
)


class FolderEncoder(SentenceEncoder):
    """The encoder in a sentence-transformers folder."""

    def __init__(self, folder: str | Path, *, threads: int = 1) -> None:
        self._folder, self._threads = Path(folder), threads
        self.name = name(self._folder)
        self._pooling = pooling(self._folder)
        self._open = _opened_onnx if _onnx_file(self._folder) else _opened_transformers

    @cached_property
    def width(self) -> int:  # type: ignore[override]
        return int(self._network([[*self._marks]])[0].shape[-1])

    @cached_property
    def length(self) -> int:  # type: ignore[override]
        """Word pieces it was trained to read at once."""
        said = _json(self._folder / "sentence_bert_config.json").get("max_seq_length")
        return int(said or LENGTH)

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        made = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        made.no_padding()
        made.no_truncation()
        return made

    @cached_property
    def _marks(self) -> list[int]:
        return list(self._tokenizer.encode("").ids)

    @cached_property
    def _network(self) -> Any:
        return self._open(self._folder, self._threads)

    def cut(self, texts: Sequence[str]) -> list[Cut]:
        return [Cut(item.ids, item.offsets) for item in self._tokenizer.encode_batch(list(texts))] if texts else []

    @cached_property
    def _common(self) -> tuple[Floats32, Floats32]:
        captions = [f"{who} {does} {where}." for who, does, where in product(_SUBJECTS, _ACTIONS, _PLACES)]
        captions += [f"{thing} {where}." for thing, where in product(_THINGS, _PLACES)]
        phrases = [part.removeprefix("A ").lower() for part in (*_SUBJECTS, *_THINGS)]
        phrases += [f"{who} {where}" for who, where in product(phrases, _PLACES)]
        first, second = (self.sentences(texts).astype(np.float32).mean(axis=0) for texts in (captions, phrases))
        return first, second

    def caption_mean(self) -> Floats32:
        return self._common[0]

    def phrase_mean(self) -> Floats32:
        return self._common[1]

    def _means(self, windows: Sequence[Sequence[int]]) -> Floats32:
        pooled = [own[0] if self._pooling == "first" else own.mean(axis=0) for own in self._states(windows)]
        return np.stack(pooled) if pooled else np.zeros((0, self.width), dtype=np.float32)

    def _states(self, windows: Sequence[Sequence[int]]) -> list[Floats32]:
        found: list[Floats32] = [np.zeros((0, 0), dtype=np.float32)] * len(windows)
        for group in like_lengths([len(own) for own in windows], _TOGETHER):
            for place, own in zip(group, self._network([windows[i] for i in group])):
                found[place] = own
        return found


def is_folder(folder: Path) -> bool:
    """Whether sentence-transformers wrote this folder."""
    return (folder / "modules.json").is_file() and (folder / "tokenizer.json").is_file()


def name(folder: Path) -> str:
    """Name of the encoder in a folder: the folder's, and the first digits of its weights' SHA-256."""
    weights = _onnx_file(folder) or folder / "model.safetensors"
    if not weights.is_file():
        raise InputError(f"{folder} holds neither onnx/model.onnx nor model.safetensors; save the encoder there again")
    return f"{folder.resolve().name}-{shipped.sha256(weights)[:8]}"


def pooling(folder: Path) -> str:
    """How the vector of a text is made of its pieces' states: their `mean`, or the `first` one."""
    said = _json(folder / "1_Pooling" / "config.json")
    chosen = [kind for key, kind in _POOLINGS.items() if said.get(key)]
    others = [key for key, value in said.items() if key.startswith("pooling_mode_") and value and key not in _POOLINGS]
    if len(chosen) != 1 or others:
        raise InputError(f"{folder}/1_Pooling/config.json asks for {chosen + others or 'nothing'}; known: mean, cls")
    return chosen[0]


def _json(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    except ValueError as error:
        raise InputError(f"{file} is not JSON ({error})") from error
    return found if isinstance(found, dict) else {}


def _onnx_file(folder: Path) -> Path | None:
    found = (folder / "onnx" / "model.onnx", folder / "model.onnx")
    return next((file for file in found if file.is_file()), None)


def _opened_onnx(folder: Path, threads: int) -> Any:
    session = onnx.session(_onnx_file(folder) or folder, threads=threads)
    inputs = {item.name for item in session.get_inputs()}
    output = session.get_outputs()[0].name

    def run(windows: Sequence[Sequence[int]]) -> list[Floats32]:
        ids, mask = padded(windows)
        given: dict[str, Ints] = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (states,) = session.run([output], {key: value for key, value in given.items() if key in inputs})
        return [states[row, : len(own)].astype(np.float32) for row, own in enumerate(windows)]

    return run


def _opened_transformers(folder: Path, threads: int) -> Any:
    transformers = require("transformers", "hub", "an encoder without onnx/model.onnx")
    torch = require("torch", "hub", "an encoder without onnx/model.onnx")
    try:
        model = transformers.AutoModel.from_pretrained(folder, use_safetensors=True, local_files_only=True).eval()
    except (OSError, ValueError) as error:
        raise InputError(f"{folder} is not a model transformers can open ({error})") from error

    def run(windows: Sequence[Sequence[int]]) -> list[Floats32]:
        ids, mask = map(torch.from_numpy, padded(windows))
        with torch.no_grad():
            states = model(input_ids=ids, attention_mask=mask).last_hidden_state.float().numpy()
        return [states[row, : len(own)] for row, own in enumerate(windows)]

    return run

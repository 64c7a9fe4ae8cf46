"""Fine-tune the image backbone's upper blocks on image-caption pairs, and with them the `vse` encoder.

1. Every photo runs once through the frozen lower blocks; their output (float16) is kept on disk (`maps`).
2. Every caption runs once through the shipped sentence encoder, the teacher.
3. The upper blocks and a small head are trained: each window of the map is mapped into the sentence space
   (train.vse.training has the loss).
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from vericap.core import shipped
from vericap.core.errors import InputError
from vericap.text.encoders import CAPTIONS
from vericap.train.backbone import lite
from vericap.train.backbone.export import examples, export
from vericap.train.backbone.network import BackboneModule, UpperBlocks
from vericap.train.backbone.onnx_files import with_upper
from vericap.train.trainer import Trainer, TrainPlan
from vericap.train.vse.training import VseOptions, VseSource, VseTask


def train(
    main: VseSource,
    extra: VseSource | None,
    validation: VseSource,
    output: str | Path,
    *,
    lower: Path,
    plan: TrainPlan,
    options: VseOptions | None = None,
    network: lite.LiteNetwork | None = None,
    text_encoder: str = CAPTIONS,
    start: str | Path | None = None,
    name: str = "vericap-vse",
    quiet: bool = False,
) -> dict[str, Any]:
    """Train, then export the backbone (ONNX, 8-bit arithmetic) and the encoder (safetensors) with their meta
    files. `lower` holds the frozen blocks the maps were made with; `start` is an earlier training this one
    begins with (see `begin_with`)."""
    options = options or VseOptions()
    network = network or lite.load()
    torch.manual_seed(plan.seed)
    model = BackboneModule(network, options.hidden, main.texts.shape[-1])
    describe: dict[str, Any] = {
        "options": asdict(options),
        "photos": [len(main), 0 if extra is None else len(extra)],
    }
    if start is not None:
        describe["before"] = begin_with(model, network, start)
    groups = [
        {"params": list(model.upper.parameters()), "lr": options.backbone_rate},
        {"params": list(model.head.parameters()), "lr": options.head_rate},
    ]
    task = VseTask(model, main, extra, validation, options, plan.seed)
    if plan.steps:
        trainer = Trainer(model, groups, plan, output, describe=describe, quiet=quiet)
        state = trainer.run(task.losses, task.validate)
        trainer.load_best()
        trained = {**describe, "steps": state.best_step, "agreement": state.best}
    else:  # the earlier weights, written again: over other lower blocks, say
        with torch.no_grad():
            trained = {**describe, "steps": 0, "agreement": task.validate()["agreement"]}
    export(
        model,
        network,
        Path(output),
        lower=lower,
        examples=examples(main, extra),
        size=options.size,
        name=name,
        text_encoder=text_encoder,
        trained=trained,
    )
    return trained


def begin_with(model: BackboneModule, network: lite.LiteNetwork, start: str | Path) -> dict[str, Any]:
    """Take over the weights of an earlier training; what it was trained on.

    `start` is its output folder, or one that holds only what it wrote (`backbone/` and `vse/`, weights rounded to 8
    bits or less); "default" are the shipped parts.
    """
    folder = shipped.folder("backbone").parent if start == "default" else Path(start)
    file, written = folder / "best.pt", folder / "backbone" / "backbone.onnx"
    meta = folder / "vse" / "meta.json"
    if file.is_file():
        saved = torch.load(file, weights_only=True)
        with torch.no_grad():
            for own, best in zip([*model.upper.parameters(), *model.head.parameters()], saved["averaged"]):
                own.copy_(best)
        if not meta.is_file():  # stopped early
            return {"steps": int(saved["step"])}
    elif written.is_file() and meta.is_file():
        model.upper = UpperBlocks(with_upper(network, written))
        model.head.begin_with(shipped.weights(str(folder / "vse"), "vse")[0])
    else:
        raise InputError(
            f"{folder} holds no finished training (best.pt is missing); `start=DIR` names its output folder"
        )
    found: dict[str, Any] = json.loads(meta.read_text("utf-8"))["trained"]
    return found

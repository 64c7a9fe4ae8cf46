"""ONNX Runtime sessions. A network is opened here and nowhere else, so that openings can be counted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vericap.core.errors import VericapError
from vericap.core.onnx_file import with_outputs

opened: list[Path] = []  # every model file this process has opened, in order


def session(model: Path, *, threads: int = 1, outputs: Sequence[str] = ()) -> Any:
    """A session on the CPU, or on what VERICAP_PROVIDERS names (comma-separated).

    `outputs` are inner values of the network, of float32, to be given too.
    """
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    providers = os.environ.get("VERICAP_PROVIDERS", "CPUExecutionProvider").split(",")
    opened.append(Path(model))
    try:
        given = with_outputs(Path(model).read_bytes(), outputs) if outputs else str(model)
        return ort.InferenceSession(given, options, providers=providers)
    except Exception as error:  # onnxruntime raises its own, unexported types
        raise VericapError(f"{model} is not a model ONNX Runtime can open ({error})") from error

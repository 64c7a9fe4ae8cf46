"""Where networks run: the execution providers of ONNX Runtime, by short names."""

from __future__ import annotations

import os

from vericap.core.errors import VericapError

PROVIDERS = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
    "rocm": "ROCMExecutionProvider",
    "directml": "DmlExecutionProvider",
    "coreml": "CoreMLExecutionProvider",
    "openvino": "OpenVINOExecutionProvider",
}
_PREFERRED = ("cuda", "rocm", "directml", "coreml")  # of `auto`, the first one there is
_PACKAGES = {"cuda": "onnxruntime-gpu", "tensorrt": "onnxruntime-gpu", "directml": "onnxruntime-directml",
             "rocm": "onnxruntime-rocm", "openvino": "onnxruntime-openvino"}  # fmt: skip
VARIABLE = "VERICAP_PROVIDERS"


def available() -> list[str]:
    """Devices that the installed ONNX Runtime knows."""
    import onnxruntime

    there = set(onnxruntime.get_available_providers())
    return [name for name, provider in PROVIDERS.items() if provider in there]


def providers(device: str) -> list[str]:
    """Execution providers of a device, the processor last: what a network's device lacks is computed there.

    Examples
    --------
    >>> providers("cpu")
    ['CPUExecutionProvider']
    """
    there = available()
    name = device.lower()
    if name == "auto":
        name = next((found for found in _PREFERRED if found in there), "cpu")
    if name not in PROVIDERS:
        raise VericapError(f"`device={device}`: there is no such device; choose auto or one of {', '.join(PROVIDERS)}")
    if name not in there:
        package = _PACKAGES.get(name)
        advice = f"; install {package} instead of onnxruntime" if package else ""
        raise VericapError(f"`device={device}`: the installed ONNX Runtime knows {', '.join(there)} only{advice}")
    return list(dict.fromkeys([PROVIDERS[name], PROVIDERS["cpu"]]))


def use(device: str) -> None:
    """Open networks on a device from now on, in this process and in those it starts."""
    os.environ[VARIABLE] = ",".join(providers(device))

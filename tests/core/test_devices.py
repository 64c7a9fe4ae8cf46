"""Devices of networks: the processor is always there, others are named with what would bring them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from vericap.cli import main
from vericap.core import devices, onnx
from vericap.core.errors import VericapError


def test_the_processor_is_always_there() -> None:
    assert "cpu" in devices.available()
    assert devices.providers("CPU") == ["CPUExecutionProvider"]
    assert devices.providers("auto")[-1] == "CPUExecutionProvider"


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(VericapError, match=r"no such device; choose auto or one of cpu, cuda"):
        devices.providers("gpu")
    absent = next(name for name in devices.PROVIDERS if name not in devices.available())
    with pytest.raises(VericapError, match=r"knows .*cpu.* only"):
        devices.providers(absent)


def test_the_command_line_chooses_the_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setenv(devices.VARIABLE, "")
    path = tmp_path / "x.jsonl"
    path.write_text('{"id": "1", "candidate": "a dog", "references": ["the dog"]}\n')
    before = len(onnx.opened)
    assert main(["score", str(path), "-m", "rouge-l", "--device", "cpu", "-q"]) == 0
    assert os.environ[devices.VARIABLE] == "CPUExecutionProvider"
    assert len(onnx.opened) == before  # no network is opened for a metric that has none
    assert main(["score", str(path), "-m", "rouge-l", "--device", "gpu", "-q"]) == 2
    assert "--device gpu" in capsys.readouterr().err

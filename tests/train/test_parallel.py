"""Two processes take the steps that one takes with the same batch, and go on after an interruption."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from vericap.core import shipped  # noqa: E402
from vericap.core.errors import InputError, VericapError  # noqa: E402
from vericap.train import parallel  # noqa: E402

SCRIPT = Path(__file__).with_name("four_trainings.py")
PARTS = {"vse": "vse", "scan": "scan", "faier": "faier", "plus": "faier_plus"}


def run(folder: Path, *more: str, processes: int = 1) -> None:
    together = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command = [sys.executable, *(together if processes > 1 else []), str(SCRIPT), str(folder), *more]
    done = subprocess.run(
        command, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr


def log(folder: Path) -> list[dict[str, float]]:
    with (folder / "log.csv").open() as stream:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(stream)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parallel")
    run(folder / "one")
    run(folder / "two", processes=2)
    return folder


@pytest.mark.parametrize("model", PARTS)
def test_losses_and_weights_are_those_of_one_process(model: str, trained: Path) -> None:
    one, two = (log(trained / name / model) for name in ("one", "two"))
    assert [row["step"] for row in one] == [2, 4, 6, 8]
    np.testing.assert_allclose([row["loss"] for row in two], [row["loss"] for row in one], rtol=1e-4)
    assert len({row["loss"] for row in one}) == 4  # batches differ: a loss that stood still would agree with anything
    part = PARTS[model]
    first, second = (shipped.weights(str(trained / name / model / part), part)[0] for name in ("one", "two"))
    for name in first:
        np.testing.assert_allclose(second[name].astype(float), first[name].astype(float), atol=2e-2, err_msg=name)


def test_two_processes_go_on_after_an_interruption(trained: Path, tmp_path: Path) -> None:
    run(tmp_path, "4", processes=2)
    assert [row["step"] for row in log(tmp_path / "scan")] == [2, 4]
    run(tmp_path, "8", processes=2)
    whole, parts = ((folder / "scan" / "log.csv").read_text() for folder in (trained / "two", tmp_path))
    assert whole == parts


def test_one_process_is_alone() -> None:
    values = torch.ones(3, 2, requires_grad=True)
    assert parallel.gather(values) is values
    assert (parallel.count(), parallel.rank(), parallel.part(7)) == (1, 0, slice(0, 7))
    assert parallel.told(lambda: {"x": 1.0}) == {"x": 1.0}


def test_a_batch_is_shared_as_evenly_as_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "count", lambda: 3)
    parts = []
    for rank in range(3):
        monkeypatch.setattr(parallel, "rank", lambda own=rank: own)
        parts.append(parallel.part(8))
        with pytest.raises(VericapError, match="3 processes cannot share 2 images"):
            parallel.part(2)
    assert [list(range(8))[part] for part in parts] == [[0, 1], [2, 3, 4], [5, 6, 7]]


def test_a_device_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match="`device=nonsense` cannot be used here"):
        parallel.start("nonsense")
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="`device=cuda` cannot be used here"):
            parallel.start("cuda")
    assert parallel.start("cpu") == torch.device("cpu")

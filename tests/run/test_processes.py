"""Image metrics in several processes: the same numbers, reasons and explanations as in one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vericap.core.errors import InputError
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics.registry import resolve
from vericap.run import plan, processes
from vericap.run.engine import Run
from vericap.vision.regions import Extractor
from vericap.vision.store import FeatureWriter


def refuse(number: int) -> int:
    if number == 3:
        raise InputError("three is no good")
    return 10 * number


def threads(_: int) -> str:
    return os.environ["OMP_NUM_THREADS"]


def test_pieces_come_in_order_and_errors_as_they_are() -> None:
    before = os.environ.get("OMP_NUM_THREADS")
    assert list(processes.in_order(refuse, iter([5, 1, 2]), 2)) == [50, 10, 20]
    assert list(processes.in_order(threads, [0], 2)) == ["1"]
    assert os.environ.get("OMP_NUM_THREADS") == before
    with pytest.raises(InputError, match="three is no good"):
        list(processes.in_order(refuse, range(9), 2))


def test_what_another_process_can_be_given() -> None:
    class Inside:
        pass

    assert processes.portable(["vse"])
    assert not processes.portable(Inside())


def test_image_metrics_in_two_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    extractor, rng = Extractor(), np.random.default_rng(0)
    with FeatureWriter(tmp_path / "store", extractor.description, width=extractor.width) as writer:
        for number in range(5):
            writer.add(str(number), np.abs(rng.normal(size=(14, extractor.width))), extractor.windows)
    # Image 5 is not there, and it has a shard to itself.
    given = [Sample(f"{n}", f"a dog and {n} cats", ("two dogs",), str(n // 2)) for n in range(12)]
    monkeypatch.setattr(plan, "BUDGET", 80_000)
    metrics = "vse,reo-relevance,mean(vse,reo-relevance),cider-d"
    one, two = (
        Run(resolve(metrics), Settings(features=tmp_path / "store", workers=workers)).score(given, explain=True)
        for workers in (1, 2)
    )
    for name in one.metrics:
        np.testing.assert_allclose(one[name], two[name], atol=1e-6)
        assert one.statistics[name].problems == two.statistics[name].problems
    for name in ("vse", "reo-relevance", "mean(vse,reo-relevance)"):
        assert sorted(one.statistics[name].problems) == [10, 11]
        assert [bool(found) for found in two.explanations[name]] == [True] * 10 + [False] * 2


def test_a_program_without_a_file_is_told_what_to_do() -> None:
    code = (
        "from vericap.run.processes import in_order\n"
        "from vericap.core.errors import VericapError\n"
        "try:\n    list(in_order(abs, [1], 2))\nexcept VericapError as error:\n    print(error)\n"
    )
    found = subprocess.run([sys.executable], input=code, capture_output=True, text=True, check=True)
    assert "`workers=1`" in found.stdout

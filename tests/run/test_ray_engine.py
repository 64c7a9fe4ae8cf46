"""A Ray cluster works on the same shards and leaves the same files, whatever becomes of its nodes."""

from __future__ import annotations

import errno
import importlib.util
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from vericap.core.errors import VericapError
from vericap.core.settings import Settings
from vericap.io.scoring import FileRun, Output, Request
from vericap.io.stream import open_input
from vericap.metrics.registry import resolve
from vericap.run import ray_engine
from vericap.run.engine import Run
from vericap.run.ray_engine import RayExecutor, gpus_of, tried

METRICS = "bleu-4,rouge-l,cider-d,meteor"
WORDS = ("a", "the", "red", "dog", "cat", "man", "runs", "sleeps", "on", "under", "green", "grass", "street", "bus")
needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'vericap[ray]'"
)


@pytest.fixture
def captions(tmp_path: Path) -> Path:
    path = tmp_path / "captions.jsonl"
    texts = [" ".join(WORDS[(n * k + k) % len(WORDS)] for k in range(2, 9)) for n in range(400)]
    items = [
        {"id": f"r{n}", "candidate": text, "references": texts[n - 3 : n]} for n, text in enumerate(texts) if n > 2
    ]
    items.append({"id": "bad", "candidate": 7, "references": ["a dog"]})
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    return path


def vericap(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "vericap", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=400)


def run_files(
    captions: Path, output: Path, executor: RayExecutor | None = None, *, records: int = 10, metrics: str = METRICS
) -> FileRun:
    run, request = Run(resolve(metrics, code=True), Settings(cache="off")), Request(Output.of(str(output), []))
    with open_input(captions, records=records) as source, FileRun(source, run, request) as work:
        work.execute(executor)
        work.finish()
        return work


# --- without a cluster ----------------------------------------------------------------------------------------------


def test_an_error_of_a_disk_is_tried_again_unless_it_stays(monkeypatch) -> None:
    monkeypatch.setattr(ray_engine, "_PAUSE", 0.0)
    calls: list[int] = []

    def work(code: int) -> str:
        calls.append(code)
        if code == errno.ESTALE and len(calls) == 3:
            return "done"
        raise OSError(code, "no")

    assert tried(work, errno.ESTALE) == "done"
    assert len(calls) == 3
    assert tried(work, errno.ENOSPC).errno == errno.ENOSPC
    assert len(calls) == 4
    assert isinstance(tried(work, errno.EIO), OSError)
    assert len(calls) == 7


def test_a_mistake_of_the_user_is_not_tried_again() -> None:
    def work(_: object) -> None:
        raise VericapError("no such metric")

    assert isinstance(tried(work, 1), VericapError)


def test_devices_that_ray_counts() -> None:
    assert [gpus_of(name) for name in ("", "cpu", "cuda", "coreml")] == [0, 0, 1, 0]


def test_without_ray_it_is_told_what_to_install(captions: Path, tmp_path: Path) -> None:
    words = ["score", str(captions), "-m", "rouge-l", "--engine", "ray", "-o", str(tmp_path / "o.jsonl")]
    code = f"import sys; sys.modules['ray'] = None; from vericap.cli import main; sys.exit(main({words!r}))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 2
    assert re.search(r"pip install '.*\[ray\]'", found.stderr)
    assert "Traceback" not in found.stderr


# --- on a cluster ---------------------------------------------------------------------------------------------------


@pytest.fixture
def cluster() -> Iterator[object]:
    """The first node of a cluster on this machine."""
    ray_engine._library()
    from ray.cluster_utils import Cluster

    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield found
    import ray

    ray.shutdown()
    found.shutdown()


@needs_ray
@pytest.mark.slow
def test_the_same_bytes_and_json_alone(captions: Path, tmp_path: Path) -> None:
    words = ["score", captions, "-m", METRICS, "--shard-records", 50, "--json"]
    local = vericap(*words, "-o", tmp_path / "local.csv", "--resume")
    ray = vericap(*words, "-o", tmp_path / "ray.csv", "--engine", "ray", "--workers", 2, "--resume")
    assert (local.returncode, ray.returncode) == (1, 1), ray.stderr  # one record is bad
    assert (tmp_path / "ray.csv").read_bytes() == (tmp_path / "local.csv").read_bytes()
    assert (tmp_path / "ray.bad.jsonl").read_bytes() == (tmp_path / "local.bad.jsonl").read_bytes()
    assert json.loads(ray.stdout)["scores"] == json.loads(local.stdout)["scores"]
    again = vericap(*words, "-o", tmp_path / "ray.csv", "--resume")  # the other engine finds the run done
    assert again.returncode == 0
    assert "done before" in again.stderr


@needs_ray
@pytest.mark.slow
@pytest.mark.parametrize("address", ["auto", "127.0.0.1:1", "no-such-host.invalid:6379"])
def test_an_address_where_there_is_no_cluster(address: str, captions: Path, tmp_path: Path) -> None:
    found = vericap(
        "score", captions, "-m", "rouge-l", "--engine", "ray", "--address", address, "-o", tmp_path / "scores.jsonl"
    )
    assert found.returncode == 2
    assert "there is no Ray cluster" in found.stderr
    assert "Traceback" not in found.stderr


SLOW = """
import time

def slow(candidates, references, images):
    time.sleep(0.02 * len(candidates))  # a shard of fifty takes a second: the node that is lost is at work on one
    return [len(text) for text in candidates]
"""


@needs_ray
@pytest.mark.slow
def test_a_node_is_lost_in_mid_shard(captions: Path, tmp_path: Path, cluster) -> None:
    (tmp_path / "mine.py").write_text(SLOW)
    metrics = f"py:{tmp_path / 'mine.py'}:slow,{METRICS}"
    local = run_files(captions, tmp_path / "local.jsonl", records=50, metrics=metrics)
    node = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    state = tmp_path / "ray.jsonl.state"
    lost = threading.Thread(target=_lose, args=(cluster, node, state))
    lost.start()
    with RayExecutor(cluster.address, workers=2) as executor:
        found = run_files(captions, tmp_path / "ray.jsonl", executor, records=50, metrics=metrics)
    lost.join()
    assert not node.all_processes
    assert executor.repeated >= 1  # it had a shard in hand
    assert (tmp_path / "ray.jsonl").read_bytes() == (tmp_path / "local.jsonl").read_bytes()
    assert found.outcome is not None
    assert local.outcome is not None
    assert found.outcome.corpus == local.outcome.corpus


def _lose(cluster, node, state: Path) -> None:
    """End a node, without a word, once two shards are scored and others are begun."""
    until = time.monotonic() + 300
    while len(list(state.glob("scored-*.json"))) < 2 and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.4)
    cluster.remove_node(node, allow_graceful=False)


@needs_ray
@pytest.mark.slow
def test_a_file_that_a_node_does_not_see(captions: Path, tmp_path: Path, cluster) -> None:
    executor = RayExecutor(cluster.address, sees=[tmp_path / "elsewhere"])
    with pytest.raises(VericapError, match=r"does not see .*elsewhere"):
        run_files(captions, tmp_path / "scores.jsonl", executor)

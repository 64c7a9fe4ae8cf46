"""Ray: two workers against one, what the driver costs, and a node that is lost in mid-run.

    VERICAP_DATA=DIR python -m benchmarks.speed.ray_scale [--captions 20000] [--metrics meteor,spice] [--kill]
        [--save]

Captions and references are those of COCO. The cluster is started, and every worker's process begun, before the clock
runs: what is compared is the work on shards. With --kill the cluster has two nodes (`ray.cluster_utils`), and the one
without the driver is ended in the middle of a shard when a third of them are scored: a run in which no shard had to be
begun again shows nothing, and is an error. The scores must be those of the local engine, byte for byte.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from benchmarks.library import corpora
from benchmarks.library.measuring import family, processor_seconds
from benchmarks.library.results import add_save, tell
from benchmarks.speed.stream_scale import captions
from vericap.core.settings import Settings
from vericap.core.table import Table
from vericap.io.scoring import FileRun, Output, Request
from vericap.io.stream import open_input
from vericap.metrics.registry import resolve
from vericap.run.engine import Run
from vericap.run.ray_engine import RayExecutor
from vericap.run.stream import Executor, LocalExecutor


class Costs:
    """Processor seconds since it was made: of this process, of Ray's workers, of Ray's other processes."""

    def __init__(self) -> None:
        self.begin = self._now()

    def _now(self) -> dict[str, float]:
        found = {"driver": 0.0, "workers": 0.0, "ray": 0.0}
        for pid in family(os.getpid()):
            found[_role(pid)] += processor_seconds(pid)
        return found

    def spent(self) -> dict[str, float]:
        return {name: value - self.begin[name] for name, value in self._now().items()}


def _role(pid: int) -> str:
    if pid == os.getpid():
        return "driver"
    try:
        name = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return "ray"
    return "workers" if name.startswith(b"ray::") or b"multiprocessing" in name else "ray"


def scored(path: Path, metrics: str, executor: Executor, output: Path, records: int) -> tuple[float, dict[str, float]]:
    """Seconds and processor seconds of a run."""
    run, request = Run(resolve(metrics), Settings(cache="off")), Request(Output.of(str(output), []))
    with open_input(path, records=records) as source, FileRun(source, run, request) as work:
        costs, start = Costs(), time.perf_counter()
        work.execute(executor)
        seconds, spent = time.perf_counter() - start, costs.spent()
        work.finish()
    return seconds, spent


def lose(cluster: object, node: object, state: Path, shards: int) -> None:
    """End a node without a word when a third of the shards are scored, in the middle of another one."""
    begun, done = time.perf_counter(), 0
    while done < shards // 3:
        if not done:
            begun = time.perf_counter()
        done = len(list(state.glob("scored-*.json")))
        time.sleep(0.02)
    time.sleep((time.perf_counter() - begun) / max(done, 1))  # two shards are worked on at a time: half of one
    cluster.remove_node(node, allow_graceful=False)  # type: ignore[attr-defined]


def killed(args: argparse.Namespace, path: Path, folder: Path) -> tuple[float, int]:
    """Seconds of a run on two nodes, one of which is lost, and the shards that were begun again."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    node = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    output = folder / "killed.jsonl"
    shards = -(-args.captions // args.records)
    lost = threading.Thread(target=lose, args=(cluster, node, Path(f"{output}.state"), shards), daemon=True)
    lost.start()
    with RayExecutor(cluster.address, workers=2) as executor:
        seconds, _ = scored(path, args.metrics, executor, output, args.records)
    lost.join()
    cluster.shutdown()
    return seconds, executor.repeated


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captions", type=int, default=20_000)
    parser.add_argument("--metrics", default="meteor,spice")
    parser.add_argument("--records", type=int, default=500, help="in a shard")
    parser.add_argument("--kill", action="store_true", help="lose a node as well")
    add_save(parser)
    args = parser.parse_args()
    grouped: dict[str, list[str]] = {}
    for image, caption in corpora.coco_captions("val"):
        grouped.setdefault(image, []).append(caption)
    by_image = [texts[:5] for texts in grouped.values() if len(texts) >= 5]
    table = Table(["engine", "workers", "seconds", "driver", "processor s: workers", "Ray itself"], digits=1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "captions.jsonl"
        captions(args.captions, path, by_image, mix=False)
        contents, clock = [], {}
        for engine, workers in (("local", 1), ("local", 2), ("ray", 1), ("ray", 2)):
            output = folder / f"{engine}-{workers}.jsonl"
            with ExitStack() as stack:
                kind = RayExecutor("", workers) if engine == "ray" else LocalExecutor(workers)
                executor = stack.enter_context(kind)
                list(executor.map(abs, range(2 * workers)))
                seconds, spent = scored(path, args.metrics, executor, output, args.records)
            table.add(engine, workers, seconds, spent["driver"], spent["workers"], spent["ray"])
            contents.append(output.read_bytes())
            clock[engine, workers] = seconds
        table.notes += [
            f"{engine}: two workers {clock[engine, 1] / clock[engine, 2]:.2f} times as fast as one"
            for engine in ("local", "ray")
        ]
        repeated = 0
        if args.kill:
            seconds, repeated = killed(args, path, folder)
            table.add("ray, a node lost", 2, seconds, None, None, None)
            table.notes.append(f"{repeated} of {-(-args.captions // args.records)} shards were begun again elsewhere")
            contents.append((folder / "killed.jsonl").read_bytes())
    same = all(one == contents[0] for one in contents)
    table.notes.append("all outputs are equal, byte for byte" if same else "OUTPUTS DIFFER")
    if args.kill and not repeated:
        table.notes.append("THE LOST NODE HAD NO SHARD IN HAND: nothing is shown")
    tell("benchmarks.speed.ray_scale", {"ray-scale": table}, save=args.save)
    return 0 if same and (repeated or not args.kill) else 1


if __name__ == "__main__":
    sys.exit(main())

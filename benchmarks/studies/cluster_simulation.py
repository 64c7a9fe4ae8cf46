"""A cluster on paper: how long 100 million pairs take when nodes differ, and fail.

    python -m benchmarks.studies.cluster_simulation [--pairs 100000000] [--milliseconds 20] [--nodes 32] [--cores 16]
        [--save]

An event simulation of what the engines do. `queue` is `--engine ray`: a free worker takes the next shard, and what a
lost node had in hand goes back to the queue. `shares` is `--shard i/n`: every node has its own shards, and goes on with
--resume when it is back. Shards take their share of the work times a random factor; some nodes are slow; nodes fail at
random and come back later. Lost is work that was begun and thrown away; idle is what workers wait at the end. The
processor milliseconds of a pair are those that benchmarks/speed/rates.py measures.
"""

from __future__ import annotations

import argparse
import heapq
import random
import statistics
from collections import deque
from dataclasses import dataclass, field

from benchmarks.library.results import add_save, tell
from vericap.core.table import Table

HOUR = 3600.0


@dataclass(frozen=True)
class Cluster:
    """What is simulated; times in seconds.

    >>> calm = Cluster(nodes=2, cores=2, spread=0.0, slow=0.0, driver=0.0)
    >>> found = simulate(calm, shards=8, seconds=10.0, policy="queue", seed=0)
    >>> found.end, found.lost
    (20.0, 0.0)
    """

    nodes: int
    cores: int
    spread: float = 0.2  # of the time of a shard (the standard deviation of its logarithm)
    slow: float = 0.02  # share of nodes at half the speed
    failure: float = 0.0  # mean time between failures of one node; 0: never
    repair: float = 600.0  # until a lost node is back
    noticed: float = 30.0  # until the loss of a node is noticed
    driver: float = 0.02  # the driver's own time for each shard, one after the other


@dataclass
class Outcome:
    end: float = 0.0
    busy: float = 0.0  # core seconds of work that counts
    lost: float = 0.0  # core seconds of work that was thrown away
    failures: int = 0


@dataclass
class _Node:
    speed: float
    own: deque[int] = field(default_factory=deque)
    doing: dict[int, tuple[int, float]] = field(default_factory=dict)  # core -> shard, begin
    up: bool = True
    epoch: int = 0  # what was promised before the last failure does not count


def simulate(cluster: Cluster, shards: int, seconds: float, policy: str, seed: int) -> Outcome:
    """Work through `shards`, each of which takes about `seconds` on a core."""
    return _Simulation(cluster, shards, seconds, policy, seed).run()


class _Simulation:
    def __init__(self, cluster: Cluster, shards: int, seconds: float, policy: str, seed: int) -> None:
        self.cluster, self.seconds, self.shards = cluster, seconds, shards
        self.draw = random.Random(seed)
        self.found, self.done, self.free_driver = Outcome(), 0, 0.0
        slow = round(cluster.slow * cluster.nodes)
        self.nodes = [_Node(0.5 if number < slow else 1.0) for number in range(cluster.nodes)]
        self.queue: deque[int] = deque(range(shards) if policy == "queue" else ())
        self.shared = policy == "queue"
        if not self.shared:
            for shard in range(shards):
                self.nodes[shard % cluster.nodes].own.append(shard)
        self.events: list[tuple[float, int, str, int, int, int]] = []
        self.count = 0

    def run(self) -> Outcome:
        for number in range(len(self.nodes)):
            self._start(number, 0.0)
            self._will_fail(number, 0.0)
        while self.done < self.shards:
            now, _, kind, number, core, epoch = heapq.heappop(self.events)
            node = self.nodes[number]
            if kind == "done" and epoch == node.epoch:
                self._finished(node, number, core, now)
            elif kind == "fail" and node.up:
                self._fail(node, number, now)
            elif kind == "noticed":
                self._back_to_work(number, now)
            elif kind == "back":
                node.up = True
                self._start(number, now)
                self._will_fail(number, now)
        return self.found

    def _push(self, at: float, kind: str, number: int, core: int = 0, epoch: int = 0) -> None:
        self.count += 1
        heapq.heappush(self.events, (at, self.count, kind, number, core, epoch))

    def _will_fail(self, number: int, now: float) -> None:
        if self.cluster.failure:
            self._push(now + self.draw.expovariate(1 / self.cluster.failure), "fail", number)

    def _start(self, number: int, now: float) -> None:
        """Give every free core of a node a shard."""
        node = self.nodes[number]
        waiting = self.queue if self.shared else node.own
        for core in range(self.cluster.cores):
            if core not in node.doing and waiting and node.up:
                shard = waiting.popleft()
                node.doing[core] = (shard, now)
                spread = self.draw.lognormvariate(0, self.cluster.spread) if self.cluster.spread else 1.0
                self._push(now + self.seconds * spread / node.speed, "done", number, core, node.epoch)

    def _finished(self, node: _Node, number: int, core: int, now: float) -> None:
        _, begin = node.doing.pop(core)
        self.found.busy += now - begin
        self.done += 1
        self.free_driver = max(self.free_driver, now) + self.cluster.driver
        self.found.end = self.free_driver
        self._start(number, now)

    def _fail(self, node: _Node, number: int, now: float) -> None:
        self.found.failures += 1
        self.found.lost += sum(now - begin for _, begin in node.doing.values())
        lost = sorted(shard for shard, _ in node.doing.values())
        node.doing.clear()
        node.up, node.epoch = False, node.epoch + 1
        (self.queue if self.shared else node.own).extendleft(reversed(lost))
        self._push(now + self.cluster.noticed, "noticed", number)
        self._push(now + self.cluster.repair, "back", number)

    def _back_to_work(self, number: int, now: float) -> None:
        """What a lost node had in hand is taken by those that are idle."""
        for other in range(len(self.nodes)):
            if other != number and self.shared:
                self._start(other, now)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=100_000_000)
    parser.add_argument("--milliseconds", type=float, default=20.0, help="of a processor for a pair")
    parser.add_argument("--nodes", type=int, default=32)
    parser.add_argument("--cores", type=int, default=16)
    parser.add_argument("--draws", type=int, default=5)
    add_save(parser)
    args = parser.parse_args()
    cores = args.nodes * args.cores
    ideal = args.pairs * args.milliseconds / 1000 / cores / HOUR
    size = f"{args.nodes} nodes of {args.cores} cores"
    title = f"{args.pairs:,} pairs, {args.milliseconds} ms each, {size}: {ideal:.2f} h at best"
    table = Table(
        ["fails every", "engine", "pairs a shard", "hours", "of the best", "lost %", "idle %"], title=title, digits=2
    )
    for failure in (0.0, 500.0, 20.0):
        for policy in ("queue", "shares"):
            for records in (1024, 4096, 16384):
                cluster = Cluster(args.nodes, args.cores, failure=failure * HOUR)
                shards, seconds = -(-args.pairs // records), records * args.milliseconds / 1000
                runs = [simulate(cluster, shards, seconds, policy, seed) for seed in range(args.draws)]
                hours = statistics.mean(run.end for run in runs) / HOUR
                spent = hours * HOUR * cores
                lost = statistics.mean(run.lost for run in runs) / spent
                idle = 1 - (statistics.mean(run.busy + run.lost for run in runs)) / spent
                name = f"{failure:.0f} h" if failure else "never"
                table.add(name, policy, records, hours, hours / ideal, 100 * lost, 100 * idle)
    tell("benchmarks.studies.cluster_simulation", {"engines": table}, save=args.save)


if __name__ == "__main__":
    main()

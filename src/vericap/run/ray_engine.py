"""Shards on a Ray cluster: the same plan, the same shards and files, other processes.

    with RayExecutor("auto", workers=64, sees=[folder, images]) as executor:
        outcome = execute(job, executor)

Every round of work is a small Ray Data pipeline: one block per shard, an actor pool in which every actor holds one
runtime (its networks stay open from shard to shard) and, where actors hold a GPU, readers on processors before them.
Ray Data keeps only as many shards on their way as workers and memory allow, and gives what a lost worker or node had
in hand to another one. Rows do not travel: workers write parts into the job's folder, which all nodes must see, and
give back sums and counts.
"""

from __future__ import annotations

import logging
import os
import pickle
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from errno import EACCES, EDQUOT, ENOSPC, EROFS
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from vericap.core.errors import VericapError, install
from vericap.core.version import __version__
from vericap.run.shards import Scoring

T = TypeVar("T")
R = TypeVar("R")
AUTO = "auto"
_ATTEMPTS = 4  # of one shard, before it is taken to be what ends its workers
_FINAL = (ENOSPC, EDQUOT, EROFS, EACCES)  # errors of a disk that trying again does not mend
_PATIENCE = 10.0  # seconds that a cluster may take to answer at all
_PAUSE = 1.0  # seconds before a shard is tried again after an error of a disk


class RayExecutor:
    """A Ray cluster that works on shards.

    Parameters
    ----------
    address : of a cluster: `HOST:6379`, or `auto` for one that `ray start` began on this machine; empty: one is started
        here, with as many processors as the workers need, and ended with the executor.
    workers : actors, at the most; where fewer find room the others wait until nodes join.
    cpus, gpus : processors and GPUs that Ray keeps for each of them.
    sees : files and folders that every node must see.

    Attributes
    ----------
    repeated : number of shards that were begun again, because a worker or a node was lost.
    """

    def __init__(
        self, address: str = "", workers: int = 1, *, cpus: int = 1, gpus: int = 0, sees: Sequence[Path | str] = ()
    ) -> None:
        self.address, self.workers, self.cpus, self.gpus = address, workers, cpus, gpus
        self.sees = [str(Path(path).resolve()) for path in sees]
        self.repeated = 0
        self._ray: Any = None
        self._started = False

    def __enter__(self) -> RayExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        if self._started:
            self._ray.shutdown()
            self._started = False

    def _open(self) -> None:
        """Reach the cluster when there is something to do."""
        if self._ray is not None:
            return
        self._ray = _library()
        if not self._ray.is_initialized():
            self._started = True
            self._connect()
        self._ray.data.DataContext.get_current().enable_progress_bars = False  # the driver shows one of its own
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        self._check_gpus()
        self._check_nodes()

    def _connect(self) -> None:
        given: dict[str, Any] = {"address": self.address}
        if not self.address:
            given = {"address": "local", "num_cpus": self.workers * self.cpus, "include_dashboard": False}
            given |= {"num_gpus": self.workers * self.gpus} if self.gpus else {}
        try:
            _knock(self.address)
            with _hushed():
                self._ray.init(**given, log_to_driver=False, logging_level="ERROR")
        except Exception as error:  # Ray raises bare ones
            said = str(error).strip().splitlines()[0]
            if not self.address:
                raise VericapError(f"Ray did not start on this machine: {said}") from error
            raise VericapError(
                f"`address={self.address}`: there is no Ray cluster ({said}); start one with `ray start --head`, "
                "or leave the address out to have one started here"
            ) from error

    # --- nodes --------------------------------------------------------------------------------------------------

    def _check_gpus(self) -> None:
        if self.gpus and not self._ray.cluster_resources().get("GPU"):
            raise VericapError("no node of the Ray cluster has a GPU; start nodes with a GPU, or use `device=cpu`")

    def _check_nodes(self) -> None:
        """Refuse a cluster whose nodes have another version of vericap, or do not see the files of the run."""
        affinity = _affinity()
        look = self._ray.remote(num_cpus=0, max_retries=1)(_look)
        nodes = [node for node in self._ray.nodes() if node["Alive"]]
        asked = {
            node["NodeManagerAddress"]: look.options(
                scheduling_strategy=affinity(node["NodeID"], soft=False)
            ).remote(self.sees)
            for node in nodes
        }  # fmt: skip
        for name, answer in asked.items():
            version, unseen = self._answer(name, answer)
            if version != __version__:
                raise VericapError(f"the Ray node {name} has vericap {version}, and this is {__version__}")
            if unseen:
                raise VericapError(
                    f"the Ray node {name} does not see {', '.join(unseen)}; input, output and photos must lie on a "
                    "disk that all nodes share, and so must $TMPDIR where an input is unpacked first"
                )

    def _answer(self, name: str, answer: Any) -> tuple[str, list[str]]:
        try:
            found: tuple[str, list[str]] = self._ray.get(answer)
            return found
        except self._ray.exceptions.RayError as error:
            said = str(error).strip().splitlines()[-1]
            raise VericapError(
                f"the Ray node {name} cannot work with vericap ({said}); is it installed there?"
            ) from None

    # --- work ---------------------------------------------------------------------------------------------------

    def map(self, work: Callable[[T], R], pieces: Iterable[T]) -> Iterator[R]:
        """What `work` makes of every piece, in the order of the pieces, each as soon as those before it are there."""
        self._open()
        items = [{"number": number, "piece": pickle.dumps(piece)} for number, piece in enumerate(pieces)]
        if not items:
            return
        attempts = self._attempts()
        waiting: dict[int, bytes] = {}
        turn = 0
        for row in self._pipeline(work, items, attempts).iter_rows():
            waiting[row["number"]] = row["outcome"]
            while turn in waiting:
                turn += 1
                if turn == len(items):  # before the last one is given: nobody need ask for more
                    self.repeated += self._ray.get(attempts.repeated.remote())
                yield _outcome(waiting.pop(turn - 1))

    def _attempts(self) -> Any:
        """The counter, on the driver's node and nowhere else: with a worker's node it would lose its counts."""
        here = self._ray.get_runtime_context().get_node_id()
        kind = self._ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(Attempts)
        return kind.options(scheduling_strategy=_affinity()(here, soft=False)).remote()

    def _pipeline(self, work: Callable[[Any], Any], items: list[dict[str, Any]], attempts: Any) -> Any:
        """One block per shard: what is scheduled, and done again, is a shard."""
        data, folder, count = self._ray.data, os.getcwd(), min(self.workers, len(items))
        rows = data.from_items(items, override_num_blocks=len(items))
        if not isinstance(work, Scoring):  # without networks; Ray lends the same few processes to all such rounds
            step = partial(Worker.once, work, attempts, folder)
            return rows.map_batches(step, batch_size=1, concurrency=count, num_cpus=self.cpus)
        if self.gpus:
            rows = rows.map_batches(partial(_read, work, folder), batch_size=1, num_cpus=1)
        return rows.map_batches(
            Worker,
            fn_constructor_args=(work, attempts, folder),
            batch_size=1,
            compute=data.ActorPoolStrategy(min_size=1, max_size=count, initial_size=count),
            num_cpus=0 if self.gpus else self.cpus,
            **({"num_gpus": self.gpus} if self.gpus else {}),
        )


def gpus_of(device: str) -> int:
    """GPUs that a worker needs for a device: those that Ray counts."""
    return int(device.lower() in ("cuda", "tensorrt", "rocm"))


class Attempts:
    """How often each shard was begun; an actor, so that it outlives the workers."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}

    def begin(self, number: int) -> int:
        self.counts[number] = self.counts.get(number, 0) + 1
        return self.counts[number]

    def repeated(self) -> int:
        return sum(count > 1 for count in self.counts.values())


class Worker:
    """An actor: its process keeps networks and models open from shard to shard."""

    def __init__(self, work: Callable[[Any], Any], attempts: Any, folder: str) -> None:
        self.work, self.attempts = work, attempts
        self.ray = _library()
        _enter(folder)

    @classmethod
    def once(cls, work: Callable[[Any], Any], attempts: Any, folder: str, batch: dict[str, Any]) -> dict[str, Any]:
        """The same without an actor."""
        return cls(work, attempts, folder)(batch)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """The outcome of a shard, or the error that ended it: neither is for Ray to look at."""
        number = int(batch["number"][0])
        if self.ray.get(self.attempts.begin.remote(number)) > _ATTEMPTS:
            found: Any = VericapError(
                f"a Ray worker was lost {_ATTEMPTS} times while it worked on shard {number}: it runs out of memory; "
                "use smaller shards (`shard_records=N`)"
            )
        else:
            found = tried(self._call, batch)
        return {"number": [number], "outcome": [pickle.dumps(found)]}

    def _call(self, batch: dict[str, Any]) -> Any:
        piece = pickle.loads(batch["piece"][0])
        if "records" not in batch or not isinstance(self.work, Scoring):
            return self.work(piece)
        records = pickle.loads(batch["records"][0])
        if isinstance(records, Exception):
            raise records
        return self.work.score(piece, records)


def _read(work: Scoring, folder: str, batch: dict[str, Any]) -> dict[str, Any]:
    """Read a shard on a processor, for an actor with a GPU."""
    _enter(folder)
    records = tried(lambda piece: work.read(pickle.loads(piece)), batch["piece"][0])
    return {"number": batch["number"], "piece": batch["piece"], "records": [pickle.dumps(records)]}


def tried(work: Callable[[T], Any], piece: T) -> Any:
    """What comes of a piece, or the error; what a disk of a cluster refuses now it may give in a second."""
    for last in (False, False, True):
        try:
            return work(piece)
        except VericapError as error:
            return error
        except OSError as error:
            if last or error.errno in _FINAL:
                return error
            time.sleep(_PAUSE)
    return None


def _outcome(stored: bytes) -> Any:
    found = pickle.loads(stored)
    if isinstance(found, Exception):
        raise found
    return found


def _look(paths: list[str]) -> tuple[str, list[str]]:
    """On a node: the version there, and which files it does not see."""
    return __version__, [path for path in paths if not os.path.exists(path)]


def _enter(folder: str) -> None:
    """Go where the driver is, so that relative names mean the same files."""
    if os.path.isdir(folder):
        os.chdir(folder)


@contextmanager
def _hushed() -> Iterator[None]:
    """Ray's C++ side tells on standard error that it will tell nothing there."""
    kept = os.dup(2)
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _affinity() -> Any:
    return import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy


def _knock(address: str) -> None:
    """Whether anything answers at HOST:PORT: Ray itself tries for minutes before it says no."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdigit() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()


def _library() -> Any:
    """Ray, which sends no statistics to anybody and keeps its log to its files."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "120")  # on a busy machine half a minute is not enough
    try:
        ray: Any = import_module("ray")
        import_module("ray.data")
    except ImportError:
        raise VericapError(f"`engine=ray` needs Ray; install it with: {install('ray')}") from None
    return ray

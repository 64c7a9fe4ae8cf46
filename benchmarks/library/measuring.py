"""What a command costs, looked at from outside: time, processor time and memory of all its processes."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

_PAUSE = 0.1  # seconds between two looks at the processes
_SPARING = 100  # times as long as a look takes is waited: looking should not take the processor from what is measured
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass
class Usage:
    """Seconds, processor seconds and bytes of a command and all that it started."""

    wall: float = 0.0
    cpu: float = 0.0
    together: int = 0  # the most that all processes held at once
    largest: int = 0  # the most that one process held
    timeline: list[tuple[float, int]] = field(default_factory=list)  # second, bytes of all processes
    printed: str = ""

    def most_between(self, start: float, end: float) -> int:
        """The most bytes held in a part of the run, from 0 (its begin) to 1 (its end)."""
        last = self.timeline[-1][0] if self.timeline else 0.0
        return max((held for at, held in self.timeline if start * last <= at <= end * last), default=0)


class Watch(threading.Thread):
    """Looks at a process and all below it until it is stopped."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.done, self.usage = pid, threading.Event(), Usage()
        self._begin = time.perf_counter()

    def run(self) -> None:
        pause = _PAUSE
        while not self.done.wait(pause):
            begin = time.perf_counter()
            held = [proportional(pid) for pid in family(self.pid)]
            pause = max(_PAUSE, _SPARING * (time.perf_counter() - begin))
            self.usage.together = max(self.usage.together, sum(held))
            self.usage.largest = max([self.usage.largest, *held])
            self.usage.timeline.append((time.perf_counter() - self._begin, sum(held)))


def measured(*words: object) -> Usage:
    """A run of the command line, in one thread of linear algebra per process."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "vericap", *map(str, words)]
    run = subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=subprocess.PIPE, text=True)
    watch = Watch(run.pid)
    watch.start()
    out, _ = run.communicate()
    watch.done.set()
    watch.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode:
        raise SystemExit(f"{' '.join(command[2:])}: exit code {run.returncode}")
    usage = watch.usage
    usage.cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    usage.wall, usage.printed = time.perf_counter() - start, out
    return usage


def family(pid: int) -> list[int]:
    """A process and all below it."""
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        try:
            for task in Path(f"/proc/{one}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
        except OSError:
            pass
    return found


def proportional(pid: int) -> int:
    """Bytes of a process, shared ones in proportion (/proc/PID/smaps_rollup)."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    except OSError:
        pass
    return 0


def processor_seconds(pid: int) -> float:
    """What a process has used so far; 0 where it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICK

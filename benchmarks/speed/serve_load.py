"""How fast `vericap serve` answers, and whether it bears twenty clients at once.

    python -m benchmarks.speed.serve_load latency [--save]    # one client: new photos, then new captions of a known one
    python -m benchmarks.speed.serve_load load --seconds 60   # twenty clients: answers, errors, memory of the server

Photos are random parts of the bundled ones, enlarged or reduced to 640 pixels, so that each is new to the server. It
listens on 127.0.0.1 alone and ends with the benchmark. Times are those of the whole request, seen by the client.
"""

from __future__ import annotations

import argparse
import http.client
import io
import json
import os
import random
import secrets
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image

from benchmarks.library.results import add_save, tell
from vericap.core.shipped import ROOT
from vericap.core.table import Number, Table

SIDE = 640
CLIENTS, PHOTOS = 20, 40
EVERY = 5.0  # seconds between two looks at the memory
THINGS = ("dog", "cat", "cup", "woman", "man", "horse", "flower", "rocket", "temple", "table", "car", "bird", "lake")
WAYS = ("on a table", "near the water", "in a red chair", "next to a tree", "under a blue sky", "beside two people")


def photo(draw: random.Random) -> bytes:
    """A part of a bundled photo, its longer side 640 pixels."""
    with Image.open(draw.choice(sorted((ROOT / "demo" / "photos").glob("*.jpg")))) as whole:
        wide, tall = (round(side * draw.uniform(0.5, 0.95)) for side in whole.size)
        left, top = draw.randrange(whole.width - wide), draw.randrange(whole.height - tall)
        part = whole.convert("RGB").crop((left, top, left + wide, top + tall))
    scale = SIDE / max(part.size)
    part = part.resize((round(part.width * scale), round(part.height * scale)))
    stream = io.BytesIO()
    part.save(stream, "JPEG", quality=90)
    return stream.getvalue()


def caption(draw: random.Random) -> str:
    return f"A {draw.choice(THINGS)} and {draw.randrange(2, 90)} {draw.choice(THINGS)}s {draw.choice(WAYS)}."


def good(port: int, path: str, image: bytes, text: str) -> float:
    """Milliseconds of an answer; one that is no verdict stops the benchmark."""
    status, took = ask(port, path, image, text)
    if status != 200:
        raise SystemExit(f"{path} answered {status}")
    return took


def ask(port: int, path: str, image: bytes, text: str) -> tuple[int, float]:
    """The status of an answer, and milliseconds."""
    edge = secrets.token_hex(8)
    field = f'--{edge}\r\nContent-Disposition: form-data; name="{{}}"{{}}\r\n\r\n'
    head = field.format("image", '; filename="x.jpg"').encode() + image
    body = head + b"\r\n" + field.format("caption", "").encode() + text.encode() + f"\r\n--{edge}--\r\n".encode()
    start = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("POST", path, body, {"Content-Type": f"multipart/form-data; boundary={edge}"})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, 1000 * (time.perf_counter() - start)


@contextmanager
def serving(*words: str) -> Iterator[tuple[int, int]]:
    """The port and the process of a server whose networks are open."""
    command = [sys.executable, "-m", "vericap", "serve", "--port", "0", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline().split()[1].rstrip("/").rpartition(":")[2])
        while (status := _health(port)) == "warming":
            time.sleep(0.2)
        if status != "ok":
            raise SystemExit(f"the server is {status}; its messages are above")
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(20)


def _health(port: int) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", "/health")
        return str(json.loads(connection.getresponse().read())["status"])
    except OSError:
        return "warming"
    finally:
        connection.close()


def memory(pid: int) -> float:
    """Megabytes that a process holds."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def work(pid: int) -> float:
    """Milliseconds of processor that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def latency(times: int) -> Table:
    """Milliseconds of a request, for a new photo and for one that was seen before."""
    table = Table(["request", "a new caption of", "median ms", "95 % ms", "of processor ms"], digits=0, keys=2)
    draw = random.Random(0)
    with serving() as (port, pid):
        for path in ("/check", "/view"):
            known = photo(draw)
            for image in (*(photo(draw) for _ in range(5)), known):
                good(port, path, image, caption(draw))
            photos = {"a new photo": [photo(draw) for _ in range(times)], "a known photo": [known] * times}
            for what, images in photos.items():
                before = work(pid)
                spent = sorted(good(port, path, image, caption(draw)) for image in images)
                own = (work(pid) - before) / times
                table.add(f"`{path}`", what, *map(Number, (statistics.median(spent), spent[int(0.95 * times)], own)))
    return table


def load(seconds: float) -> Table:
    """Answers, errors and memory of the server while twenty clients ask at once."""
    counts: Counter[int] = Counter()
    spent: list[float] = []
    held: list[float] = []
    photos = [photo(random.Random(number)) for number in range(PHOTOS)]
    with serving() as (port, pid):
        end = time.monotonic() + seconds

        def client(number: int) -> None:
            draw = random.Random(number)
            while time.monotonic() < end:
                try:
                    status, took = ask(port, "/check", draw.choice(photos), caption(draw))
                except OSError:
                    status, took = 0, 0.0
                counts[status] += 1
                spent.append(took)

        threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        while time.monotonic() < end:
            time.sleep(min(EVERY, max(0.0, end - time.monotonic())))
            held.append(memory(pid))
        for thread in threads:
            thread.join()
    total = sum(counts.values())
    table = Table(
        ["clients", "seconds", "answers", "a second", "by status", "median ms", "95 % ms", "least MB", "most MB"]
    )
    statuses = ", ".join(f"{status}: {count}" for status, count in sorted(counts.items()))
    times = [Number(spell, digits=0) for spell in (statistics.median(spent), sorted(spent)[int(0.95 * total)])]
    memories = [Number(size, digits=0) for size in (min(held), max(held))]
    table.add(CLIENTS, Number(seconds, digits=0), total, Number(total / seconds, digits=1), statuses, *times, *memories)
    table.notes.append(f"memory every {EVERY:.0f} s, in MB: {' '.join(f'{size:.0f}' for size in held)}")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("latency", "load"))
    parser.add_argument("--times", type=int, default=40, metavar="N", help="requests of a kind (40)")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="N", help="of load (60)")
    add_save(parser)
    args = parser.parse_args()
    table = latency(args.times) if args.what == "latency" else load(args.seconds)
    tell("benchmarks.speed.serve_load", {args.what: table}, save=args.save)


if __name__ == "__main__":
    main()

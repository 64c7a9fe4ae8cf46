"""Mutated inputs through all readers: no traceback, no hang, memory bounded.

    python -m benchmarks.studies.fuzz_readers [--inputs 100000] [--seed 0] [--seconds 10] [--keep DIR] [--save]

Real files of every format are made once (JSONL, JSON, COCO, CSV, TSV, text, UTF-16, gzip, Parquet, Arrow, tar, xlsx),
then changed: bytes flipped, cut, doubled, swapped with pieces of other files, numbers replaced by huge ones, texts by
half characters. Each is read as candidates, and every fourth one as references, by content or by a forced format. An
InputError is the right answer to nonsense; anything else that is raised is a finding, and so are seconds and megabytes
beyond the limits. The short form is tests/io/test_fuzz.py.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import random
import resource
import signal
import sys
import tarfile
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from benchmarks.library.results import add_save, tell
from vericap.core.errors import VericapError
from vericap.core.table import Table
from vericap.io import load
from vericap.io.kinds import FORMATS

PIECES = (
    b"\x00", b"\xff", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"\\ud800", b"\\u0000", b"[" * 2000, b"{" * 500, b"9" * 5000,
    b"1e999", b"NaN", b"null", b"\n", b"\r\n", b",", b";", b"\t", b"../", b"/etc/passwd", b"id", b"candidate",
    b"\xed\xa0\x80", b"\x1f\x8b", b"PAR1", b"ARROW1", b"ustar", b"PK\x03\x04", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff",
)  # fmt: skip
ROWS = [{"id": str(n), "candidate": f"a dog {n}", "references": [f"the dog {n}", "grün"], "image": f"{n}.jpg",
         "n": n} for n in range(6)]  # fmt: skip


def seeds() -> dict[str, bytes]:
    """Good files of every format, by name."""
    lines = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
    table = "id,candidate,references,n\n" + "".join(
        f'{r["id"]},"{r["candidate"]}, yes","[""x""]",{r["n"]}\n' for r in ROWS
    )
    annotations = {"images": [{"id": 1, "file_name": "a.jpg"}],
                   "annotations": [{"id": n, "image_id": 1, "caption": f"c {n}"} for n in range(4)]}  # fmt: skip
    arrow = pa.Table.from_pylist(ROWS)
    images = arrow.append_column("photo", pa.array([{"bytes": b"\xff\xd8\xff", "path": "x"}] * len(ROWS)))
    found = {
        "a.jsonl": lines,
        "a.json": json.dumps(ROWS).encode(),
        "d.json": json.dumps({r["id"]: r["references"] for r in ROWS}).encode(),
        "coco.json": json.dumps(annotations).encode(),
        "a.csv": table.encode(),
        "s.csv": table.replace(",", ";").encode("utf-16"),
        "a.tsv": table.replace(",", "\t").encode(),
        "a.txt": b"a dog\ntwo cats\n\nthe end\n",
        "a.jsonl.gz": gzip.compress(lines, mtime=0),
    }
    for name, given in (("a.parquet", arrow), ("i.parquet", images)):
        stream = io.BytesIO()
        pq.write_table(given, stream)
        found[name] = stream.getvalue()
    for name, make in (("a.arrow", pa.ipc.new_file), ("s.arrow", pa.ipc.new_stream)):
        stream = io.BytesIO()
        with make(stream, arrow.schema) as writer:
            writer.write_table(arrow)
        found[name] = stream.getvalue()
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for row in ROWS:
            for ending, data in (
                (".jpg", b"\xff\xd8\xff\xe0"),
                (".txt", b"a dog"),
                (".json", json.dumps(row).encode()),
            ):
                member = tarfile.TarInfo(f"{row['id']}{ending}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    found["a.tar"] = stream.getvalue()
    return {**found, **workbook()}


def workbook() -> dict[str, bytes]:
    try:
        import openpyxl
    except ImportError:
        return {}
    book, stream = openpyxl.Workbook(), io.BytesIO()
    for row in (["id", "caption"], [1, "a dog"], [2, "a cat"]):
        book.active.append(row)
    book.save(stream)
    return {"a.xlsx": stream.getvalue()}


def mutated(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """The file with a few changes."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        place = rng.randrange(len(found) + 1)
        kind = rng.randrange(7)
        if kind == 0 and found:
            found[place % len(found)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            found[place:place] = rng.choice(PIECES)
        elif kind == 2:
            del found[place : place + rng.choice((1, 2, 17, 300))]
        elif kind == 3:
            found = found[:place]
        elif kind == 4:
            other = rng.choice(others)
            start = rng.randrange(len(other) + 1)
            found[place:place] = other[start : start + rng.choice((3, 40, 700))]
        elif kind == 5:
            found[place : place + 4] = rng.randbytes(4)
        else:
            found[place:place] = found[place : place + rng.choice((5, 60, 512))]
    return bytes(found)


def inputs(count: int, seed: int) -> Iterator[tuple[str, bytes, str | None, bool]]:
    """Name, content, forced format, and whether it is read as references."""
    rng, good = random.Random(seed), seeds()
    names, others = list(good), list(good.values())
    for number in range(count):
        name = rng.choice(names)
        data = mutated(good[name], rng, others)
        shown = name if rng.random() < 0.8 else rng.choice(names) if rng.random() < 0.5 else "nameless"
        yield shown, data, rng.choice(FORMATS) if rng.random() < 0.1 else None, number % 4 == 3


def read(folder: Path, name: str, data: bytes, format: str | None, references: bool) -> str:
    """What came of one input: "read", "refused", or a traceback."""
    file = folder / name
    file.write_bytes(data)
    try:
        if references:
            loaded = load(folder / "good.jsonl", [file], reference_format=format)
        else:
            loaded = load(file, format=format)
        for records in loaded.batches:
            _ = records.columns
        json.dumps([sample.candidate for sample in loaded.samples], ensure_ascii=False).encode("utf-8")
        return "read"
    except VericapError as error:
        str(error).encode("utf-8")
        return "refused"
    except Exception:
        return traceback.format_exc()
    finally:
        file.unlink()


def too_long(_: int, __: FrameType | None) -> None:
    raise TimeoutError("too long")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=10, help="for one input, at the most")
    parser.add_argument("--megabytes", type=int, default=1500, help="of the process, at the most")
    parser.add_argument("--keep", type=Path, help="where inputs that broke something are kept")
    add_save(parser)
    args = parser.parse_args()
    signal.signal(signal.SIGALRM, too_long)
    counts: Counter[str] = Counter()
    findings, start = 0, time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "good.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
        for number, (shown, data, format, references) in enumerate(inputs(args.inputs, args.seed)):
            signal.alarm(args.seconds)
            outcome = read(folder, shown, data, format, references)
            signal.alarm(0)
            counts[outcome if outcome in ("read", "refused") else "broken"] += 1
            if outcome not in ("read", "refused"):
                findings += 1
                print(f"input {number} ({shown}, format {format}, references {references}):\n{outcome}", flush=True)
                if args.keep:
                    args.keep.mkdir(parents=True, exist_ok=True)
                    (args.keep / f"{number}-{shown}").write_bytes(data)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    table = Table(["inputs", "read", "refused with a reason", "broken", "most MB", "seconds"])
    outcomes = [counts[outcome] for outcome in ("read", "refused", "broken")]
    table.add(args.inputs, *outcomes, peak, round(time.perf_counter() - start))
    tell("benchmarks.studies.fuzz_readers", {"inputs": table}, save=args.save)
    return 1 if findings or peak > args.megabytes else 0


if __name__ == "__main__":
    sys.exit(main())

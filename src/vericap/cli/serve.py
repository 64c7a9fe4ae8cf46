"""Serve a page that judges captions while you type, a JSON API, and reports of any size.

vericap serve                                     # http://127.0.0.1:8000/: drop a photo, type a caption, see why
vericap serve report/                             # a report beside it
vericap serve scores.parquet --images photos/     # millions of scored captions, page by page
vericap serve --host 0.0.0.0                      # for other machines too: asks for a token, which is printed

The API is described at /openapi.json; curl -F image=@dog.jpg -F caption='a dog runs' http://127.0.0.1:8000/check
"""

from __future__ import annotations

import argparse
from pathlib import Path

from vericap.cli import common
from vericap.core.errors import InputError, require
from vericap.core.settings import Settings
from vericap.serve.limits import MB, Limits


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "shown",
        nargs="?",
        type=Path,
        metavar="PATH",
        help="a report to show, or scores that `score --output` wrote: .parquet, .jsonl, or a folder of them",
    )
    parser.add_argument("--images", type=Path, metavar="DIR", help="folder of the photos that shown scores name")
    parser.add_argument("--host", default="127.0.0.1", metavar="NAME", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, metavar="NUMBER", help="port (8000); 0: any free one")
    parser.add_argument("--token", default="", metavar="TOKEN", help="asked for at every request; a --host beyond this "
                        "machine always asks for one, and makes it where none is given")  # fmt: skip
    limits = Limits()
    group = parser.add_argument_group("limits")
    group.add_argument("--max-mb", type=common.positive, default=limits.photo_bytes // MB, metavar="N",
                       help="megabytes of a photo (%(default)s)")  # fmt: skip
    group.add_argument("--max-megapixels", type=common.positive, default=limits.pixels // 10**6, metavar="N",
                       help="of a photo (%(default)s)")  # fmt: skip
    group.add_argument("--max-words", type=common.positive, default=limits.words, metavar="N",
                       help="of a caption or a reference (%(default)s)")  # fmt: skip
    group.add_argument("--max-waiting", type=common.positive, default=limits.waiting, metavar="N",
                       help="requests that wait; more get 503 (%(default)s)")  # fmt: skip
    group.add_argument("--timeout", type=common.positive, default=int(limits.seconds), metavar="SECONDS",
                       help="until an answer; a later one becomes 503 (%(default)s)")  # fmt: skip
    group = parser.add_argument_group("work")
    group.add_argument("--threads", type=common.positive, default=0, metavar="N", help="of each network (1)")
    group.add_argument("--device", default="", metavar="NAME", help="of networks: cpu, cuda, directml, coreml, auto")
    group.add_argument("--cache", metavar="off|DIR", help="keep analyses in a folder (default: in memory alone)")


def run(args: argparse.Namespace) -> int:
    for module in ("fastapi", "uvicorn", "python_multipart"):
        require(module, "serve", "the server")
    from vericap.serve.app import Service
    from vericap.serve.http import Address, bound, server
    from vericap.serve.shown import Shown

    if args.images is not None and not args.images.is_dir():
        raise InputError(f"--images {args.images}: no such folder")
    settings = Settings(threads=args.threads, device=args.device, cache=args.cache)
    address = Address.of(args.host, args.port, args.token)
    socket = bound(address)
    address = Address.of(args.host, socket.getsockname()[1], address.token or "")
    with socket:
        service = Service(limits_of(args), settings, Shown.of(args.shown, args.images))
        print(f"Open {address.link()} in a browser; Ctrl-C ends.", flush=True)
        if address.token:
            common.say("Others need this token; it travels unencrypted, so put a proxy with TLS in front.")
        server(service, address).run(sockets=[socket])
    return 0


def limits_of(args: argparse.Namespace) -> Limits:
    """Limits from arguments; the others are those of `Limits`."""
    return Limits(
        photo_bytes=args.max_mb * MB,
        pixels=args.max_megapixels * 10**6,
        words=args.max_words,
        waiting=args.max_waiting,
        seconds=float(args.timeout),
    )

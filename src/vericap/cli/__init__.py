"""The command line: parse arguments, call the library, print."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from errno import errorcode
from importlib import import_module

from vericap import __version__
from vericap.core.errors import VericapError

# command -> one line of help; the module of the same name is imported only when the command runs.
COMMANDS = {
    "demo": "score bundled captions on bundled photos",
    "check": "judge one caption of one image, with reasons",
    "score": "score a file of captions",
    "merge": "join what several `score --shard` processes have done",
    "compare": "compare systems, with significance",
    "report": "write a report that shows why: opens from disk in a browser",
    "serve": "a page that judges captions while you type, a JSON API, reports of any size",
    "filter": "keep the captions that meet a condition",
    "parse": "draw or print the scene graphs of captions",
    "words": "what people would see and say of photos, and where",
    "detect": "find the objects in images",
    "features": "extract region features of images",
    "annotate": "write a page on which people rate captions",
    "meta": "how well do metrics agree with people?",
    "verify": "recompute published values and print the agreement",
    "reproduce": "run the experiments of the papers, ours beside theirs",
    "train": "train the models: encoder, backbone, words, vse, scan, faier, faier-plus, lm, ...",
    "vectors": "list, convert and inspect word vectors",
    "df": "count document frequencies for CIDEr",
    "metrics": "list the metrics, or print one metric's card",
    "cache": "what is kept on disk, and how to clear it",
    "doctor": "what is installed, which models are found, what is missing",
}

LONG = ("score", "compare", "report", "filter", "meta", "verify")  # commands that tell how far they are
GOOD, BAD_RECORDS, USAGE = 0, 1, 2
_ARGUMENT = re.compile(r"`([a-z][a-z0-9_]*)=([^`]*)`")


def parser_for(command: str) -> argparse.ArgumentParser:
    """The parser of one command."""
    from vericap.cli.parsing import Parser

    return Parser.of(f"vericap {command}", import_module(f"vericap.cli.{command.replace('-', '_')}"))


def usage() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {text}" for name, text in COMMANDS.items()]
    return "\n".join(
        [
            "usage: vericap COMMAND ...",
            "",
            "Is the caption true to the image, does it say what matters, does it read well?",
            "",
            *lines,
            "",
            "`vericap help COMMAND` tells more; `vericap --version` prints the version.",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Exit codes: 0 good, 1 finished with bad records, 2 usage or unreadable input."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if len(words) > 1 and words[0] == "help":
        words = [*words[1:], "--help"]
    if not words or words[0] in ("-h", "--help", "help"):
        print(usage())
        return GOOD if words else USAGE
    if words[0] in ("-V", "--version", "version"):
        print(f"vericap {__version__}")
        return GOOD
    if words[0] not in COMMANDS:
        print(f"vericap: {unknown(words[0])} (`vericap help` lists the commands)", file=sys.stderr)
        return USAGE
    try:
        with _starting(words):
            args = parser_for(words[0]).parse_args(words[1:])
        return int(args.run(args))
    except VericapError as error:
        print(f"vericap: {flags(str(error))}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        print("vericap: interrupted", file=sys.stderr, flush=True)
        if arguments is None:
            _leave_soon(130)
        return 130
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): not an error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return GOOD
    except OSError as error:
        # A full disk, a folder that cannot be written, a device that fails: said once, for every command.
        where = f"{error.filename}: " if error.filename else ""
        print(f"vericap: {where}{error.strerror or error}{_way_out(error)}", file=sys.stderr)
        return USAGE


def _way_out(error: OSError) -> str:
    """What to do about what the system refuses."""
    elsewhere = "choose a place where you may write"
    known = {
        "EACCES": elsewhere,
        "EPERM": elsewhere,
        "EROFS": elsewhere,
        "ENOSPC": "make room where the output and TMPDIR lie, or choose other places",
        "EEXIST": "a file is where a folder is needed; choose another name",
        "ENOTDIR": "a file is where a folder is needed; choose another name",
        "EISDIR": "name a file in it",
        "ENOENT": "check the path",
    }
    advice = known.get(errorcode.get(error.errno or 0, ""))
    return f"; {advice}" if advice else ""


def _starting(words: Sequence[str]) -> AbstractContextManager[object]:
    """Shows that a long command begins: what it needs may take a while to load."""
    if words[0] not in LONG or {"-q", "--quiet"} & set(words):
        return nullcontext()
    from vericap.run.progress import Bar

    return Bar(what=f"starting {words[0]}")


def flags(message: str) -> str:
    """A message of the library, which names arguments (`images=DIR`), as the command line says it (--images DIR)."""
    return _ARGUMENT.sub(lambda found: f"--{found[1].replace('_', '-')} {found[2]}".rstrip(), message)


def _leave_soon(code: int, seconds: float = 5.0) -> None:
    """End the process even where a thread that minds worker processes waits for one that is gone."""
    from threading import Timer

    watch = Timer(seconds, os._exit, (code,))
    watch.daemon = True
    watch.start()


def unknown(word: str) -> str:
    """What to say about a first word that is no command: options, files and metrics come after one."""
    if word.startswith("-"):
        return f"unknown option '{word}'; options come after a command: vericap score captions.json {word} ..."
    if os.path.exists(word):
        return f"unknown command '{word}'; to judge the captions of this file: vericap score {word}"
    from difflib import get_close_matches

    from vericap.metrics.registry import METRICS, SETS, canonical

    if canonical(word) in METRICS or canonical(word) in SETS:
        return f"unknown command '{word}'; it is a metric: vericap metrics {word}"
    near = get_close_matches(word.lower(), [*COMMANDS, "help", "version"], n=1)
    return f"unknown command '{word}'" + (f"; did you mean '{near[0]}'?" if near else "")

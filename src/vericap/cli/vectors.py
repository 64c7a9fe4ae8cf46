"""List, convert and inspect word vectors.

vericap vectors list
vericap vectors convert glove.6B.300d.txt
vericap vectors nearest dog --vectors glove.6B.300d.txt
vericap vectors coverage captions.jsonl --vectors GoogleNews-vectors-negative300.bin
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vericap.core.errors import InputError
from vericap.core.table import Table

if TYPE_CHECKING:
    from vericap.run.runtime import Runtime
    from vericap.text.vectors import WordVectors

_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="the shipped vectors and the files converted so far")
    convert = actions.add_parser("convert", help="convert a file now rather than at its first use")
    convert.add_argument("file", type=Path, metavar="FILE")
    nearest = actions.add_parser("nearest", help="the words nearest to a word")
    nearest.add_argument("words", nargs="+", metavar="WORD")
    nearest.add_argument("--count", type=int, default=10, help="how many (default 10)")
    coverage = actions.add_parser("coverage", help="which words of a caption file have no vector")
    coverage.add_argument("captions", metavar="CAPTIONS", help="any file that `vericap score` reads, or plain text")
    for part in (nearest, coverage):
        part.add_argument("--vectors", default="encoder", metavar="FILE", help="default: the shipped vectors")
    for part in actions.choices.values():
        part.add_argument("--json", action="store_true", help="print machine-readable results")


def run(args: argparse.Namespace) -> int:
    actions = {"list": _list, "convert": _convert, "nearest": _nearest, "coverage": _coverage}
    return actions[args.action](args)


def _list(args: argparse.Namespace) -> int:
    from vericap.text.vector_files import listed
    from vericap.text.vectors import shipped_vectors

    rows = [shipped_vectors(), *listed(_runtime().folder)]
    table = Table(["source", "words", "width", "folder"])
    for row in rows:
        table.add(row["source"], row["words"], row["width"], row["folder"])
    print(json.dumps(rows, indent=1) if args.json else table.text().rstrip())
    return 0


def _convert(args: argparse.Namespace) -> int:
    from vericap.text.vector_files import converted

    if not args.file.is_file():
        raise InputError(f"there is no file {args.file}")
    folder = converted(args.file, _runtime().folder)
    meta = json.loads((folder / "meta.json").read_text("utf-8"))
    if args.json:
        print(json.dumps({**meta, "folder": str(folder)}, indent=1))
    else:
        print(f"{args.file}: {meta['words']:,} words of {meta['width']} numbers in {folder}")
    return 0


def _nearest(args: argparse.Namespace) -> int:
    from vericap.text.vectors import nearest

    source = _opened(args.vectors)
    found = {word: nearest(source, word, count=args.count) for word in args.words}
    if args.json:
        print(json.dumps({word: dict(near) if near else None for word, near in found.items()}, ensure_ascii=False))
    else:
        for word, near in found.items():
            shown = "  ".join(f"{other} {cosine:.2f}" for other, cosine in near) if near else "has no vector"
            print(f"{word}: {shown}")
    return 0 if all(found.values()) else 1


def _coverage(args: argparse.Namespace) -> int:
    from vericap.core.batch import Batch
    from vericap.core.samples import Sample
    from vericap.run.analyses import Tokens
    from vericap.run.plan import analysed
    from vericap.text.stopwords import is_content
    from vericap.text.vectors import table_words

    texts = _texts(args.captions)
    tokens = analysed(Batch.of(Sample(str(i), text) for i, text in enumerate(texts)), Tokens())[Tokens()]
    source = _opened(args.vectors)
    counts = np.bincount(tokens.ids, minlength=len(tokens.vocabulary))
    content = [i for i, word in enumerate(tokens.vocabulary) if is_content(word)]
    words = [tokens.vocabulary[i] for i in content]
    known = table_words(source, words)
    missing = Counter({word: int(counts[i]) for word, i, has in zip(words, content, known) if not has})
    total = int(sum(counts[i] for i in content))
    share = 1 - sum(missing.values()) / total if total else 0.0
    report = {
        "vectors": source.name,
        "captions": len(texts),
        "content_words": len(words),
        "without_vector": len(missing),
        "tokens_covered": round(share, 6),
        "most_frequent_missing": missing.most_common(_SHOWN),
        "missing_are": "computed when asked for" if args.vectors == "encoder" else "left out of scores",
    }
    if args.json:
        print(json.dumps(report, ensure_ascii=False, indent=1))
    else:
        print(f"{source.name}: {100 * share:.2f} % of content tokens, {len(missing)} of {len(words)} words missing")
        if missing:
            print(
                f"missing ({report['missing_are']}): " + ", ".join(f"{w} {n}" for w, n in missing.most_common(_SHOWN))
            )
    return 0


def _runtime() -> Runtime:
    from vericap.core.settings import Settings
    from vericap.run.runtime import Runtime

    return Runtime.of(Settings())


def _opened(vectors: str) -> WordVectors:
    from vericap.text.vectors import open_vectors

    return open_vectors(vectors, folder=_runtime().folder, readers=_runtime().encoder)


def _texts(name: str) -> list[str]:
    """Captions of any file the scorer reads, or the lines of a text file."""
    if name.endswith(".txt"):
        try:
            return [line.strip() for line in Path(name).read_text("utf-8").splitlines() if line.strip()]
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{name} cannot be read: {error}") from error
    from vericap.io import load

    return [text for sample in load(name).samples for text in (sample.candidate, *sample.references)]

"""Scene graphs of captions: what objects, attributes and relations each one claims.

    vericap parse "A man riding a brown horse on the beach"
    vericap parse captions.json --draw graphs/ --output graphs.jsonl
    vericap parse captions.txt --json
    vericap parse regions.csv --convention factual --json

CAPTIONS is a file (COCO results, JSONL, CSV, Parquet, or .txt with one caption a line), - for standard input, or a
caption itself. A caption in which nothing is found is reported with the reason, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path

from vericap.cli.common import positive, report_problems, say
from vericap.core.errors import InputError, Problem
from vericap.core.settings import Settings
from vericap.graphs.scene_graph import CONVENTIONS, FACTUAL, OWN, SceneGraph

_UNSAFE = re.compile(r"[^\w.-]+")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("captions", metavar="CAPTIONS", help="a file, - for standard input, or a caption")
    parser.add_argument("--lang", default="en", choices=("en", "ja"), help="language (default: en)")
    parser.add_argument("--parser", metavar="NAME", help="an installed spaCy English pipeline to use instead")
    parser.add_argument(
        "--convention",
        choices=CONVENTIONS,
        default=OWN,
        help="English: vericap's graphs, or those people drew in FACTUAL (compounds, 'have', counts as digits)",
    )
    parser.add_argument(
        "--talk", action="store_true", help="English: keep talk about the picture ('the image features')"
    )
    parser.add_argument("--draw", type=Path, metavar="DIR", help="write one SVG picture per caption here")
    parser.add_argument("--output", "-o", type=Path, metavar="FILE", help="write the graphs here, one JSON a line")
    parser.add_argument("--json", action="store_true", help="print JSON records")
    parser.add_argument("--workers", type=positive, default=1, metavar="N", help="processes to use")
    parser.add_argument("--cache", metavar="off|DIR", help="where graphs are kept by content")
    parser.add_argument("--quiet", "-q", action="store_true", help="no progress bar")


def run(args: argparse.Namespace) -> int:
    if args.output:
        from vericap.io import check_output

        check_output(args.output, [args.captions], kinds=(".jsonl",), what="graphs")
    records, problems = read_captions(args.captions)
    settings = Settings(
        lang=args.lang, parser=args.parser or "", workers=args.workers, cache=args.cache, progress=not args.quiet
    )
    texts = list(dict.fromkeys(text for _, text in records))
    graphs = dict(zip(texts, parsed(texts, settings, args)))
    problems += [Problem(key, graphs[text].reason) for key, text in records if not graphs[text]]
    lines = [
        json.dumps({"id": key, "caption": text, **graphs[text].to_dict()}, ensure_ascii=False) for key, text in records
    ]
    if args.output:
        args.output.write_text("".join(line + "\n" for line in lines), "utf-8")
    if args.draw:
        draw(records, graphs, args.draw)
    if args.json:
        print("\n".join(lines))
    elif not args.output:
        print("\n\n".join(plain(key, text, graphs[text]) for key, text in records))
    report_problems(problems)
    return 1 if problems else 0


def parsed(texts: list[str], settings: Settings, args: argparse.Namespace) -> Sequence[SceneGraph]:
    """Graphs of the texts, as the options say."""
    from vericap.run.analyses.graphs import Graphs, parse_texts
    from vericap.run.runtime import Runtime

    if args.convention == FACTUAL and (args.lang != "en" or args.parser or args.talk):
        raise InputError(
            "`convention=factual` is for English and has a parser of its own: leave lang, parser, talk out"
        )
    key = Graphs.of(settings, talk=args.talk)
    return parse_texts(
        texts, Runtime.of(settings), lang=key.lang, parser=key.parser, talk=key.talk, convention=args.convention
    )


def read_captions(source: str) -> tuple[list[tuple[str, str]], list[Problem]]:
    """(id, caption) records of a file, of standard input, or the caption given itself."""
    from vericap.io import load

    # A sentence has blanks or, in Japanese, is not ASCII; a word alone is more likely a mistyped file name.
    if (" " in source.strip() or not source.isascii()) and not _is_file(source):
        return [("1", source)], []
    loaded = load(source)
    return [(sample.id, sample.candidate) for sample in loaded.samples], list(loaded.problems)


def _is_file(source: str) -> bool:
    try:
        return Path(source).exists()
    except OSError:  # longer than a name may be
        return False


def plain(key: str, text: str, graph: SceneGraph) -> str:
    """A graph for reading."""
    lines = [f"{key}: {text}" if key != "1" else text]
    own: dict[int, list[str]] = {}
    for place, attribute in graph.attributes:
        own.setdefault(place, []).append(attribute)
    for place, name in enumerate(graph.objects):
        lines.append(f"  {name}" + (f" ({', '.join(own[place])})" if place in own else ""))
    lines += [f"  {graph.objects[s]} - {relation} - {graph.objects[o]}" for s, relation, o in graph.relations]
    if not graph:
        lines.append(f"  nothing: {graph.reason}")
    return "\n".join(lines)


def draw(records: Sequence[tuple[str, str]], graphs: dict[str, SceneGraph], folder: Path) -> None:
    """One SVG file per caption, named by its id."""
    folder.mkdir(parents=True, exist_ok=True)
    used: set[str] = set()
    for key, text in records:
        name = _UNSAFE.sub("_", key).strip("._") or "caption"
        while name in used:
            name += "_"
        used.add(name)
        (folder / f"{name}.svg").write_text(graphs[text].draw(title=text[:160]), "utf-8")
    say(f"{len(used)} pictures are in {folder}")

"""Keep the captions that meet a condition, and say why the others do not.

    vericap filter pairs.csv kept.csv --images photos/ --keep 'vse>=0.3 & chair==0'
    vericap filter pool.parquet kept.npy --images photos/ --keep 'words>=3 & lang==en & !url then top:0.3:vse' --cascade
    vericap filter 'shards/{000..099}.tar' kept-%06d.tar --keep 'top:30%:vse' --clean --best-per-image
    vericap filter pairs.jsonl kept.jsonl --keep 'rouge-l>=0.2 | words<4' --dry-run

A condition compares metrics (vse, vifidel:p=1, spice.recall), text rules (`--rules` lists them) and columns of the
input with >= <= > < == !=, joined by & | ! and parentheses. top:0.3:vse is the best 30 % of all records; after `then`
it is the best 30 % of those that are left.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from vericap.cli import common
from vericap.core.errors import VericapError
from vericap.core.table import Table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "input", nargs="?", metavar="INPUT", help="file, folder or pattern of shards; - for standard input"
    )
    parser.add_argument(
        "output", nargs="?", metavar="OUTPUT", help=".jsonl .csv .parquet, .tar (or x-%%06d.tar), .npy (DataComp uids)"
    )
    parser.add_argument(
        "--keep", action="append", default=[], metavar="EXPRESSION", help="said twice: one, then the other"
    )
    parser.add_argument("--rules", action="store_true", help="list the text rules")
    common.add_input(parser)
    group = parser.add_argument_group("keeping")
    group.add_argument("--cascade", action="store_true", help="dear metrics see only what cheaper conditions left")
    group.add_argument("--clean", action="store_true", help="undo HTML, addresses, file names, blanks, capitals first")
    group.add_argument(
        "--best-per-image", nargs="?", const="", metavar="COLUMN", help="of an image's captions keep the best one"
    )
    group.add_argument("--sort", nargs="?", const="", metavar="COLUMN", help="the best first (default: first metric)")
    group.add_argument("--metrics", "-m", default="", metavar="NAMES", help="further scores to write of what is kept")
    group = parser.add_argument_group("output")
    group.add_argument("--rejected", metavar="FILE|none", help="where the others go (default: OUTPUT with .rejected)")
    group.add_argument("--dry-run", action="store_true", help="tell what would be kept, write nothing")
    group.add_argument(
        "--shard-size", type=common.positive, default=10_000, metavar="N", help="samples of a tar (10000)"
    )
    group.add_argument(
        "--resume",
        nargs="?",
        const="",
        metavar="DIR",
        help="go on where an earlier run stopped; its state is beside the output, or in DIR",
    )
    group.add_argument("--json", action="store_true", help="print counts and cuts for programs")
    group = parser.add_argument_group("scoring")
    group.add_argument("--lang", default="en", help="language of the captions (default: en)")
    group.add_argument("--tokenizer", help="ptb, none, sudachi; by default the language's")
    group.add_argument("--df", default="corpus", metavar="FILE|coco-val", help="document frequencies of CIDEr")
    group.add_argument("--workers", type=common.positive, default=1, metavar="N", help="processes to use (default: 1)")
    group.add_argument("--threads", type=common.positive, default=0, metavar="N", help="threads of each network")
    group.add_argument("--device", default="", metavar="NAME", help="of networks: cpu, cuda, directml, coreml, auto")
    group.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)
    common.add_cache(group)
    group.add_argument("--quiet", "-q", action="store_true", help="no histograms, no notes")


def run(args: argparse.Namespace) -> int:
    if args.rules:
        print(rules_table().text(), end="")
        return 0
    from vericap.io.filtering import PIECE, Filtering, check_outputs, rejected_name
    from vericap.io.stream import open_input
    from vericap.io.write import named_files

    _check(args)
    settings = common.settings(args)
    rejected = None if args.rejected == "none" or args.dry_run else args.rejected or rejected_name(args.output)
    how = {**common.reading(args), "records": PIECE, "workers": args.workers}
    with open_input(args.input, args.references, **how) as source:
        if not args.dry_run:
            check_outputs(args.output, rejected, [*source.paths, *named_files(settings)])
        filtering = Filtering(source, wish(args), settings)
        outcome = filtering.run(None if args.dry_run else args.output, rejected, resume=args.resume)
    if outcome.before is not None:
        return _done_before(args, outcome.before)
    _tell(args, outcome)
    if not args.quiet:
        for text in outcome.notes:
            common.say(f"note: {text}")
    common.report_lines([str(problem) for problem in outcome.problems], outcome.problem_count)
    return 1 if outcome.problem_count else 0


def _done_before(args: argparse.Namespace, summary: dict[str, Any]) -> int:
    if args.json:
        print(json.dumps(summary, ensure_ascii=False, indent=2))
    else:
        print(f"done before: {summary['kept']} of {summary['records']} records kept")
    return 0  # as in every command: nothing is left to do


def _check(args: argparse.Namespace) -> None:
    if args.input is None or (args.output is None and not args.dry_run):
        raise VericapError("name an INPUT and an OUTPUT (or --dry-run)")
    if not args.keep:
        raise VericapError("say what to keep, for example: `keep='vse>=0.3 & !url'`")


def wish(args: argparse.Namespace) -> Any:
    """What to keep, from the arguments."""
    from vericap.io.filtering import Wish
    from vericap.metrics.registry import split

    return Wish(
        keep=" then ".join(args.keep),
        cascade=args.cascade,
        clean=args.clean,
        best_per_image=args.best_per_image,
        sort=args.sort,
        metrics=tuple(split(args.metrics)),
        shard=args.shard_size,
    )


def _tell(args: argparse.Namespace, outcome: Any) -> None:
    from vericap.io.filter_outcome import outcome_lines
    from vericap.run.filter.selection import cuts_of

    told = outcome.summary
    if args.json:
        print(json.dumps(outcome.as_dict(), ensure_ascii=False, indent=2))
        return
    if not args.quiet:
        for name, histogram in told.histograms.items():
            print(histogram.text(cuts=cuts_of(outcome.judge, told, name)), end="\n\n")
    for line in outcome_lines(outcome):
        print(line)
    if args.cascade and not args.quiet:
        for label, count in told.scored.items():
            print(f"  {label} scored {count} records")


def rules_table() -> Table:
    """The text rules with what they mean."""
    from vericap.run.filter.columns import TEXT_RULES

    table = Table(["rule", "kind", "meaning"])
    for rule in TEXT_RULES.values():
        table.add(rule.name, rule.kind, rule.help)
    return table

"""How well do metrics agree with people?

vericap meta list
vericap meta flickr8k-expert --metrics coco
vericap meta pascal50s --metrics cider-d,rouge-l --references 1,2,3,4,5 --runs 5 --figures curves/
vericap meta my_ratings.jsonl --metrics cider-d --protocol mean-spearman
vericap meta karpathy-test --metrics coco
vericap meta flickr8k-expert --export items.jsonl
vericap meta flickr8k-expert --scores polos.jsonl --metrics cider-d
vericap meta mhal --metrics vifidel,reo-relevance
vericap meta all --page docs/human-agreement.md --resume scores/
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vericap.cli import common, flags
from vericap.core.errors import InputError, VericapError
from vericap.core.keys import content_key
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.table import Table
from vericap.core.typing import Floats
from vericap.io.write import check_output
from vericap.meta.breakdowns import detail_tables
from vericap.meta.catalogue import ENTRIES, data_folder, listing, load
from vericap.meta.evaluation import TESTS, Agreements, chosen_protocol, evaluate_each
from vericap.meta.external import read_scores, write_items
from vericap.meta.human import averages_table, ceiling_table
from vericap.meta.judgements import GoldGraphs, Judgements, Pairs, Ratings, Retrieval, Spans, Systems
from vericap.meta.policy import LEFT_OUT, UNSCORED
from vericap.meta.protocols import protocol_of, protocol_table
from vericap.meta.resume import kept_run, stamp
from vericap.meta.scoring import metrics_of
from vericap.meta.tables import ablation_table, agreement_table, curve_table
from vericap.meta.task import make_task
from vericap.metrics.registry import names, resolve

CASES = 20  # disagreements listed by default


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "dataset",
        nargs="?",
        metavar="DATASET",
        help="a known data set, `list`, `all`, a .jsonl/.csv of your own, or the folder of a campaign",
    )
    parser.add_argument("more", nargs="*", metavar="RATINGS", help="further files of a campaign's ratings")
    parser.add_argument("--list", action="store_true", help="data sets, where they come from, what is here")
    parser.add_argument("--protocols", action="store_true", help="the protocols of DATASET")
    parser.add_argument(
        "--data", "--data-folder", type=Path, metavar="DIR", help="where data sets lie (default: $VERICAP_DATA)"
    )
    common.add_scoring(parser)
    group = parser.add_argument_group("judging")
    group.add_argument("--protocol", metavar="NAME", help="how judgements are used (default: as published)")
    group.add_argument(
        "--references", metavar="N,N,...", help="references per caption, drawn at random; several make a curve"
    )
    group.add_argument("--runs", type=common.positive, metavar="N", help="runs with other random references")
    group.add_argument("--scale", metavar="LOW,HIGH", help="rating scale of your own file")
    group.add_argument("--test", choices=TESTS, default="bootstrap", help="paired test against the best")
    group.add_argument("--images", type=Path, metavar="DIR", help="photos (default: those beside the data set)")
    group.add_argument("--objects", default="detector", metavar="SOURCE", help="gold, detector, or a file")
    group.add_argument("--features", type=Path, metavar="STORE", help="region features made beforehand")
    group.add_argument("--limit", type=common.positive, metavar="N", help="take the first N images")
    group.add_argument(
        "--scores",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="scores from elsewhere by id (JSONL, CSV, Parquet: id and score, or a column per metric); repeatable",
    )
    group.add_argument("--failures", metavar="METRIC", help="list where METRIC and people disagree most")
    group.add_argument("--cases", type=common.positive, default=CASES, metavar="N", help="cases to list")
    group.add_argument("--theta", type=float, default=0.5, help="disagreement from which a case is listed")
    group.add_argument("--ablation", metavar="METRIC", help="print the gaps of all metrics to METRIC")
    group.add_argument(
        "--unscored", choices=UNSCORED, default=LEFT_OUT, help="captions that a metric cannot score (default: left-out)"
    )
    group.add_argument("--details", action="store_true", help="also agreement by length, kind and system")
    group.add_argument(
        "--gaps", type=Path, metavar="FILE", help="write how often people agree with a gap of each size, as JSON"
    )
    group.add_argument("--ceiling", action="store_true", help="how well raters agree with each other")
    group = parser.add_argument_group("output")
    common.add_table(group, x100=True)
    group.add_argument("--output", "-o", type=Path, metavar="FILE", help=common.TABLE_OUTPUT)
    group.add_argument("--export", type=Path, metavar="FILE", help="write the captions to score as JSON lines and stop")
    group.add_argument("--figures", type=Path, metavar="DIR", help="draw curves, distributions, correlations")
    common.add_figure_format(group)
    group.add_argument("--page", type=Path, metavar="FILE", help="with `all`: write the page of human agreement")
    group.add_argument("--resume", type=Path, metavar="DIR", help=common.RESUME)


def run(args: argparse.Namespace) -> int:
    _check_outputs(args)
    if args.list or args.dataset == "list":
        table = listing(args.data)
        table.notes = ["`vericap meta NAME` on a data set that is not here tells the layout it expects."]
        common.show(table, args.table)
        return 0
    if not args.dataset:
        raise VericapError("name a data set (`vericap meta --list`), a file of judgements, or `all`")
    if args.dataset == "all":
        return _all(args)
    with common.working(args, f"reading {args.dataset}"):
        data = load(args.dataset, args.data, scale=_scale(args.scale), images=args.limit, more=args.more)
    if args.protocols:
        kinds = {"pairs": isinstance(data, Pairs), "spans": isinstance(data, Spans)}
        common.show(protocol_table(data.name, **kinds), args.table)
        return 0
    if isinstance(data, GoldGraphs | Retrieval | Systems) and (args.scores or args.export):
        raise VericapError(f"data set '{data.name}' has no judgements of captions that scores could be compared with")
    if not isinstance(data, Systems | Retrieval):
        common.report_problems(data.problems)
    if args.export and isinstance(data, Ratings | Pairs):
        return _export(args, _items(args, data))
    metrics = [] if isinstance(data, GoldGraphs) or args.ceiling else _metrics(args)
    judged, settings = (data, _contents(args.scores)), common.settings(args)
    with kept_run(args.resume, judged, _plan(args), metrics, settings, form=_form(args)) as kept:
        if kept.tables is not None:
            common.say("the run was done before; nothing is left to do")
            for table in kept.tables:
                _emit(args, table)
            return 0
        args.store, args.printed, args.written = kept.store, [], []
        with common.working(args, f"judging on {data.name}"):
            code = _work(args, data)
        kept.finish(args.printed, args.written)
    return code


def _work(args: argparse.Namespace, data: Judgements) -> int:
    """Judge the metrics in the way that the data set asks for."""
    if isinstance(data, Systems):
        return _systems(args, data)
    if isinstance(data, Retrieval):
        return _retrieval(args, data)
    if isinstance(data, GoldGraphs):
        return _graphs(args, data)
    if isinstance(data, Spans):
        return _spans(args, data)
    if args.ceiling:
        _emit(args, ceiling_table(data, args.protocol))
        return 0
    return _judge(args, data)


def _check_outputs(args: argparse.Namespace) -> None:
    """Refuse, before any work is done, what cannot be written."""
    common.check_table(args.output, args.scores)
    common.check_figures(args)
    for path, kinds in ((args.export, (".jsonl",)), (args.gaps, (".json",)), (args.page, (".md",))):
        if path is not None:
            check_output(path, args.scores, kinds=kinds, what="such files")


# Options that move a number, or what is asked for; how it is printed and where files go does not.
_PLANNED = (
    "dataset", "protocol", "references", "runs", "scale", "test", "limit", "failures", "cases", "theta", "ablation",
    "unscored", "details", "ceiling", "resamples", "seed",
)  # fmt: skip


def _plan(args: argparse.Namespace) -> dict[str, Any]:
    asked = {name: bool(getattr(args, name)) for name in ("gaps", "figures")}
    return {"command": "meta", **{name: getattr(args, name) for name in _PLANNED}, **asked}


def _form(args: argparse.Namespace) -> dict[str, Any]:
    return {"x100": args.x100, "signatures": args.signatures}


def _contents(paths: Sequence[Path]) -> list[str]:
    """Digests of files with scores from elsewhere."""
    try:
        return [content_key(path.read_bytes()) for path in paths]
    except OSError as error:
        raise InputError(f"--scores {error.filename}: {error.strerror}") from None


def _metrics(args: argparse.Namespace) -> list[Metric]:
    """The metrics; `--metrics ''` leaves only scores from elsewhere."""
    if args.scores and not args.metrics:
        return []
    return resolve(args.metrics, code=True)


def _judge(args: argparse.Namespace, data: Ratings | Pairs) -> int:
    counts = _counts(args.references) if args.references else [None]
    notes = [f"the first {args.limit} images alone; published numbers are of the whole set"] if args.limit else []
    found = evaluate_each(
        data,
        _metrics(args),
        [chosen_protocol(data, args.protocol, references=count, runs=args.runs) for count in counts],
        scores=_scores(args, _items(args, data), notes) if args.scores else None,
        settings=common.settings(args),
        resamples=args.resamples,
        test=args.test,
        seed=args.seed,
        store=args.store,
        unscored=args.unscored,
    )
    found[0].notes[:0] = notes
    if args.failures:
        _failures(args, found[0])
    elif args.ablation:
        _emit(args, ablation_table(found, base=args.ablation))
    elif len(found) > 1:
        _emit(args, curve_table(found))
    else:
        _emit(args, agreement_table(found[0], x100=args.x100, signatures=args.signatures))
        for table in detail_tables(found[0]) if args.details else ():
            _emit(args, table)
        if isinstance(data, Pairs) and "human" in data.preferences and args.table == "text":
            _emit(args, averages_table(data, found[0].scores))
    if args.gaps:
        from vericap.meta.gaps import save

        args.written.append(save(found[0], args.gaps))
        common.say(f"wrote {args.gaps}")
    if args.figures:
        from vericap.meta.figures import draw

        for path in draw(found, args.figures, ending=args.format_):
            args.written.append(path)
            common.say(f"wrote {path}")
    # A metric that gave nothing has its reason below the table; the exit code tells scripts.
    return 1 if any(line.value is None for line in found[0].lines) or data.problems else 0


def _items(args: argparse.Namespace, data: Ratings | Pairs) -> list[Sample]:
    """The captions to score under the one protocol that is asked for."""
    counts = _counts(args.references) if args.references else [None]
    if len(counts) > 1:
        raise VericapError("--export and --scores belong to one protocol; give one number to --references")
    protocol = chosen_protocol(data, args.protocol, references=counts[0], runs=args.runs)
    return make_task(data, protocol, seed=args.seed).items()


def _export(args: argparse.Namespace, items: list[Sample]) -> int:
    write_items(items, args.export)
    common.say(f"wrote {args.export}: {len(items)} captions to score")
    return 0


def _scores(args: argparse.Namespace, items: list[Sample], notes: list[str]) -> dict[str, Floats]:
    """All rows of all files; a name that two files have would stand for two metrics."""
    found: dict[str, Floats] = {}
    for path in args.scores:
        for name, values in read_scores(path, items, notes=notes).items():
            if name in found:
                raise VericapError(f"--scores {path}: another file has scores called '{name}' already; rename one")
            found[name] = values
    return found


def _spans(args: argparse.Namespace, data: Spans) -> int:
    from vericap.meta.spans import evaluate_spans, sentence_samples

    counts = _counts(args.references) if args.references else [None]
    protocol = protocol_of(data.name, args.protocol, spans=True).changed(references=counts[0], runs=1)
    items = sentence_samples(data, protocol)
    if args.export:
        return _export(args, items)
    notes: list[str] = []
    found = evaluate_spans(
        data,
        _metrics(args),
        protocol,
        scores=_scores(args, items, notes),
        settings=common.settings(args),
        resamples=args.resamples,
        seed=args.seed,
        store=args.store,
    )
    found.notes += notes
    _emit(args, found.table())
    return 1 if any(not line.estimates for line in found.lines) or data.problems else 0


def _graphs(args: argparse.Namespace, data: GoldGraphs) -> int:
    from vericap.meta.parsing import evaluate_parser

    found = evaluate_parser(data, settings=common.settings(args), resamples=args.resamples, seed=args.seed)
    _emit(args, found.table(x100=args.x100))
    return 1 if data.problems else 0


def _failures(args: argparse.Namespace, found: Agreements) -> None:
    """The table, and with --output cases.json everything there is to see of each case."""
    import json

    from vericap.meta.failure_cases import failure_table, failures

    full = args.output is not None and args.output.suffix == ".json"
    cases = failures(found, args.failures, theta=args.theta, limit=args.cases, explain=full)
    if full:
        records = [case.as_dict() for case in cases]
        args.output.write_text(json.dumps(records, ensure_ascii=False, indent=1), encoding="utf-8")
        args.output = None
    _emit(args, failure_table(cases, title=f"{args.failures} against people, {found.dataset}"))


def _systems(args: argparse.Namespace, data: Systems) -> int:
    from vericap.meta.ranking import rank_systems

    found = rank_systems(
        data,
        _metrics(args),
        settings=common.settings(args),
        images=args.limit,
        resamples=args.resamples,
        store=args.store,
    )
    _emit(args, found.table())
    return 1 if found.reasons else 0


def _retrieval(args: argparse.Namespace, data: Retrieval) -> int:
    from vericap.meta.retrieval import retrieve

    found = retrieve(data, _metrics(args), settings=common.settings(args), images=args.limit, store=args.store)
    _emit(args, found.table())
    return 1 if found.reasons else 0


def _all(args: argparse.Namespace) -> int:
    from vericap.meta.page import human_agreement

    # `coco` is the default of --metrics elsewhere; `all` means every metric unless some are named.
    named = None if args.metrics == "coco" else args.metrics
    chosen = f" --metrics {named}" if named else ""
    metrics = metrics_of(names(), reasons={}) if named is None else _metrics(args)
    here = stamp(filter(None, (entry.locate(data_folder(args.data)) for entry in ENTRIES)))
    with kept_run(args.resume, here, _plan(args), metrics, common.settings(args)) as kept:
        text = kept.text
        if kept.tables is not None:
            common.say("the run was done before; nothing is left to do")
        else:
            with common.working(args, "judging"):
                page = human_agreement(
                    metrics=None if named is None else metrics,
                    data_folder=args.data,
                    settings=common.settings(args),
                    store=kept.store,
                    resamples=args.resamples,
                    images=args.limit,
                    say=None if args.quiet else common.say,
                    command=f"vericap meta all{chosen} --page {args.page or 'FILE'}",
                )
            text = flags(page)
            kept.finish([], text=text)
    if args.page:
        common.write_table(args.page, text)
        common.say(f"wrote {args.page}")
    else:
        print(text, end="")
    return 0


def _counts(text: str) -> list[int | None]:
    try:
        return [int(count) for count in text.split(",")]
    except ValueError:
        raise VericapError(f"--references {text}: give whole numbers as N,N,...") from None


def _scale(text: str | None) -> tuple[float, float] | None:
    if not text:
        return None
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise VericapError(f"--scale {text}: give the lowest and highest rating as LOW,HIGH") from None
    return low, high


def _emit(args: argparse.Namespace, table: Table) -> None:
    """Print a table; the first one is also written where that is asked for, in its own form."""
    table.notes = [flags(note) for note in table.notes]
    table.x100 = args.x100
    printed = getattr(args, "printed", [])
    if printed:
        print()
    elif args.output:
        kind = common.TABLE_FILES[args.output.suffix.lower()]
        common.write_table(args.output, table.render(kind))
    printed.append(table)
    args.printed = printed
    common.show(table, args.table)

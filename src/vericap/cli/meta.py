"""How well do metrics agree with people?

vericap meta --list
vericap meta flickr8k-expert --metrics coco
vericap meta pascal50s --metrics cider-d,rouge-l --references 1,2,3,4,5 --runs 5 --figures curves/
vericap meta my_ratings.jsonl --metrics cider-d --protocol mean-spearman
vericap meta karpathy-test --metrics coco
vericap meta all --page docs/human-agreement.md --resume scores/
"""

from __future__ import annotations

import argparse
from pathlib import Path

from vericap.cli import common
from vericap.errors import VericapError
from vericap.meta.catalogue import ENTRIES, data_folder, load
from vericap.meta.evaluation import TESTS, Agreements, evaluate
from vericap.meta.human import human_ceiling
from vericap.meta.judgements import Judgements, Pairs, Ratings, Retrieval, Systems
from vericap.meta.protocols import protocol_of, protocols_of
from vericap.meta.scoring import Store
from vericap.meta.task import make_task
from vericap.metrics.registry import split
from vericap.report.tables import Table

TABLES = ("text", "markdown", "latex", "csv", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "dataset", nargs="?", metavar="DATASET", help="a known data set, `all`, or a .jsonl/.csv of your own"
    )
    parser.add_argument("--list", action="store_true", help="data sets, where they come from, what is here")
    parser.add_argument("--protocols", action="store_true", help="the protocols of DATASET")
    parser.add_argument("--data", type=Path, metavar="DIR", help="where data sets lie (default: $VERICAP_DATA)")
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
    group.add_argument("--limit", type=common.positive, metavar="N", help="images for systems and retrieval")
    group.add_argument("--failures", metavar="METRIC", help="list where METRIC and people disagree most")
    group.add_argument("--theta", type=float, default=0.5, help="disagreement from which a case is listed")
    group.add_argument("--ablation", metavar="METRIC", help="print the gaps of all metrics to METRIC")
    group.add_argument("--ceiling", action="store_true", help="how well raters agree with each other")
    group = parser.add_argument_group("output")
    group.add_argument("--table", choices=TABLES, default="text", help="how to print (default: text)")
    group.add_argument("--output", "-o", type=Path, metavar="FILE", help="also write .csv .json .tex .md .txt")
    group.add_argument("--figures", type=Path, metavar="DIR", help="draw curves, distributions, correlations")
    group.add_argument("--page", type=Path, metavar="FILE", help="with `all`: write the page of human agreement")
    group.add_argument("--resume", type=Path, metavar="DIR", help="keep scores there and take them up again")


def run(args: argparse.Namespace) -> int:
    if args.list:
        print(_listing(args).render(args.table), end="")
        return 0
    if not args.dataset:
        raise VericapError("name a data set (`vericap meta --list`), a file of judgements, or `all`")
    if args.dataset == "all":
        return _all(args)
    data = load(args.dataset, args.data, scale=_scale(args.scale))
    if args.protocols:
        print(_protocols(data).render(args.table), end="")
        return 0
    if isinstance(data, Systems):
        return _systems(args, data)
    if isinstance(data, Retrieval):
        return _retrieval(args, data)
    common.report_problems(data.problems)
    if args.ceiling:
        return _ceiling(args, data)
    return _judge(args, data)


def _judge(args: argparse.Namespace, data: Ratings | Pairs) -> int:
    counts = [int(count) for count in args.references.split(",")] if args.references else [None]
    found = [_evaluate(args, data, count) for count in counts]
    if args.failures:
        _failures(args, found[0])
    elif args.ablation:
        from vericap.report.agreement import ablation_table

        _emit(args, ablation_table(found, base=args.ablation))
    elif len(found) > 1:
        from vericap.report.agreement import curve_table

        _emit(args, curve_table(found))
    else:
        from vericap.report.agreement import agreement_table

        _emit(args, agreement_table(found[0]))
        if isinstance(data, Pairs) and "human" in data.preferences and args.table == "text":
            from vericap.meta.human import averages_table

            print(f"\n{averages_table(data, found[0].scores).text()}", end="")
    if args.figures:
        _figures(args, found)
    # A metric that gave nothing has its reason below the table; the exit code tells scripts.
    return 1 if any(line.value is None for line in found[0].lines) or data.problems else 0


def _failures(args: argparse.Namespace, found: Agreements) -> None:
    """The table, and with --output cases.json everything there is to see of each case."""
    import json

    from vericap.meta.failure_cases import failure_table, failures

    name, limit = args.failures, args.limit or 20
    full = args.output is not None and args.output.suffix == ".json"
    cases = failures(found, name, theta=args.theta, limit=limit, explain=full, settings=_settings(args))
    if full:
        records = [case.as_dict() for case in cases]
        args.output.write_text(json.dumps(records, ensure_ascii=False, indent=1, default=str), encoding="utf-8")
        args.output = None
    _emit(args, failure_table(cases, title=f"{name} against people, {found.dataset}"))


def _evaluate(args: argparse.Namespace, data: Ratings | Pairs, count: int | None) -> Agreements:
    return evaluate(
        data,
        args.metrics,
        protocol=args.protocol,
        references=count,
        runs=args.runs,
        settings=_settings(args),
        resamples=args.resamples,
        test=args.test,
        seed=args.seed,
        store=Store(args.resume) if args.resume else None,
        gold_objects=args.objects == "gold",
    )


def _settings(args: argparse.Namespace):  # type: ignore[no-untyped-def]
    from dataclasses import replace

    found = common.settings(args)
    return replace(found, objects="detector") if args.objects == "gold" else found


def _figures(args: argparse.Namespace, found: list[Agreements]) -> None:
    from vericap.report import figures

    folder, name = args.figures, found[0].dataset.replace("/", "-")
    paths = []
    if len(found) > 1:
        paths.append(figures.reference_curves(found, folder / f"{name}-references.png"))
    if found[0].scores and next(iter(found[0].scores.values())).ndim == 1:
        paths.append(figures.score_distributions(found[0], folder / f"{name}-distributions.png"))
    if len(found[0].scores) > 1:
        paths.append(figures.correlation_matrix(found[0], folder / f"{name}-correlations.png"))
    for path in paths:
        common.say(f"wrote {path}")


def _systems(args: argparse.Namespace, data: Systems) -> int:
    from vericap.meta.ranking import rank_systems

    found = rank_systems(
        data,
        args.metrics,
        settings=_settings(args),
        images=args.limit,
        resamples=args.resamples,
        store=Store(args.resume) if args.resume else None,
    )
    _emit(args, found.table())
    return 1 if found.reasons else 0


def _retrieval(args: argparse.Namespace, data: Retrieval) -> int:
    from vericap.meta.evaluation import fitting_settings
    from vericap.meta.retrieval import recalls, retrieval_table, score_matrix
    from vericap.meta.scoring import judges_of, score
    from vericap.samples import Sample

    settings, found = fitting_settings(_settings(args), data), {}
    for label, judge in judges_of(args.metrics).items():

        def ask(candidates, references, images, *, label=label, judge=judge):  # type: ignore[no-untyped-def]
            samples = [
                Sample(str(row), c, tuple(r), i) for row, (c, r, i) in enumerate(zip(candidates, references, images))
            ]
            asked = score(samples, {label: judge}, settings)
            if label in asked.reasons:
                raise VericapError(f"{label}: {asked.reasons[label]}")
            return asked.values[label]

        found[label] = recalls(*score_matrix(data, ask, images=args.limit))
    _emit(args, retrieval_table(found, title=f"{data.name}: retrieval"))
    return 0


def _all(args: argparse.Namespace) -> int:
    from vericap.meta.page import human_agreement

    # `coco` is the default of --metrics elsewhere; `all` means every metric unless some are named.
    named = None if args.metrics == "coco" else split(args.metrics)
    text = human_agreement(
        metrics=named,
        data_folder=args.data,
        settings=_settings(args),
        store=Store(args.resume) if args.resume else None,
        resamples=args.resamples,
        images=args.limit,
        say=None if args.quiet else common.say,
    )
    if args.page:
        args.page.write_text(text, encoding="utf-8")
        common.say(f"wrote {args.page}")
    else:
        print(text, end="")
    return 0


def _ceiling(args: argparse.Namespace, data: Judgements) -> int:
    if not isinstance(data, Ratings):
        raise VericapError(f"data set '{data.name}' has no raters to compare")
    table = Table(["statistic", "two raters", "one against the others", "raters"], digits=2)
    table.title = f"{data.name}: agreement between raters (x100)"
    task = make_task(data, protocol_of(data.name, args.protocol))
    table.notes = [f"{len(task.rows)} captions, as kept by {task.protocol.name}"]
    for statistic in ("tau-c", "tau-b", "spearman", "pearson"):
        found = human_ceiling(data, statistic=statistic, aspect=task.protocol.aspect, rows=task.rows)
        table.add(statistic, 100 * found.between, 100 * found.others, found.raters)
    _emit(args, table)
    return 0


def _listing(args: argparse.Namespace) -> Table:
    root = data_folder(args.data)
    table = Table(["data set", "here", "size", "source"], title=f"judgement data sets ({root})")
    for entry in ENTRIES:
        table.add(entry.name, entry.locate(root) is not None, entry.size, entry.source)
    table.notes = ["`vericap meta NAME` on a data set that is not here tells the layout it expects."]
    return table


def _protocols(data: Judgements) -> Table:
    table = Table(["protocol", "what it does"], title=f"protocols of {data.name}, the default first")
    known = protocols_of(data.name, pairs=isinstance(data, Pairs))
    for protocol in known:
        table.add(protocol.name, protocol_of(data.name, protocol.name).describe() if known else "")
    return table


def _scale(text: str | None) -> tuple[float, float] | None:
    if not text:
        return None
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise VericapError(f"--scale {text}: give the lowest and highest rating as LOW,HIGH") from None
    return low, high


def _emit(args: argparse.Namespace, table: Table) -> None:
    print(table.render(args.table), end="")
    if args.output:
        kinds = {".csv": "csv", ".json": "json", ".tex": "latex", ".md": "markdown", ".txt": "text"}
        if args.output.suffix not in kinds:
            raise VericapError(f"--output {args.output}: the name must end in {', '.join(kinds)}")
        args.output.write_text(table.render(kinds[args.output.suffix]), encoding="utf-8")

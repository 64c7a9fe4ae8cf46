"""The experiments of the FAIEr paper (Wang et al. 2021) with any metrics, the published numbers beside ours.

    python benchmarks/faier_tables.py [--tables protocol,1,1paper,2,3,fig4] [--metrics NAME ...] [--draws 5] [--limit N]

protocol  which way to compute Flickr8k-Expert fits the paper's baselines with one reference
1         Flickr8k-Expert, tau-c x100 (published protocol), with 0, 1 and 5 references; Table 4's variants are metrics
          as well: --metrics faier faier:model=DIR ...
1paper    the same by the protocols that fit the paper
2         human against machine captions on Karpathy-test photos (--photos DIR), 4 references and none
3         PASCAL-50S pairs, both labels, 5 references and none
fig4      Flickr8k-Expert against the number of references, 0-5, numbers and a picture (--picture FILE)

No model is tuned on these judgements. What a metric cannot judge counts as its lowest score.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from caption_sets import GROUPS, ROOT, Rated, expert, pascal
from coco_data import karpathy, systems
from faier_protocols import PAPER, PAPER_FAIER, fitted_table, protocol_table
from metric_runs import photos, scored, short, usable, works_without_references

from vericap.core.errors import VericapError
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.table import Table
from vericap.meta.published import published_for

METRICS = ("bleu-1", "bleu-4", "rouge-l", "meteor", "cider-d", "spice", "tiger", "faier", "faier-plus")
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "faier-references.png"


def drawn(data: Rated, count: int, draw: int) -> list[Sample]:
    """Each sample with `count` of its references; a draw orders an image's references, smaller counts are nested."""
    orders: dict[tuple[str, ...], list[str]] = {}
    random = np.random.default_rng(draw)
    samples = []
    for sample in data.samples:
        if sample.references not in orders:
            orders[sample.references] = [sample.references[i] for i in random.permutation(len(sample.references))]
        samples.append(Sample(sample.id, sample.candidate, tuple(orders[sample.references][:count]), sample.image))
    return samples


def limited(data: Rated, limit: int | None) -> Rated:
    """The first samples alone, for trying things out."""
    if not limit:
        return data
    keep = data.rows < limit
    return Rated(data.samples[:limit], data.rows[keep], data.judgements[keep], data.variant)


def expert_taus(
    names: list[str], plan: dict[int, int], settings: Settings, limit: int | None
) -> tuple[dict[str, dict[int, np.ndarray]], list[str]]:
    """tau-c x100 by metric and number of references: one value per draw (`plan`: references -> draws)."""
    data = limited(expert(), limit)
    good, left_out = usable(names, data.samples[0], settings)
    cells = [(count, draw) for count, draws in plan.items() for draw in range(draws)]
    sets = [drawn(data, count, draw) for count, draw in cells]
    found: dict[str, dict[int, np.ndarray]] = {}
    for name in good:
        own = [i for i, (count, _) in enumerate(cells) if count or works_without_references(name)]
        values = scored([sets[i] for i in own], [name], settings)[name]
        taus: dict[int, list[float]] = {}
        for i, scores in zip(own, values):
            taus.setdefault(cells[i][0], []).append(data.tau(scores))
        found[name] = {count: np.array(some) for count, some in taus.items()}
    return found, left_out


def spread(values: np.ndarray | None) -> str | None:
    if values is None:
        return None
    return f"{values.mean():.1f} ± {values.std(ddof=1):.1f}" if len(values) > 1 else f"{values.mean():.1f}"


def table1(names: list[str], args: argparse.Namespace) -> Table:
    settings = photos(ROOT / "flickr8k" / "Images", cache=args.cache)
    found, left_out = expert_taus(names, {0: 1, 1: args.draws, 5: 1}, settings, args.limit)
    shown = Table(
        ("metric", "0", "1", "5", "paper, 0", "paper, 1", "published, 5"),
        title="Table 1 and 4: Flickr8k-Expert, tau-c x100, by number of references",
        digits=1,
    )
    for name, taus in found.items():
        paper = {1: PAPER[name]} if name in PAPER else PAPER_FAIER.get(name, {})
        five = [item.value for item in published_for("flickr8k-expert", name) if item.protocol == "published"]
        five = five or [item.value for item in published_for("flickr8k-expert", name)]
        shown.add(
            short(name),
            *(spread(taus.get(n)) for n in (0, 1, 5)),
            paper.get(0),
            paper.get(1),
            five[0] if five else None,
        )
    shown.notes = [
        f"One reference: mean and standard deviation over {args.draws} draws. Pairs whose candidate is one of the "
        "image's own captions are left out, three ratings are three rows. The paper's columns follow another protocol "
        "(see `protocol` and `1paper`); the last column follows this one.",
        *left_out,
    ]
    return shown


def table3(names: list[str], args: argparse.Namespace) -> Table:
    settings = photos(ROOT / "pascal50s" / "images", cache=args.cache)
    labels = ("consensus48", "votes11")
    shown = Table(
        ("metric", "references", "label", *GROUPS, "mean", "published mean"),
        title="Table 3: PASCAL-50S, share of pairs judged as people do (%)",
        digits=1,
    )
    left_out: list[str] = []
    for count in (0, 5):
        draws = [{label: pascal(label=label, references=count, draw=d) for label in labels}
                 for d in range(args.draws if count else 1)]  # fmt: skip
        sets = [draw[labels[0]].samples for draw in draws]
        wanted = [name for name in names if count or _is_free(name)]
        good, without = usable(wanted, sets[0][0], settings)
        left_out += [text for text in without if text not in left_out]
        for name, values in scored(sets, good, settings).items():
            for label in labels:
                found = [draw[label].accuracy(scores) for draw, scores in zip(draws, values)]
                cells = [spread(np.array([one[group] for one in found])) for group in (*GROUPS, "mean")]
                shown.add(short(name), count, label, *cells, _published_pascal(name, label) if count else None)
    shown.notes = [
        f"811 pairs of 200 images; five references: mean and standard deviation over {args.draws} draws. Ties count "
        "1/2. Published means are of all 4,000 pairs.",
        *left_out,
    ]
    return shown


def _is_free(name: str) -> bool:
    try:
        return works_without_references(name)
    except VericapError:  # an unknown metric is reported with the tables that use references
        return False


def _published_pascal(name: str, label: str) -> float | None:
    found = [item for item in published_for("pascal50s", name) if not item.group and item.protocol.endswith(label)]
    return found[0].value if found else None


def table2(names: list[str], args: argparse.Namespace) -> Table:
    shown_systems = systems()
    captions = {system: karpathy(system)[0] for system in shown_systems}
    references = karpathy(shown_systems[0])[1]
    ids = [key for key in references if _photo(args.photos, key).is_file() and len(references[key]) >= 5]
    if not ids:
        raise SystemExit(f"no Karpathy-test photo at {args.photos}; name the folder with --photos")
    random = np.random.default_rng(0)
    ids = [ids[i] for i in random.permutation(len(ids))[: args.limit or 1000]]
    own = random.integers(0, 5, len(ids))
    settings = photos(args.photos, cache=args.cache)
    shown = Table(
        ("metric", "references", *shown_systems, "mean"),
        title="Table 2: the human caption is preferred to the machine's (%)",
        digits=1,
    )
    left_out: list[str] = []
    for count in (0, 4):
        sets = []
        for source in ("human", *shown_systems):
            samples = []
            for key, place in zip(ids, own):
                others = tuple(c for i, c in enumerate(references[key][:5]) if i != place)
                text = references[key][place] if source == "human" else captions[source][key]
                samples.append(Sample(key, text, others[:count], _photo(args.photos, key).name))
            sets.append(samples)
        good, without = usable([n for n in names if count or _is_free(n)], sets[0][0], settings)
        left_out += [text for text in without if text not in left_out]
        for name, (human, *machines) in scored(sets, good, settings).items():
            shares = [100 * float(np.where(human == m, 0.5, human > m).mean()) for m in machines]
            shown.add(short(name), count, *shares, float(np.mean(shares)))
    shown.notes = [
        f"{len(ids)} photos of the Karpathy test split; the human caption is one of five (drawn), the four others are "
        "the references. Today's systems write what people would: a share below 50 is not a fault by itself. The "
        "paper's table has other systems.",
        *left_out,
    ]
    return shown


def _photo(folder: Path, key: str) -> Path:
    return folder / f"{int(key):012d}.jpg"


def figure4(names: list[str], args: argparse.Namespace) -> Table:
    settings = photos(ROOT / "flickr8k" / "Images", cache=args.cache)
    draws = args.draws
    found, left_out = expert_taus(names, {0: 1, 1: draws, 2: draws, 3: draws, 4: draws, 5: 1}, settings, args.limit)
    shown = Table(
        ("metric", *map(str, range(6))), title="Figure 4: Flickr8k-Expert, tau-c x100, by references", digits=1
    )
    for name, taus in found.items():
        shown.add(short(name), *(None if n not in taus else float(taus[n].mean()) for n in range(6)))
    shown.notes = [f"Mean over {draws} draws; a draw's smaller sets are parts of its larger ones.", *left_out]
    if args.picture and found:
        draw_curves(found, args.picture)
        shown.notes.append(f"Drawn in {args.picture.name}.")
    return shown


def draw_curves(found: dict[str, dict[int, np.ndarray]], path: Path) -> None:
    from vericap.report.figures import COLOURS, MARKERS, pyplot, save

    plt = pyplot()
    figure, axes = plt.subplots(figsize=(6.4, 4.2))
    for place, (name, taus) in enumerate(found.items()):
        counts = sorted(taus)
        style = {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)]}
        axes.plot(counts, [taus[n].mean() for n in counts], markersize=5, linewidth=1.5, label=short(name), **style)
    axes.set_xlabel("references per caption (0: the photo alone)")
    axes.set_ylabel("tau-c x100")
    axes.set_title("Flickr8k-Expert")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    save(figure, path)


TABLES: dict[str, Callable[[list[str], argparse.Namespace], Table]] = {
    "protocol": protocol_table,
    "1": table1,
    "1paper": fitted_table,
    "2": table2,
    "3": table3,
    "fig4": figure4,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default="protocol,1,1paper,3,fig4")
    parser.add_argument("--metrics", nargs="+", default=list(METRICS))
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--limit", type=int, help="judged pairs (tables 1, fig4, protocol) or photos (2; 1000)")
    parser.add_argument("--photos", type=Path, default=ROOT.parent / "coco" / "train2017")
    parser.add_argument("--picture", type=Path, default=PICTURE)
    parser.add_argument("--cache", type=Path)
    args = parser.parse_args()
    wanted = ["1" if name == "4" else name for name in args.tables.split(",")]
    unknown = [name for name in wanted if name not in TABLES]
    if unknown:
        parser.error(f"unknown table {', '.join(unknown)}; there are: {', '.join(TABLES)}")
    for name in dict.fromkeys(wanted):
        print(TABLES[name](args.metrics, args).markdown(), flush=True)


if __name__ == "__main__":
    main()

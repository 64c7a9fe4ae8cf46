"""Compare vericap with the live COCO tool (pycocoevalcap 1.2, needs Java), caption by caption.

    python -m benchmarks.parity.coco_parity [--save]   # everything, about 5 minutes
    python -m benchmarks.parity.coco_parity --images 2000 --only tokens,val2014

Tokens: number of captions with different tokens. Scores: largest difference per caption and of the corpus.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.library import corpora
from benchmarks.library.results import add_save, tell
from vericap.core.samples import Sample
from vericap.core.table import Table
from vericap.metrics import registry
from vericap.run.engine import Run
from vericap.text import ptb

NAMES = ["bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l", "cider-d", "meteor"]

Scores = dict[str, tuple[float, np.ndarray]]


def tool_tokens(captions: list[str]) -> list[str]:
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    found = PTBTokenizer().tokenize({0: [{"caption": caption} for caption in captions]})
    return found[0]


def token_sets() -> Iterator[tuple[str, list[str]]]:
    for split in ("train", "val"):
        yield f"COCO {split}2014", [caption for _, caption in corpora.coco_captions(split)]
    yield "Flickr8k", [caption for _, caption in corpora.flickr_captions()]
    for system in corpora.systems():
        yield f"Karpathy test, {system}", list(corpora.karpathy(system)[0].values())


def compare_tokens(limit: int | None) -> Table:
    table = Table(["captions", "number", "different tokens"])
    for name, captions in token_sets():
        captions = captions[:limit]
        theirs = tool_tokens(captions)
        following = np.append(np.arange(1, len(captions)), -1)
        ours = ptb.tokens(captions, following=following)
        different = sum(" ".join(ours[i]) != line for i, line in enumerate(theirs))
        different += len(captions) - len(theirs)
        table.add(name, len(captions), different)
    return table


def tool_scores(candidates: dict[str, str], references: dict[str, list[str]], names: list[str]) -> Scores:
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    tokenizer = PTBTokenizer()
    gts = tokenizer.tokenize({key: [{"caption": text} for text in texts] for key, texts in references.items()})
    res = tokenizer.tokenize({key: [{"caption": text}] for key, text in candidates.items()})
    scores: Scores = {}
    corpus, captions = Bleu(4).compute_score(gts, res, verbose=0)
    for order in range(4):
        scores[f"bleu-{order + 1}"] = corpus[order], np.array(captions[order])
    scores["rouge-l"] = Rouge().compute_score(gts, res)
    scores["cider-d"] = Cider().compute_score(gts, res)
    if "meteor" in names:
        from pycocoevalcap.meteor.meteor import Meteor

        value, each = Meteor().compute_score(gts, res)
        scores["meteor"] = value, np.array(each)
    return scores


def our_scores(candidates: dict[str, str], references: dict[str, list[str]], names: list[str]) -> Scores:
    samples = [Sample(key, text, tuple(references[key])) for key, text in candidates.items()]
    result = Run(registry.resolve(names)).score(samples)
    return {name: (float(result.corpus[name]), result[name]) for name in result.metrics}


def available(names: list[str]) -> list[str]:
    """Metrics whose module and tables are here."""
    found = []
    for name in names:
        try:
            registry.metric_class(name)
            found.append(name)
        except ImportError as error:
            print(f"{name} is left out: {error}")
    return found


def score_sets(images: int | None) -> Iterator[tuple[str, Callable[[], corpora.Pairs]]]:
    yield "val2014", lambda: corpora.human("val", images)
    for system in corpora.systems():
        yield system, lambda system=system: corpora.karpathy(system)
    yield "flickr8k-expert", corpora.flickr8k_expert


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, help="use the first N captions / images only")
    parser.add_argument("--only", default="", help="comma-separated: tokens, val2014, a system, flickr8k-expert")
    parser.add_argument("--no-meteor", action="store_true", help="leave METEOR out (the tool takes minutes for it)")
    add_save(parser)
    args = parser.parse_args()
    wanted = set(filter(None, args.only.split(",")))
    names = available([name for name in NAMES if not (args.no_meteor and name == "meteor")])
    tables = {"tokens": compare_tokens(args.images)} if not wanted or "tokens" in wanted else {}
    about = "largest difference of a caption's score / of the corpus score"
    table = Table(["set", "captions", *names], notes=[about])
    for name, load in score_sets(args.images):
        if wanted and name not in wanted:
            continue
        candidates, references = load()
        if args.images:
            candidates = dict(list(candidates.items())[: args.images])
            references = {key: references[key] for key in candidates}
        theirs = tool_scores(candidates, references, names)
        ours = our_scores(candidates, references, names)
        cells = [f"{np.abs(ours[n][1] - theirs[n][1]).max():.1e} / {abs(ours[n][0] - theirs[n][0]):.1e}" for n in names]
        table.add(name, len(candidates), *cells)
    if table.rows:
        tables["scores"] = table
    tell("benchmarks.parity.coco_parity", tables, save=args.save)


if __name__ == "__main__":
    main()

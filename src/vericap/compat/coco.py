"""The COCO caption tool's shapes: scorers with `compute_score(gts, res)` and `COCOEvalCap`.

    from vericap.compat.coco import Bleu, Cider, COCOEvalCap, Meteor, PTBTokenizer, Rouge, Spice

`gts` and `res` are dicts id -> list of captions that are already tokenised (words split by blanks),
as `PTBTokenizer().tokenize` returns them. What comes back has the types of `pycocoevalcap` 1.2, in its order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from vericap.core.batch import Batch
from vericap.core.errors import InputError
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.graphs.spice import Counts, ReferenceGraph
from vericap.metrics.registry import resolve
from vericap.run.analyses import Graphs
from vericap.run.engine import Run
from vericap.run.plan import analysed
from vericap.run.results import Result
from vericap.text.tokens import tokenize

__all__ = ["Bleu", "COCOEvalCap", "Cider", "Meteor", "PTBTokenizer", "Rouge", "Spice"]

Captions = Mapping[Any, Sequence[Any]]

# SPICE's categories: the original's name -> ours
CATEGORIES = {
    "All": "all",
    "Relation": "relation",
    "Cardinality": "count",
    "Attribute": "attribute",
    "Size": "size",
    "Color": "color",
    "Object": "object",
}


class PTBTokenizer:
    """Captions by image -> tokenised captions by image, to the letter as the tool's Java program cuts them.

    Examples
    --------
    >>> PTBTokenizer().tokenize({7: [{"caption": "A dog's ball."}]})
    {7: ["a dog 's ball"]}
    """

    def tokenize(self, captions_for_image: Mapping[Any, Sequence[Mapping[str, Any]]]) -> dict[Any, list[str]]:
        """Captions with their words split by blanks, small and without marks.

        Parameters
        ----------
        captions_for_image : dict
            Lists of {"caption": ...} by id.

        Returns
        -------
        dict
            Lists of tokenised texts by id.
        """
        texts = [str(item["caption"]) for items in captions_for_image.values() for item in items]
        tokens = iter(tokenize(texts, "ptb"))
        return {key: [" ".join(next(tokens)) for _ in items] for key, items in captions_for_image.items()}


def samples(gts: Captions, res: Captions) -> list[Sample]:
    """One sample per image, in the order of the references; each has one candidate and at least one reference."""
    found = []
    for key in res:
        if key not in gts or not gts[key]:
            raise InputError(f"image {key!r} has a candidate in `res` but no reference in `gts`")
    for key in gts:
        if key not in res:
            continue
        if isinstance(res[key], str) or len(res[key]) != 1:
            said = "a text" if isinstance(res[key], str) else f"{len(res[key])} candidates"
            raise InputError(f"image {key!r} has {said} in `res`; a list of exactly one caption is needed")
        found.append(Sample(str(key), str(res[key][0]), tuple(map(str, gts[key]))))
    return found


class CocoScorer:
    """What all scorers share: corpus value and per-image values of some metrics."""

    metrics: tuple[str, ...] = ()
    title = ""
    df = "corpus"

    def compute_score(self, gts: Captions, res: Captions, verbose: int = 0) -> tuple[Any, Any]:
        """The corpus score and the scores of the images.

        Parameters
        ----------
        gts : dict
            Lists of tokenised references by id.
        res : dict
            Lists with one tokenised candidate by id.

        verbose : int
            Taken and not used.

        Returns
        -------
        tuple
            Corpus score, scores of the images in the order of `gts`; the types are the original's, as the class says.
        """
        found = samples(self._ordered(gts), res)
        result = Run(resolve(self.metrics), Settings(tokenizer="none", df=self.df)).score(found)
        return self._shaped(result, found)

    def _ordered(self, gts: Captions) -> Captions:
        """References in the order in which scores come back."""
        return gts

    def _shaped(self, result: Result, found: Sequence[Sample]) -> tuple[Any, Any]:
        """Scores in the original's types."""
        name = self.metrics[0]
        return float(result.corpus[name]), result[name]

    def method(self) -> str:
        """The name that the tool prints.

        Returns
        -------
        str
        """
        return self.title


class Bleu(CocoScorer):
    """BLEU-1 to BLEU-n; lists of n in place of single scores.

    Parameters
    ----------
    n : int
        The longest n-gram.

    Examples
    --------
    >>> gts = {1: ["a dog runs on the grass"], 2: ["two cats sleep on a bed"]}
    >>> corpus, each = Bleu(2).compute_score(gts, {1: ["a dog runs on grass"], 2: ["two cats sleep"]})
    >>> [round(value, 3) for value in corpus], len(each), len(each[0])
    ([0.607, 0.554], 2, 2)
    """

    title = "Bleu"

    def __init__(self, n: int = 4) -> None:
        self.metrics = tuple(f"bleu-{order}" for order in range(1, n + 1))

    def _shaped(self, result: Result, found: Sequence[Sample]) -> tuple[Any, Any]:
        return (
            [float(result.corpus[name]) for name in self.metrics],
            [result[name].tolist() for name in self.metrics],
        )


class Rouge(CocoScorer):
    """ROUGE-L.

    Examples
    --------
    >>> value, each = Rouge().compute_score({1: ["a dog runs"]}, {1: ["a dog runs"]})
    >>> value, each.tolist()
    (1.0, [1.0])
    """

    title = "Rouge"
    metrics = ("rouge-l",)


class Cider(CocoScorer):
    """CIDEr-D, which the COCO tool prints as CIDEr.

    Parameters
    ----------
    test, refs : Any
        Taken and not used, as in the original.
    n : int
        The longest n-gram; only 4, which alone works in the original too.
    sigma : float
        Width of the length penalty; only 6, likewise.
    df : str
        Where document frequencies come from: "corpus" (the references of the call, as in the original), "coco-val", or
        a file of `vericap df`, as a reward for self-critical training needs it.

    Examples
    --------
    >>> gts = {1: ["a dog runs"], 2: ["two cats sleep"]}
    >>> value, each = Cider().compute_score(gts, gts)
    >>> round(value, 6), each.shape
    (7.5, (2,))
    """

    title = "CIDEr"
    metrics = ("cider-d",)

    def __init__(self, test: Any = None, refs: Any = None, n: int = 4, sigma: float = 6.0, df: str = "corpus") -> None:
        if (n, sigma) != (4, 6.0):
            raise InputError(f"Cider(n={n}, sigma={sigma}): CIDEr-D is defined with n=4 and sigma=6; leave them out")
        if str(df).endswith((".p", ".pkl", ".pickle")):
            raise InputError(
                f"{df}: pickled document frequencies are not opened, because a pickle can run code; make a table with "
                "`vericap df REFERENCES --output FILE.npz` and give df=FILE.npz"
            )
        self.df = str(df)


class Meteor(CocoScorer):
    """METEOR 1.5 for English, without Java; the images' scores are a list.

    Examples
    --------
    >>> value, each = Meteor().compute_score({1: ["a dog runs"]}, {1: ["a dog runs"]})
    >>> round(value, 3), len(each)
    (1.0, 1)
    """

    title = "METEOR"
    metrics = ("meteor",)

    def _shaped(self, result: Result, found: Sequence[Sample]) -> tuple[Any, Any]:
        value, scores = super()._shaped(result, found)
        return value, scores.tolist()


class Spice(CocoScorer):
    """vericap's SPICE: close to the original's scores, not equal to them (see `vericap metrics spice`).

    As in the original, images come in the order of their sorted ids, and each has a dict of categories:
    `scores[0]["All"]["f"]`, with precision `pr`, recall `re` and the counts `tp`, `fp` and `fn`; NaN where neither the
    candidate nor a reference says anything of the kind.

    Examples
    --------
    >>> value, each = Spice().compute_score({1: ["a brown dog runs on grass"]}, {1: ["a dog runs"]})
    >>> each[0]["All"]["f"] == value, each[0]["Object"]["pr"]
    (True, 1.0)
    """

    title = "SPICE"
    metrics = ("spice",)

    def _ordered(self, gts: Captions) -> Captions:
        return {key: gts[key] for key in sorted(gts)}

    def _shaped(self, result: Result, found: Sequence[Sample]) -> tuple[Any, Any]:
        return float(result.corpus["spice"]), spice_categories(found, Settings(tokenizer="none"))


def spice_categories(found: Sequence[Sample], settings: Settings) -> list[dict[str, dict[str, float]]]:
    """SPICE of each sample by category, in the original's form."""
    batch = Batch.of(found, settings)
    analysed(batch, Graphs.of(settings))
    graphs = batch[Graphs.of(settings)]
    scores = []
    for row in range(len(batch)):
        references = ReferenceGraph(graphs[place].tuples(actions=True) for place in batch.references(row))
        counts = references.score(graphs[batch.candidates[row]].tuples(actions=True)).counts
        scores.append({name: _counted(counts[own]) for name, own in CATEGORIES.items()})
    return scores


def _counted(counts: Counts) -> dict[str, float]:
    said = counts.candidate or counts.reference
    shares = {"pr": counts.precision, "re": counts.recall, "f": counts.f}
    found = {name: value if said else float("nan") for name, value in shares.items()}
    return {**found, "fn": float(counts.fn), "numImages": 1.0, "fp": float(counts.fp), "tp": float(counts.tp)}


class COCOEvalCap:
    """Evaluate results as the COCO tool does: `COCOEvalCap(coco, coco_result).evaluate()`.

    Parameters
    ----------
    coco : COCO object or dict
        References: a pycocotools object, anything with `imgToAnns`, or a dict image id -> list of {"caption": ...}.
    coco_result : COCO object or dict
        Results in one of the same forms.
    metrics : list of str
        Names of metrics; all that the tool prints without them.

    Examples
    --------
    >>> references = {7: [{"caption": "A dog runs."}, {"caption": "The dog is running."}]}
    >>> evaluation = COCOEvalCap(references, {7: [{"caption": "a dog runs"}]}, metrics=["bleu-1", "rouge-l"])
    >>> evaluation.evaluate()
    Bleu_1: 1.000
    ROUGE_L: 1.000
    >>> evaluation.imgToEval[7]["image_id"]
    7
    """

    # metric -> the name the COCO tool prints
    names: ClassVar[dict[str, str]] = {
        "bleu-1": "Bleu_1",
        "bleu-2": "Bleu_2",
        "bleu-3": "Bleu_3",
        "bleu-4": "Bleu_4",
        "meteor": "METEOR",
        "rouge-l": "ROUGE_L",
        "cider-d": "CIDEr",
        "spice": "SPICE",
    }

    def __init__(self, coco: Any, coco_result: Any, *, metrics: Iterable[str] | None = None) -> None:
        self.coco, self.cocoRes = coco, coco_result
        self.metrics = list(self.names) if metrics is None else [metric.label for metric in resolve(metrics)]
        known = coco.getImgIds() if hasattr(coco, "getImgIds") else _annotations(coco)
        self.params = {"image_id": list(known)}
        self.eval: dict[str, float] = {}
        self.imgToEval: dict[Any, dict[str, Any]] = {}
        self.evalImgs: list[dict[str, Any]] = []

    def evaluate(self) -> None:
        """Fill `eval`, `imgToEval` and `evalImgs` for the images of `params["image_id"]`."""
        references, candidates = _annotations(self.coco), _annotations(self.cocoRes)
        keys = [key for key in self.params["image_id"] if key in candidates]
        gts = {key: [item["caption"] for item in references.get(key, ())] for key in keys}
        res = {key: [item["caption"] for item in candidates[key]] for key in keys}
        result = Run(resolve(self.metrics)).score(samples(gts, res))
        columns: dict[str, Any] = {self.names.get(name, name): result[name].tolist() for name in self.metrics}
        if "spice" in self.metrics:
            columns["SPICE"] = spice_categories(samples(gts, res), Settings())
        self.eval = {self.names.get(name, name): float(result.corpus[name]) for name in self.metrics}
        self.imgToEval = {
            key: {"image_id": key, **{name: values[row] for name, values in columns.items()}}
            for row, key in enumerate(keys)
        }
        self.evalImgs = list(self.imgToEval.values())
        for name, value in self.eval.items():
            print(f"{name}: {value:.3f}")


def _annotations(source: Any) -> Mapping[Any, Sequence[Mapping[str, Any]]]:
    found = getattr(source, "imgToAnns", source)
    if not isinstance(found, Mapping):
        raise InputError(f"a {type(source).__name__} has no imgToAnns and is not a dict of annotations by image id")
    return found

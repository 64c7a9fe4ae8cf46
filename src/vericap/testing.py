"""The contract of a metric, as checks that anyone can run over a metric of their own.

    from vericap.testing import check_metric
    check_metric("spice")          # a name, a class, an instance or a plain function

`check_metric` brings its own captions, photos and language, and raises an AssertionError that says which promise was
broken, with the numbers. The project's own tests run it over the whole registry.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from vericap.core.batch import Batch
from vericap.core.errors import VericapError
from vericap.core.explanation import Explanation
from vericap.core.metric import SIGNATURE, Metric
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.shipped import ROOT
from vericap.core.typing import Floats
from vericap.metrics.mean import Mean
from vericap.metrics.registry import Wanted, make, names, resolve
from vericap.run import plan
from vericap.run.engine import Run
from vericap.run.results import Result

__all__ = ["check_metric"]

WORDLESS = ("", "   ", "???", "🙂", "...")
LONGEST = 3_000  # bytes of a row of explanation without matrices
TOLERANCE = 1e-6  # networks compute in float32; their sums depend on what is computed together
_JAPANESE = (
    ("犬が芝生の上を走っている", "茶色い犬が草の上を走る", "芝生を走る一匹の犬"),
    ("男性が自転車に乗っている", "自転車に乗った男の人", "男性が道で自転車をこいでいる"),
    ("テーブルの上に赤いリンゴがある", "赤いリンゴが机に置かれている", "机の上のリンゴ"),
    ("二人の子供が公園で遊んでいる", "公園で遊ぶ子供たち", "子供が二人で遊んでいる"),
)


def check_metric(
    metric: Wanted, *, settings: Settings | None = None, samples: Sequence[Sample] = (), processes: bool = True
) -> list[str]:
    """Check every promise of a metric; the names of the checks that were made.

    Parameters
    ----------
    metric : str, Metric or callable
        Name, class, instance or plain function.
    settings : Settings
        By default photos of the package and the metric's language.
    samples : list of Sample
        By default twelve captions of six photos with references, or Japanese captions.
    processes : bool
        Also score in two other processes, which takes some seconds.

    Returns
    -------
    list of str
        What was checked; a promise that is broken raises an AssertionError that names it.

    Examples
    --------
    >>> "shards" in check_metric("rouge-l", processes=False)
    True
    """
    (chosen,) = resolve([metric], code=True)
    case = Tried(chosen, settings, samples)
    done = []
    for name, check in CHECKS.items():
        if name == "processes" and not processes:
            continue
        check(case)
        done.append(name)
    return done


class Tried:
    """A metric with samples it can judge."""

    def __init__(self, metric: Metric, settings: Settings | None, samples: Sequence[Sample]) -> None:
        self.metric = metric
        japanese = bool(metric.languages) and "en" not in metric.languages
        lang = metric.languages[0] if japanese else "en"
        photos = None if japanese else ROOT / "demo" / "photos"
        self.settings = settings or Settings(lang=lang, images=photos)
        self.samples = list(samples) or list(_japanese() if japanese else _english())

    def score(self, samples: Sequence[Sample], metric: Metric | None = None) -> Result:
        return Run([metric or self.metric], self.settings).score(samples)

    def values(self, samples: Sequence[Sample], metric: Metric | None = None) -> Floats:
        return self.score(samples, metric)[(metric or self.metric).label]

    def fails(self, promise: str, detail: object = "") -> AssertionError:
        return AssertionError(f"metric '{self.metric.label}' {promise}" + (f": {detail}" if detail != "" else ""))

    def same(self, one: Floats, two: Floats, promise: str) -> None:
        if not np.allclose(one, two, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
            raise self.fails(promise, f"{one} and {two}")


def _english() -> Iterator[Sample]:
    folder = ROOT / "demo"
    references = {
        item["id"]: item for item in map(json.loads, (folder / "references.jsonl").read_text("utf-8").splitlines())
    }
    for system in ("careful", "inventive"):
        for line in (folder / f"{system}.jsonl").read_text("utf-8").splitlines()[::2]:
            item = json.loads(line)
            found = references[item["id"]]
            yield Sample(f"{system}-{item['id']}", item["candidate"], tuple(found["references"]), item["image"])


def _japanese() -> Iterator[Sample]:
    for number, (candidate, *references) in enumerate(_JAPANESE):
        yield Sample(str(number), candidate, tuple(references))
        yield Sample(f"{number}-other", _JAPANESE[number - 1][0], tuple(references))


# --- checks -----------------------------------------------------------------------------------------------------


def declared(case: Tried) -> None:
    """The analyses it reads are those it declares, no more and no less."""
    metric, settings = case.metric, case.settings
    batch = Batch.of(case.samples, settings)
    keys = metric.requires(settings)
    plan.fill(batch, plan.Plan((metric,), settings).keys(), Run([metric], settings).runtime)
    reader = batch.read_by(f"metric '{metric.label}'", keys)
    reader.read = set()
    metric.statistics(reader, metric.prepare(reader) if metric.prepares else None)
    idle = set(keys) - reader.read
    if idle:
        raise case.fails("declares analyses it does not read", idle)


def rows(case: Tried) -> None:
    """One row of the declared width per caption; NaN only with a reason; scores inside the declared range."""
    result = case.score(case.samples)
    statistics, label = result.statistics[case.metric.label], case.metric.label
    if statistics.values.shape != (len(case.samples), case.metric.width):
        raise case.fails("gives rows of another width than it declares", statistics.values.shape)
    silent = [row for row in range(len(case.samples)) if statistics.undefined(row) and row not in statistics.problems]
    if silent:
        raise case.fails("gives NaN without a reason", silent)
    low, high = case.metric.range
    scores = result[label][~np.isnan(result[label])]
    if not scores.size:
        raise case.fails("judged none of the captions", result.problems[:3])
    if scores.min() < low - TOLERANCE or scores.max() > high + TOLERANCE:
        raise case.fails(f"leaves its range {low} .. {high}", (scores.min(), scores.max()))


def pure(case: Tried) -> None:
    """The same captions give the same scores again, and a pickled copy gives them too."""
    first = case.values(case.samples)
    case.same(first, case.values(case.samples), "gives other scores the second time")
    try:
        copy = pickle.loads(pickle.dumps(case.metric))
    except (pickle.PicklingError, AttributeError, TypeError):
        return  # a function defined inside another one cannot leave its process; nothing else is asked of it
    case.same(first, case.values(case.samples, copy), "gives other scores as a pickled copy")


def order(case: Tried) -> None:
    """Scores do not depend on the order of the captions."""
    backwards = case.values(case.samples[::-1])[::-1]
    case.same(case.values(case.samples), backwards, "depends on the order of captions")


def shards(case: Tried) -> None:
    """Scores do not depend on how many captions are analysed together."""
    whole = case.values(case.samples)
    with _budget(1):  # every sample is a shard of its own
        case.same(whole, case.values(case.samples), "gives other scores shard by shard")
    if not case.metric.prepares:
        apart = np.concatenate([case.values(case.samples[i : i + 2]) for i in range(0, len(case.samples), 2)])
        case.same(whole, apart, "depends on the other captions of a batch")


def references(case: Tried) -> None:
    """Scores do not depend on the order of references, unless the metric says that they do."""
    if case.metric.ordered_references:
        return
    turned = [replace(sample, references=sample.references[::-1]) for sample in case.samples]
    case.same(case.values(case.samples), case.values(turned), "depends on the order of references")


def processes(case: Tried) -> None:
    """Inside mean(...), in two other processes, the scores are the same."""
    try:
        pickle.dumps(case.metric)
    except (pickle.PicklingError, AttributeError, TypeError):
        return
    whole = case.values(case.samples)
    mean = Mean([case.metric])
    with _budget(1):
        result = Run([mean], replace(case.settings, workers=2)).score(case.samples)
    case.same(whole, result[mean.label], "gives other scores inside mean(...) in other processes")


def signature(case: Tried) -> None:
    """The signature names its choices by the canonical keys, and the metric's text form reads back."""
    if isinstance(case.metric, Mean):
        return
    found = case.score(case.samples).corpus[case.metric.label].signature
    keys = [part.partition(":")[0] for part in found.split("|")]
    odd = [key for key in keys if key not in SIGNATURE and key not in case.metric.options]
    if odd or len(set(keys)) < len(keys):
        raise case.fails("has keys in its signature that are not canonical, or twice the same", odd or keys)
    if case.metric.name in names() and make(str(case.metric)).spec != case.metric.spec:
        raise case.fails("does not read back from its text form", str(case.metric))


def wordless(case: Tried) -> None:
    """Captions without a word are treated alike, whatever marks they hold, and never lose the other captions."""
    first = case.samples[0]
    odd = [replace(first, id=f"wordless {k}", candidate=text) for k, text in enumerate(WORDLESS)]
    result = case.score([first, *odd])
    values = result[case.metric.label][1:]
    if not np.allclose(values, values[0], atol=TOLERANCE, equal_nan=True):
        raise case.fails("treats captions without a word differently", dict(zip(WORDLESS, values)))


def without_references(case: Tried) -> None:
    """A caption without references is scored or has a reason; the others keep their scores."""
    first, second, *_ = case.samples
    result = case.score([first, replace(second, references=())])
    if not case.metric.prepares:
        case.same(result[case.metric.label][:1], case.values([first]), "changes when another caption has no reference")


def explains(case: Tried) -> None:
    """Reasons are typed, small, read back from JSON, and do not depend on the rows asked for."""
    run = Run([case.metric], case.settings)
    found = run.explain(case.samples)
    if not case.metric.explains:
        if found:
            raise case.fails("gives reasons although it says that it has none")
        return
    reasons = found[case.metric.label]
    if not any(reasons):
        raise case.fails("says that it explains and gave no reason for any caption")
    for sample, reason in zip(case.samples, reasons):
        if reason is not None:
            _check_reason(case, sample, reason)
    if not case.metric.prepares:
        (again,) = run.explain(case.samples[1:2])[case.metric.label]
        one, two = (None if item is None else json.dumps(item.as_dict()) for item in (again, reasons[1]))
        if _rounded(one) != _rounded(two):
            raise case.fails("explains a caption otherwise when asked for it alone", (one, two))


def _check_reason(case: Tried, sample: Sample, reason: Explanation) -> None:
    text = json.dumps(reason.as_dict())
    if len(text.encode()) > LONGEST:
        raise case.fails(f"has an explanation above {LONGEST} bytes", len(text.encode()))
    if json.dumps(Explanation.from_dict(json.loads(text)).as_dict()) != text:
        raise case.fails("has an explanation that does not read back", text[:200])
    for word in reason.words:
        if sample.candidate[word.start : word.end] != word.text:
            raise case.fails("names a word that does not stand where it says", word)
        if word.support is not None and not 0 <= word.support <= 1:
            raise case.fails("has a support outside 0 .. 1", word)


def _rounded(text: str | None) -> Any:
    """JSON with numbers to three digits: what is computed together moves the last ones."""
    return None if text is None else json.loads(text, parse_float=lambda number: round(float(number), 3))


def languages(case: Tried) -> None:
    """A language the metric does not know is refused."""
    unknown = [lang for lang in ("en", "ja", "zz") if lang not in case.metric.languages]
    for lang in unknown if case.metric.languages else ():
        try:
            Run([case.metric], Settings(lang=lang))
        except VericapError:
            continue
        raise case.fails(f"takes captions in '{lang}', which it does not know")


@contextmanager
def _budget(size: int) -> Iterator[None]:
    """Analyses as if memory were small, so that samples fall into many shards."""
    before, plan.BUDGET = plan.BUDGET, size
    try:
        yield
    finally:
        plan.BUDGET = before


CHECKS: dict[str, Callable[[Tried], None]] = {
    check.__name__: check
    for check in (
        declared,
        rows,
        pure,
        order,
        shards,
        references,
        processes,
        signature,
        wordless,
        without_references,
        explains,
        languages,
    )
}

"""Do REO's orthogonal parts name the error? (the validation of the paper's Figure 3)

    python benchmarks/reo_errors.py [--cases 500]

Flickr8k dev captions with a known error (caption_edits.py): a phrase is added, so its words are extra; an object is
dropped, so its words are missing. The error the machine finds is the mean over the regions of
    extra:   a_i less its projections on g_i (on all references together),   missing: g_i less its projection on a_i,
a_i the context of the worse caption, g_i that of the truth: the caption before the edit (the edit is all that differs)
or the references (which differ in more). The true error is the mean vector of the edit's content words, each read alone
by the text side of the model, less the mean of frequent words. Printed are the cosine of the two, how often the
caption's word nearest to the found error is a word of the edit, and the cosine with the caption's other words.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from caption_edits import Case, added, dropped
from caption_sets import ROOT

from vericap.core.batch import Batch
from vericap.core.explanation import Explanation
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics.registry import resolve
from vericap.metrics.reo.explanation import beyond
from vericap.metrics.reo.groups import groups
from vericap.metrics.reo.measures import residual
from vericap.models.scan import unit
from vericap.models.word_meanings import content
from vericap.run.analyses import Grounding, WordMeanings
from vericap.run.engine import Run
from vericap.run.plan import analysed
from vericap.train.data import flickr8k

SETTINGS = Settings(images=ROOT / "flickr8k" / "Images")
Words = Callable[[Sequence[str]], np.ndarray]


@dataclass(frozen=True)
class Finding:
    """One case: cosine of found and true error, with the other words, and the nearest word."""

    cosine: float
    others: float
    nearest: str
    right: bool


def judge(error: np.ndarray, edit: Sequence[str], text: str, space: Words) -> Finding:
    """Compare a found error with the words of the edit, among the content words of a text that has them."""
    words = list(dict.fromkeys([*content(text), *edit]))
    cosines = unit(space(words)) @ unit(error)
    nearest = words[int(cosines.argmax())]
    rest = [word for word in words if word not in edit]
    others = float(unit(space(rest).mean(axis=0)) @ unit(error)) if rest else float("nan")
    return Finding(float(unit(space(edit).mean(axis=0)) @ unit(error)), others, nearest, nearest in edit)


def findings(cases: list[Case], what: str, model: str = "default") -> dict[str, list[Finding]]:
    """Findings by ground truth."""
    cases = [case for case in cases if content(" ".join(case.words))]
    samples = [
        Sample(f"{i}-{k}", text, c.references, c.key)
        for i, c in enumerate(cases)
        for k, text in enumerate((c.before, c.after))
    ]
    batch = analysed(Batch.of(samples, SETTINGS), Grounding(model), WordMeanings(model))
    contexts: dict[int, np.ndarray] = {}
    references: dict[int, np.ndarray] = {}
    for group in groups(batch, batch[Grounding(model)], np.arange(len(batch)), references=True):
        for place, row in enumerate(group.rows.tolist()):
            contexts[row], references[row] = group.candidate[place], group.reference(place)
    texts = [case.after if what == "extra" else case.before for case in cases]
    space = batch[WordMeanings(model)]
    found: dict[str, list[Finding]] = {"caption": [], "references": []}
    for i, (case, text) in enumerate(zip(cases, texts)):
        edit = content(" ".join(case.words))
        worse, better, others = contexts[2 * i + 1], contexts[2 * i], references[2 * i + 1]
        for truth, said in (("caption", better[None]), ("references", others)):
            error = beyond(worse, said) if what == "extra" else residual(said, worse[None]).mean(axis=0)
            found[truth].append(judge(error.mean(axis=0), edit, text, space))
    return found


def explained(cases: list[Case], what: str, model: str = "default") -> tuple[float, float]:
    """Shares (percent) of cases in which --explain names a word of the edit first, or among its five words.

    Extra words are those of least support. The worse caption is explained against image and references; a plural or
    singular of the noun counts.
    """
    samples = [Sample(str(i), case.after, case.references, case.key) for i, case in enumerate(cases)]
    (reasons,) = Run(resolve(f"reo-omission:model={model}"), SETTINGS).explain(samples).values()
    hits = []
    for case, found in zip(cases, reasons):
        edit = content(" ".join(case.words))
        named = extra_words(found) if what == "extra" else missing_words(found)
        hits.append([word in edit or case.noun in word for word in named])
    first = [bool(row) and row[0] for row in hits]
    return 100 * float(np.mean(first)), 100 * float(np.mean([any(row) for row in hits]))


def missing_words(found: Explanation | None) -> list[str]:
    return [item.text for item in found.missing] if found else []


def extra_words(found: Explanation | None) -> list[str]:
    """The five words of least support that no reference says."""
    judged = [word for word in found.words if word.support is not None and word.support < 1] if found else []
    return [word.text.lower() for word in sorted(judged, key=lambda word: word.support or 0.0)][:5]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--model", default="default")
    args = parser.parse_args()
    data = flickr8k(ROOT / "flickr8k", "dev")
    print("| error | truth | cases | cosine, mean | 10 % | median | 90 % | nearest word right | cosine, other words |")
    print("|---|---|---|---|---|---|---|---|---|")
    shown = []
    edits = {"extra": added(data, args.cases), "missing": dropped(data, args.cases)}
    for what, cases in edits.items():
        for truth, rows in findings(cases, what, args.model).items():
            cosines = [row.cosine for row in rows]
            spread = " | ".join(f"{value:.3f}" for value in np.quantile(cosines, (0.1, 0.5, 0.9)))
            right, others = 100 * np.mean([row.right for row in rows]), np.nanmean([row.others for row in rows])
            print(
                f"| {what} | {truth} | {len(rows)} | {np.mean(cosines):.3f} | {spread} | {right:.1f} % | {others:.3f} |"
            )
            if truth == "caption":
                shown += [(what, case, row) for case, row in list(zip(cases, rows))[:6]]
    for what, cases in edits.items():
        first, among = explained(cases, what, args.model)
        print(f"--explain names a word of the edit: {what}, first {first:.1f} %, among five {among:.1f} %")
    for what, case, row in shown:
        print(f"{what}: {case.phrase!r} of {case.before!r}: nearest {row.nearest!r}, cosine {row.cosine:.2f}")


if __name__ == "__main__":
    main()

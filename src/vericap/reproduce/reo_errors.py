"""REO's Figure 3 and its direction: captions with a known error, found by the orthogonal parts and seen by the scores.

Flickr8k dev captions (`edits`): a phrase is added, so its words are extra; an object is dropped, so its words are
missing. The error the machine finds is the mean over the regions of
    extra:   a_i less its projections on g_i (on all references together),   missing: g_i less its projection on a_i,
a_i the context of the worse caption, g_i that of the truth: the caption before the edit (the edit is all that differs)
or the references (which differ in more). The true error is the mean vector of the edit's content words, each read alone
by the text side of the model, less the mean of frequent words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vericap.core.batch import Batch
from vericap.core.explanation import Explanation
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.table import Number, Table
from vericap.core.typing import Floats32
from vericap.meta.judgements import Retrieval
from vericap.meta.published import paper_values
from vericap.metrics.registry import resolve
from vericap.metrics.reo.explanation import beyond
from vericap.metrics.reo.groups import groups
from vericap.metrics.reo.measures import residual
from vericap.models.scan import unit
from vericap.models.word_meanings import content
from vericap.report import figures
from vericap.reproduce.edits import Captions, Case, added, dropped
from vericap.reproduce.experiment import Choices, Outcome, at_hand, sources
from vericap.run.analyses import Grounding, WordMeanings
from vericap.run.engine import Run
from vericap.run.plan import analysed

CASES = 500
DATA = "flickr8k-dev"
MEASURES = ("reo-relevance", "reo-extraness", "reo-omission")
TRUTHS = ("image", "reference", "both")
Words = Callable[[Sequence[str]], Floats32]


@dataclass(frozen=True)
class Finding:
    """One case: cosine of found and true error, with the other words, and the nearest word."""

    cosine: float
    others: float
    nearest: str
    right: bool


def cases_of(choices: Choices) -> tuple[dict[str, list[Case]], Settings]:
    """Captions with an added phrase and with a dropped object, and settings with their photos."""
    loaded, _ = at_hand((DATA,), choices)
    data = loaded[DATA]
    assert isinstance(data, Retrieval)
    captions, count = Captions.of(data), choices.limit or CASES
    settings = replace(choices.settings, images=choices.settings.images or data.image_folder)
    return {"extra": added(captions, count), "missing": dropped(captions, count)}, settings


def figure_3(choices: Choices) -> Outcome:
    """Cosine of found and true error, how often the nearest word is one of the edit, and what explanations name."""
    edits, settings = cases_of(choices)
    model = choices.model("scan")
    shown = Table(
        ["error", "truth", "cases", "cosine", "10 %", "median", "90 %", "cosine, other words", "nearest word right"],
        title="REO, Figure 3: the error that is found beside the true one",
        digits=3,
        keys=2,
    )
    panels = {}
    for what, cases in edits.items():
        for truth, rows in findings(cases, what, settings, model).items():
            cosines = np.array([row.cosine for row in rows])
            spread = map(float, np.quantile(cosines, (0.1, 0.5, 0.9)))
            others = float(np.nanmean([row.others for row in rows]))
            right = f"{100 * np.mean([row.right for row in rows]):.1f} %"
            shown.add(what, truth, len(rows), float(cosines.mean()), *spread, others, right)
            panels[f"{what}, {truth}"] = cosines
    named = Table(["error", "first", "among five"], title="A word of the edit is named by explanations (%)", digits=1)
    for what, cases in edits.items():
        named.add(what, *explained(cases, what, settings, model))
    published = paper_values("reo", "Figure 3")
    shown.notes = [f"The paper: cosines above {published[0].value:g}.", *sources(published), f"SCAN model: {model}."]
    drawn = [figures.histograms(panels, choices.figure, y_label="captions")] if choices.figure else []
    return Outcome([shown, named], drawn)


def judge(error: Floats32, edit: Sequence[str], text: str, space: Words) -> Finding:
    """Compare a found error with the words of the edit, among the content words of a text that has them."""
    words = list(dict.fromkeys([*content(text), *edit]))
    cosines = unit(space(words)) @ unit(error)
    nearest = words[int(cosines.argmax())]
    rest = [word for word in words if word not in edit]
    others = float(unit(space(rest).mean(axis=0)) @ unit(error)) if rest else float("nan")
    return Finding(float(unit(space(edit).mean(axis=0)) @ unit(error)), others, nearest, nearest in edit)


def findings(cases: list[Case], what: str, settings: Settings, model: str = "default") -> dict[str, list[Finding]]:
    """Findings by ground truth."""
    cases = [case for case in cases if content(" ".join(case.words))]
    batch = analysed(Batch.of(_before_and_after(cases), settings), Grounding(model), WordMeanings(model))
    contexts: dict[int, Floats32] = {}
    references: dict[int, Floats32] = {}
    for group in groups(batch, batch[Grounding(model)], np.arange(len(batch)), references=True):
        for place, row in enumerate(group.rows.tolist()):
            contexts[row], references[row] = group.candidate[place], group.reference(place)
    space = batch[WordMeanings(model)]
    found: dict[str, list[Finding]] = {"caption": [], "references": []}
    for i, case in enumerate(cases):
        edit, text = content(" ".join(case.words)), case.after if what == "extra" else case.before
        worse, better, others = contexts[2 * i + 1], contexts[2 * i], references[2 * i + 1]
        for truth, said in (("caption", better[None]), ("references", others)):
            error = beyond(worse, said) if what == "extra" else residual(said, worse[None]).mean(axis=0)
            found[truth].append(judge(error.mean(axis=0), edit, text, space))
    return found


def _before_and_after(cases: Sequence[Case]) -> list[Sample]:
    """Two samples for each case: 2i before, 2i + 1 after the edit."""
    return [
        Sample(f"{number}-{side}", text, case.references, case.key)
        for number, case in enumerate(cases)
        for side, text in enumerate((case.before, case.after))
    ]


def explained(cases: list[Case], what: str, settings: Settings, model: str = "default") -> tuple[float, float]:
    """Shares (percent) of cases in which explanations name a word of the edit first, or among their five words.

    Extra words are those of least support. The worse caption is explained against image and references; a plural or
    singular of the noun counts.
    """
    samples = [Sample(str(i), case.after, case.references, case.key) for i, case in enumerate(cases)]
    (reasons,) = Run(resolve(f"reo-omission:truth=both:model={model}"), settings).explain(samples).values()
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


# --- direction --------------------------------------------------------------------------------------------------


def direction(choices: Choices) -> Outcome:
    """In how many cases the worse caption scores lower: extraness where a phrase was added, omission where an object
    was dropped, and the others beside them."""
    edits, settings = cases_of(choices)
    model = choices.model("scan")
    shown = Table(
        ["error", "measure", *TRUTHS, "cases"], title="REO: the worse caption scores lower", x100=True, keys=2
    )
    names = {"extra": "a phrase added", "missing": "an object dropped"}
    for what, cases in edits.items():
        for measure, shares in right(cases, settings, model).items():
            shown.add(names[what], measure, *(Number(share, digits=3) for share in shares.values()), len(cases))
    shown.notes = [f"SCAN model: {model}."]
    shown.notes += [f"{names[what]}: {own[0].before!r} -> {own[0].after!r}" for what, own in edits.items() if own]
    return Outcome([shown])


def right(cases: Sequence[Case], settings: Settings, model: str = "default") -> dict[str, dict[str, float]]:
    """measure -> ground truth -> share of cases in which the worse caption scores lower."""
    names = [f"{measure}:truth={truth}:model={model}" for measure in MEASURES for truth in TRUTHS]
    result = Run(resolve(names), settings).score(_before_and_after(cases))
    values = [np.asarray(result[label], dtype=float) for label in result.metrics]
    shares = iter([float((scores[0::2] > scores[1::2]).mean()) for scores in values])
    return {measure: {truth: next(shares) for truth in TRUTHS} for measure in MEASURES}

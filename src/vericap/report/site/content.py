"""What a report is made of: captions by system, their scores, tests, and somebody who gives reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from vericap.core.samples import Sample
from vericap.run.compare import Comparison, compare_samples
from vericap.run.engine import Reasons, Run, add_intervals
from vericap.run.results import Result

if TYPE_CHECKING:
    from vericap.core.metric import Metric

Explain = Callable[[str, Sequence[int]], Reasons]  # system, rows of it -> reasons of these rows by metric
ONE = "captions"  # the name of a system that has none


@dataclass
class Content:
    """Captions, scores and reasons of one or several systems, ready to be shown.

    Attributes
    ----------
    samples, results : captions and their scores by system, in the same order.
    explain : gives the reasons of some rows of a system.
    comparison : tests of the later systems against the first; None where there is one system.
    images : folder of the photos.
    lang : language of the captions.
    notes, problems : what to know of the input, beside what the results tell.
    """

    samples: dict[str, list[Sample]]
    results: dict[str, Result]
    explain: Explain
    comparison: Comparison | None = None
    images: Path | None = None
    lang: str = "en"
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def systems(self) -> list[str]:
        return list(self.results)

    @property
    def metrics(self) -> dict[str, Metric]:
        return next(iter(self.results.values())).metrics


def of_run(systems: Mapping[str, Sequence[Sample]], run: Run, *, resamples: int = 1000) -> Content:
    """Score systems and prepare their report; several are tested against the first."""
    if len(systems) > 1:
        return of_comparison(compare_samples(systems, run), run)
    ((name, samples),) = systems.items()
    return of_result(run.score(samples, confidence=True, resamples=resamples), samples, run, name=name)


def of_result(result: Result, samples: Sequence[Sample], run: Run, *, name: str = ONE) -> Content:
    """The report of one system that was scored before."""
    if any(score.interval is None and score.value is not None for score in result.corpus.values()):
        add_intervals(result, resamples=1000, seed=run.settings.seed)
    return _content({name: list(samples)}, {name: result}, run)


def of_comparison(found: Comparison, run: Run) -> Content:
    """The report of systems that were compared before."""
    content = _content(found.samples, found.results, run)
    content.comparison = found
    content.notes = list(found.notes)
    return content


def _content(samples: dict[str, list[Sample]], results: dict[str, Result], run: Run) -> Content:
    def explain(system: str, rows: Sequence[int]) -> Reasons:
        chosen = [samples[system][row] for row in rows]
        good = [place for place, sample in enumerate(chosen) if not sample.problem]
        if not good:
            return {}
        found = run.explain([chosen[place] for place in good], states=results[system].states, full=True)
        if len(good) == len(chosen):
            return found
        back = {place: number for number, place in enumerate(good)}
        return {
            name: [own[back[place]] if place in back else None for place in range(len(chosen))]
            for name, own in found.items()
        }

    return Content(samples, results, explain, images=run.settings.images, lang=run.settings.lang)

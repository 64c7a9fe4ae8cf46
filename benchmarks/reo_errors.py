"""Do REO's orthogonal parts name the error? (the validation of the paper's Figure 3)

    python benchmarks/reo_errors.py [--cases 500]

Flickr8k dev captions with a known error (caption_edits.py): a phrase is added, so its words are extra; an object is
dropped, so its words are missing. The error the machine finds is the mean over the regions of
    extra:   a_i - projection of a_i on g_i,      missing: g_i - projection of g_i on a_i,
a_i the context of the worse caption, g_i that of the truth: the caption before the edit (the edit is all that differs)
or the references (which differ in more). The true error is the mean vector of the edit's content words, each read alone
by the text side of the model, less the mean vector of all words. Printed are the cosine of the two, how often the
caption's word nearest to the found error is a word of the edit, and the cosine with the caption's other words.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass

import numpy as np
from caption_edits import Case, added, dropped
from caption_sets import ROOT

from vericap.metrics.grounding import Grounding
from vericap.metrics.reo_reasons import residual
from vericap.models.scan import Scan, unit
from vericap.run.batch import Batch, Settings
from vericap.samples import Sample
from vericap.text.encoder import Encoder, kind
from vericap.text.stopwords import ENGLISH
from vericap.train.data import flickr8k

_WORD = re.compile(r"[a-z][a-z'-]*")


def content(text: str) -> list[str]:
    """Content words of a text, each once."""
    return [word for word in dict.fromkeys(_WORD.findall(text.lower())) if word not in ENGLISH]


class WordSpace:
    """Words read alone by the text side of a model, their mean removed."""

    def __init__(self, model: Scan, words: list[str]) -> None:
        from vericap.run.cache import Cache

        states = Encoder(cache=Cache(kind())).token_states(words) if model.meta["words"] == "states" else None
        read = model.words(words, states)
        vectors = np.stack(
            [read[i][1:-1].mean(axis=0) if len(read[i]) > 2 else np.zeros(model.width) for i in range(len(words))]
        )
        self._places = {word: place for place, word in enumerate(words)}
        self._vectors = vectors - vectors.mean(axis=0)

    def __call__(self, words: list[str]) -> np.ndarray:
        """(words, D)"""
        return self._vectors[[self._places[word] for word in words]]


@dataclass(frozen=True)
class Finding:
    """One case: cosine of found and true error, with the other words, and the nearest word."""

    cosine: float
    others: float
    nearest: str
    right: bool


def judge(error: np.ndarray, edit: list[str], text: str, space: WordSpace) -> Finding:
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
    grounding = Grounding(Batch.of(samples, Settings(images=ROOT / "flickr8k" / "Images")), model)
    contexts: dict[int, np.ndarray] = {}
    references: dict[int, np.ndarray] = {}
    for group in grounding.groups():
        for place, row in enumerate(group.rows):
            contexts[int(row)] = group.candidate[place]
            references[int(row)] = group.reference[group.owner == place]
    texts = [case.after if what == "extra" else case.before for case in cases]
    vocabulary = sorted({word for case in cases for text in (case.before, case.after) for word in content(text)})
    space = WordSpace(grounding.model, vocabulary)
    found: dict[str, list[Finding]] = {"caption": [], "references": []}
    for i, (case, text) in enumerate(zip(cases, texts)):
        edit = content(" ".join(case.words))
        for truth, others in (("caption", contexts[2 * i][None]), ("references", references[2 * i + 1])):
            worse = np.broadcast_to(contexts[2 * i + 1], others.shape)
            error = residual(worse, others) if what == "extra" else residual(others, worse)
            found[truth].append(judge(error.mean(axis=(0, 1)), edit, text, space))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--model", default="default")
    args = parser.parse_args()
    data = flickr8k(ROOT / "flickr8k", "dev")
    print("| error | truth | cases | cosine, mean | 10 % | median | 90 % | nearest word right | cosine, other words |")
    print("|---|---|---|---|---|---|---|---|---|")
    shown = []
    for what, cases in (("extra", added(data, args.cases)), ("missing", dropped(data, args.cases))):
        for truth, rows in findings(cases, what, args.model).items():
            cosines = [row.cosine for row in rows]
            spread = " | ".join(f"{value:.3f}" for value in np.quantile(cosines, (0.1, 0.5, 0.9)))
            right, others = 100 * np.mean([row.right for row in rows]), np.nanmean([row.others for row in rows])
            print(
                f"| {what} | {truth} | {len(rows)} | {np.mean(cosines):.3f} | {spread} | {right:.1f} % | {others:.3f} |"
            )
            if truth == "caption":
                shown += [(what, case, row) for case, row in list(zip(cases, rows))[:6]]
    for what, case, row in shown:
        print(f"{what}: {case.phrase!r} of {case.before!r}: nearest {row.nearest!r}, cosine {row.cosine:.2f}")


if __name__ == "__main__":
    main()

"""All figures of docs/verdict.md: what `fidelity`, `adequacy`, `fluency` and `verdict` see and what they do not.

    python -m benchmarks.agreement.verdict --photos train2017/ [PART ...] [--save]

Parts: ratings (CxC on photos kept out), statements (VSR), apart (edits that should move one of the three), real
(errors people marked: M-HalDetect, HAT), made (captions made wrong in one place, without and with four references),
long (sentences swapped into LLaVA's texts), people (human captions against M2's and LLaVA's), reliable (reliability
diagrams, drawn with --picture), called (words that are called not supported). Intervals are 95 % bootstraps by photo.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from benchmarks.agreement import verdict_cases as cases
from benchmarks.library.data import data_folder
from benchmarks.library.results import add_save, tell
from vericap.core.settings import Settings
from vericap.core.table import Table
from vericap.core.typing import Floats
from vericap.graphs.scene_graph import SceneGraph
from vericap.metrics.toolbox import words_of
from vericap.metrics.verdict.claims import PLACES, content_form
from vericap.text.sentences import sentence_spans
from vericap.train.ratings import HELD, share_of
from vericap.train.verdict.cases import Case, statements
from vericap.train.verdict.fit import area, average_precision
from vericap.train.words import boxes
from vericap.vision.mentions import mentions

TOLERANCE = {"fidelity": 0.1, "adequacy": 0.05, "fluency": 0.1}  # a value that moves by less is left alone
EDITED = 500  # captions of each edit
LONG = 300  # long texts
RATED = 3000  # ratings
PEOPLE = 500  # photos with a human and a machine caption
# Classes of boxes that do not follow "a": the edit must read well.
UNCOUNTED = {"scissors": "a pair of scissors", "skis": "a pair of skis", "broccoli": "some broccoli"}
# Phrases that add a thing, each with the words that a caption must not have yet.
PHRASES = (("next to {}", "next to"), ("with {} in the background", "background"))
FREE = ("vse", "reo-relevance", "faier-plus", "lm")
WITH = ("sentence", "cider-d", "spice", "spice-soft", "meteor", "bleu-4", "faier-plus", "reo-relevance", "tiger")


def interval(statistic: Callable[[np.ndarray], float], photos: Sequence[str], *, draws: int = 500) -> str:
    """A statistic of rows, with its 95 % interval over draws of photos."""
    names, owner = np.unique(np.array(photos), return_inverse=True)
    rows = [np.flatnonzero(owner == n) for n in range(len(names))]
    generator = np.random.default_rng(0)
    drawn = [
        statistic(np.concatenate([rows[n] for n in generator.integers(0, len(names), len(names))]))
        for _ in range(draws)
    ]
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return f"{100 * statistic(np.arange(len(photos))):.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def auc(wrong: Floats, score: Floats, photos: Sequence[str], draws: int = 500) -> str:
    return interval(lambda rows: area(wrong[rows], score[rows]), photos, draws=draws)


def precision(wrong: Floats, score: Floats, photos: Sequence[str], draws: int = 500) -> str:
    return interval(lambda rows: average_precision(wrong[rows], score[rows]), photos, draws=draws)


def rank(one: Floats, two: Floats, photos: Sequence[str], draws: int = 500) -> str:
    return interval(lambda rows: float(spearmanr(one[rows], two[rows])[0]), photos, draws=draws)


def lead(wrong: Floats, one: Floats, two: Floats, photos: Sequence[str]) -> str:
    """How much larger the area of the first is, on the same photos."""
    return interval(lambda rows: area(wrong[rows], one[rows]) - area(wrong[rows], two[rows]), photos)


class Bench:
    """Where photos and data are, and the parts."""

    def __init__(self, folder: Path, settings: Settings, picture: Path | None) -> None:
        self.folder, self.settings, self.picture = folder, settings, picture
        self._captions = cases.captions_of(folder)
        self.kept, rated = cases.kept_out(self._captions, folder)
        self.rated = random.Random(0).sample(rated, min(RATED, len(rated)))

    # --- people's judgements --------------------------------------------------------------------------------------

    def ratings(self) -> Table:
        """Spearman with CxC's ratings, all and those of other photos' captions; the lead over the next best."""
        table = Table(["metric", "references", "all", "captions of other photos"])
        people = np.array([case.rating for case in self.rated])
        foreign = np.array([case.kind == "foreign" for case in self.rated])
        parts = (np.ones(len(people), dtype=bool), foreign)
        for references, others in ((False, FREE), (True, WITH)):
            found = cases.scored(self.rated, self.settings, ("verdict", *others), references=references)
            values = {**found.values, "length": np.array([len(case.caption.split()) for case in self.rated])}
            said = "with" if references else "none"
            shown = [self._ranked(values, people, part) for part in parts]
            for name in sorted(values, key=lambda name: -float(shown[1][0][name].split()[0])):
                table.add(name, said, *(ranked[name] for ranked, _ in shown))
            table.add("verdict, lead over the next best", said, *(ahead for _, ahead in shown))
        table.notes.append(f"{len(people)} ratings, {int(foreign.sum())} of other photos' captions")
        return table

    def _ranked(self, values: dict[str, Floats], people: Floats, part: np.ndarray) -> tuple[dict[str, str], str]:
        photos = [case.image for case, inside in zip(self.rated, part) if inside]
        own = {name: np.nan_to_num(value[part]) for name, value in values.items()}
        target = people[part]

        def agreement(name: str) -> Callable[[np.ndarray], float]:
            return lambda rows: float(spearmanr(own[name][rows], target[rows])[0])

        shown = {name: interval(agreement(name), photos, draws=100) for name in own}
        best = max(
            (name for name in own if name != "verdict"), key=lambda name: agreement(name)(np.arange(len(target)))
        )
        ahead = interval(lambda rows: agreement("verdict")(rows) - agreement(best)(rows), photos, draws=200)
        return shown, f"{ahead} ({best})"

    def statements(self) -> Table:
        """Area under the curve of VSR's statements on photos that checked the weights only."""
        own = [one for one in statements(self.folder / "vsr" / "statements.jsonl.gz") if share_of(one.image) >= HELD]
        found = cases.scored(own, self.settings, ("fidelity", "verdict", "vse"))
        true, photos = np.array([case.rating > 0.5 for case in own]), [case.image for case in own]
        values = {**found.values, "length": np.array([len(case.caption) for case in own], dtype=float)}
        table = Table(["score", "area"], notes=[f"{len(own)} statements"])
        for name, value in values.items():
            table.add(name, auc(true, np.nan_to_num(value), photos))
        return table

    # --- edits ----------------------------------------------------------------------------------------------------

    def apart(self) -> Table:
        """Edits that should move one of the three and leave the others within the tolerance."""
        own = [case for case in cases.made(self.kept, self.settings) if not case.wrong]
        told = boxes.read([self.folder / "coco" / f"boxes_{part}2017.tsv.gz" for part in ("train", "val")])
        names = boxes.read_classes(self.folder / "coco" / "box_classes.json")
        false = FalsePhrase(told, names)
        plans = (
            ("adding a false phrase", false, "fidelity", ("adequacy", "fluency")),
            ("dropping a true object", dropped, "adequacy", ("fidelity",)),
            ("scrambling", scrambled, "fluency", ("fidelity", "adequacy")),
        )
        table = Table(["edit", "references", "lowers", "leaves", "all at once", "mean change"])
        for title, edit, lowered, left in plans:
            before, after = cases.edited(own, edit, self.settings)
            before, after = before[:EDITED], after[:EDITED]
            for references in (False, True):
                one = cases.scored(before, self.settings, cases.FAMILY[:3], references=references).values
                two = cases.scored(after, self.settings, cases.FAMILY[:3], references=references).values
                down = two[lowered] < one[lowered]
                kept = {name: np.abs(two[name] - one[name]) < TOLERANCE[name] for name in left}
                every = down & np.logical_and.reduce(list(kept.values()))
                rest = ", ".join(f"{name} {100 * np.mean(own):.1f}" for name, own in kept.items())
                moved = ", ".join(f"{name} {np.mean(two[name] - one[name]):+.2f}" for name in cases.FAMILY[:3])
                said = "with" if references else "none"
                shown = f"{lowered} {100 * down.mean():.1f}", rest, f"{100 * every.mean():.1f}", moved
                table.add(title, said, *shown)
        table.notes.append(
            f"% of {EDITED} captions; left alone: moved by less than "
            + ", ".join(f"{value} ({name})" for name, value in TOLERANCE.items())
        )
        return table

    # --- errors ---------------------------------------------------------------------------------------------------

    def real(self) -> Table:
        """Errors that people marked: words of short captions, sentences and texts of long descriptions."""
        table = Table(["errors", "score", "figure"])
        own = cases.marked_words(self.folder)
        for references in (False, True):
            found = cases.scored(own, self.settings, ("verdict",), references=references, reasons=True)
            support, wrong, photos = found.words()
            said = "with references" if references else "no references"
            title = f"HAT words, {said} ({int(wrong.sum())} of {len(wrong)} wrong)"
            table.add(title, "support", f"AUC {auc(wrong, -support, photos)}, AP {precision(wrong, -support, photos)}")
        self._word_baselines(own, table)
        self._texts(table)
        return table

    def _word_baselines(self, own: Sequence[Case], table: Table) -> None:
        found = cases.scored(own, self.settings, ("vse", "verdict"), reasons=True)
        rows = [
            (place, len(word.text), found.values["vse"][n], any(word.start < b and a < word.end for a, b in case.wrong))
            for n, (case, told) in enumerate(zip(own, found.reasons))
            if told is not None
            for place, word in enumerate(told.words)
            if word.support is not None and word.text.lower() not in cases.ENGLISH
        ]
        values = np.array(rows, dtype=np.float64)
        wrong, photos = values[:, 3] > 0, found.words()[2]
        for name, value in (("place", values[:, 0]), ("letters", values[:, 1]), ("vse of the caption", -values[:, 2])):
            table.add("HAT words", name, f"AUC {auc(wrong, value, photos)}")

    def _texts(self, table: Table) -> None:
        own = cases.marked_texts(self.folder)
        found = cases.scored(own, self.settings, ("fidelity", "verdict", "vse"), reasons=True)
        rows, photos = [], []
        for case, told in zip(own, found.reasons):
            if told is None:
                continue
            for place, one in enumerate(told.sentences):
                marked = sum(max(0, min(one.end, b) - max(one.start, a)) for a, b in case.wrong) / (one.end - one.start)
                rows.append((place, one.end - one.start, -(one.support or 0.0), marked))
                photos.append(case.image)
        values = np.array(rows)
        fits = np.nan_to_num(self._sentence_fits(own, found.reasons))
        for kind, wrong in (("half of it marked", values[:, 3] >= 0.5), ("any of it marked", values[:, 3] > 0)):
            title = f"M-HalDetect sentences, {kind} ({int(wrong.sum())} of {len(wrong)})"
            scores = {"support": values[:, 2], "place": values[:, 0], "length": values[:, 1], "vse": -fits}
            for name, value in scores.items():
                table.add(title, name, f"AUC {auc(wrong, value, photos)}")
            table.add(title, "support, lead over place", lead(wrong, values[:, 2], values[:, 0], photos))
        good = np.array([1 - sum(b - a for a, b in case.wrong) / len(case.caption) for case in own])
        sentences = np.array([-len(sentence_spans(case.caption)) for case in own])
        letters = np.array([-len(case.caption) for case in own])
        images = [case.image for case in own]
        for name, value in {**found.values, "fewer sentences": sentences, "fewer letters": letters}.items():
            shown = rank(np.nan_to_num(value.astype(float)), good, images)
            table.add("M-HalDetect texts, share that is right", name, f"Spearman {shown}")
        ahead = interval(
            lambda rows: (
                float(spearmanr(found.values["fidelity"][rows], good[rows])[0])
                - float(spearmanr(sentences[rows], good[rows])[0])
            ),
            images,
        )
        table.add("M-HalDetect texts, share that is right", "fidelity, lead over fewer sentences", ahead)

    def _sentence_fits(self, own: Sequence[Case], told: Sequence[object]) -> Floats:
        apart = [
            Case(case.image, case.caption[a:b])
            for case, reasons in zip(own, told)
            if reasons is not None
            for a, b in sentence_spans(case.caption)
        ]
        return cases.scored(apart, self.settings, ("vse",)).values["vse"]

    def made(self) -> Table:
        """Captions made wrong in one place among right ones, word by word."""
        own = cases.made(self.kept, self.settings)
        table = Table(["references", "words, AUC", "words, AP", "captions by fidelity, AUC"])
        for references in (False, True):
            found = cases.scored(own, self.settings, ("fidelity", "verdict"), references=references, reasons=True)
            support, wrong, photos = found.words()
            right = np.array([not case.wrong for case in own])
            areas = auc(wrong, -support, photos, 100), precision(wrong, -support, photos, 100)
            table.add("four" if references else "none", *areas, f"{100 * area(right, found.values['fidelity']):.1f}")
        table.notes.append(f"{len(wrong)} content words, {int(wrong.sum())} wrong")
        return table

    def long(self) -> Table:
        """Long texts with one sentence of another photo: how often it has the least support, and lowers fidelity."""
        texts = cases.system(self.folder, "llava15_default", Path(str(self.settings.images)))
        texts = [case for case in texts if len(case.caption.split()) >= 50 and len(sentence_spans(case.caption)) >= 3]
        texts = random.Random(1).sample(texts, LONG)
        plain = cases.scored(texts, self.settings, ("fidelity",)).values["fidelity"]
        table = Table(["sentence of another photo", "fidelity falls, %", "it has the least support, %"])
        for title, place in (("first", 0.0), ("middle", 0.5), ("last", 1.0)):
            changed = cases.swapped(texts, place)
            found = cases.scored(changed, self.settings, ("fidelity", "verdict"), reasons=True)
            least = [
                told is not None and min(told.sentences, key=lambda one: one.support or 0.0).start == case.wrong[0][0]
                for case, told in zip(changed, found.reasons)
            ]
            lower = found.values["fidelity"] < plain
            table.add(title, f"{100 * lower.mean():.1f}", f"{100 * np.mean(least):.1f}")
        table.notes.append(f"{LONG} texts of LLaVA of 50 words and more")
        return table

    def people(self) -> Table:
        """How often a person's caption beats a machine's for the same photo, beside their lengths."""
        photos = Path(str(self.settings.images))
        names = ("fidelity", "adequacy", "verdict")
        table = Table(["people above", "references", *names, "longer"], notes=[f"% of {PEOPLE} photos"])
        for name in ("m2_transformer", "llava15_brief", "llava15_default"):
            machine = cases.system(self.folder, name, photos)[:PEOPLE]
            human = [Case(case.image, case.references[0], case.references[1:]) for case in machine]
            machine = [Case(case.image, case.caption, case.references[1:]) for case in machine]
            longer = np.mean([len(a.caption.split()) > len(b.caption.split()) for a, b in zip(human, machine)])
            for references in (False, True):
                one = cases.scored(human, self.settings, names, references=references)
                two = cases.scored(machine, self.settings, names, references=references)
                shares = [f"{100 * float(np.mean(one.values[n] > two.values[n])):.1f}" for n in names]
                table.add(name, "four" if references else "none", *shares, f"{100 * longer:.1f}")
        return table

    def reliable(self) -> Table:
        """Of words shown with some support, how many are right; on made errors and on those people marked."""
        curves = {}
        table = Table(["errors", "references", "support: share that is right (words)"])
        for name, references, found in self._told():
            support, wrong, _ = found.words()
            curve = curves[f"{name}, {references.replace('none', 'no')} references"] = reliability(support, ~wrong)
            shown = ", ".join(f"{x:.2f}: {y:.2f} ({n})" for x, y, n in curve)
            table.add(name, references, shown)
        if self.picture is not None:
            draw(curves, self.picture)
        return table

    def called(self) -> Table:
        """Of words that are called not supported, how many are wrong; how many of the wrong and right ones are."""
        shares = ("wrong of those, %", "of the wrong ones, %", "of the right ones, %")
        table = Table(["errors", "references", "words", "called", *shares])
        for name, references, found in self._told():
            support, wrong, _ = found.words()
            called = support < next(told.facts["threshold"] for told in found.reasons if told is not None)
            shown = (f"{100 * s.mean():.1f}" for s in (wrong[called], called[wrong], called[~wrong]))
            table.add(name, references, str(len(wrong)), str(int(called.sum())), *shown)
        return table

    def _told(self) -> Iterator[tuple[str, str, cases.Scored]]:
        """Captions with made errors and with those people marked, with reasons, without and with references."""
        own = {"made errors": cases.made(self.kept, self.settings), "marked by people": cases.marked_words(self.folder)}
        for name, some in own.items():
            for references in (False, True):
                found = cases.scored(some, self.settings, ("verdict",), references=references, reasons=True)
                yield name, "with" if references else "none", found


def reliability(support: Floats, right: Floats) -> list[tuple[float, float, int]]:
    """Mean support, share that is right and number of words in ten parts of the scale."""
    part = np.minimum((support * 10).astype(int), 9)
    return [
        (float(support[part == n].mean()), float(right[part == n].mean()), int((part == n).sum()))
        for n in range(10)
        if (part == n).sum() >= 10
    ]


def draw(curves: dict[str, list[tuple[float, float, int]]], file: Path) -> None:
    """The reliability diagram as a small SVG."""
    colours = ("#1b6ca8", "#7fb3d5", "#b03a2e", "#e59866")
    side, edge = 300, 40
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {side + 2 * edge + 190} {side + 2 * edge}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect x="{edge}" y="{edge}" width="{side}" height="{side}" fill="none" stroke="#888"/>',
        f'<path d="M{edge} {edge + side}L{edge + side} {edge}" stroke="#bbb" stroke-dasharray="4"/>',
        f'<text x="{edge + side / 2}" y="{side + edge + 30}" text-anchor="middle">support shown</text>',
        f'<text x="14" y="{edge + side / 2}" text-anchor="middle" transform="rotate(-90 14 {edge + side / 2})">'
        "share that is right</text>",
    ]
    for number, ((title, points), colour) in enumerate(zip(curves.items(), colours)):
        places = [(edge + side * x, edge + side * (1 - y)) for x, y, _ in points]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        lines.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        lines += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        lines.append(f'<text x="{edge + side + 14}" y="{edge + 20 * (number + 1)}" fill="{colour}">{title}</text>')
    file.write_text("\n".join([*lines, "</svg>"]) + "\n", "utf-8")


class FalsePhrase:
    """Adds something that is not in the photo, as its boxes and all its captions tell."""

    def __init__(self, told: dict[int, boxes.PhotoBoxes], names: Sequence[str]) -> None:
        self._told, self._names = told, names

    def __call__(self, case: Case, graph: SceneGraph, generator: random.Random) -> str:
        texts = (case.caption, *case.references)
        there = {name for text in texts for one in mentions(text, evidence=True) for name in one.classes}
        there |= {self._names[number] for number in self._told.get(int(case.image[:-4]), boxes.NONE).classes}
        name = generator.choice([name for name in self._names if name not in there and name != "person"])
        thing = UNCOUNTED.get(name) or f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
        said = case.caption.lower()  # "... in the background with a cat in the background" nobody would write
        fits = [phrase for phrase, again in PHRASES if again not in said] or [PHRASES[0][0]]
        return f"{case.caption.rstrip().rstrip('.').rstrip()} {generator.choice(fits).format(thing)}."


def dropped(case: Case, graph: SceneGraph, generator: random.Random) -> str:
    """The caption without its last phrase of place, where that alone names an object ("background" is none) and leaves
    one."""
    words, objects = words_of(case.caption), {part for name in graph.objects for part in name.split()}
    named = [n for n, (word, _, _) in enumerate(words) if any(word.lower().startswith(name) for name in objects)]
    for place in range(len(words) - 2, 2, -1):
        if words[place][0].lower() not in PLACES or words[place - 1][0].lower() in PLACES:
            continue
        left, gone = ({content_form(words[n][0]) for n in named if (n < place) == kept} for kept in (True, False))
        if left and gone - left - {""}:
            return case.caption[: words[place - 1][2]] + "."
    return ""


def scrambled(case: Case, graph: SceneGraph, generator: random.Random) -> str:
    """The words of a caption in random order."""
    words = case.caption.rstrip().rstrip(".").split()
    generator.shuffle(words)
    return " ".join(words) + "."


PARTS = ("ratings", "statements", "apart", "real", "made", "long", "people", "reliable", "called")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)} (all)")
    parser.add_argument("--photos", required=True, type=Path, help="COCO's photos, named by their number")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="write the reliability diagram (SVG)")
    parser.add_argument("--cache", metavar="off|DIR")
    add_save(parser)
    args = parser.parse_args()
    bench = Bench(data_folder(), Settings(images=args.photos, cache=args.cache), args.picture)
    for part in args.parts or PARTS:
        tell("benchmarks.agreement.verdict", {part: getattr(bench, part)()}, save=args.save)


if __name__ == "__main__":
    main()

"""Writing the folder: data in chunks, one template, our own scripts and style."""

from __future__ import annotations

import html
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from vericap import __version__
from vericap.core.errors import InputError
from vericap.core.explanation import Explanation
from vericap.report.site import summary
from vericap.report.site.aspects import JUDGES, SURE, ordered
from vericap.report.site.chunks import CALL, rounded, write_chunk, write_text
from vericap.report.site.content import Content
from vericap.report.site.photos import EACH, Photos
from vericap.report.site.reasons import Evidence, compact, evidence
from vericap.run.progress import Bar

INDEX = "index.html"
SCRIPTS = ("words.js", "data.js", "draw.js", "overview.js", "captions.js", "caption.js", "main.js")
STYLE = "style.css"
_FILES = {INDEX, STYLE, *SCRIPTS}
_NUMBERED = re.compile(r"data/[a-z]+(-\d+)?\.js|photos/\d+\.webp")
ROWS = 16  # captions whose reasons are in one chunk
PIECE = 256  # captions whose reasons are computed together
LISTED = 40  # words and things left out that the first view lists
PROBLEMS = 500  # that the first view lists


@dataclass
class Written:
    """What was written: the page to open, captions, bytes, seconds, and photos that could not be shown."""

    page: Path
    captions: int
    bytes: int
    seconds: float
    problems: list[str] = field(default_factory=list)


def write_site(
    content: Content, output: str | Path, *, title: str = "", copy_photos: bool = False, show_progress: bool = False
) -> Written:
    """Write a report.

    Parameters
    ----------
    content : what to show; `of_run`, `of_result`, `of_comparison` and `of_stored` make it.
    output : the folder: new, empty, or one that holds an older report, which is replaced.
    title : of the page.
    copy_photos : put photos of up to 640 pixels into the folder, so that it can be moved to another machine. Without it
        the page shows the photos where they are, and thumbnails where they are not.
    show_progress : show bars.

    Examples
    --------
    >>> from vericap.report.site import of_run, write_site
    >>> write_site(of_run({"mine": samples}, run), "report").page  # doctest: +SKIP
    """
    start, folder = time.perf_counter(), prepared(Path(output))
    photos = Photos(content.images, folder, copy_photos)
    site = _Site(content, folder, photos)
    size = site.reasons(show_progress)
    size += site.rows()
    photos.write(show=show_progress)
    size += write_chunk(folder, "photos", {"links": photos.links, "sizes": photos.sizes})
    size += site.head(title or " / ".join(content.systems)) + photos.bytes
    size += sum(write_text(folder / name, _asset(name)) for name in (*SCRIPTS, STYLE))
    scripts = "\n".join(f'<script defer src="{name}"></script>' for name in SCRIPTS)
    page = Template(_asset("template.html")).substitute(title=html.escape(title or "Caption report"), scripts=scripts)
    size += write_text(folder / INDEX, page)
    problems = [f"{name}: {why}" for name, why in photos.problems.items()]
    return Written(folder / INDEX, site.count, size, time.perf_counter() - start, problems)


def prepared(folder: Path) -> Path:
    """The folder of a report. Only an older report, whole or cut off, is written over."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; a report needs a folder (`output=DIR`)")
    if folder.is_dir():
        held = [path for path in folder.rglob("*") if not path.is_dir()]
        if held and not _is_report(folder, held):
            raise InputError(f"{folder}: the folder holds other files; name a new one with `output=DIR`, or empty it")
        for old in held:
            old.unlink()
    try:
        (folder / "data").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror or error})") from error
    return folder


def _is_report(folder: Path, held: Sequence[Path]) -> bool:
    """Whether the files of a folder are those of a report and nothing else: its chunks tell it from another site."""
    names = [path.relative_to(folder).as_posix() for path in held]
    chunks = [folder / name for name in names if name.startswith("data/")]
    return (
        all(name in _FILES or _NUMBERED.fullmatch(name) for name in names)
        and bool(chunks)
        and all(path.read_bytes()[: len(CALL)] == CALL.encode() for path in chunks)
    )


def _asset(name: str) -> str:
    return (files("vericap.report.site") / name).read_text("utf-8")


class _Site:
    """The data of one report while it is written; rows are the captions of all systems, system by system."""

    def __init__(self, content: Content, folder: Path, photos: Photos) -> None:
        self.content, self.folder, self.photos = content, folder, photos
        self.count = sum(len(result.ids) for result in content.results.values())
        self.items = {identifier: number for number, identifier in enumerate(_ids(content))}
        self.evidence: list[Evidence] = []
        self.judges: Counter[str] = Counter()

    # --- reasons ------------------------------------------------------------------------------------------------

    def reasons(self, show: bool) -> int:
        """Write the reasons of all captions, in chunks that the page loads when a caption is opened."""
        size, pending, number = 0, [], 0
        with Bar(what="reasons", total=self.count, unit="caption", show=show) as bar:
            for detail in self._details():
                pending.append(detail)
                bar.advance()
                number += 1
                if len(pending) == ROWS or number == self.count:
                    size += write_chunk(self.folder, f"why-{(number - 1) // ROWS:05d}", pending)
                    pending = []
        return size

    def _details(self) -> Iterator[dict[str, Any]]:
        for system in self.content.systems:
            samples = self.content.samples[system]
            for start in range(0, len(samples), PIECE):
                rows = range(start, min(len(samples), start + PIECE))
                found = self.content.explain(system, rows)
                for place, row in enumerate(rows):
                    yield self._detail(samples[row].references, _own(found, place))

    def _detail(self, references: Sequence[str], reasons: dict[str, Explanation]) -> dict[str, Any]:
        seen = evidence(reasons, references)
        self.evidence.append(seen)
        self.judges.update(seen.judges)
        return {"references": list(references), "reasons": compact(reasons)}

    # --- rows ---------------------------------------------------------------------------------------------------

    def rows(self) -> int:
        """Write one column per property of a caption."""
        content = self.content
        vocabulary: dict[str, int] = {}
        gone = [[vocabulary.setdefault(text, len(vocabulary)) for text in seen.gone] for seen in self.evidence]
        columns = {
            "item": [self.items[i] for result in content.results.values() for i in result.ids],
            "system": [n for n, result in enumerate(content.results.values()) for _ in result.ids],
            "text": [sample.candidate for system in content.systems for sample in content.samples[system]],
            "photo": [self.photos.place(sample) for system in content.systems for sample in content.samples[system]],
            "weak": [[place for span in seen.weak for place in span] for seen in self.evidence],
            "gone": gone,
            "vocabulary": list(vocabulary),
            "ids": list(self.items),
            "problem": self._problems(),
            "scores": {name: self._scores(name) for name in content.metrics},
        }
        return write_chunk(self.folder, "rows", columns)

    def _scores(self, name: str) -> list[float | None]:
        values = np.concatenate([result[name] for result in self.content.results.values()])
        return [rounded(value) for value in values.tolist()]

    def _problems(self) -> dict[int, str]:
        """Row -> why something could not be judged; a caption with several problems is one."""
        found: dict[int, str] = {}
        start = 0
        for result in self.content.results.values():
            for row, reason in result.row_reasons(undefined=True).items():
                found[start + row] = reason
            start += len(result.ids)
        return found

    # --- the first view -----------------------------------------------------------------------------------------

    def head(self, title: str) -> int:
        content = self.content
        results = content.results.values()
        notes = [
            *content.notes,
            *dict.fromkeys(text for result in results for text in [*result.warnings, *result.notes]),
        ]
        head = {
            "title": title,
            "version": __version__,
            "made": time.strftime("%Y-%m-%d %H:%M"),
            "lang": content.lang,
            "captions": self.count,
            "items": len(self.items),
            "systems": content.systems,
            "metrics": summary.metrics_of(content),
            "test": summary.tested(content),
            "disagree": self._flat(summary.disagreement(content)),
            "weak": self._weak_words(),
            "gone": self._most(lambda row, seen: seen.gone),
            "judges": [name for name, _ in self.judges.most_common()],
            "looked": bool(ordered(self.judges, (*SURE, *JUDGES))),  # else words were only looked for in references
            "flawed": self._flawed(),
            "problems": [*content.problems[:PROBLEMS], *(f"{k}: {v}" for k, v in self.photos.problems.items())],
            "notes": notes,
            "chunks": {"why": ROWS, "thumbs": EACH},
        }
        return write_chunk(self.folder, "head", head)

    def _starts(self) -> list[int]:
        counts = [len(result.ids) for result in self.content.results.values()]
        return [sum(counts[:place]) for place in range(len(counts) + 1)]

    def _flat(self, found: list[list[Any]]) -> list[list[Any]]:
        """(system, row of it, ...) -> (row of the report, ...)."""
        starts = self._starts()
        return [[starts[system] + row, *rest] for system, row, *rest in found]

    def _flawed(self) -> list[int]:
        """By system, how many captions have an unsupported word."""
        starts = self._starts()
        return [sum(bool(seen.weak) for seen in self.evidence[a:b]) for a, b in pairwise(starts)]

    def _weak_words(self) -> list[list[Any]]:
        texts = [sample.candidate for system in self.content.systems for sample in self.content.samples[system]]
        return self._most(lambda row, seen: {texts[row][start:end].lower() for start, end in seen.weak})

    def _most(self, words: Any) -> list[list[Any]]:
        """The most frequent words: [word, captions of each system]; a caption counts once."""
        counters: list[Counter[str]] = []
        starts = self._starts()
        for first, last in pairwise(starts):
            counters.append(Counter(w for row in range(first, last) for w in words(row, self.evidence[row])))
        total = sum(counters, Counter[str]())
        best = sorted(total.items(), key=lambda item: (-item[1], item[0]))[:LISTED]
        return [[word, [counter[word] for counter in counters]] for word, _ in best]


def _own(found: dict[str, list[Explanation | None]], place: int) -> dict[str, Explanation]:
    return {name: own for name, reasons in found.items() if (own := reasons[place]) is not None}


def _ids(content: Content) -> list[str]:
    """Ids of all systems, each once, in the first system's order."""
    return list(dict.fromkeys(identifier for result in content.results.values() for identifier in result.ids))

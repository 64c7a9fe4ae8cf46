"""An HTML page of captions with their scores and the reasons behind them; it needs no other file."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from vericap.core.errors import InputError
from vericap.core.explanation import Box, Explanation, Graph, Match, WordEvidence
from vericap.core.samples import Sample
from vericap.graphs.drawing import draw
from vericap.graphs.scene_graph import SceneGraph
from vericap.report.heatmaps import pictures
from vericap.run.results import Result

MOST = 100  # captions on a page
_ROWS = 8  # of a table of reasons
_PICTURES = 4  # of one kind and metric: a caption with five references has a dozen
_REGIONS = 10  # of a heat map
_SIDE, _QUALITY = 420, 75  # of a photo
_STYLE = (
    "body{font-family:sans-serif;max-width:70em;margin:2em auto;color:#222}section{border-top:1px solid #ccc;"
    "padding:1em 0}.photo{position:relative;display:inline-block}.photo svg{position:absolute;inset:0;width:100%;"
    "height:100%}table{border-collapse:collapse;margin:.5em 0}td,th{padding:.15em .8em .15em 0;text-align:left}"
    "caption{text-align:left;color:#555;font-size:90%}"
    "figure{margin:1em 0;overflow-x:auto}figcaption{color:#555;font-size:90%}mark{padding:0 .1em;border-radius:.2em}"
)


def page(
    result: Result,
    samples: Sequence[Sample],
    reasons: Mapping[str, Sequence[Explanation | None]],
    *,
    images: Path | None = None,
    title: str = "Why these scores",
) -> str:
    """The first captions of a result with photo, scores, and every metric's reasons.

    Parameters
    ----------
    result : scores of the samples.
    samples : the captions in the order of the result.
    reasons : by metric, the explanation of each of the first `MOST` captions, made with `full=True`.
    images : folder of the photos.
    title : of the page.
    """
    parts = [f"<h1>{escape(title)}</h1>"]
    if len(samples) > MOST:
        parts.append(f"<p>The first {MOST} of {len(samples)} captions.</p>")
    for place, (sample, record) in enumerate(zip(samples[:MOST], result.records())):
        own = {name: found[place] for name, found in reasons.items()}
        parts.append(_section(sample, record, {name: item for name, item in own.items() if item is not None}, images))
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _section(sample: Sample, record: Mapping[str, Any], reasons: Mapping[str, Explanation], images: Path | None) -> str:
    parts = [f"<h2>{escape(sample.candidate or '(empty)')}</h2>"]
    if images is not None and sample.image is not None:
        parts.append(_photo(sample.image, images, _placed(reasons.values())))
    if sample.references:
        parts.append("<p>" + "<br>".join(escape(text) for text in sample.references) + "</p>")
    scores = [(name, value) for name, value in record.items() if isinstance(value, float)]
    parts.append(_table("", (), scores, digits=4, most=len(scores)))
    for name, found in reasons.items():
        drawn = "".join(_reasons(sample.candidate, found))
        parts += [f"<h3>{escape(name)}</h3>", drawn] if drawn else []
    return f"<section id='{escape(sample.id, quote=True)}'>{''.join(parts)}</section>"


def _reasons(caption: str, found: Explanation) -> Iterator[str]:
    """Everything an explanation holds: marked words, short tables, pictures, notes."""
    if any(word.support is not None for word in found.words):
        yield f"<p>{_marked(caption, found.words)}</p>"
    yield _table("sentences", ("sentence", "support"), [(item.text, item.support) for item in found.sentences])
    missing = [(item.text, item.weight, item.source) for item in found.missing]
    yield _table("what the caption does not say", ("content", "weight", "source"), missing)
    matches = [(", ".join(item.candidate), _counterpart(item), item.grade, item.kind) for item in found.matches]
    yield _table("what was matched", ("caption", "matched with", "grade", "kind"), matches)
    moves = [(move.object, move.word, move.mass, move.cost) for move in found.transport]
    yield _table("transport", ("object", "word", "mass", "cost"), moves)
    facts = [(name, value) for name, value in found.facts.items() if isinstance(value, int | float | str)]
    yield _table("", (), facts)
    yield from _drawn(pictures(found, most=_REGIONS), "heat maps")
    yield from _drawn([(graph.title, _graph(graph)) for graph in found.graphs], "graphs")
    yield from (f"<p>{escape(note)}</p>" for note in found.notes)


def _drawn(figures: Sequence[tuple[str, str]], what: str) -> Iterator[str]:
    for title, svg in figures[:_PICTURES]:
        yield f"<figure><figcaption>{escape(title)}</figcaption>{svg}</figure>"
    if len(figures) > _PICTURES:
        yield f"<p>{len(figures) - _PICTURES} more {what} are left out.</p>"


def _counterpart(match: Match) -> str:
    return ", ".join(match.reference) or ("nothing" if match.region is None else "a region of the image")


def _marked(caption: str, words: Iterable[WordEvidence]) -> str:
    """The caption; the less a word is supported, the redder it is."""
    parts, done = [], 0
    for word in sorted(words, key=lambda item: item.start):
        if word.support is None or word.start < done:
            continue
        faint = min(1.0, max(0.0, 1 - word.support))
        said = f"support {word.support:.2f}" + (f" by the {word.source}" if word.source else "")
        parts.append(escape(caption[done : word.start]))
        parts.append(
            f'<mark style="background:rgba(192,57,43,{0.7 * faint:.2f})" title="{escape(said, quote=True)}">'
            f"{escape(caption[word.start : word.end])}</mark>"
        )
        done = word.end
    return "".join([*parts, escape(caption[done:])])


def _table(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[Any]], *, digits: int = 2, most: int = _ROWS
) -> str:
    """A small table; nothing where there are no rows."""
    if not rows:
        return ""
    more = f"; {most} of {len(rows)}" if len(rows) > most else ""
    caption = f"<caption>{escape(title)}{more}</caption>" if title else ""
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_shown(cell, digits))}</td>" for cell in row) + "</tr>" for row in rows[:most]
    )
    return f"<table>{caption}{f'<tr>{head}</tr>' if head else ''}{body}</table>"


def _shown(cell: Any, digits: int) -> str:
    if cell is None:
        return "not judged"
    return f"{cell:.{digits}f}" if isinstance(cell, float) else str(cell)


def _graph(found: Graph) -> str:
    return draw(SceneGraph(list(found.objects), list(found.attributes), list(found.relations)))


def _placed(reasons: Iterable[Explanation]) -> dict[Box, list[str]]:
    """Words by the region that supports them, of the first metric that names regions."""
    for found in reasons:
        words: dict[Box, list[str]] = {}
        for word in found.words:
            if word.region is not None:
                words.setdefault(word.region, []).append(word.text)
        if words:
            return words
    return {}


def _photo(name: str, folder: Path, words: Mapping[Box, Sequence[str]]) -> str:
    """The photo, small, with a frame for each region that supports a word."""
    from vericap.vision.images import find, load_image

    try:
        image = load_image(find(name, folder)).convert("RGB")
    except InputError as error:
        return f"<p>{escape(str(error))}</p>"
    image.thumbnail((_SIDE, _SIDE))
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=_QUALITY)
    data = base64.b64encode(stream.getvalue()).decode("ascii")
    width, height = image.size
    frames = "".join(_frame(box, " ".join(dict.fromkeys(own)), image.size) for box, own in words.items())
    return (
        f'<div class="photo"><img alt="{escape(name, quote=True)}" src="data:image/jpeg;base64,{data}">'
        f'<svg viewBox="0 0 {width} {height}">{frames}</svg></div>'
    )


def _frame(box: Box, said: str, size: tuple[int, int]) -> str:
    x0, y0, x1, y1 = box
    x, y, w, h = x0 * size[0], y0 * size[1], (x1 - x0) * size[0], (y1 - y0) * size[1]
    return (
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{w:.0f}" height="{h:.0f}" fill="none" stroke="#c0392b"'
        f'><title>{escape(said)}</title></rect><text x="{x + 4:.0f}" y="{y + 14:.0f}" font-size="12" fill="#fff" '
        f'stroke="#000" stroke-width="3" paint-order="stroke">{escape(said)}</text>'
    )

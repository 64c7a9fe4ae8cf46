"""An HTML page of captions with their scores and the heat maps behind them; it needs no other file."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from vericap.errors import InputError
from vericap.report.heatmaps import pictures
from vericap.results import Result
from vericap.samples import Sample

MOST = 100  # captions on a page
_STYLE = (
    "body{font-family:sans-serif;max-width:70em;margin:2em auto;color:#222}section{border-top:1px solid #ccc;"
    "padding:1em 0}.photo{position:relative;display:inline-block}.photo svg{position:absolute;inset:0;width:100%;"
    "height:100%}table{border-collapse:collapse}td,th{padding:.15em .8em;text-align:left}td+td{text-align:right}"
    "figure{margin:1em 0;overflow-x:auto}figcaption{color:#555;font-size:90%}"
)


def page(
    result: Result, samples: Sequence[Sample], *, images: Path | None = None, title: str = "Why these scores"
) -> str:
    """The first captions of a result with photo, scores and heat maps of every metric that explains itself so."""
    parts = [f"<h1>{escape(title)}</h1>"]
    if len(samples) > MOST:
        parts.append(f"<p>The first {MOST} of {len(samples)} captions.</p>")
    records = result.records()
    parts += [_section(sample, record, images) for sample, record in zip(samples[:MOST], records)]
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _section(sample: Sample, record: Mapping[str, Any], images: Path | None) -> str:
    reasons = {
        name.removesuffix(".explanation"): value
        for name, value in record.items()
        if name.endswith(".explanation") and isinstance(value, Mapping)
    }
    parts = [f"<h2>{escape(sample.candidate or '(empty)')}</h2>"]
    frames = next((value for value in reasons.values() if value.get("word_regions")), None)
    if images is not None and sample.image is not None:
        parts.append(_photo(sample.image, images, frames))
    if sample.references:
        parts.append("<p>" + "<br>".join(escape(text) for text in sample.references) + "</p>")
    parts.append(_scores(record))
    for name, value in reasons.items():
        drawn = pictures(value)
        if drawn:
            parts.append(f"<h3>{escape(name)}</h3>")
        parts += [f"<figure><figcaption>{escape(text)}</figcaption>{svg}</figure>" for text, svg in drawn]
        if value.get("note"):
            parts.append(f"<p>{escape(str(value['note']))}</p>")
    return f"<section id='{escape(sample.id, quote=True)}'>{''.join(parts)}</section>"


def _scores(record: Mapping[str, Any]) -> str:
    rows = [(name, value) for name, value in record.items() if isinstance(value, float)]
    cells = "".join(f"<tr><td>{escape(name)}</td><td>{value:.4f}</td></tr>" for name, value in rows)
    return f"<table>{cells}</table>" if cells else ""


def _photo(name: str, folder: Path, reasons: Mapping[str, Any] | None) -> str:
    """The photo, small, with the best region of each word where the metric names one."""
    from vericap.vision.images import find, load_image

    try:
        image = load_image(find(name, folder)).convert("RGB")
    except InputError as error:
        return f"<p>{escape(str(error))}</p>"
    image.thumbnail((420, 420))
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=85)
    data = base64.b64encode(stream.getvalue()).decode("ascii")
    frames = "".join(_frames(reasons, image.size)) if reasons else ""
    width, height = image.size
    return (
        f'<div class="photo"><img alt="{escape(name, quote=True)}" src="data:image/jpeg;base64,{data}">'
        f'<svg viewBox="0 0 {width} {height}">{frames}</svg></div>'
    )


def _frames(reasons: Mapping[str, Any], size: tuple[int, int]) -> Iterable[str]:
    """Regions with the words they support best; the whole image needs no frame."""
    words: dict[int, list[str]] = {}
    for word, region in zip(reasons["words"], reasons["word_regions"]):
        words.setdefault(int(region), []).append(word)
    for region, names in words.items():
        x0, y0, x1, y1 = reasons["boxes"][region]
        x, y, w, h = x0 * size[0], y0 * size[1], (x1 - x0) * size[0], (y1 - y0) * size[1]
        said = " ".join(dict.fromkeys(names))
        yield (
            f'<rect x="{x:.0f}" y="{y:.0f}" width="{w:.0f}" height="{h:.0f}" fill="none" stroke="#c0392b"'
            f'><title>{escape(said)}</title></rect><text x="{x + 4:.0f}" y="{y + 14:.0f}" font-size="12" fill="#fff" '
            f'stroke="#000" stroke-width="3" paint-order="stroke">{escape(said)}</text>'
        )

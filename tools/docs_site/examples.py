"""One example for every metric: a snippet that was run when the page was made, what it printed, and a picture."""

from __future__ import annotations

import io
import os
import textwrap
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import vericap
from vericap.core.errors import VericapError
from vericap.core.metric import Metric
from vericap.core.shipped import ROOT
from vericap.metrics.registry import make

from . import drawing

PHOTO = "chelsea.jpg"
CAPTIONS = (
    "A tabby cat with green eyes looks to the right.",
    "A cat.",
    "A dog sleeps on a red sofa.",
)
REFERENCES = (
    "A close up of a tabby cat with green eyes looking to the side.",
    "The face of a brown striped cat with long white whiskers.",
    "A cat with a pink nose and large yellow eyes.",
)
JAPANESE = ("縞模様の猫が右を見ている", "猫", "赤いソファで犬が寝ている")
JAPANESE_REFERENCES = ("緑の目をした縞模様の猫が横を見ている", "白いひげの長い茶色の猫の顔")
_LINE = 70  # letters of code that a page shows without scrolling
_FREQUENCIES = ("cider", "cider-d", "spider")  # one photo's references make no document frequencies


@dataclass
class Example:
    """A snippet, what it printed, and the picture; or why there is none."""

    code: str
    printed: str
    picture: str


def languages(metric: type[Metric]) -> bool:
    """Whether a metric reads Japanese alone."""
    return metric.languages == ("ja",)


def snippet(name: str) -> str:
    """The code of a metric's example."""
    metric = type(make(name))
    japanese, looks = languages(metric), {"image", "objects"} & set(metric.needs)
    captions, references = (JAPANESE, JAPANESE_REFERENCES) if japanese else (CAPTIONS, REFERENCES)
    lines = ["import vericap", "", f"captions = {_listed(captions)}"]
    arguments = ["captions"]
    if metric.reads_references:
        lines.append(f"references = [{_listed(references)}] * {len(captions)}")
        arguments.append("references")
    arguments.append(f'metrics="{name}"')
    if looks:
        lines.append(f'photos = ["{PHOTO}"] * {len(captions)}')
        arguments += ["image_names=photos", 'images="try/photos"']
    arguments += ['lang="ja"'] if japanese else []
    arguments += ['df="coco-val"'] if name in _FREQUENCIES else []
    call = f"result = vericap.score({', '.join(arguments)})"
    if len(call) > _LINE:
        call = "\n".join(["result = vericap.score(", *(f"    {argument}," for argument in arguments), ")"])
    return "\n".join([*lines, call, f'print(result["{name}"].round(3))   # one score per caption', "print(result)"])


def _listed(texts: tuple[str, ...]) -> str:
    inner = "".join(f'    "{text}",\n' for text in texts)
    return f"[\n{inner}]"


def run(code: str, folder: Path) -> str:
    """What a snippet prints, in a folder where `vericap demo --files try` was run."""
    home = Path.cwd()
    stream = io.StringIO()
    os.chdir(folder)
    try:
        with redirect_stdout(stream):
            exec(compile(code, "example", "exec"), {"__name__": "example"})
    finally:
        os.chdir(home)
    return stream.getvalue().rstrip()


def example(name: str, folder: Path) -> Example:
    """The example of a metric; a VericapError where it cannot be had here."""
    code = snippet(name)
    return Example(code, run(code, folder), draw(name))


def draw(name: str) -> str:
    """The picture of a metric's example: one row per caption."""
    metric = type(make(name))
    japanese, looks = languages(metric), bool({"image", "objects"} & set(metric.needs))
    captions, references = (JAPANESE, JAPANESE_REFERENCES) if japanese else (CAPTIONS, REFERENCES)
    options = {"lang": "ja" if japanese else "en", "df": "coco-val" if name in _FREQUENCIES else "corpus"}
    result = vericap.score(
        list(captions),
        [list(references)] * len(captions),
        name,
        image_names=[PHOTO] * len(captions),
        images=ROOT / "demo" / "photos",
        explain=True,
        **options,
    )
    scores = result[name].tolist()
    reasons = result.explanations.get(name) or [None] * len(captions)
    low, high = metric.range
    known = [score for score in scores if score == score]
    span = (
        low if abs(low) != float("inf") else min([0.0, *known]),
        high if high != float("inf") else max([1.0, *known]),
    )
    return drawing.picture(captions, scores, reasons, span=span, photo=ROOT / "demo/photos" / PHOTO if looks else None)


def page(name: str, folder: Path) -> tuple[str, str]:
    """The Markdown of a metric's example, and its picture."""
    try:
        found = example(name, folder)
    except VericapError as error:
        if "model=" in str(error):  # a metric that works with a model of the user's own alone
            return f"No example is drawn here: {error}.\n", ""
        raise
    printed = textwrap.indent(found.printed, "    ")
    tried = "In a folder where `vericap demo --files try` was run:\n\n" if "try/" in found.code else ""
    shown = f"![{name}: three captions and their words](pictures/{name}.svg)"
    said = "Green words are supported, red ones are not, grey ones are not judged by this metric.\n\n"
    return f"{tried}```python\n{found.code}\n```\n\nprints\n\n{printed}\n\n{shown}\n\n{said}", found.picture

"""The page of a campaign: one folder that opens from disk, without server or network.

`index.html` holds the questions and, as a block of data, the captions; `rating.js`, `script.js` and `style.css` lie
beside it because the page's Content-Security-Policy allows no inline code. Captions reach the page as JSON and the
screen as text; nothing that a caption holds is ever read as markup.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from urllib.parse import quote

from vericap.core.errors import InputError, Problem, VericapError
from vericap.core.samples import Sample
from vericap.report.annotation import photos
from vericap.report.annotation.campaign import CAMPAIGN_FILE, LONGEST_NAME, Campaign, Caption, drawn, rater_names
from vericap.report.annotation.questions import QUESTIONS, Question, questions_of
from vericap.run.progress import progress

ASSETS = ("rating.js", "script.js", "style.css")
SECONDS_PER_QUESTION = 6  # what the first page tells raters to expect


def write_campaign(
    systems: Mapping[str, Sequence[Sample]],
    output: str | Path,
    *,
    images: str | Path,
    questions: str | Sequence[str] = tuple(QUESTIONS),
    captions: int | None = None,
    raters: Sequence[str] = (),
    each: int = 0,
    repeats: int = 0,
    seed: int = 0,
    title: str = "",
    note: str = "",
    lang: str = "en",
    size: int = photos.SIZE,
    show_progress: bool = False,
) -> Campaign:
    """Write a page on which people rate captions.

    Parameters
    ----------
    systems : captions by the name of the system that made them; one entry for a single file.
    output : the campaign's folder, which must be new or empty.
    images : folder of the photos that the captions name.
    questions : of fidelity, adequacy and fluency, those to ask.
    captions : draw so many at random; by default all are rated.
    raters : names the page offers; by default whoever opens it types a name.
    each : how many of the `raters` rate each caption; 0 for all of them.
    repeats : captions that each rater sees a second time, to measure how constant the ratings are.
    seed : of the draw, and of the order in which each rater sees the captions.
    title, note : what the first page says.
    lang : language of the captions.
    size : longest side of the photos in pixels.
    show_progress : show a bar while photos are written.

    Returns
    -------
    The campaign; `problems` names the captions whose photo could not be shown. They are left out.

    Examples
    --------
    >>> from vericap.io import load
    >>> samples = load("captions.jsonl").samples  # doctest: +SKIP
    >>> write_campaign({"mine": samples}, "campaign", images="photos", captions=100)  # doctest: +SKIP
    """
    names, target, source = rater_names(raters), Path(output), Path(images)
    if not source.is_dir():
        raise InputError(f"the image folder {source} does not exist; name an existing folder with `images=DIR`")
    if each and not names:
        raise VericapError("`each=N` shares captions between named raters; name them with `raters=NAMES`")
    if each > len(names):
        raise VericapError(f"`each={each}` is more than the {len(names)} rater(s) named")
    found = Campaign(
        captions=drawn(systems, captions, seed=seed),
        questions=questions_of(questions),
        title=" ".join(title.split()) or "Rate captions",
        note=note.strip(),
        lang=lang,
        seed=seed,
        raters=names,
        each=each,
        repeats=repeats,
    )
    _prepare(target)
    _photos(found, source, target, size, show_progress)
    found.repeats = min(repeats, len(found.items))
    _write(target / CAMPAIGN_FILE, json.dumps(found.as_json(), indent=1) + "\n")
    _write(target / "index.html", page(found))
    for name in ASSETS:
        _write(target / name, _asset(name))
    return found


def _prepare(target: Path) -> None:
    """A new folder. Writing over a campaign would part ratings from what was rated."""
    if target.exists() and not target.is_dir():
        raise InputError(f"{target}: is a file; a campaign needs a folder (`output=DIR`)")
    if target.is_dir() and any(target.iterdir()):
        raise InputError(f"{target}: the folder is not empty; name a new one with `output=DIR`, or empty it")
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{target}: cannot be made ({error.strerror or error})") from error


def _photos(campaign: Campaign, source: Path, target: Path, size: int, show: bool) -> None:
    """Write each photo once; captions without one are named and left out."""
    written: dict[str, tuple[str, str] | str] = {}
    kept: list[Caption] = []
    for caption in progress(campaign.captions, what="photos", unit="caption", show=show):
        try:
            key = photos.relative_key(caption.image, source)
            if key not in written:
                written[key] = _photo(key, source, target, size)
            photo = written[key]
            if isinstance(photo, str):
                raise InputError(photo)
        except InputError as error:
            campaign.problems.append(Problem(caption.id, f"{error}; the caption is left out"))
            continue
        name, content = photo
        campaign.contents[name] = content
        kept.append(replace(caption, image=key, photo=name))
    if not kept:
        first = f"; the first: {campaign.problems[0]}" if campaign.problems else ""
        raise InputError(f"no caption can be shown with its photo{first}")
    campaign.captions = kept


def _photo(key: str, source: Path, target: Path, size: int) -> tuple[str, str] | str:
    """The photo's name and content, or the reason why there is none: further captions of it need not try again."""
    try:
        return photos.put(key, source, target, size)
    except InputError as error:
        return str(error)


def page(campaign: Campaign) -> str:
    """The campaign's index.html."""
    data = campaign.page_data()
    for item in data["items"]:
        item["photo"] = quote(item["photo"])  # a file's name may hold #, ? or %
    each = _own_share(campaign)
    minutes = max(1, round(each * len(campaign.questions) * SECONDS_PER_QUESTION / 60))
    return Template(_asset("template.html")).substitute(
        title=escape(campaign.title),
        note=f'<p class="note">{escape(campaign.note)}</p>' if campaign.note else "",
        lang=escape(campaign.lang),
        count=f"{each} caption{'s' * (each != 1)}",
        minutes=f"{minutes} minute{'s' * (minutes != 1)}",
        rater=_rater_field(campaign.raters),
        questions="\n".join(map(_question, campaign.questions)),
        # Inside a script element only "</script" and "<!--" could end the block: no "<" is left in it.
        data=json.dumps(data).replace("<", "\\u003c"),
    )


def _own_share(campaign: Campaign) -> int:
    """How many captions one rater goes through."""
    total = len(campaign.items)
    if campaign.each and campaign.raters:
        total = -(-total * campaign.each // len(campaign.raters))
    return total + min(campaign.repeats, total)


def _rater_field(raters: Sequence[str]) -> str:
    if not raters:
        return f'<input id="rater" name="rater" required maxlength="{LONGEST_NAME}" autocomplete="nickname">'
    options = "".join(f"<option>{escape(name)}</option>" for name in raters)
    return f'<select id="rater" name="rater" required><option value="">choose</option>{options}</select>'


def _question(question: Question) -> str:
    """A group of radio buttons: one question, five steps with their meaning."""
    name = escape(question.name)
    steps = "\n".join(
        f'<label class="step"><input type="radio" name="{name}" value="{value}">'
        f'<b class="number">{value}</b> <span>{escape(meaning)}</span></label>'
        for value, meaning in enumerate(question.steps, 1)
    )
    return (
        f'<fieldset id="question-{name}" data-question="{name}" tabindex="-1" aria-describedby="hint-{name}">\n'
        f'<legend>{escape(question.text)}</legend>\n<p class="hint" id="hint-{name}">{escape(question.hint)}</p>\n'
        f"{steps}\n</fieldset>"
    )


def _asset(name: str) -> str:
    return (files("vericap.report.annotation") / name).read_text("utf-8")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", errors="replace", newline="\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error

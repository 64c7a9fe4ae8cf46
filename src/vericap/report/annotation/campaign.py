"""What is rated in a campaign: captions drawn from systems, who rates which, and the file that keeps it all."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vericap.core.errors import InputError, Problem, VericapError
from vericap.core.keys import content_key
from vericap.core.samples import Sample
from vericap.report.annotation.questions import SCALE, Question

CAMPAIGN_FILE = "campaign.json"
CAMPAIGN_FORMAT, RATINGS_FORMAT, VERSION = "vericap campaign", "vericap ratings", 1
LONGEST_NAME = 60  # of a rater: it becomes part of a file name


@dataclass(frozen=True)
class Caption:
    """One caption to rate. The page shows `candidate` and `photo`; the rest is for whoever reads the ratings."""

    id: str
    candidate: str
    image: str
    references: tuple[str, ...] = ()
    system: str = ""
    photo: str = ""  # the photo's file inside the campaign

    @property
    def digest(self) -> str:
        """Names the caption of this image: equal captions of two systems are rated once."""
        return content_key("caption", self.image, self.candidate)[:16]

    @property
    def blind_id(self) -> str:
        """The id without the system's name: what the page holds, so that raters cannot see whose caption it is."""
        return self.id.removesuffix(f"/{self.system}") if self.system else self.id


@dataclass
class Campaign:
    """All that a campaign's page and its reader need to know."""

    captions: list[Caption]
    questions: tuple[Question, ...]
    title: str = "Rate captions"
    note: str = ""
    lang: str = "en"
    seed: int = 0
    repeats: int = 0  # captions that every rater sees twice
    raters: tuple[str, ...] = ()  # empty: whoever types a name
    each: int = 0  # raters per caption; 0: all of them
    contents: dict[str, str] = field(default_factory=dict)  # photo -> key of its bytes
    problems: list[Problem] = field(default_factory=list)

    @property
    def items(self) -> dict[str, Caption]:
        """The captions by digest, each distinct one once: what a rater goes through."""
        found: dict[str, Caption] = {}
        for caption in self.captions:
            found.setdefault(caption.digest, caption)
        return found

    @property
    def digest(self) -> str:
        """Changes with any photo, caption or wording, so that ratings are never joined to another campaign."""
        asked = [part for question in self.questions for part in (question.name, question.text, *question.steps)]
        rated = [part for key, item in self.items.items() for part in (key, self.contents.get(item.photo, ""))]
        return content_key("campaign", "\n".join(asked), "\n".join(rated))

    def assignments(self) -> dict[str, list[str]]:
        """Caption digest -> its raters, where each caption goes to some of them; everybody has equally many."""
        if not self.each or self.each >= len(self.raters):
            return {}
        draw = random.Random(f"{self.seed}/raters")
        load = dict.fromkeys(self.raters, 0)
        found = {}
        for key in self.items:
            chosen = sorted(self.raters, key=lambda name: (load[name], draw.random()))[: self.each]
            for name in chosen:
                load[name] += 1
            found[key] = chosen
        return found

    def as_json(self) -> dict[str, Any]:
        """The content of campaign.json."""
        captions = [
            {
                "id": caption.id,
                "caption": caption.digest,
                "candidate": caption.candidate,
                "image": caption.image,
                "photo": caption.photo,
                "system": caption.system,
                "references": list(caption.references),
            }
            for caption in self.captions
        ]
        return {
            "format": CAMPAIGN_FORMAT,
            "version": VERSION,
            "campaign": self.digest,
            "title": self.title,
            "lang": self.lang,
            "seed": self.seed,
            "scale": list(SCALE),
            "questions": [vars(question) | {"steps": list(question.steps)} for question in self.questions],
            "raters": list(self.raters),
            "captions": captions,
        }

    def page_data(self) -> dict[str, Any]:
        """What the page's script reads: no system and no reference is in it, so that raters cannot see them."""
        assigned = self.assignments()
        items = [
            {"id": item.blind_id, "caption": key, "text": item.candidate, "photo": item.photo}
            | ({"raters": assigned[key]} if key in assigned else {})
            for key, item in self.items.items()
        ]
        return {
            "format": RATINGS_FORMAT,
            "version": VERSION,
            "campaign": self.digest,
            "title": self.title,
            "lang": self.lang,
            "seed": self.seed,
            "repeats": self.repeats,
            "questions": [question.name for question in self.questions],
            "items": items,
        }


def drawn(systems: Mapping[str, Sequence[Sample]], count: int | None = None, *, seed: int = 0) -> list[Caption]:
    """Captions of one or several systems; `count` of them at random, where several systems keep the same images.

    Where there are several systems, the id of a caption is `id/system`.
    """
    named = len(systems) > 1
    groups: dict[str, list[Caption]] = {}
    for system, samples in systems.items():
        for sample in samples:
            key = f"{sample.id}/{system}" if named else sample.id
            image = sample.image if sample.image is not None else sample.id
            found = Caption(key, sample.candidate, image, sample.references, system if named else "")
            groups.setdefault(sample.id, []).append(found)
    keys = list(groups)
    if count is not None:
        random.Random(f"{seed}/captions").shuffle(keys)
    return [caption for key in keys for caption in groups[key]][:count]


def rater_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names as the page shows them: blanks joined, each once, none too long for a file name."""
    found = [" ".join(name.split()) for name in names]
    for name in found:
        if len(name) > LONGEST_NAME:
            raise VericapError(f"the rater's name '{name[:20]}...' is longer than {LONGEST_NAME} characters")
    return tuple(dict.fromkeys(name for name in found if name))


def read_campaign(folder: Path) -> dict[str, Any]:
    """campaign.json of a folder, checked as far as its readers rely on it."""
    path = folder / CAMPAIGN_FILE
    try:
        data = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"{folder}: no {CAMPAIGN_FILE} is there; ratings are read together with the campaign they belong to"
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    if not isinstance(data, dict) or data.get("format") != CAMPAIGN_FORMAT:
        raise InputError(f"{path}: not a campaign made by `vericap annotate`")
    if data.get("version") != VERSION:
        raise InputError(f"{path}: version {data.get('version')!r} is not {VERSION}; it needs another vericap")
    return data

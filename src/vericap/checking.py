"""One caption of one image, judged: the verdict with its reasons, for people and for programs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from vericap.core.errors import InputError
from vericap.core.explanation import Explanation, MissingContent, SentenceEvidence, WordEvidence
from vericap.core.samples import has_word

ASPECTS = ("fidelity", "adequacy", "fluency", "verdict")
_BAR = 20  # letters of a full bar
_SHOWN = 6  # words or things that a line names
_LINES = 8  # with the notes that find room
# What would colour, ring, move the cursor or turn text round.
_CONTROL = re.compile("\x1b\\[[0-?]*[ -/]*[@-~]|[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_JOINT = re.compile(r"[\s-]*")  # between words of one compound
_RED, _BOLD, _PLAIN = "\x1b[31m", "\x1b[1m", "\x1b[0m"


@dataclass(frozen=True)
class Check:
    """What `vericap.check` says of a caption.

    Attributes
    ----------
    caption : str
    fidelity, adequacy, fluency, verdict : float
        Between 0 and 1; what each means is on its card (`vericap metrics verdict`).
    words, sentences, missing : tuples of evidence
        Every word with its support (None: not judged) and region, every sentence, and what was left out.
    doubted : tuple of (start, end)
        Where the caption says what is not supported: words, or compounds ("hot dog"), whose support is below the
        threshold that holds the stated rate of false alarms.
    threshold : float or None
        This threshold.
    through : dict
        Words that are judged through others, each with the known words that stand for it.
    claims : tuple of dict
        The most doubtful claims about things: `kind` (attribute, count, action, relation), `text`, `subject`,
        `object`, `support`.
    notes : tuple of str
        What else there is to know, such as why the caption reads badly.
    """

    caption: str
    fidelity: float
    adequacy: float
    fluency: float
    verdict: float
    words: tuple[WordEvidence, ...] = ()
    sentences: tuple[SentenceEvidence, ...] = ()
    missing: tuple[MissingContent, ...] = ()
    doubted: tuple[tuple[int, int], ...] = ()
    threshold: float | None = None
    through: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    claims: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def not_supported(self) -> tuple[str, ...]:
        """The words and compounds that are not supported, in the order of the caption."""
        return tuple(self.caption[start:end] for start, end in self.doubted)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        found: dict[str, Any] = {"caption": self.caption, **{name: round(getattr(self, name), 4) for name in ASPECTS}}
        found["words"] = [_plain(word, "text", "start", "end", "support", "source", "region") for word in self.words]
        found["sentences"] = [_plain(sentence, "text", "start", "end", "support") for sentence in self.sentences]
        found["missing"] = [_plain(content, "text", "weight", "source", "region") for content in self.missing]
        found["not_supported"] = list(self.not_supported)
        found["threshold"] = self.threshold
        found["through"] = {word: list(near) for word, near in self.through.items()}
        found["claims"] = [dict(claim) for claim in self.claims]
        return {**found, "notes": list(self.notes)}

    def text(self, *, colour: bool = False) -> str:
        """The verdict in a few lines: bars, the caption with doubtful words marked, what was left out."""
        bold, plain = (_BOLD, _PLAIN) if colour else ("", "")
        lines = [f"{bold}verdict   {self.verdict:.2f}{plain}  {bar(self.verdict)}"]
        lines += [f"{name:<9} {getattr(self, name):.2f}  {bar(getattr(self, name))}" for name in ASPECTS[:3]]
        lines.append(self._marked(colour))
        lines += _named("not supported", self.not_supported)
        lines += _named("left out", [content.text for content in self.missing])
        lines += [_plain_text(note) for note in self.notes[: max(1, _LINES - len(lines))]]
        return "\n".join(lines)

    def _marked(self, colour: bool) -> str:
        """The caption with the words that are not supported between marks, or in red."""
        before, after = (_RED, _PLAIN) if colour else ("[", "]")
        out, end = [], 0
        for start, stop in self.doubted:
            out += [_plain_text(self.caption[end:start]), before, _plain_text(self.caption[start:stop]), after]
            end = stop
        return "".join([*out, _plain_text(self.caption[end:])]).strip()

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{name}</th><td>{getattr(self, name):.2f}</td>"
            f"<td><progress max='1' value='{getattr(self, name):.3f}'></progress></td></tr>"
            for name in ("verdict", *ASPECTS[:3])
        )
        left_out = "".join(
            f"<p>{escape(line)}</p>" for line in _named("left out", [item.text for item in self.missing])
        )
        return f"<table>{rows}</table><p>{_html(self.caption, self.doubted)}</p>{left_out}"


def check_asked(image: Any, caption: Any, lang: str) -> None:
    """Refuse what cannot be judged, before any model is opened."""
    if not isinstance(image, str | Path | bytes | bytearray | np.ndarray) and not hasattr(image, "getexif"):
        raise InputError(f"the image is a {type(image).__name__}; give a path, bytes, a PIL image or an array")
    if not isinstance(caption, str):
        raise InputError(f"the caption is a {type(caption).__name__}, not a text")
    if not has_word(caption):
        raise InputError("the caption has no word")
    if re.split("[-_]", lang.lower())[0] != "en":
        raise InputError(
            f"`lang={lang}`: only English captions are checked, visual words and scene graphs of captions are English; "
            "captions in other languages are judged by `vericap score` (`vericap metrics` lists what reads which)"
        )


def checked(
    caption: str, values: Mapping[str, float], reasons: Mapping[str, Explanation | None], notes: Sequence[str] = ()
) -> Check:
    """The check of a caption from its scores and reasons; `notes` are those of who called."""
    from vericap.metrics.verdict.judge import shipped_judge  # what judges is not loaded before something is judged

    verdict, fluency = (reasons.get(name) or Explanation(name) for name in ("verdict", "fluency"))
    facts = verdict.facts
    badly = fluency.notes if shipped_judge().reads(values["fluency"]) < 1 else ()
    reads = [f"reads badly: {'; '.join(badly)}"] if badly else []
    return Check(
        caption,
        **values,
        words=verdict.words,
        sentences=verdict.sentences,
        missing=verdict.missing,
        doubted=tuple(_joined(caption, verdict.words, set(facts.get("doubted", ())))),
        threshold=facts.get("threshold"),
        through={word: tuple(near) for word, near in facts.get("through", {}).items()},
        claims=tuple(facts.get("claims", ())),
        notes=(*reads, *notes, *verdict.notes),
    )


def _joined(caption: str, words: Sequence[WordEvidence], doubted: set[int]) -> Iterator[tuple[int, int]]:
    """Where doubted words stand; neighbours of one claim, which share support and region, are one ("hot dog")."""
    last: WordEvidence | None = None
    start = 0
    for word in words:
        if word.start not in doubted:
            continue
        if last is None or not _one_claim(caption, last, word):
            if last is not None:
                yield start, last.end
            start = word.start
        last = word
    if last is not None:
        yield start, last.end


def _one_claim(caption: str, one: WordEvidence, other: WordEvidence) -> bool:
    near = _JOINT.fullmatch(caption, one.end, other.start) is not None
    return near and (one.support, one.region) == (other.support, other.region)


def _named(what: str, items: Sequence[str]) -> list[str]:
    """A line that names things, each once, and says how many more there are; none where there are none."""
    once = list(dict.fromkeys(map(_plain_text, items)))
    more = f" and {len(once) - _SHOWN} more" if len(once) > _SHOWN else ""
    return [f"{what}: {', '.join(once[:_SHOWN])}{more}"] if once else []


def _plain_text(text: str) -> str:
    """A text on one line, without what would move a terminal's cursor or colour it."""
    return re.sub(r"\s+", " ", _CONTROL.sub(" ", text))


def bar(value: float) -> str:
    """A number between 0 and 1 as a line of blocks."""
    full = round(value * _BAR)
    return "█" * full + "░" * (_BAR - full)


def _plain(item: Any, *names: str) -> dict[str, Any]:
    found = {name: getattr(item, name) for name in names}
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in found.items()}


def _html(caption: str, doubted: Sequence[tuple[int, int]]) -> str:
    out, end = [], 0
    for start, stop in doubted:
        out += [escape(caption[end:start]), f"<del style='color:#b00020'>{escape(caption[start:stop])}</del>"]
        end = stop
    return "".join([*out, escape(caption[end:])])

"""One caption of one image, judged: the verdict with its reasons, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from vericap.core.explanation import Explanation, MissingContent, SentenceEvidence, WordEvidence

ASPECTS = ("fidelity", "adequacy", "fluency", "verdict")
_BAR = 20  # letters of a full bar
_SHOWN = 6  # words or things that a line names
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
        Where the caption says what is not supported: words whose support is below the threshold that holds the stated
        rate of false alarms.
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
    notes: tuple[str, ...] = field(default=())

    @property
    def not_supported(self) -> tuple[str, ...]:
        """The words that are not supported, in the order of the caption."""
        return tuple(self.caption[start:end] for start, end in self.doubted)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        found: dict[str, Any] = {"caption": self.caption, **{name: round(getattr(self, name), 4) for name in ASPECTS}}
        found["words"] = [_plain(word, "text", "start", "end", "support", "source", "region") for word in self.words]
        found["sentences"] = [_plain(sentence, "text", "start", "end", "support") for sentence in self.sentences]
        found["missing"] = [_plain(content, "text", "weight", "source", "region") for content in self.missing]
        found["not_supported"] = list(self.not_supported)
        return {**found, "notes": list(self.notes)} if self.notes else found

    def text(self, *, colour: bool = False) -> str:
        """The verdict in a few lines: bars, the caption with doubtful words marked, what was left out."""
        bold, plain = (_BOLD, _PLAIN) if colour else ("", "")
        lines = [f"{bold}verdict   {self.verdict:.2f}{plain}  {bar(self.verdict)}"]
        lines += [f"{name:<9} {getattr(self, name):.2f}  {bar(getattr(self, name))}" for name in ASPECTS[:3]]
        lines.append(self._marked(colour))
        words = list(dict.fromkeys(self.not_supported))
        lines += [f"not supported: {', '.join(words[:_SHOWN])}"] if words else []
        lines += [f"left out: {', '.join(content.text for content in self.missing[:_SHOWN])}"] if self.missing else []
        return "\n".join([*lines, *self.notes[:1]])

    def _marked(self, colour: bool) -> str:
        """The caption with the words that are not supported between marks, or in red."""
        before, after = (_RED, _PLAIN) if colour else ("[", "]")
        out, end = [], 0
        for start, stop in self.doubted:
            out += [self.caption[end:start], before, self.caption[start:stop], after]
            end = stop
        return " ".join("".join([*out, self.caption[end:]]).split())

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{name}</th><td>{getattr(self, name):.2f}</td>"
            f"<td><progress max='1' value='{getattr(self, name):.3f}'></progress></td></tr>"
            for name in ("verdict", *ASPECTS[:3])
        )
        missing = ", ".join(escape(content.text) for content in self.missing[:_SHOWN])
        left_out = f"<p>left out: {missing}</p>" if missing else ""
        return f"<table>{rows}</table><p>{_html(self.caption, self.doubted)}</p>{left_out}"


def checked(
    caption: str, values: Mapping[str, float], verdict: Explanation | None, fluency: Explanation | None
) -> Check:
    """The check of a caption from its scores and reasons."""
    words, facts = (verdict.words, verdict.facts) if verdict else ((), {})
    doubted = tuple((word.start, word.end) for word in words if word.start in set(facts.get("doubted", ())))
    rest = (verdict.sentences, verdict.missing) if verdict else ((), ())
    return Check(caption, **values, words=words, sentences=rest[0], missing=rest[1], doubted=doubted,
                 notes=(*(verdict.notes if verdict else ()), *(fluency.notes if fluency else ())))  # fmt: skip


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

"""Texts that are no plain captions, and what to do about each: the patterns that `diagnosis` looks for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_FLAGS = re.IGNORECASE | re.DOTALL


@dataclass(frozen=True)
class Pattern:
    """A kind of text that no caption (or no reference) should be; suspicious above `limit`, a share of the captions."""

    name: str
    text: str
    sentence: str  # {share} is filled in
    references: bool = False
    english: bool = False
    limit: float = 0.01
    regex: re.Pattern[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "regex", re.compile(self.text, _FLAGS))


THINKING = r"</?(?:think|thinking|thought|reasoning)>"
CHAT = (
    r"<\|[^|<>]{1,40}\|>|\[/?INST\]|<</?SYS>>|</?(?:start|end)_of_turn>|</?s>|<(?:bos|eos|pad|unk|start|end)>"
    r"|^\s*(?:assistant|user|system)\s*:|\[(?:CLS|SEP|PAD|UNK|MASK)\]|(?:^|\s)##\w"
)
FENCE = r"^\s*```"
_LIST = r"^\s*[\[(]\s*(?P<quote>['\"]).*(?P=quote)\s*,?\s*[\])]\s*$"

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "references-as-text",
        _LIST,
        "{share} of the captions have a list written as one text among their references: read it (json.loads, "
        "ast.literal_eval) and give several references",
        references=True,
    ),
    Pattern("thinking", THINKING, "{share} of the captions hold tags of thinking: keep what follows </think>"),
    Pattern(
        "code", FENCE + r"|^\s*\{\s*[\"']|^\s*\[\s*\{", "{share} of the captions are code or JSON: take the text out"
    ),
    Pattern("list-as-text", _LIST, "{share} of the captions are a list written as text: take the caption out"),
    Pattern("chat-markup", CHAT, "{share} of the captions hold marks of a chat or a tokeniser: decode without them"),
    Pattern(
        "refusal",
        r"\bI(?:'|’| a)m sorry\b|\bI(?:'m| am) (?:unable|not able) to\b|\bas an? (?:AI|language model)\b"
        r"|\bI (?:can ?not|can(?:'|’)t) (?:see|view|describe|help|assist|provide|process|identify|access|fulfil)"
        r"|\bno image (?:was|is|has been) (?:provided|attached|uploaded|given)"
        r"|\b(?:upload|provide|share) (?:an|the) image",
        "{share} of the captions refuse or ask for the image: did the image reach the model?",
        english=True,
    ),
    Pattern(
        "preamble",
        r"^\W*(?:sure|certainly|of course|okay|absolutely)\b\s*[,!.:]|^\W*here(?:'s|’s| is| are)\b[^.\n]{0,80}:"
        r"|^\W*(?:image )?(?:caption|description|answer|output)\W{0,3}:",
        "{share} of the captions begin by answering the prompt: keep the caption alone",
        english=True,
    ),
    Pattern(
        "html",
        r"</?(?:p|br|div|span|a|b|i|u|strong|em|li|ul|ol|img|h[1-6]|td|tr|table)\b[^<>]*>|&(?:amp|lt|gt|quot|nbsp|#\d+);",
        "{share} of the captions hold HTML: unescape it and take the tags out",
    ),
    Pattern(
        "address",
        r"https?://|\bwww\.\w|\.(?:jpe?g|png|gif|webp)\b",
        "{share} of the captions hold a web address or a file's name: is it the right column?",
    ),
    Pattern(
        "encoding",
        r"Ã[\u0080-\u00bf]|â€|Â[\u00a0-\u00bf]|\ufffd",
        "{share} of the captions were read with the wrong encoding: read the file as UTF-8",
    ),
    Pattern(
        "placeholder",
        r"^\W*(?:nan|none|null|n/?a|undefined|todo|tbd|error|no caption)\W*$",
        "{share} of the captions stand for a missing value: leave these records out or generate them again",
    ),
)

_IMAGE = r"(?:image|picture|photo|photograph|scene)"
_SHOWS = (
    r"(?:of|shows?|showing|depicts?|depicting|features?|featuring|displays?|captures?|presents?|contains?|is"
    r"|there (?:is|are)|(?:we|you)(?: can)? see|(?:appears|seems) to (?:be|show))"
)
ANNOUNCED = re.compile(
    rf"\W*(?:(?:in )?(?:the|this|an?) {_IMAGE}\b,?(?: {_SHOWS}\b)?|(?:this|it) is an? {_IMAGE} (?:of|showing)\b)",
    re.IGNORECASE,
)

# An English caption does not end in these.
_UNFINISHED = """
    a an the of with and or to for from by its his her their is are that which as into onto at in on near next some
    while very
"""
UNFINISHED = frozenset(_UNFINISHED.split())

# Most English captions have one of these, and no other language does: "is", "in", "over" are Dutch too, "a" is Spanish.
_ENGLISH = """
    the of with and are from near next his her their its that this there some two front
    standing sitting riding walking holding wearing playing
"""
ENGLISH = frozenset(_ENGLISH.split())

"""Captions in another language than the one asked for: every metric would read them, and none would complain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from vericap.core.samples import Sample
from vericap.text import languages

MOST = 500  # captions that are looked at
SENTENCE = (
    "{share} of the captions look like another language ({code}) than `lang={lang}`, by whose words they are judged; "
    "set `lang={code}` if that is theirs"
)

# Languages that short texts do not tell apart: a Japanese caption may have no kana, a Danish one looks Norwegian.
_ALIKE = (frozenset(("da", "nb", "nn", "no", "sv")), frozenset(("ja", "zh")), frozenset(("ru", "uk", "bg")))


def other_language(text: str, lang: str) -> str:
    """The language a caption is in, where that is surely another one than `lang`; empty elsewhere.

    >>> other_language("Un homme court sur la plage avec son chien", "en"), other_language("a dog", "en")
    ('fr', '')
    """
    if lang not in languages.KNOWN:
        return ""
    found = languages.language(text)
    alike = any(found in group and lang in group for group in _ALIKE)
    return "" if found in (lang, languages.UNKNOWN) or alike else found


def least_share(lang: str) -> float:
    """Share of captions from which on a warning is due: English ones are hardly ever taken for others (1 in 85,000)."""
    return 0.01 if lang == "en" else 0.5


def foreign(samples: Sequence[Sample], lang: str) -> list[str]:
    """A warning where captions are in another language than the one asked for.

    >>> foreign([Sample("1", "Un homme court sur la plage avec son chien")], "en")[0][:58]
    '100 % of the captions look like another language (fr) than'
    """
    some = [sample for sample in samples[:: -(-len(samples) // MOST) or 1] if not sample.problem]
    found = [(sample.id, code) for sample in some if (code := other_language(sample.candidate, lang))]
    if not found or len(found) <= least_share(lang) * len(some):
        return []
    code = Counter(code for _, code in found).most_common(1)[0][0]
    sentence = SENTENCE.format(share=f"{100 * len(found) / len(some):.0f} %", code=code, lang=lang)
    return [f"{sentence} (id {', '.join(name for name, _ in found[:2])})"]

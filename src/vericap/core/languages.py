"""Languages by their codes of ISO 639-1, and how each is cut into words."""

from __future__ import annotations

_CODES = """
    aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo
    es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg
    ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn
    no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta
    te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""
LANGUAGES = frozenset(_CODES.split())
# Written without blanks between words: a word is what the tokeniser makes of it.
UNSPACED = frozenset(("ja", "zh", "th", "lo", "km", "my", "bo"))
_TOKENIZERS = {"en": "ptb", "ja": "sudachi", "zh": "zh"}


def tokenizer_of(lang: str) -> str:
    """The tokeniser of a language.

    >>> [tokenizer_of(lang) for lang in ("en", "ja", "zh", "th", "de")]
    ['ptb', 'sudachi', 'zh', 'char', 'intl']
    """
    return _TOKENIZERS.get(lang) or ("char" if lang in UNSPACED else "intl")

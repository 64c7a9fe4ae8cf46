"""English captions -> scene graphs, over a spaCy pipeline.

>>> parse("A man riding a brown horse on the beach").tuples()[:2]
[('man',), ('horse',)]
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from html import unescape
from pathlib import Path
from typing import Any

from vericap.core import shipped
from vericap.core.errors import MissingPart
from vericap.graphs import english_spelling as spelling
from vericap.graphs import labeller
from vericap.graphs.english_rules import Rules
from vericap.graphs.english_states import quicken
from vericap.graphs.scene_graph import FACTUAL, OWN, SceneGraph
from vericap.graphs.spacy_import import import_spacy, load_english

VERSION = "4"  # part of cache keys: raise it when the rules change
SHIPPED = "spacy-en"
_BATCH = 256
_LABELLED = 4096  # captions labelled together: those of one length are computed at once
_LONGEST = 5000  # characters; a caption beyond this is cut
_NEEDED = ("tagger", "parser")
_SYMBOLS = frozenset({"So", "Sk", "Cs", "Co", "Cn", "Cf"})
_LATIN = re.compile("[a-z]")
_SPACES = re.compile(r"\s+")


@lru_cache(maxsize=2)
def pipeline(name: str = SHIPPED) -> Any:
    """The shipped spaCy pipeline, or any installed one by its package name or folder."""
    if name == SHIPPED:
        return quicken(trainable())
    try:
        found = import_spacy().load(name, exclude=["ner", "lemmatizer", "attribute_ruler", "senter", "textcat"])
    except OSError as error:
        raise MissingPart(
            f"the spaCy pipeline '{name}' is not installed; install it (python -m spacy download {name}) or leave "
            f"the option out to use the shipped one ({error})"
        ) from error
    lacking = [part for part in _NEEDED if part not in found.pipe_names]
    if found.lang != "en" or lacking:
        what = f"is for '{found.lang}'" if found.lang != "en" else f"has no {' and no '.join(lacking)}"
        raise MissingPart(f"the spaCy pipeline '{name}' {what}; English scene graphs need a tagger and a parser")
    return _keep_hyphens(found)


def trainable(folder: str = "") -> Any:
    """The shipped pipeline, or one in a folder, as spaCy runs it: slower, but it can be trained."""
    if folder:
        return _keep_hyphens(load_english(Path(folder)))
    for file in shipped.meta("spacy_en")["files"]:
        shipped.path("spacy_en", file)  # checks it
    return _keep_hyphens(load_english(shipped.folder("spacy_en") / "pipeline"))


def _keep_hyphens(nlp: Any) -> Any:
    """ "snow-covered" and "t-shirt" stay one word."""
    from spacy.util import compile_infix_regex

    infixes = [pattern for pattern in nlp.Defaults.infixes if "(?:-|" not in pattern]
    nlp.tokenizer.infix_finditer = compile_infix_regex(infixes).finditer
    return nlp


def name(parser: str = SHIPPED, *, talk: bool = False, convention: str = OWN) -> str:
    """What a score's signature says of the parser: pipeline, its version, version of the rules, switches."""
    if convention == FACTUAL:
        return f"{labeller.name()}+words-{VERSION}"
    switches = "+talk" if talk else ""
    if parser == SHIPPED:
        return f"en_core_web_sm-{shipped.meta('spacy_en')['version']}+rules-{VERSION}{switches}"
    meta = pipeline(parser).meta
    return f"{meta.get('lang')}_{meta.get('name')}-{meta.get('version')}+rules-{VERSION}{switches}"


def clean(text: str) -> str:
    """One line of small letters (capitals mislead the tagger) without doubled blanks, misspelt words put right."""
    text = _SPACES.sub(" ", unescape(text[:_LONGEST])).strip()
    if not text.isascii():  # emoji and other symbols are no words; the parser would make verbs of them
        text = "".join(" " if unicodedata.category(letter) in _SYMBOLS else letter for letter in text)
        text = _SPACES.sub(" ", text).strip()
    return spelling.mend(text.lower())


def graph_of(doc: Any, *, talk: bool = False) -> SceneGraph:
    """The scene graph of a spaCy Doc."""
    words, tags, deps, heads = columns(doc)
    if not any(_LATIN.search(word) for word in words):
        return SceneGraph(reason="no word in Latin letters was found in the text" if words else "the text is empty")
    rules = Rules(words, tags, deps, heads, talk=talk)
    tuples = rules.tuples()
    if not tuples:
        return SceneGraph(
            reason="the text speaks of the picture only" if rules.about else "no noun was found in the text"
        )
    return SceneGraph.of(tuples, actions=rules.actions)


def columns(doc: Any) -> tuple[list[str], list[str], list[str], list[int]]:
    """Lower-case words, tags, dependency labels, head positions."""
    from spacy.attrs import DEP, HEAD, LOWER, TAG

    table = doc.to_array([LOWER, TAG, DEP, HEAD])
    if not len(table):
        return [], [], [], []
    text = _Text(doc.vocab.strings)
    lower, tag, dep, head = table.T.tolist()
    heads = [(place + (shift if shift < 1 << 63 else shift - (1 << 64))) for place, shift in enumerate(head)]
    return [text[i] for i in lower], [text[i] for i in tag], [text[i] for i in dep], heads


class _Text:
    """Strings by spaCy's hash, each looked up once."""

    _known: dict[int, str] = {}  # noqa: RUF012 - shared on purpose: hashes mean the same string everywhere

    def __init__(self, strings: Any) -> None:
        self._strings = strings

    def __getitem__(self, number: int) -> str:
        found = self._known.get(number)
        if found is None:
            found = self._known[number] = self._strings[number]
        return found


def parse(text: str, *, parser: str = SHIPPED, talk: bool = False, convention: str = OWN) -> SceneGraph:
    """The scene graph of one caption.

    Parameters
    ----------
    text : a caption.
    parser : the shipped spaCy pipeline, or an installed one by its name or folder.
    talk : keep talk about the picture ("the image features", "in the scene"), as the original SPICE does.
    convention : "vericap", or "factual" for the graphs people drew in FACTUAL (by a labeller trained on them).

    Examples
    --------
    >>> parse("The image features a dog on a couch") == parse("A dog on a couch")
    True
    >>> parse("a man wearing two hats", convention="factual").tuples()
    [('man',), ('hats',), ('hats', '2'), ('man', 'wear', 'hats')]
    """
    return next(iter(parse_many([text], parser=parser, talk=talk, convention=convention)))


def parse_many(
    texts: Iterable[str],
    *,
    parser: str = SHIPPED,
    talk: bool = False,
    convention: str = OWN,
    batch_size: int = _BATCH,
) -> list[SceneGraph]:
    """Scene graphs of many captions."""
    return list(iterate(texts, parser=parser, talk=talk, convention=convention, batch_size=batch_size))


def iterate(
    texts: Iterable[str],
    *,
    parser: str = SHIPPED,
    talk: bool = False,
    convention: str = OWN,
    batch_size: int = _BATCH,
) -> Iterator[SceneGraph]:
    """Scene graphs one after the other, with memory that does not grow with their number."""
    if convention == FACTUAL:
        for part in _parts(texts, max(batch_size, _LABELLED)):
            yield from labeller.parse_many(part)
        return
    nlp = pipeline(parser)
    for part in _parts(texts, batch_size):
        with nlp.memory_zone():
            for doc in nlp.pipe(part, batch_size=batch_size):
                yield graph_of(doc, talk=talk)


def _parts(texts: Iterable[str], size: int) -> Iterator[Sequence[str]]:
    part: list[str] = []
    for text in texts:
        part.append(clean(text))
        if len(part) == size:
            yield part
            part = []
    if part:
        yield part

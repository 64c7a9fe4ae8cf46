"""Texts the caption encoder learns from, and those that are kept out to measure it.

Captions are most of it; phrases, single words, corrupted captions, long texts and general English keep the encoder
from breaking outside captions. Every text is drawn by a fixed seed, so the same files give the same corpus.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from vericap.core import shipped
from vericap.core.errors import InputError
from vericap.train import data

# How many texts of each source are drawn at most.
SHARES = {
    "described": 6_144,
    "coco": 135_000,
    "flickr8k": 30_000,
    "phrases": 36_000,
    "cuts": 10_000,
    "corrupted": 20_000,
    "long": 8_000,
    "words": 24_000,
    "glosses": 36_000,
    "examples": 12_000,
    "listed": 12_288,
    "documentation": 8_000,
}
PHRASES = frozenset({"phrases", "words"})  # sources whose vectors are centred as phrases
LONG = ("long", "described", "listed")  # sources of texts of several sentences
_GLOSS_FILES = ("data.noun", "data.verb", "data.adj", "data.adv")
_KEPT_OUT_GLOSSES = 50  # one gloss of so many measures the loss on general sentences
_STARTS = (
    "The image features", "The image shows", "The image depicts", "The photo captures", "In the image, there is",
    "This is a picture of", "The scene shows", "In this photo we can see",
)  # fmt: skip
_MIDDLES = (
    "", "There is", "In the background, there is", "In addition, there is", "The image also shows", "Next to it is",
    "Around the scene, there is", "Besides that, one can see", "On the other side is", "In the foreground is",
)  # fmt: skip
_ENDS = (
    "The overall atmosphere of the scene is calm and relaxed", "The scene appears to be lively and busy",
    "It seems to be a typical moment of everyday life", "The setting gives a sense of the place and the time of day",
)  # fmt: skip
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_PLAIN = re.compile(r"[A-Z][A-Za-z0-9 ,;:'()./-]{30,220}[.!?]")


@dataclass(frozen=True)
class Text:
    """A text and where it comes from."""

    source: str
    text: str


@dataclass(frozen=True)
class Pair:
    """Two captions and how alike people find them (0-5)."""

    first: str
    second: str
    rating: float


@dataclass(frozen=True)
class Sources:
    """Files a corpus is made from; what is not given is left out."""

    captions: Sequence[str]
    never: str | None = None
    flickr8k: str | None = None
    factual: str | None = None
    pairs: str | None = None
    wordnet: str | None = None
    documentation: bool = False


def make(sources: Sources, seed: int = 0) -> list[Text]:
    """All training texts, each once, in an order that mixes the sources."""
    draw = random.Random(seed)
    images = _images(sources)
    captions = [text for texts in images for text in texts]
    graphs = list(_factual(Path(sources.factual))) if sources.factual else []
    found: dict[str, Iterable[str]] = {
        "coco": _rated_first(captions, sources, draw),
        "flickr8k": _flickr8k(sources),
        "phrases": _phrases(graphs),
        "cuts": _cuts(captions, draw),
        "corrupted": _corrupted(captions, graphs, draw),
        "long": _long(images, draw),
        "words": _words(),
        "glosses": [gloss for gloss in glosses(sources) if not gloss_kept_out(gloss)],
        "examples": examples(sources),
    }
    # Long descriptions lead, so that a corpus that is cut short has them all: they are the hardest to learn.
    # Documentation comes last: it depends on what is installed, and must not move the others.
    known: set[str] = set()
    described = _mixed({"described": _described(images)}, random.Random(seed), known)
    texts = _mixed(found, draw, known)
    listed = _mixed({"listed": _listed(graphs)}, random.Random(seed), known)
    documentation = _documentation() if sources.documentation else []
    return described + texts + listed + _mixed({"documentation": documentation}, draw, known)


def _mixed(found: dict[str, Iterable[str]], draw: random.Random, known: set[str]) -> list[Text]:
    """Texts that are not known yet, as many of each source as it may give."""
    texts: list[Text] = []
    for source, given in found.items():
        count = 0
        for text in given:
            text = " ".join(text.split())
            if count == SHARES[source]:
                break
            if not text or text.lower() in known:
                continue
            known.add(text.lower())
            texts.append(Text(source, text))
            count += 1
    draw.shuffle(texts)
    return texts


def write(texts: Sequence[Text], file: Path) -> None:
    part = file.with_suffix(".part")
    with part.open("w", encoding="utf-8") as stream:
        for item in texts:
            stream.write(json.dumps([item.source, item.text], ensure_ascii=False) + "\n")
    part.replace(file)


def read(file: Path) -> list[Text]:
    with file.open(encoding="utf-8") as stream:
        return [Text(*json.loads(line)) for line in stream]


def kept_out(image: object) -> bool:
    """Whether an image's rated captions measure the encoder: half of all images, by their id alone."""
    return zlib.crc32(str(image).encode()) % 2 == 0


def rated_pairs(file: str | Path, never: str | None, *, train: bool) -> list[Pair]:
    """CxC caption pairs: both images trainable and not kept out, or both kept out."""
    left_out = _never(never)
    found = []
    for item in _lines(Path(file)):
        images = (item["image_a"], item["image_b"])
        if train:
            wanted = not any(kept_out(image) or str(image) in left_out for image in images)
        else:
            wanted = all(map(kept_out, images))
        if wanted:
            found.append(Pair(item["caption_a"], item["caption_b"], float(item["rating"])))
    return found


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    try:
        with gzip.open(file, "rt", encoding="utf-8") as stream:
            for line in stream:
                yield json.loads(line)
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read as gzipped lines of JSON ({error})") from error


def _never(file: str | None) -> set[str]:
    return set(Path(file).read_text("utf-8").split()) if file else set()


def _images(sources: Sources) -> list[list[str]]:
    """Captions of every COCO image that may be trained on and whose rated captions do not measure the encoder."""
    measured: set[str] = set()
    if sources.pairs:
        rows = _lines(Path(sources.pairs))
        measured = {str(row[key]) for row in rows for key in ("image_a", "image_b") if kept_out(row[key])}
    captioned = data.coco(sources.captions, never=sources.never).without(measured)
    return captioned.captions


def _rated_first(captions: Sequence[str], sources: Sources, draw: random.Random) -> Iterator[str]:
    """Captions that people rated, then the others in random order."""
    if sources.pairs:
        for pair in rated_pairs(sources.pairs, sources.never, train=True):
            yield from (pair.first, pair.second)
    yield from draw.sample(captions, len(captions))


def _flickr8k(sources: Sources) -> list[str]:
    if not sources.flickr8k:
        return []
    return [text for five in data.flickr8k(sources.flickr8k, "train").captions for text in five]


def _factual(file: Path) -> Iterator[list[tuple[str, str, str]]]:
    """Scene graphs of FACTUAL as tuples (object, relation, object or attribute)."""
    with gzip.open(file, "rt", encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            tuples = [part.strip(" ()").split(" , ") for part in row["scene_graph"].split(") , (")]
            yield [(a.strip(), b.strip(), c.strip()) for a, b, c in (t for t in tuples if len(t) == 3)]


def _phrases(graphs: Iterable[Iterable[tuple[str, str, str]]]) -> list[str]:
    """Tuples as scene graphs say them: "horse", "brown horse", "man ride horse"."""
    found: dict[str, None] = {}
    for graph in graphs:
        for first, relation, second in graph:
            found.setdefault(first)
            if relation in ("is", "has_attribute"):
                found.setdefault(f"{second} {first}")
            else:
                found.setdefault(second)
                found.setdefault(f"{first} {relation} {second}")
    names = list(found)
    return random.Random(1).sample(names, len(names))


def _words() -> list[str]:
    """Word pieces of the tokenizer that are words of at least three letters."""
    vocabulary = json.loads(shipped.path("encoder", "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    return [word for word in vocabulary if word.isascii() and word.isalpha() and len(word) > 2]


def _cuts(captions: Sequence[str], draw: random.Random) -> Iterator[str]:
    """One to six neighbouring words of captions."""
    while captions:
        words = draw.choice(captions).strip(" .").split()
        size = draw.randint(1, 6)
        start = draw.randint(0, max(len(words) - size, 0))
        yield " ".join(words[start : start + size])


def _corrupted(
    captions: Sequence[str], graphs: Iterable[Iterable[tuple[str, str, str]]], draw: random.Random
) -> Iterator[str]:
    """Captions with one noun or adjective replaced by another, or two words of a kind exchanged."""
    nouns, adjectives = Counter[str](), Counter[str]()
    for graph in graphs:
        for first, relation, second in graph:
            nouns[first] += 1
            if relation == "is":
                adjectives[second] += 1
    kinds = [[w for w, n in counts.items() if n >= 10 and w.isalpha()] for counts in (nouns, adjectives)]
    while captions and all(kinds):
        words = draw.choice(captions).lower().strip(" .").split()
        kind = draw.choices(kinds, (3, 1))[0]
        known = set(kind)
        places = [i for i, word in enumerate(words) if word in known]
        if len(places) > 1 and draw.random() < 0.3:
            a, b = draw.sample(places, 2)
            words[a], words[b] = words[b], words[a]
        elif places:
            words[draw.choice(places)] = draw.choice(kind)
        else:
            continue
        yield " ".join(words)


def _long(images: Sequence[Sequence[str]], draw: random.Random) -> Iterator[str]:
    """Two to five captions of an image as one text."""
    while images:
        texts = draw.choice(images)
        chosen = draw.sample(list(texts), draw.randint(2, len(texts)))
        yield " ".join(text.strip(" .") + "." for text in chosen)


def _described(images: Sequence[Sequence[str]]) -> Iterator[str]:
    """Captions of an image joined as chat models describe photos ("The image features", "In addition, there is")."""
    draw = random.Random(4)
    while images:
        first, *others = draw.sample(list(draw.choice(images)), draw.randint(1, 5))
        start, *middle = draw.choice(_STARTS), *draw.sample(_MIDDLES, len(others))
        parts = [f"{start} {lowered(first)}"]
        parts += [f"{words} {lowered(text)}" if words else text.strip(" .") for words, text in zip(middle, others)]
        if draw.random() < 0.4:
            parts.append(draw.choice(_ENDS))
        yield " ".join(f"{part}." for part in parts)


def _listed(graphs: Sequence[Sequence[tuple[str, str, str]]]) -> Iterator[str]:
    """What a graph holds, as programs without a language model say it ("This is a picture of one dog, two trees")."""
    draw = random.Random(5)
    while any(graphs):
        tuples = [part for graph in draw.sample(graphs, min(len(graphs), 2)) for part in graph]
        names = list(
            dict.fromkeys(name for a, relation, b in tuples for name in ((a,) if relation == "is" else (a, b)))
        )
        if not names:
            continue
        counted = [f"{draw.choice(('a', 'one', 'two', 'three', 'some', 'the'))} {name}" for name in names[:4]]
        listed = counted[0] if len(counted) == 1 else f"{', '.join(counted[:-1])} and {counted[-1]}"
        start = draw.choice(("This is a picture of", "There are", "There is", "Here we see", "The picture has", ""))
        said = [f"the {b} {a}" if relation == "is" else f"the {a} is {relation} the {b}" for a, relation, b in tuples]
        parts = [f"{start} {listed}".strip(), *draw.sample(said, min(len(said), draw.randint(0, 3)))]
        yield " ".join(f"{part[:1].upper()}{part[1:]}." for part in parts)


def lowered(text: str) -> str:
    """A caption as it stands inside a sentence."""
    text = text.strip(" .")
    return text[:1].lower() + text[1:]


def glosses(sources: Sources) -> list[str]:
    """Definitions of WordNet's synsets in random order."""
    return _wordnet(sources.wordnet)[0]


def gloss_kept_out(gloss: str) -> bool:
    return zlib.crc32(gloss.encode()) % _KEPT_OUT_GLOSSES == 0


def examples(sources: Sources) -> list[str]:
    """Example sentences of WordNet's synsets in random order."""
    return _wordnet(sources.wordnet)[1]


def _wordnet(where: str | None) -> tuple[list[str], list[str]]:
    definitions: dict[str, None] = {}
    sentences: dict[str, None] = {}
    for line in _wordnet_lines(Path(where)) if where else ():
        _, bar, gloss = line.partition(" | ")
        if bar and not line.startswith("  "):
            first, *quoted = gloss.strip().split('"')
            definitions.setdefault(" ".join(first.strip(" ;").split()))
            sentences.update(dict.fromkeys(text for text in quoted[::2] if len(text.split()) > 2))
    draw = random.Random(2)
    return draw.sample(list(definitions), len(definitions)), draw.sample(list(sentences), len(sentences))


def _wordnet_lines(where: Path) -> Iterator[str]:
    """Lines of WordNet's data files, in a folder or inside a wheel or zip file."""
    if where.is_dir():
        for name in _GLOSS_FILES:
            yield from (where / name).read_text("utf-8").splitlines()
        return
    with zipfile.ZipFile(where) as archive:
        for name in _GLOSS_FILES:
            member = next((m for m in archive.namelist() if m.endswith(f"/wordnet/{name}")), None)
            if member is None:
                raise InputError(f"{where} holds no WordNet file {name}")
            with archive.open(member) as stream:
                yield from io.TextIOWrapper(stream, "utf-8")


def _documentation() -> list[str]:
    """Sentences of the descriptions of installed packages."""
    found: dict[str, None] = {}
    for package in sorted(metadata.distributions(), key=lambda item: str(item.metadata["Name"])):
        text = str(package.metadata.json.get("description", ""))
        for paragraph in re.split(r"\n\s*\n", text):
            for sentence in _SENTENCE.split(" ".join(paragraph.split())):
                if _PLAIN.fullmatch(sentence):
                    found.setdefault(sentence)
    names = list(found)
    return random.Random(3).sample(names, len(names))

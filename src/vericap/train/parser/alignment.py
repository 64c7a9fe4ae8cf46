"""FACTUAL's graphs as labels on the words of their captions: what the labeller learns from."""

from __future__ import annotations

import csv
import gzip
import io
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vericap.core.errors import InputError
from vericap.graphs.english import clean
from vericap.graphs.factual import NAMES, QUALITIES, read
from vericap.graphs.labels import VERB, Labels, base, flags, verb, words_of


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LEAST = 3  # a rarer template of relations is not learnt
_LONGEST = 3  # words of a name
# Words that begin a relation and are no verbs of the caption.
_NO_VERBS = _words(
    """on in with under behind next beside near at inside above by between against over around of to from have below
    along through across down up for off outside underneath beneath onto into atop past toward towards within among
    like as out about after before beyond without upon alongside throughout away be"""
)
_NOUN, _VERB = 0, 1  # of `flags`

Graph = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Example:
    """A caption's words with the graph that people drew."""

    words: tuple[str, ...]
    graph: Graph


def examples(file: str | Path) -> list[Example]:
    """Captions and graphs of a FACTUAL file (csv, may be gzipped)."""
    path = Path(file)
    try:
        content = path.read_bytes()
        text = (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode("utf-8")
        rows = list(csv.DictReader(io.StringIO(text)))
        return [Example(tuple(words_of(clean(row["caption"]))), read(row["scene_graph"])) for row in rows]
    except (OSError, KeyError, ValueError) as error:
        raise InputError(f"{path} is no FACTUAL file with the columns caption and scene_graph ({error})") from error


def templates(data: Sequence[Example]) -> list[str]:
    """Frequent templates of relations, the most frequent first."""
    counts = Counter(found[2] for item in data for found in align(item)[0].relations)
    return [name for name, count in counts.most_common() if count >= _LEAST]


def align(example: Example, known: Collection[str] | None = None) -> tuple[Labels, bool]:
    """Labels of a caption, and whether they say all of its graph; templates that are not `known` are left out."""
    aligned = _Alignment(example)
    complete = aligned.objects()
    complete &= aligned.attributes()
    return aligned.labels, aligned.relations(known) and complete


class _Alignment:
    def __init__(self, example: Example) -> None:
        self.words, self.graph = example.words, example.graph
        self.bases = [base(word) for word in self.words]
        self.labels = Labels()
        self.places: dict[str, list[int]] = {}

    def objects(self) -> bool:
        complete = True
        for (name,) in (item for item in self.graph if len(item) == 1):
            ends = list(self._ends(name, NAMES))
            if not ends:
                complete = False
                continue
            ends.sort(key=lambda end: (not flags(self.words[end[0]])[_NOUN], self._before_a_noun(end[0]), end[0]))
            self.places[name] = [last for last, _ in ends]
            self._mark(*ends[0])
            self.labels.objects.append(ends[0][0])
        self.labels.objects = sorted(set(self.labels.objects))
        return complete

    def _before_a_noun(self, place: int) -> bool:
        """ "clock" of "clock tower": where a word stands twice, the other one is likelier."""
        return place + 1 < len(self.words) and bool(flags(self.words[place + 1])[_NOUN])

    def _ends(self, name: str, same: dict[str, str]) -> Iterator[tuple[int, int]]:
        """(last word, number of words) of each place where the caption has the name, or what is called so."""
        wanted = [base(word) for word in name.lower().split()]
        found = [(end, len(wanted)) for end in self._spans(wanted)]
        for count in range(_LONGEST, 0, -1):
            if not found:
                spans = range(len(self.bases) - count + 1)
                phrases = {start: " ".join(self.bases[start : start + count]) for start in spans}
                found = [(s + count - 1, count) for s, phrase in phrases.items() if same.get(phrase) == name]
        yield from found

    def _spans(self, wanted: list[str]) -> Iterator[int]:
        for start in range(len(self.bases) - len(wanted) + 1):
            if self.bases[start : start + len(wanted)] == wanted:
                yield start + len(wanted) - 1

    def _mark(self, last: int, count: int) -> None:
        self.labels.parts.update((place, last) for place in range(last - count + 1, last))

    def attributes(self) -> bool:
        complete = True
        for name, attribute in (item for item in self.graph if len(item) == 2):
            if name not in self.places:
                continue
            owner = self.places[name][0]
            ends = [end for end in self._ends(attribute, QUALITIES) if end[0] != owner]
            if not ends:
                complete = False
                continue
            last, count = min(ends, key=lambda end: abs(end[0] - owner))
            self.labels.attributes.append((last, owner))
            self._mark(last, count)
        return complete

    def relations(self, known: Collection[str] | None) -> bool:
        complete = True
        for subject, name, target in (item for item in self.graph if len(item) == 3):
            if subject not in self.places or target not in self.places:
                continue
            first = self.places[subject][0]
            other = next((place for place in self.places[target] if place != first), -1)
            template, at = self._template(name, first, other)
            if other < 0 or (known is not None and template not in known):
                complete = False
                continue
            if other not in self.labels.objects:  # "a tower by the tower"
                self.labels.objects = sorted({*self.labels.objects, other})
            self.labels.relations.append((first, other, template, at))
        return complete

    def _template(self, name: str, subject: int, target: int) -> tuple[str, int]:
        """ "sit on" -> "V on" and the place of "sitting", where the caption has the verb."""
        first, blank, rest = name.lower().partition(" ")
        if first in _NO_VERBS:
            return name, -1
        fitting = [
            place
            for place, word in enumerate(self.words)
            if (self.bases[place] == base(first) or verb(word) == first)
            and (flags(word)[_VERB] or place not in self.labels.objects)
        ]
        if not fitting:
            return name, -1
        return f"{VERB}{blank}{rest}", min(fitting, key=lambda place: abs(2 * place - subject - target))

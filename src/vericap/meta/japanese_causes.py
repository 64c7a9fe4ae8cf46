"""Why JaSPICE and people disagree, sorted by the causes of the paper's Table 7, from the captions' graphs and words.

The paper sorted 100 cases by hand; here each cause has a rule, tried in this order, on what matched nothing:

1. word granularity: an object of the candidate is one to three steps above or below one of the references (男性 / 人);
2. partly matching morphemes: two objects share a morpheme (テニスラケット / テニス);
3. different focus: the captions share less than half of their content words and no objects are related;
4. doubtful rating: people rate low what shares four content words of five, or rate high what shares none;
5. others.
"""

from __future__ import annotations

from collections.abc import Sequence

from vericap.graphs.ja.match import MatchRules, score_tuples, word_similarity
from vericap.graphs.scene_graph import SceneGraph
from vericap.text import wordnet_ja
from vericap.text.japanese import morphemes
from vericap.text.japanese_spelling import base_form, representative

GRANULARITY = "word granularity"
MORPHEMES = "partly matching morphemes"
FOCUS = "different focus"
RATING = "doubtful rating"
OTHERS = "others"
CAUSES = (GRANULARITY, MORPHEMES, FOCUS, RATING, OTHERS)

_RULES = MatchRules(spelling=True, heads=True)
_STEPS = 3
_SAME, _HALF = 0.8, 0.5  # shares of content words
_CONTENT = ("名詞", "動詞", "形容詞", "形状詞", "代名詞")
_EMPTY = frozenset({"為る", "居る", "有る", "する", "いる", "ある"})


def cause(candidate: str, references: Sequence[str], graphs: Sequence[SceneGraph], gap: float) -> str:
    """The cause of a case; `graphs` are those of the candidate and of the references, `gap` metric minus people."""
    shared = max((overlap(candidate, reference) for reference in references), default=0.0)
    if gap > 0:
        return RATING if shared >= _SAME else OTHERS
    mine, theirs = unmatched_objects(graphs[0], graphs[1:])
    if any(wordnet_ja.hypernym_steps(one, other, _STEPS) for one in mine for other in theirs):
        return GRANULARITY
    if any(_share_morpheme(one, other) for one in mine for other in theirs):
        return MORPHEMES
    if not shared:
        return RATING
    return FOCUS if shared < _HALF else OTHERS


def unmatched_objects(candidate: SceneGraph, references: Sequence[SceneGraph]) -> tuple[list[str], list[str]]:
    """Objects of the candidate without partner, and those of the references."""
    score = score_tuples(candidate.tuples(), (graph.tuples() for graph in references), rules=_RULES)
    matched = {one for one, _, _ in score.pairs}
    return (
        [representative(item[0]) for item in score.candidate if len(item) == 1 and item not in matched],
        [representative(item[0]) for item in score.missing if len(item) == 1],
    )


def _share_morpheme(one: str, other: str) -> bool:
    if word_similarity(one, other, _RULES):
        return False
    return bool(set(_parts(one)) & set(_parts(other)))


def _parts(word: str) -> list[str]:
    """Morphemes of two signs or one kanji: a kana alone says nothing."""
    return [part for part, _ in morphemes(word) if len(part) > 1 or part >= "一"]


def overlap(one: str, other: str) -> float:
    """F1 of two captions' content words in their base form."""
    mine, theirs = _content(one), _content(other)
    return 2 * len(mine & theirs) / (len(mine) + len(theirs)) if mine or theirs else 0.0


def _content(text: str) -> set[str]:
    return {base_form(word) for word, part in morphemes(text) if part in _CONTENT} - _EMPTY

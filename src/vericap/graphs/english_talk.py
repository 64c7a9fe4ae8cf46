"""Talk about the picture: "the image features", "in the scene", "adding to the ambience" say nothing of what is seen.

`talk_of(tree)` finds the tokens; the rules give them no name, so that no tuple has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vericap.graphs import english_words as lexicon
from vericap.graphs.english_words import NOUN_TAGS, VERB_TAGS, noun_lemma, verb_lemma

if TYPE_CHECKING:
    from vericap.graphs.english_tree import Tree


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PICTURES = lexicon.DEPICTIONS | _words("frame image photography")
_VIEWS = _words("view closeup close-up close shot")
# Never seen, wherever they stand.
_NEVER_SEEN = _words(
    """atmosphere ambiance ambience mood vibe vibes aesthetic composition impression overall vibrancy coziness
    camaraderie togetherness liveliness authenticity"""
)
# Not seen where a caption says what something adds to the picture or what the picture captures.
_SOMETIMES = _words(
    """touch sense feel feeling appeal charm setting environment experience moment scene image picture display look
    element aspect theme contrast focus focal addition interest depth view essence beauty visual character presence
    impact energy air variety story situation location"""
)
_FOCUS = _words("focus subject point highlight centerpiece attention")
_FOCAL = _words("main central primary focal key")
# Parts of a picture: "in the center of the image".
PARTS = _words(
    "center centre middle side corner part edge foreground background top bottom left right portion area rest"
)
_INSIDE = _words("in of within throughout across inside for to from around")
ADDING = _words(
    """add create contribute enhance give provide make set bring convey evoke lend emphasize highlight complete
    complement capture accentuate showcase offer suggest indicate form"""
)
_REAL = _words(
    "wall walls frame framed hanging hung hangs shelf fridge refrigerator screen monitor album magazine book"
)


def talk_of(tree: Tree) -> set[int]:
    """Nouns of a caption that speak of the picture."""
    found: set[int] = set()
    nouns = [token for token, tag in enumerate(tree.tags) if tag in NOUN_TAGS or tree.words[token] in _VIEWS]
    if not nouns:
        return found
    for rule in (_picture, _never_seen, _added, _part):
        found.update(token for token in nouns if token not in found and rule(tree, token, found))
    return found


def _lemma(tree: Tree, token: int) -> str:
    return noun_lemma(tree.words[token], tree.tags[token])


def _starts(tree: Tree, token: int) -> str:
    """The article or the like of a noun."""
    return next((tree.words[kid] for kid in tree.kids[token] if tree.deps[kid] in ("det", "poss")), "")


def _picture(tree: Tree, token: int, found: set[int]) -> bool:
    lemma, dep, head = _lemma(tree, token), tree.deps[token], tree.heads[token]
    if lemma in _VIEWS:
        return dep in ("ROOT", "attr") and _shows(tree, token)
    if lemma not in _PICTURES:
        return False
    if dep in ("nsubj", "nsubjpass"):
        verb = verb_lemma(tree.words[head], tree.tags[head])
        return verb in lexicon.DEPICTING or (_starts(tree, token) in ("the", "this", "") and _is_subject(tree, token))
    if dep == "pobj":
        preposition = tree.words[head]
        return preposition in _INSIDE and _starts(tree, token) in ("the", "this") and not _posed(tree, head)
    return dep in ("ROOT", "attr") and _shows(tree, token)


def _is_subject(tree: Tree, token: int) -> bool:
    """ "the scene is set", "the image appears", but not "the picture hangs on the wall"."""
    return _REAL.isdisjoint(tree.words)


def _posed(tree: Tree, preposition: int) -> bool:
    """ "posing for the picture", "looking at the frame of the picture"."""
    head = tree.heads[preposition]
    return tree.words[preposition] == "for" and tree.tags[head] in VERB_TAGS


def _shows(tree: Tree, token: int) -> bool:
    """ "a picture of a dog", "a photo showing a dog", but not "a picture of a dog on the wall"."""
    if not _REAL.isdisjoint(tree.words[token:]):
        return False
    if tree.of_what(token) >= 0 or tree.words[token + 1 : token + 3] == ["up", "of"]:
        return True
    return any(
        tree.deps[kid] in ("acl", "relcl") and verb_lemma(tree.words[kid], tree.tags[kid]) in lexicon.DEPICTING
        for kid in tree.kids[token]
    )


def _never_seen(tree: Tree, token: int, found: set[int]) -> bool:
    lemma = _lemma(tree, token)
    if lemma in _FOCUS:
        return any(tree.words[kid] in _FOCAL for kid in tree.kids[token]) or tree.of_what(token) in found
    return lemma in _NEVER_SEEN


def _added(tree: Tree, token: int, found: set[int]) -> bool:
    """ "adding a touch of colour", "captures a moment", "a sense of unity"."""
    dep, head = tree.deps[token], tree.heads[token]
    if dep == "pobj" and tree.words[head] == "of" and tree.heads[head] in found:
        return tree.words[tree.heads[head]] in ("sense", "feeling", "touch", "air", "atmosphere")
    if _lemma(tree, token) not in _SOMETIMES:
        return False
    if dep == "pobj":
        head = tree.heads[head]
    elif dep not in ("dobj", "dative", "attr", "oprd"):
        return False
    return head >= 0 and tree.tags[head] in VERB_TAGS and verb_lemma(tree.words[head], tree.tags[head]) in ADDING


def _part(tree: Tree, token: int, found: set[int]) -> bool:
    return _lemma(tree, token) in PARTS and tree.of_what(token) in found


def hushed(tree: Tree, verb: int, lemma: str) -> bool:
    """A verb that only says what is added to the picture: its objects are all talk."""
    if lemma not in ADDING and lemma not in lexicon.DEPICTING:
        return False
    told = [kid for kid in tree.kids[verb] if tree.deps[kid] in ("dobj", "dative")]
    told += [
        noun
        for kid in tree.kids[verb]
        if tree.deps[kid] == "prep"
        for noun in tree.kids[kid]
        if tree.deps[noun] == "pobj"
    ]
    about = [noun for noun in told if noun in tree.about]
    objects = [noun for noun in told if tree.deps[noun] in ("dobj", "dative")]
    return bool(about) and not any(tree.names[noun] or noun in tree.quantified for noun in objects)

"""Slips that taggers and parsers trained on news make on captions, put right before the rules read the tree.

Each repair looks for a pattern that cannot be right in a caption (a singular noun with a plural verb, an -ing noun
with a verb's complements) and changes tags, labels and heads in place.
"""

from __future__ import annotations

from collections.abc import Iterable

from vericap.graphs import english_words as lexicon
from vericap.graphs.english_words import NOUN_TAGS, VERB_TAGS, kind, noun_lemma

_PHRASE_STARTS = frozenset({"det", "poss", "nummod"})
_PRONOUNS = frozenset({"it", "them", "him", "her"})
_VIEWS = lexicon.DEPICTIONS | {"closeup", "close-up", "view", "close", "shot", "images", "pictures", "photos"}
_REFLECTIONS = frozenset({"reflection", "reflections", "shadow", "shadows"})
_CLAUSES = frozenset({"ROOT", "conj", "ccomp", "advcl"})
_SUBJECTS = frozenset({"nsubj", "nsubjpass"})


def repair(words: list[str], tags: list[str], deps: list[str], heads: list[int], compounds: Iterable[int] = ()) -> None:
    """Put the known slips right, in place; `compounds` are last words of compounds."""
    for token in compounds:
        _compound(words, tags, deps, heads, token)
    for token, tag in enumerate(tags):
        dep = deps[token]
        if dep == "pobj":
            _verb_in_phrase(words, tags, deps, heads, token)
        elif dep == "npadvmod":
            _verb_between(words, tags, deps, heads, token)
        elif dep == "prt" and token + 1 < len(words) and token in heads[token + 1 :]:
            deps[token] = "prep"  # "traveling down tracks"
        elif dep == "conj" and tag == "VBZ":
            _listed_noun(words, tags, deps, heads, token)
    for token, tag in enumerate(tags):
        dep = deps[token]
        if tag == "UH":
            _greeting(words, tags, deps, heads, token)
        elif tag in ("VBP", "VB"):
            _noun_not_verb(words, tags, deps, heads, token)
            if not lexicon.is_verb(words[token], "VB"):
                _only_noun(words, tags, deps, heads, token)
        elif tag == "JJ":
            if dep == "amod" and heads[token] == token - 1 and not lexicon.is_adjective(words[token]):
                _only_noun(words, tags, deps, heads, token)
        elif tag in NOUN_TAGS:
            if dep in _SUBJECTS:
                _verb_not_noun(words, tags, deps, heads, token)
            elif dep == "conj":
                if tags[heads[token]] in VERB_TAGS:
                    _second_verb(words, tags, deps, heads, token)
                else:
                    _coordination(words, tags, deps, heads, token)
            if tag == "NN" and words[token].endswith("ing"):
                _participle(words, tags, deps, heads, token)
            elif dep in ("compound", "nmod") and token + 1 < len(words) and words[token + 1] == ",":
                _list(words, tags, deps, heads, token)
        elif dep == "prep":
            _attachment(words, tags, deps, heads, token)
        elif words[token] in _PRONOUNS and dep == "pobj":
            _near_noun(words, tags, deps, heads, token)


def _compound(words: list[str], tags: list[str], deps: list[str], heads: list[int], token: int) -> None:
    """ "a fire hydrant": the last word is a noun and the head of the first."""
    first = token - 1
    if tags[token] not in NOUN_TAGS:
        tags[token] = "NNS" if words[token].endswith("s") else "NN"
    if heads[token] == first:
        _swap(deps, heads, first, token, "compound")
    elif heads[first] != token and deps[first] not in ("compound", "amod", "nmod"):
        return
    deps[first], heads[first] = "compound", token
    tags[first] = "NN"


def _verb_in_phrase(words: list[str], tags: list[str], deps: list[str], heads: list[int], token: int) -> None:
    """ "a woman in a red dress smiles at ...": a plural after "a", or a verb, that ends a phrase is the main verb."""
    worn, prep = token - 1, heads[token]
    noun = heads[prep]
    if worn <= prep or deps[worn] not in ("compound", "nmod") or heads[worn] != token or tags[worn] not in NOUN_TAGS:
        return
    single = any(words[i] in ("a", "an") for i in range(prep, worn) if heads[i] in (token, worn))
    plural = tags[token] == "NNS" and single and lexicon.is_verb(words[token], "NNS")
    if not (plural or tags[token] == "VBZ") or tags[noun] not in NOUN_TAGS or deps[noun] != "ROOT":
        return
    deps[worn], heads[worn] = "pobj", prep
    for i in range(prep + 1, worn):
        if heads[i] == token:
            heads[i] = worn
    tags[token], deps[token], heads[token] = "VBZ", "ROOT", token
    deps[noun], heads[noun] = "nsubj", token
    for i in range(token + 1, len(words)):
        if heads[i] == noun:
            heads[i] = token


def _verb_between(words: list[str], tags: list[str], deps: list[str], heads: list[int], token: int) -> None:
    """ "on a beach holding hands": what is held is no part of the phrase before the verb."""
    verb = heads[token]
    held = heads[verb]
    if verb != token + 1 or tags[verb] != "VBG" or deps[verb] != "amod" or held <= verb or tags[token] not in NOUN_TAGS:
        return
    starts = [i for i in range(token) if heads[i] in (held, token) and deps[i] in _PHRASE_STARTS]
    if not starts:
        return
    deps[token], heads[token] = deps[held], heads[held] if heads[held] != held else token
    for i in range(token):
        if heads[i] == held and deps[i] in ("det", "poss", "nummod", "amod", "compound"):
            heads[i] = token
    deps[verb], heads[verb] = "acl", token
    deps[held], heads[held] = "dobj", verb


def _listed_noun(words: list[str], tags: list[str], deps: list[str], heads: list[int], token: int) -> None:
    """ "cheese and olives on it": what is coordinated with a noun in a phrase and takes no object is a noun."""
    head = heads[token]
    taking = any(above == token and deps[i] in ("dobj", "aux", "xcomp", "prt") for i, above in enumerate(heads))
    if deps[head] == "pobj" and tags[head] in NOUN_TAGS and not taking and lexicon.is_noun(words[token][:-1]):
        tags[token] = "NNS"


def _greeting(words: list[str], tags: list[str], deps: list[str], heads: list[int], token: int) -> None:
    """ "Boy with toy gun" is no exclamation."""
    word, head = words[token], heads[token]
    if word not in lexicon.PERSONS and word not in lexicon.MALE and word not in lexicon.FEMALE:
        return
    tags[token] = "NN"
    lonely = not any(above == head and dep in _SUBJECTS for above, dep in zip(heads, deps))
    if deps[token] == "intj" and tags[head] in VERB_TAGS and token < head and lonely:
        deps[token] = "nsubj"


def _noun_not_verb(words: list[str], tags: list[str], deps: list[str], heads: list[int], token: int) -> None:
    """ "A white teddy bear": a singular subject right before a plural verb makes that verb a noun."""
    before = token - 1
    if before < 0 or deps[before] != "nsubj" or heads[before] != token or tags[before] not in ("NN", "NNP"):
        return
    if noun_lemma(words[before], tags[before]) in ("people", "group", "crowd", "pair", "couple", "team", "family"):
        return
    own = [i for i in range(len(words)) if heads[i] == token and i != token]
    if any(deps[i] in ("aux", "dobj", "prt", "acomp", "xcomp", "ccomp", "conj") for i in own):
        return
    if any(heads[i] == before and deps[i] == "conj" for i in range(before)) or not lexicon.is_noun(words[token]):
        return
    tags[token] = "NN"
    deps[before] = "compound"
    for i in range(before):
        if heads[i] == before and i != before:
            heads[i] = token
    for i in own:
        if deps[i] == "advcl" and tags[i] in ("VBG", "VBN"):
            deps[i] = "acl"


def _only_noun(words: list[str], tags: list[str], deps: list[str], heads: list[int], token: int) -> None:
    """ "a fire hydrant on ...": a word that can only be a noun, right after the noun it was hung on."""
    before = token - 1
    if heads[token] == before and tags[before] in NOUN_TAGS and lexicon.is_noun(words[token]):
        tags[token] = "NN"
        _swap(deps, heads, before, token, "compound")


def _swap(deps: list[str], heads: list[int], old: int, new: int, dep: str) -> None:
    """Make `new` the head of the phrase `old` was the head of; `old` hangs on it as `dep`."""
    deps[new], heads[new] = deps[old], heads[old] if heads[old] != old else new
    for i, head in enumerate(heads):
        if head == old and i not in (old, new):
            heads[i] = new
    deps[old], heads[old] = dep, new


def _verb_not_noun(words: list[str], tags: list[str], deps: list[str], heads: list[int], token: int) -> None:
    """ "Three dogs rush": a noun that has a subject right before it is a verb."""
    head = heads[token]
    if tags[head] not in ("NN", "NNS") or token != head - 1 or deps[head] not in _CLAUSES:
        return
    own = [i for i, above in enumerate(heads) if above == head and i != head]
    if any(deps[i] in ("det", "amod") or words[i] in ("is", "are") for i in own):
        return
    if lexicon.is_verb(words[head], tags[head]):
        tags[head] = "VBZ"


def _second_verb(words: list[str], tags: list[str], deps: list[str], heads: list[int], token: int) -> None:
    """ "runs and jumps": what is coordinated with a verb and has no article is a verb."""
    modified = any(above == token and deps[i] in ("det", "amod", "poss") for i, above in enumerate(heads))
    if not modified and lexicon.is_verb(words[token], tags[token]):
        tags[token] = "VBG" if words[token].endswith("ing") else "VBZ"


def _participle(words: list[str], tags: list[str], deps: list[str], heads: list[int], token: int) -> None:
    """ "holding a bat and standing next to ...": an -ing noun with complements and no article is a verb."""
    before = token - 1
    if words[token] in lexicon.DOINGS and before >= 0 and deps[before] == "compound" and heads[before] == token:
        tags[token] = "VBG"  # "a herd of zebra standing on ..."
        _swap(deps, heads, token, before, "acl")
        for i in range(token + 1, len(words)):
            if heads[i] == before and deps[i] in ("prep", "advmod", "dobj", "prt"):
                heads[i] = token
        return
    if deps[token] not in ("conj", "appos", "dobj", "ROOT", "acl", "dep") or words[token] in lexicon.ING_NOUNS:
        return
    complements = False
    for i, head in enumerate(heads):
        if head == token and i != token:
            if deps[i] in ("det", "poss", "amod", "compound", "nummod", "nmod"):
                return
            complements |= i > token and deps[i] in ("prep", "advmod", "dobj", "prt")
    if complements and lexicon.is_verb(words[token], "VBG"):
        tags[token] = "VBG"
        head = heads[token]
        if deps[token] == "conj" and tags[head] in NOUN_TAGS and deps[head] in ("dobj", "pobj"):
            while tags[head] not in VERB_TAGS and heads[head] != head:
                head = heads[head]
            heads[token] = head
            deps[token] = "conj" if tags[head] in VERB_TAGS else "acl"


def _near_noun(words: list[str], tags: list[str], deps: list[str], heads: list[int], token: int) -> None:
    """ "a table with food on it", "a basket with fruit inside of it": a phrase of the noun right before it."""
    start = heads[token]
    if start != token - 1:
        return
    while heads[start] == start - 1 and deps[start] in ("prep", "pobj") and tags[start - 1] not in VERB_TAGS:
        if tags[start - 1] in NOUN_TAGS and deps[start - 1] != "pobj":
            break
        start -= 1
    noun = start - 1
    if noun < 0 or tags[noun] not in NOUN_TAGS or deps[start] != "prep":
        return
    if words[heads[noun]] == "of" and tags[heads[heads[noun]]] in NOUN_TAGS:
        noun = heads[heads[noun]]  # "bottles of toothpaste on it"
    if deps[noun] in ("pobj", "conj", "dobj") and words[heads[noun]] not in ("at", "to", "into"):
        heads[start] = noun


def _coordination(words: list[str], tags: list[str], deps: list[str], heads: list[int], token: int) -> None:
    """ "a bowl of noodles and broccoli", "a room with a bed and a desk": the nearer noun is meant."""
    head = heads[token]
    near = token - 1
    while near > head and not (tags[near] in NOUN_TAGS and deps[near] == "pobj"):
        near -= 1
    if near <= head or heads[heads[near]] != head or tags[head] not in NOUN_TAGS:
        return
    preposition = words[heads[near]]
    starts = [False, False, False]
    for i, above in enumerate(heads):
        if deps[i] in _PHRASE_STARTS:
            for place, noun in enumerate((head, near, token)):
                starts[place] |= above == noun
    of_head, of_near, of_token = starts
    bare = of_head and not of_near and not of_token and preposition in ("of", "with", "in")
    listed = preposition == "with" and (of_near or not of_token)
    if not (bare or listed):
        return
    if listed and kind(noun_lemma(words[token], tags[token])) in ("person", "animal"):
        return
    heads[token] = near
    if bare:  # "a bowl of apples and oranges on a table": the bowl is on it
        for i, above in enumerate(heads):
            if above == token and deps[i] == "prep" and words[i] != "of":
                heads[i] = head


def _list(words: list[str], tags: list[str], deps: list[str], heads: list[int], token: int) -> None:
    """ "a sink, mirror, toilet": a comma does not stand inside a compound; these are things in a row."""
    last = heads[token]
    if tags[last] not in NOUN_TAGS or last < token:
        return
    row = [i for i in range(token, last) if heads[i] == last and deps[i] in ("compound", "nmod")]
    row = [i for i in row if words[i + 1] == ","]
    deps[token], heads[token] = deps[last], heads[last] if heads[last] != last else token
    for place in [*row[1:], last]:
        deps[place], heads[place] = "conj", token


def _attachment(words: list[str], tags: list[str], deps: list[str], heads: list[int], prep: int) -> None:
    """ "a laptop and glass of water", "a picture of a toilet in a stall": phrases of the nearer noun."""
    head, before = heads[prep], prep - 1
    if words[prep] in ("in", "on") and deps[head] == "pobj" and words[heads[head]] == "of":
        image = heads[heads[head]]
        if words[image] in _REFLECTIONS:  # "a reflection of trees in the water": the trees are not in it
            heads[prep] = image
            return
    if before <= head or tags[before] not in NOUN_TAGS:
        return
    if words[prep] == "of":
        if deps[before] in ("conj", "pobj", "dobj"):
            heads[prep] = before
    elif words[head] in _VIEWS and deps[before] == "pobj" and words[heads[before]] == "of" and words[prep] != "with":
        heads[prep] = before

"""Token states computed faster are spaCy's own."""

from __future__ import annotations

import numpy as np

from vericap.graphs.english import pipeline, trainable
from vericap.graphs.english_states import WordStates

CAPTIONS = [
    "a man riding a brown horse on the beach .",
    "dog",
    "two women stand next to a table with plates, cups and glasses.",
    "",
    "a man's hat — 20% off!",
    "  spaces   in it ",
]


def test_states_are_those_of_spacy() -> None:
    nlp = trainable()
    model = nlp.get_pipe("tok2vec").model
    docs = [nlp.make_doc(text) for text in CAPTIONS]
    quick = WordStates(model)
    for part in (docs, docs[2:], docs[:1]):
        for mine, theirs in zip(quick(part), model.predict(part)):
            assert mine.shape == theirs.shape
            assert not mine.size or np.abs(mine - theirs).max() < 1e-4


def test_trees_are_those_of_spacy() -> None:
    slow, fast = trainable(), pipeline()
    for one, two in zip(slow.pipe(CAPTIONS), fast.pipe(CAPTIONS)):
        assert [(t.tag_, t.dep_, t.head.i) for t in one] == [(t.tag_, t.dep_, t.head.i) for t in two]


def test_tokens_are_those_of_spacy() -> None:
    slow, fast = trainable(), pipeline()
    texts = [
        *CAPTIONS,
        "it's a t-shirt, isn't it?",
        "u.s.a. (and/or) 5km http://a.b/c",
        "tab\tand\nline",
        "don't don't",
    ]
    for text in (*texts, *texts):  # the second time every word is known
        assert [t.text_with_ws for t in fast.make_doc(text)] == [t.text_with_ws for t in slow.make_doc(text)]

"""The tokeniser gives the COCO tool's tokens (golden_ptb.json, made by tools/make_golden.py)."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.core.errors import UnknownName
from vericap.native import load
from vericap.text import ptb
from vericap.text.tokens import TokenTable, split_blanks, tokenize

GOLDEN = json.loads((Path(__file__).parent / "golden_ptb.json").read_text())


def lines(texts: list[str]) -> list[str]:
    following = np.append(np.arange(1, len(texts)), -1)
    found = ptb.tokens(texts, following=following)
    return [" ".join(found[i]) for i in range(len(texts))]


@pytest.fixture(params=["compiled", "python"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "python":
        monkeypatch.setenv("VERICAP_PURE_PYTHON", "1")
    elif load("ptb") is None:
        pytest.skip("the compiled tokeniser was not built")
    return request.param


def test_golden_tokens(form: str) -> None:
    assert lines(GOLDEN["captions"]) == GOLDEN["tokens"]


@pytest.mark.parametrize(
    ("caption", "tokens"),
    [
        ("A man can't.", "a man ca n't"),
        ("cannot gonna", "can not gon na"),
        ("(a dog)", "-lrb- a dog -rrb-"),  # the tool drops -LRB-, but after lower-casing
        ("1 1/2 cups", "1\u00a01/2 cups"),
        ("bikes., and", "bikes. and"),
        ("Wait...what?!", "wait ... what ?!".replace("... ", "")),
        ("a\r\nb\u2028c", "a b c"),
        ("\U0001f600", ""),
        ("so\u00adft", "soft"),
        ("Mr. Smith of the U.S.", "mr. smith of the u.s."),
    ],
)
def test_conventions(form: str, caption: str, tokens: str) -> None:
    assert lines([caption]) == [tokens]


def test_single_letter_at_the_end_depends_on_the_next_line(form: str) -> None:
    found = lines(["the letter K.", "A dog", "the letter K.", "Birds fly"])
    assert found[:3] == ["the letter k", "a dog", "the letter k."]


def test_lone_surrogates_and_control_characters(form: str) -> None:
    assert lines(["a \ud83d b", "a\x00b", "\x07"]) == ["a b", "a b", ""]


def test_very_long_caption(form: str) -> None:
    found = ptb.tokens(["word " * 10_000, "x" * 100_000])
    assert list(found.lengths()) == [10_000, 1]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(max_size=30), max_size=4))
def test_twins_agree(texts: list[str]) -> None:
    if load("ptb") is None:
        pytest.skip("the compiled tokeniser was not built")
    compiled = ptb.tokens(texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VERICAP_PURE_PYTHON", "1")
        plain = ptb.tokens(texts)
    assert [compiled[i] for i in range(len(texts))] == [plain[i] for i in range(len(texts))]


# Pieces between blanks whose tokens may hang on what comes after them; the compiled form remembers pieces it has cut.
PIECES = (
    "a A K. K U.S. e.g. etc. it. it's cannot 1 1/2 1/2. $5 -- - ... .. . , don't dogs' 'tis (x) www.a.com a.m. a.m .5 "
    "Mr. no. No. 555 1234 555-1234 twelve-letter sixteen-letters. seventeen-letters street.\t x\ny \x7f \x00 caf\u00e9"
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from([*PIECES.split(" "), "", " "]), max_size=7).map(" ".join), min_size=1, max_size=6)
)
def test_remembered_pieces_are_cut_as_ever(texts: list[str]) -> None:
    if load("ptb") is None:
        pytest.skip("the compiled tokeniser was not built")
    compiled = lines(texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VERICAP_PURE_PYTHON", "1")
        assert lines(texts) == compiled


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=40), min_size=1, max_size=5))
def test_a_caption_does_not_depend_on_its_batch(texts: list[str]) -> None:
    together = ptb.tokens(texts)
    assert [together[i] for i in range(len(texts))] == [ptb.tokens([text])[0] for text in texts]
    for token in together.vocabulary:
        assert token
        assert token not in ptb.DROPPED
        assert " " not in token


def test_words_cut_tokens_at_white_space() -> None:
    tokens = TokenTable.of([["a", "1\u00a01/2", "b"], [], ["1\u00a01/2"]])
    words = tokens.words()
    assert [words[i] for i in range(3)] == [["a", "1", "1/2", "b"], [], ["1", "1/2"]]
    assert words.vocabulary[:3] == tokens.vocabulary
    blank = TokenTable.of([["a", "\u00a0"], ["\u00a0"], ["b"]]).words()
    assert [blank[i] for i in range(3)] == [["a"], [], ["b"]]
    plain = split_blanks(["a b", "b"])
    assert plain.words() is plain
    assert plain[-1] == ["b"]
    with pytest.raises(IndexError):
        plain[2]


def test_tokenizer_is_chosen_by_name() -> None:
    assert tokenize(["A (dog).", "x"], "none")[0] == ["A", "(dog)."]
    with pytest.raises(UnknownName, match="ptb, none"):
        tokenize(["a"], "no-such")


def test_real_captions_against_the_live_tool(data_dir: Path) -> None:
    tool = pytest.importorskip("pycocoevalcap.tokenizer.ptbtokenizer", reason="pycocoevalcap is not installed")
    if shutil.which("java") is None:
        pytest.skip("the COCO tool needs Java")
    with gzip.open(data_dir / "coco" / "captions_val2014.json.gz") as stream:
        captions = [item["caption"] for item in json.load(stream)["annotations"]]
    captions = random.Random(0).sample(captions, 5000)
    theirs = tool.PTBTokenizer().tokenize({0: [{"caption": caption} for caption in captions]})[0]
    assert lines(captions) == theirs

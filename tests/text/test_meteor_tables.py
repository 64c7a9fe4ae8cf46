"""METEOR's tables, normalisation and stemmer: known entries, and the paraphrase table's shape and lists."""

from __future__ import annotations

import numpy as np
import pytest

from vericap.core import shipped
from vericap.native import load
from vericap.text import meteor_tables
from vericap.text.meteor_features import find_phrases, java_hash, word_features
from vericap.text.meteor_words import meteor_words, words
from vericap.text.stem import stem
from vericap.text.tokens import TokenTable


def test_synonyms_of_word_irregular_base_and_stripped_form() -> None:
    # WordNet 3.0: man.n.01 is offset 10287213, cat.n.01 is 02121620, hotdog 07697537.
    assert 10287213 in meteor_tables.synonyms("man")
    assert 10287213 in meteor_tables.synonyms("men")  # exception list
    assert 2121620 in meteor_tables.synonyms("cats")  # stripped
    assert 7697537 in meteor_tables.synonyms("hot_dog")
    assert meteor_tables.synonyms("glass") == meteor_tables.synsets("glass")  # ends in ss: not stripped
    assert meteor_tables.synonyms("xyzzy") == frozenset()
    assert meteor_tables.base_synsets("") == frozenset()


def test_function_words() -> None:
    listed = meteor_tables.function_words()
    assert len(listed) == 93
    assert {"the", "of", "'s", "people"} <= listed
    assert "dog" not in listed


def test_paraphrase_table_holds_known_triples() -> None:
    table = meteor_tables.paraphrases()
    assert table.count() == 430_639
    deaths = table.targets(table.find(["000", "deaths"]))
    for target in ("000 dead", "000 died", "000 dying", "000 fatalities", "000 lives"):
        assert table.find(target.split()) in deaths
    assert np.all(np.diff(deaths) > 0)
    assert table.find(["000", "xyzzy"]) == -1
    assert table.find(["xyzzy"]) == -1
    assert table.targets(10**7).size == 0


def test_every_list_ends_within_the_trie() -> None:
    table = meteor_tables.paraphrases()
    nodes = len(table.number) + len(table.labels)
    rng = np.random.default_rng(3)
    for node in rng.choice(table.sources, 300).tolist():
        targets = table.targets(node)
        assert 0 < targets.size < 1000
        assert targets[-1] < nodes


def test_files_are_what_the_script_made() -> None:
    for file in shipped.meta("meteor")["files"]:
        assert shipped.path("meteor", file).is_file()
    folder = shipped.folder("meteor")
    assert (folder / "LICENSE").is_file()
    assert (folder / "COPYING.WORDNET").is_file()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("it 's a well-lit room", "it ' s a well lit room"),
        ("don't", "don 't"),
        ("1,000 dogs, cats", "1,000 dogs , cats"),
        ("e.g. the u.s. flag", "eg the us flag"),
        ("wait ... and ..more", "wait ... and .. more"),
        ("no . 5", "no . 5"),
        ("end.", "end ."),
        ("st. john", "st. john"),
        ("“quoted” ''x''", '" quoted " " x "'),
        ("😀犬 café", "😀 犬 café"),
        ("1\u00a01/2", "1 1 / 2"),
        ("\x0b v. \x0b", "v."),
        ("", ""),
    ],
)
def test_normalisation(line: str, expected: str) -> None:
    assert words(line) == expected.split()


def test_words_of_tokens_equal_words_of_the_joined_line() -> None:
    lines = ["it 's a well-lit room", "' '9 x", "a dog", "", "u.s. st. x", "'s 'd 's", "犬 a-b é", "don't '90s"]
    found = meteor_words(TokenTable.of(line.split() for line in lines))
    assert [found[i] for i in range(len(lines))] == [words(line) for line in lines]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("riding", "ride"), ("ponies", "poni"), ("ties", "tie"), ("generously", "generous"), ("skies", "sky"),
        ("herring", "herring"), ("hopping", "hop"), ("hoping", "hope"), ("agreed", "agre"), ("happily", "happili"),
        ("nationalization", "nation"), ("'tis", "tis"), ("dog's", "dog"), ("y", "y"), ("saying", "say"),
        ("by", "by"), ("controll", "control"), ("relational", "relat"),
    ],
)  # fmt: skip
def test_stems(word: str, expected: str) -> None:
    assert stem(word) == expected


def test_words_are_compared_by_javas_hash() -> None:
    assert java_hash("an") == java_hash("c0")
    assert java_hash("polygenelubricants") == -(1 << 31)  # a well-known edge
    assert java_hash("😀") == 31 * 0xD83D + 0xDE00


def test_phrases_are_the_same_in_both_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["a large number of people are waiting in front of the house", "xyzzy a lot of people", "", "men"]
    texts = TokenTable.of(line.split() for line in lines)
    number = word_features(texts.vocabulary, ("exact", "paraphrase")).number
    compiled = find_phrases(texts, number)
    monkeypatch.setenv("VERICAP_PURE_PYTHON", "1")
    plain = find_phrases(texts, number)
    for left, right in zip(compiled.columns(), plain.columns()):
        np.testing.assert_array_equal(left, right)
    assert plain.lists.size > 0


def test_lists_are_the_same_in_both_kernels_whatever_the_gaps() -> None:
    """Phrases of captions meet common words; all sizes of gaps, short and long codes, are met by all nodes at once."""
    table, kernel = meteor_tables.paraphrases(), load("meteor")
    if kernel is None:
        pytest.skip("the kernel is not compiled")
    some = np.sort(np.random.default_rng(4).choice(table.sources, 2000, replace=False)).astype(np.uint32)
    local = np.arange(len(table.number) + len(table.labels), dtype=np.int32)
    offsets, targets = kernel.read_lists(some, table.sources, table.list_offsets, table.lists, local)
    expected = [table.targets(node) for node in some.tolist()]
    np.testing.assert_array_equal(np.diff(np.frombuffer(offsets, "<i8")), [len(part) for part in expected])
    np.testing.assert_array_equal(np.frombuffer(targets, "<i4"), np.concatenate(expected))
    gaps = np.concatenate([np.diff(part, prepend=-1) for part in expected])
    assert set(np.log2(gaps).astype(int).tolist()) == set(range(22))


def test_children_begin_where_unary_degrees_say(monkeypatch: pytest.MonkeyPatch) -> None:
    degrees = np.random.default_rng(0).integers(0, 256, 500, dtype=np.uint8)
    ones = "".join(f"{byte:08b}" for byte in degrees.tolist()).split("0")[:-1]  # what follows the last zero has no node
    expected = np.concatenate([[0], np.cumsum([len(run) for run in ones])])
    for pure in ("0", "1"):
        monkeypatch.setenv("VERICAP_PURE_PYTHON", pure)
        np.testing.assert_array_equal(meteor_tables.children(degrees), expected)

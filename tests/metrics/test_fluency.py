"""Fluency: good English is high whatever it speaks of, machine errors and texts that are no sentences are low."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.core.errors import VericapError
from vericap.core.explanation import Explanation
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics.registry import make
from vericap.metrics.verdict.judge import shipped_judge
from vericap.models import fluency
from vericap.models.fluency_words import FLAG_BITS, Lexicon, sentences
from vericap.run.engine import Run
from vericap.run.results import Result

GOOD = (
    "a dog on a sofa",
    "Two dogs on a beach.",
    "A man riding a wave on top of a surfboard.",
    "a group of people standing around a table with food",
    "A woman in a red dress is holding an umbrella",
    "The children are playing with a ball in the park.",
    "He was late because the train had broken down.",
)
BROKEN = {
    "scrambled": "sofa a on dog a the",
    "repeated": "a dog on a sofa on a sofa on a sofa",
    "cut off": "a man riding a wave on top of a",
    "number": "a dogs on a sofa",
    "agreement": "the children is playing with a balls in the park",
    "doubled": "a dog on on a sofa",
    "no noun": "a brown on a with the",
    "gibberish": "xqz blorf wug zzt fnord .",
    "gibberish again": "xqz " * 20,
    "two strange words again": "zzt fnord " * 10,
    "a foreign word again": "人 " * 100,
    "a name again": "Bob " * 60,
    "hashtags": "#dog #beach #sun #fun",
    "list": "dog, beach, sand, sun, ocean",
    "French": "un homme court sur la plage avec son chien",
    "German": "ein Hund liegt auf dem Sofa",
    "Japanese": "犬が芝生の上を走っている",
    "one article": "a",
    "articles": "a a a",
    "loop": "a group of people standing around a group of people standing around a group of people",
}


def scored(*texts: str, explain: bool = False) -> Result:
    samples = [Sample(str(i), text) for i, text in enumerate(texts)]
    run = Run([make("fluency")])
    result = run.score(samples)
    if explain:
        result.explanations.update(run.explain(samples))
    return result


def values(*texts: str) -> list[float]:
    return scored(*texts)["fluency"].tolist()


def reasons(text: str) -> Explanation:
    (found,) = Run([make("fluency")]).explain([Sample("1", text)])["fluency"]
    assert found is not None
    return found


# --- values -----------------------------------------------------------------------------------------------------------


def test_good_english_is_high() -> None:
    assert min(values(*GOOD)) > 0.85, dict(zip(GOOD, values(*GOOD)))


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_broken_is_low(kind: str) -> None:
    """Below what the verdict lets pass."""
    assert values(BROKEN[kind])[0] < shipped_judge().weights["fluency"]["threshold"]


def test_lists_and_chains_without_end_are_low() -> None:
    """A reward that grows with them would be gamed."""
    nouns = ["dog", "sofa", "table", "cat", "lamp", "window", "car", "tree", "house", "man", "chair", "vase", "clock"]
    places = ["on", "next to", "near", "with", "under", "by", "in front of", "behind", "beside", "above", "at", "in"]
    chain = "a bench " + " ".join(f"{place} a {noun}" for place, noun in zip(places, nouns))
    texts = (chain, "a " + " and a ".join(nouns), "a " + ", a ".join(nouns), " ".join(f"A {noun}." for noun in nouns))
    assert max(values(*texts)) < 0.4


def test_objects_do_not_matter() -> None:
    frames = ("a {} on a sofa", "two people looking at a {} in the park", "The {} is next to a table.")
    nouns = ("dog", "cat", "bench", "zither", "gramophone", "pergola", "banana", "quokka")
    for frame in frames:
        found = values(*(frame.format(noun) for noun in nouns))
        assert max(found) - min(found) < 0.15, (frame, dict(zip(nouns, found)))


def test_capitals_and_the_last_dot_do_not_matter() -> None:
    plain, dotted, shouted = values("a dog on a sofa", "A dog on a sofa.", "A DOG ON A SOFA")
    assert plain == pytest.approx(dotted, abs=1e-6)
    assert plain == pytest.approx(shouted, abs=1e-6)


@pytest.mark.parametrize(
    "text",
    [
        "A cat looks at you \U0001f63a.",
        "A cat looks at you \u2764\ufe0f\U0001f44d\U0001f3fd \U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\ufeffA c\u200bat looks at\u2060 you.",
        "A cat\x07 looks at you.\x00",
    ],
)
def test_what_nobody_reads_aloud_does_not_matter(text: str) -> None:
    plain, found = values("A cat looks at you.", text)
    assert found == pytest.approx(plain, abs=1e-6)
    (one,) = fluency.load().texts([text])[0].sentences
    words = [text[start:end].replace("\u200b", "") for start, end in one.sentence.spans]
    assert words == ["A", "cat", "looks", "at", "you"]


def test_an_accent_apart_is_no_word_of_its_own() -> None:
    whole, apart = values("A café with tables outside", "A cafe\u0301 with tables outside")
    assert min(whole, apart) > 0.85


@pytest.mark.parametrize("text", ["#cat #dog \U0001f63a", "xqz blorf \U0001f63a", "on \U0001f63a sofa cat a the"])
def test_emoji_do_not_help_what_is_broken(text: str) -> None:
    assert values(text)[0] < 0.1


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(GOOD), st.integers(0, 1000))
def test_shuffling_never_helps_much(text: str, seed: int) -> None:
    words = text.rstrip(".").lower().split()
    mixed = random.Random(seed).sample(words, len(words))
    before, after = values(" ".join(words), " ".join(mixed))
    assert after < before + 0.1


def test_a_wordless_text_is_zero_with_a_reason() -> None:
    result = scored("", "...", "\U0001f600", "a dog")
    assert result["fluency"][:3].tolist() == [0.0, 0.0, 0.0]
    said = result.statistics["fluency"].problems
    assert said == dict.fromkeys(range(3), "the candidate has no word and scores 0")


# --- texts of several sentences ---------------------------------------------------------------------------------------


def test_one_broken_sentence_shows_wherever_it_stands() -> None:
    good = ["A dog lies on a sofa.", "The room is bright.", "There is a lamp next to the window."]
    whole = values(" ".join(good))[0]
    for place in range(4):
        text = " ".join([*good[:place], "Table the of on a is cup.", *good[place:]])
        assert values(text)[0] < whole - 0.3


def test_a_sentence_said_again_shows() -> None:
    once, again, thrice = values(*(" ".join(["A dog lies on a large sofa."] * times) for times in (1, 2, 6)))
    assert once > 0.7
    assert again < 0.3
    assert thrice < again


def test_the_mean_is_harmonic_over_sentences() -> None:
    text = "A dog lies on a sofa. The man are a table."
    (found,) = fluency.load().texts([text])
    apart = [one.value for one in found.sentences]
    assert found.value == pytest.approx(2 / sum(1 / max(value, fluency.LEAST) for value in apart))


def test_nothing_of_a_thousand_words_is_cut() -> None:
    good = " ".join(f"The {noun} is next to a table." for noun in ("dog", "cat", "man", "vase") for _ in range(1))
    body = " ".join(f"{word} on the left is near the {other}." for word, other in _pairs(120))
    text = f"{good} {body}"
    assert len(text.split()) > 900
    end = "Sofa the on a of dog."
    (whole,), (spoilt,) = fluency.load().texts([text]), fluency.load().texts([f"{text} {end}"])
    assert spoilt.sentences[-1].value < 0.1
    assert spoilt.value < whole.value
    assert spoilt.marks()[-1].start >= len(text)


def _pairs(count: int) -> list[tuple[str, str]]:
    nouns = ["dog", "cat", "bench", "lamp", "vase", "car", "tree", "boat", "kite", "horse", "chair", "clock"]
    return [(f"The {a}", b) for a in nouns for b in nouns if a != b][:count]


def test_sentences_without_a_dot_between_them_are_told_apart_by_lines() -> None:
    assert [one.words for one in sentences("a dog\ntwo cats")] == [("a", "dog"), ("two", "cats")]
    assert len(sentences("Mr. Smith and Dr. Jones sit on a bench. They talk.")) == 2


# --- reasons ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said", "why"),
    [
        ("a dog sits on on the sofa", "on", "repetition"),
        ("two dog are sitting on a sofa", "dog", "wrong form"),
        ("a man riding a wave on top of the", "the", "cut off"),
        ("a dog with a xqzblorf zzt wugfnord on grass", "zzt", "unknown word"),
    ],
)
def test_reasons_name_the_word_and_why(text: str, said: str, why: str) -> None:
    found = reasons(text)
    named = {(mark["text"], mark["reason"]) for mark in found.facts["lowered_by"]}
    assert (said, why) in named
    for mark in found.facts["lowered_by"]:
        assert text[mark["start"] : mark["end"]] == mark["text"]
    assert any(said in note and why in note for note in found.notes)


def test_words_have_support_and_their_product_makes_the_sentence() -> None:
    text = "A man is ride horse on beach"
    found = reasons(text)
    assert [word.text for word in found.words] == text.split()
    support = [word.support for word in found.words]
    assert all(value is not None and 0 <= value <= 1 for value in support)
    (one,) = fluency.load().texts([text])[0].sentences
    assert one.value == pytest.approx(float(fluency.expected(np.prod(one.good, dtype=np.float64))), rel=1e-5)
    assert found.sentences[0].support == pytest.approx(one.value)


def test_sentences_are_told_in_full() -> None:
    text = "A woman in a red dress is holding an umbrella in the rain on a street full of cars and people."
    assert [one.text for one in reasons(text).sentences] == [text.rstrip(".")]


def test_a_good_caption_has_no_reason_against_it() -> None:
    found = reasons("a man riding a horse on the beach")
    assert found.notes == ()
    assert "lowered_by" not in found.facts


def test_a_copied_sentence_is_named_whole() -> None:
    text = "A dog lies on a large sofa. A dog lies on a large sofa."
    marks = reasons(text).facts["lowered_by"]
    assert [(mark["start"], mark["reason"]) for mark in marks] == [(28, "repetition")]


# --- contract and files -----------------------------------------------------------------------------------------------


def test_other_languages_are_refused() -> None:
    with pytest.raises(VericapError, match="lang=en"):
        Run([make("fluency")], Settings(lang="ja"))


def test_the_signature_names_the_weights() -> None:
    (signature,) = Run([make("fluency")]).signatures([Sample("1", "a dog")]).values()
    assert "|model:vericap-fluency-" in signature


def test_scoring_needs_no_torch() -> None:
    code = (
        "import sys; from vericap.models import fluency; fluency.load().texts(['a dog']);"
        "assert 'torch' not in sys.modules and 'spacy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_values_do_not_depend_on_company() -> None:
    alone = [values(text)[0] for text in GOOD]
    assert values(*GOOD, *BROKEN.values())[: len(GOOD)] == pytest.approx(alone, abs=1e-6)


def test_the_network_equals_its_definition() -> None:
    """One sentence by plain loops over the weights."""
    model = fluency.load()
    (sentence,) = sentences("a dog dog on a sofa")
    classes, flags = model.encode(sentence)
    weights = model.weights
    bits = [[flag >> bit & 1 for bit in range(FLAG_BITS)] for flag in flags]
    state = [weights["classes"][c] + np.array(b, np.float32) @ weights["flags"] for c, b in zip(classes, bits)]
    state = _layer(state, weights["first"], weights["first.bias"], 1)
    for name, dilation in zip(("second", "third"), fluency.DILATIONS):
        further = _layer(state, weights[name], weights[f"{name}.bias"], dilation)
        state = [one + two for one, two in zip(state, further)]
    logits = np.array([one @ weights["out"] + weights["out.bias"] for one in state])
    good = np.exp(logits[:, fluency.GOOD]) / np.exp(logits).sum(axis=1)
    (found,) = model.sentences([sentence])
    assert found.good == pytest.approx(good[1:] ** weights["power"][0], abs=1e-5)


def _layer(state: list[np.ndarray], kernel: np.ndarray, bias: np.ndarray, dilation: int) -> list[np.ndarray]:
    half, made = len(kernel) // 2, []
    for place in range(len(state)):
        around = [(k, place + (k - half) * dilation) for k in range(len(kernel))]
        made.append(bias + sum(state[at] @ kernel[k] for k, at in around if 0 <= at < len(state)))
    return [np.maximum(one, 0) for one in made]


def test_a_skeleton_keeps_function_words_alone() -> None:
    lexicon = fluency.load().lexicon
    (one,), (two,) = sentences("a plinth on a zither"), sentences("a gramophone on a pergola")
    names = [lexicon.classes[number] for number in lexicon.encode(one)]
    assert names[1] == names[4] == "=a"
    assert names[3] == "=on"
    assert lexicon.encode(one)[2] == lexicon.encode(two)[2]


def test_an_article_before_a_vowel() -> None:
    lexicon = Lexicon(fluency.load().lexicon.classes, {"a": "=a", "an": "=an", "apple": "NN", "dog": "NN"})
    names = [
        [lexicon.classes[n] for n in lexicon.encode(sentences(text)[0])] for text in ("a apple", "an dog", "an apple")
    ]
    assert [name[1] for name in names] == ["<a before a vowel>", "<an before a consonant>", "=an"]


def test_explanations_are_small() -> None:
    found = reasons("A woman in a red dress is holding an umbrella in the the rain on a street")
    assert len(json.dumps(found.as_dict())) < 3000

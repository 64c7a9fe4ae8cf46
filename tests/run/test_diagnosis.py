"""Suspicious inputs, each with the one finding it gets; none for clean captions. docs/compare.md has the same table."""

from __future__ import annotations

import json
import random
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import vericap
from vericap.api import score
from vericap.core.errors import VericapWarning
from vericap.core.samples import Sample
from vericap.run.diagnosis import Finding, diagnose, lines
from vericap.run.other_languages import foreign, other_language

DOCS = Path(__file__).resolve().parents[2] / "docs" / "compare.md"
WHO = ("dog", "cat", "horse", "woman", "man", "child", "cyclist", "surfer", "chef", "bird", "sheep", "pilot")
WHAT = ("running", "resting", "waiting", "looking up", "playing", "eating")
WHERE = ("beach", "kitchen", "meadow", "street", "harbour", "station", "forest", "market", "bridge", "garden")


@cache
def clean() -> tuple[Sample, ...]:
    """Eighty captions of eighty images; references say the same in other words."""
    draw = random.Random(4)
    found = []
    for i in range(80):
        who, what, where, near = (draw.choice(words) for words in (WHO, WHAT, WHERE, WHERE))
        texts = (
            f"The {who} near the {where} is {what}.",
            f"A small {who} is {what}, with a {where} and a {near} behind it.",
        )
        found.append(
            Sample(str(i), f"a {who} is {what} at the {where} beside a {near}", (*texts, f"Number {i} is {what}."))
        )
    return tuple(found)


Change = Callable[[int, Sample], Sample]


def said(make: Callable[[str], str], every: int = 1) -> Change:
    """A change of captions, or of each so many."""
    return lambda i, sample: replace(sample, candidate=make(sample.candidate)) if i % every == 0 else sample


def given(make: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Change:
    return lambda i, sample: replace(sample, references=make(sample.references))


def moved(step: int) -> Change:
    """References of another record."""
    return lambda i, sample: replace(sample, references=clean()[(i * step + 1) % len(clean())].references)


SPANISH = ("un perro corre por la playa", "una mujer espera en la calle", "dos gatos duermen sobre la mesa")
SORRY = ("I'm sorry, I can't help with that.", "I cannot see the picture.", "As an AI, I look at texts only.")
LOOP = "a dog and a dog and a dog and a dog and a dog and a dog"
LONG = (
    " while many other things can be seen all around it, such as tables, lamps, windows and doors, old signs, new cars,"
    " two tall towers under clouds, some people who talk to each other, bags full of fruit, a flag that moves in wind,"
    " and far away, behind everything else, mountains covered by snow that shine when evening light falls upon them"
)

# what was done to clean captions -> the change, the finding
SUSPICIOUS: dict[str, tuple[Change, str]] = {
    "references as one text of a list": (given(lambda refs: (str(list(refs)),)), "references-as-text"),
    "references as JSON text": (given(lambda refs: (json.dumps(refs),)), "references-as-text"),
    "thinking before the caption": (said(lambda text: f"<think>What is it?</think> {text}"), "thinking"),
    "thinking without an end, in one of ten": (said(lambda text: f"<think>Maybe {text}", 10), "thinking"),
    "an answer in JSON": (said(lambda text: json.dumps({"caption": text})), "code"),
    "an answer in a code fence": (said(lambda text: f"```\n{text}\n```"), "code"),
    "captions as one text of a list": (said(lambda text: str([text])), "list-as-text"),
    "marks of a chat": (said(lambda text: f"{text}<|im_end|>", 4), "chat-markup"),
    "marks of a tokeniser": (said(lambda text: f"[CLS] {text} [SEP]"), "chat-markup"),
    "refusals": (lambda i, s: replace(s, candidate=SORRY[i % 3]) if i % 15 == 0 else s, "refusal"),
    "the model asks for the image": (
        said(lambda text: "Please upload the image so that it can be described", 30), "refusal",
    ),
    "an answer to the prompt": (said(lambda text: f"Sure! Here is a caption: {text}"), "preamble"),
    "a label before the caption": (said(lambda text: f"Caption: {text}"), "preamble"),
    '"the image shows" in short captions': (
        said(lambda text: f"The image shows {' '.join(text.split()[:4])}"), "announced",
    ),
    "HTML": (said(lambda text: f"<p>{text}</p>"), "html"),
    "escaped HTML": (said(lambda text: f"{text} &amp; nothing else"), "html"),
    "web addresses": (said(lambda text: f"{text} https://example.org/x", 5), "address"),
    "file names": (lambda i, s: replace(s, candidate=f"COCO_val2014_{i:012}.jpg"), "address"),
    "read with the wrong encoding": (said(lambda text: f"{text} in a cafÃ©", 5), "encoding"),
    "nan instead of a caption": (said(lambda text: "nan", 12), "placeholder"),
    "empty captions": (said(lambda text: "", 12), "empty"),
    "references moved by one record": (moved(1), "wrong-images"),
    "references in another order": (moved(7), "wrong-images"),
    "captions in Spanish": (lambda i, s: replace(s, candidate=SPANISH[i % 3] + f" {i}"), "foreign"),
    "one caption for many images": (
        lambda i, s: replace(s, candidate=clean()[0].candidate) if i % 3 else s, "repeated",
    ),
    "words repeated without end": (said(lambda text: LOOP, 20), "looping"),
    "references as captions": (lambda i, s: replace(s, candidate=s.references[i % 2]), "copied"),
    "captions cut at six words": (said(lambda text: " ".join(text.split()[:6])), "unfinished"),
    "captions cut at 30 letters": (said(lambda text: text[:30]), "unfinished"),
    "captions of two words": (said(lambda text: " ".join(text.split()[1::99] + text.split()[-1:])), "length"),
    "captions many times as long": (said(lambda text: text + LONG), "length"),
    "CIDEr with one image's references": (lambda i, s: replace(s, references=clean()[0].references), "frequencies"),
}  # fmt: skip


def names(samples: Sequence[Sample], result=None) -> list[str]:
    return [finding.name for finding in diagnose(samples, result)]


def test_clean_captions_have_no_finding() -> None:
    assert diagnose(clean(), habits=True) == []


@pytest.mark.parametrize("case", SUSPICIOUS)
def test_each_suspicious_input_gets_its_finding_and_no_other(case: str) -> None:
    change, name = SUSPICIOUS[case]
    samples = [change(i, sample) for i, sample in enumerate(clean())]
    result = None
    if name == "frequencies":
        result = vericap.score([s.candidate for s in samples], [s.references for s in samples], "cider-d")
    found = diagnose(samples, result)
    assert [finding.name for finding in found] == [name]
    assert found[0].share > 0
    assert 1 <= len(found[0].ids) <= 2
    assert found[0].sentence


def test_the_page_shows_the_same_table() -> None:
    rows = re.findall(r"^\| (.+?) \| `([a-z-]+)` \|", DOCS.read_text("utf-8"), re.MULTILINE)
    assert dict(rows) == {case: name for case, (_, name) in SUSPICIOUS.items()}


SYSTEMS = ("m2_transformer", "blip2", "llava15_brief", "llava15_default")
# Habits of published systems are told as notes; they are no mistakes of an evaluation.
HABITS = {
    "m2_transformer": ["unfinished"],
    "blip2": [],
    "llava15_brief": ["unfinished", "announced"],
    "llava15_default": ["announced", "length"],
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_published_systems_have_no_finding(data_dir, system: str) -> None:
    folder = data_dir / "coco"
    if not (folder / f"karpathy_test_{system}.json").is_file():
        pytest.skip(f"the Karpathy test split is not in {folder}")
    references = json.loads((folder / "karpathy_test_references.json").read_text("utf-8"))
    rows = json.loads((folder / f"karpathy_test_{system}.json").read_text("utf-8"))
    keys = [str(row["image_id"]) for row in rows]
    samples = [Sample(key, row["caption"], tuple(references[key])) for key, row in zip(keys, rows)]
    result = vericap.score([row["caption"] for row in rows], [references[key] for key in keys], "cider-d")
    assert diagnose(samples, result) == []
    assert diagnose(samples[:100], result) == []
    assert [one.name for one in diagnose(samples, result, habits=True)] == HABITS[system]


def test_people_have_no_finding(data_dir) -> None:
    """Each caption against the others of its image: neighbours share an image, and have it among their references."""
    file = data_dir / "coco" / "karpathy_test_references.json"
    if not file.is_file():
        pytest.skip(f"no {file}")
    images = list(json.loads(file.read_text("utf-8")).items())[:300]
    samples = [
        Sample(f"{key}-{k}", text, tuple(texts[:k] + texts[k + 1 :]))
        for key, texts in images
        for k, text in enumerate(texts)
    ]
    assert diagnose(samples, habits=True) == []


def test_other_languages_are_not_judged_by_english() -> None:
    spanish = [
        Sample(str(i), f"{SPANISH[i % 3]} {WHERE[i % 10]} {i}", (f"{i} {WHERE[i % 10]} en la tarde",))
        for i in range(40)
    ]
    assert diagnose(spanish, lang="es", habits=True) == []
    japanese = [
        Sample(str(i), f"{who}が公園で走る{i}", (f"公園を走る{who}{i}", f"{who}が公園を走る"))
        for i, who in enumerate("犬猫馬人鳥" * 8)
    ]
    assert diagnose(japanese, lang="ja", habits=True) == []


FOREIGN = {
    "fr": ["Un homme court sur la plage avec son chien", "Deux enfants jouent dans le parc avec un ballon"],
    "de": ["Zwei Hunde spielen auf einer Wiese", "Ein Mann fährt mit dem Fahrrad auf der Straße"],
    "es": ["Un perro corre por la playa", "Una mujer con un paraguas rojo en la calle"],
    "it": ["Un cane corre sulla spiaggia con una palla", "Due uomini sono seduti al tavolo della cucina"],
    "pt": ["Um cachorro corre na praia com uma bola", "Uma mulher está sentada em um banco"],
    "nl": ["Een hond rent over het strand met een bal", "Twee mannen zitten op een bank in het park"],
    "ja": ["犬が芝生の上を走っている"],
    "zh": ["一只狗在草地上奔跑"],
    "ru": ["Собака бежит по траве"],
    "ko": ["개가 잔디 위를 달린다"],
}


@pytest.mark.parametrize(("lang", "text"), [(lang, text) for lang, texts in FOREIGN.items() for text in texts])
def test_a_caption_in_another_language_is_told_also_alone(lang: str, text: str) -> None:
    (found,) = diagnose([Sample("1", text, (text,))], lang="en")
    assert found.name == "foreign"
    assert f"`lang={lang}`" in found.sentence
    assert diagnose([Sample("1", text, (text,))], lang=lang) == []
    assert foreign([Sample("1", text)], "en")
    assert foreign([Sample("1", text)], lang) == []


def test_english_captions_asked_for_as_japanese_are_told() -> None:
    (found,) = diagnose([Sample("1", "a dog runs on the grass", ("a dog",))], lang="ja")
    assert found.name == "foreign"
    assert "`lang=en`" in found.sentence


def test_python_users_are_warned_of_another_language() -> None:
    with pytest.warns(VericapWarning, match=r"another language \(fr\)"):
        score(["Un homme court sur la plage avec son chien"], [["Un homme court"]], "rouge-l")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score(["Un homme court sur la plage avec son chien"], [["Un homme court"]], "rouge-l", lang="fr")


def test_english_captions_are_hardly_ever_taken_for_others(data_dir: Path) -> None:
    lines = (data_dir / "flickr8k" / "Flickr8k.token.txt").read_text("utf-8").splitlines()
    texts = [line.split("\t")[1] for line in lines[::10]]
    assert sum(bool(other_language(text, "en")) for text in texts) <= len(texts) // 1000


@pytest.mark.parametrize(
    "text",
    [
        "A cat's green eyes.",
        "A man's hat.",
        "A man 's hat .",
        "Children's room",
        "A woman’s hat",
        "A tennis pro",
        "V neck",
    ],
)
def test_short_english_captions_are_not_taken_for_others(text: str) -> None:
    assert other_language(text, "en") == ""


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Ein Mann im Park", "de"),
        ("Wie geht's dem Hund", "de"),
        ("Un chien", "fr"),
        ("L'homme devant un chat", "fr"),
        ("Una mujer con un perro", "es"),
        ("L'uomo mangia", "it"),
        ("Pes a kočka", "cs"),
        ("Muž s kloboukem", "cs"),
        ("猫の目", "ja"),
    ],
)
def test_short_captions_in_another_language_are_still_told(text: str, code: str) -> None:
    assert other_language(text, "en") == code


def test_few_captions_are_only_read_one_by_one() -> None:
    assert names(clean()[:3]) == []
    assert names([replace(sample, references=("x",)) for sample in clean()[:3]]) == []
    assert names([Sample("1", "<think>a dog", ("a dog",))]) == ["thinking"]
    assert names([]) == []
    assert names([Sample("1", "", problem="cannot be read")]) == []


def test_captions_without_references_are_read_too() -> None:
    bare = [replace(sample, references=()) for sample in clean()]
    assert diagnose(bare, habits=True) == []
    assert names([replace(sample, candidate="I'm sorry, but no.") for sample in bare]) == ["refusal"]


def test_lines_join_systems_and_stop_at_five() -> None:
    one = Finding("thinking", 0.5, ("1", "2"), "half of it")
    assert lines({"a": [one], "b": [one]}) == ["a, b: half of it (id 1, 2)"]
    many = [Finding(str(k), 0.5, (), f"text {k}") for k in range(8)]
    assert lines({"": many}) == ["text 0", "text 1", "text 2", "text 3", "and 4 more"]
    assert lines({"": many[:5]}) == [f"text {k}" for k in range(5)]


def test_a_finding_is_plain_data() -> None:
    found = diagnose([Sample("1", "<think>a dog", ("a dog",))])[0]
    assert json.loads(json.dumps(found.as_dict())) == {
        "name": "thinking", "share": 1.0, "ids": ["1"], "sentence": found.sentence, "suspicious": True,
    }  # fmt: skip

"""`Check`: what it holds, how it is printed, and what it cannot be asked."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

import vericap
from vericap.checking import Check, checked
from vericap.core.errors import InputError
from vericap.core.explanation import Explanation, MissingContent, WordEvidence
from vericap.core.shipped import ROOT
from vericap.metrics.toolbox import words_of

COFFEE = ROOT / "demo" / "photos" / "coffee.jpg"
VALUES = {"fidelity": 0.5, "adequacy": 0.5, "fluency": 0.9, "verdict": 0.5}
BOX = (0.0, 0.0, 0.5, 0.5)


def check(caption: str, **how: Any) -> Check:
    return vericap.check(COFFEE, caption, cache="off", **how)


def of(caption: str, doubted: dict[str, float], *, fluency: float = 0.9, notes: tuple[str, ...] = ()) -> Check:
    """The check of a caption of which some words are doubted, with the support of each."""
    words = tuple(WordEvidence(w, s, e, doubted.get(w), "image", BOX) for w, s, e in words_of(caption))
    facts = {"doubted": [word.start for word in words if word.support is not None], "threshold": 0.7}
    told = {
        "verdict": Explanation("verdict", words, notes=notes, facts=facts),
        "fluency": Explanation("fluency", notes=("'cup': a word is missing before it",)),
    }
    return checked(caption, {**VALUES, "fluency": fluency}, told)


def test_a_compound_that_is_not_supported_is_one_mark_and_one_entry() -> None:
    found = of("A hot dog and a teddy-bear, a big dog", {"hot": 0.1, "dog": 0.1, "teddy-bear": 0.2, "big": 0.3})
    assert found.not_supported == ("hot dog", "teddy-bear", "big", "dog")
    assert "A [hot dog] and a [teddy-bear], a [big] [dog]" in found.text()
    assert check("A hot dog").not_supported == ("hot dog",)


def test_lines_that_name_things_say_how_many_more_there_are() -> None:
    letters = "bcdefghi"
    text = of(", ".join(letters), {letter: place / 10 for place, letter in enumerate(letters)}).text()
    assert "not supported: b, c, d, e, f, g and 2 more" in text
    many = Check("a", **VALUES, missing=tuple(MissingContent(letter) for letter in letters))
    assert "left out: b, c, d, e, f, g and 2 more" in many.text()


def test_why_a_caption_reads_badly_is_told_first_and_only_where_it_does() -> None:
    note = "read sentence by sentence: 2 sentences"
    assert of("A cup", {}, notes=(note,)).notes == (note,)
    badly = of("A cup", {}, fluency=0.5, notes=(note,))
    assert badly.notes == ("reads badly: 'cup': a word is missing before it", note)
    assert badly.text().splitlines()[-2:] == list(badly.notes)
    assert check("A cup. A cup. A cup.").notes[0].startswith("reads badly: ")


def test_words_judged_through_others_are_said_to_be_so() -> None:
    found = check("A demitasse on a table next to a giraffe")
    (known,) = found.through
    assert known == "demitasse"
    line = f"judged through others: demitasse ({found.through['demitasse'][0]})"
    assert line in found.text().splitlines()
    assert len(found.text().splitlines()) <= 8
    record = found.to_dict()
    assert record["through"]["demitasse"] == list(found.through["demitasse"])
    assert record["threshold"] == found.threshold
    assert 0 < record["threshold"] < 1
    assert "through others" not in check("A cup of coffee on a table").text()


def test_plain_data_has_every_key_whatever_there_is_to_say() -> None:
    keys = set(Check("a", **VALUES).to_dict())
    assert keys == set(check("A demitasse on a table").to_dict())
    assert {"words", "sentences", "missing", "not_supported", "notes"} <= keys


def test_no_references_are_none() -> None:
    assert check("A cup", references=None) == check("A cup", references=[]) == check("A cup")


def test_references_in_another_language_are_told_of() -> None:
    found = check("A cup", references=["A cup of coffee", "テーブルの上のコーヒー"])
    assert "reference 2 looks like another language (ja)" in found.notes


@pytest.mark.parametrize("size", [(1, 1), (4, 600), (2000, 60)])
def test_photos_that_show_next_to_nothing_are_told_of(size: tuple[int, int]) -> None:
    noise = np.random.default_rng(3).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    found = vericap.check(noise, "A cup", cache="off")
    assert found.notes[0] == f"the photo is {size[0]} x {size[1]} pixels: what is judged from it means little"


def test_a_blank_photo_is_told_of() -> None:
    found = vericap.check(Image.new("RGB", (320, 240), "grey"), "A cup", cache="off")
    assert found.notes[0].startswith("the photo shows nothing but one colour")
    assert not any("the photo" in note for note in check("A cup").notes)


def test_a_turned_photo_is_the_same_as_path_bytes_and_image() -> None:
    stream = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by a quarter
    Image.open(COFFEE).rotate(90, expand=True).save(stream, "PNG", exif=exif)
    found = [vericap.check(one, "A cup", cache="off") for one in (stream.getvalue(), Image.open(stream))]
    assert found[0] == found[1]


def test_pixels_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(InputError, match=r"^the image is an array with NaN"):
        vericap.check(np.full((8, 8, 3), np.nan), "A cup", cache="off")


@pytest.mark.parametrize("image", [3, None, [COFFEE], io.BytesIO(b"")])
def test_what_is_no_image_is_refused_with_what_is_taken(image: Any) -> None:
    with pytest.raises(InputError, match="give a path, bytes, a PIL image or an array"):
        vericap.check(image, "A cup", cache="off")


@pytest.mark.parametrize("caption", ["", " ", "...", "🙂"])
def test_a_caption_without_a_word_is_refused(caption: str) -> None:
    with pytest.raises(InputError, match="the caption has no word"):
        check(caption)


@pytest.mark.parametrize("lang", ["EN", "en-US", "en_GB"])
def test_english_has_many_names(lang: str) -> None:
    assert check("A cup", lang=lang) == check("A cup")


def test_what_would_move_a_cursor_is_not_printed() -> None:
    caption = "A \x1b[31mcup\x07 of\x00 \x9b31mcoffee\u202e"
    found = check(caption, references=["A \x1b[2Jgiraffe\x07", "A giraffe"])
    assert found.caption == caption
    assert not any(letter in found.text() for letter in "\x1b\x07\x00\x9b\u202e")
    assert "A cup of tea" in of("A cup\x07 \x1b[1mof\x00 tea", {}).text()
